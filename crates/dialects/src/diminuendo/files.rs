//! Files of the workspace and their versions.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vocabulary::{
    FileChangeKind, FileIteration, FileListing, FileVersion, ListedFile, ListedKind, ThreadId,
};

use super::refuse;
use super::wire::ServerEvent;
use super::wire::parts::{Encoding, ErrorCode, FileEntry, FileType, IterationMeta};

/// As much of a file as fits into one frame, whatever it is spelled in.
pub const CONTENT_BYTES_MAX: usize = 8 << 20;

/// A file that a client asked about, as it named it.
#[derive(Debug)]
pub struct FileQuery {
    pub thread: ThreadId,
    pub path: String,
}

impl FileQuery {
    /// `file_history_result`, handed on because it borrows its session's id. What has no version was
    /// never there.
    pub fn history(&self, iterations: &[FileIteration], answer: impl FnOnce(ServerEvent<'_>)) {
        if iterations.is_empty() {
            return answer(refuse::error(ErrorCode::FileNotFound, refuse::NO_SUCH_FILE));
        }
        answer(ServerEvent::FileHistoryResult {
            session_id: &self.thread.to_string(),
            path: &self.path,
            iterations: iterations.iter().map(meta).collect(),
        });
    }

    /// `file_content`: text as it is, anything else in base64.
    pub fn content(&self, content: &[u8], answer: impl FnOnce(ServerEvent<'_>)) {
        if content.len() > CONTENT_BYTES_MAX {
            return too_large(content.len() as u64, answer);
        }
        let (encoding, text) = spelled(content);
        answer(ServerEvent::FileContent {
            session_id: &self.thread.to_string(),
            path: &self.path,
            content: text,
            encoding,
            size: content.len() as u64,
        });
    }
}

pub fn too_large(bytes: u64, answer: impl FnOnce(ServerEvent<'_>)) {
    let message = format!("the file has {bytes} bytes; at most {CONTENT_BYTES_MAX} are sent");
    answer(refuse::error(ErrorCode::FileTooLarge, &message));
}

/// `file_list`, handed on because it borrows its session's id.
pub fn list(thread: ThreadId, listing: &FileListing, answer: impl FnOnce(ServerEvent<'_>)) {
    answer(ServerEvent::FileList {
        session_id: &thread.to_string(),
        files: listing.files.iter().map(entry).collect(),
        truncated: listing.truncated,
    });
}

fn entry(file: &ListedFile) -> FileEntry<'_> {
    let kind = match file.kind {
        ListedKind::File => FileType::File,
        ListedKind::Directory => FileType::Directory,
        ListedKind::Link => FileType::Symlink,
        ListedKind::Special => FileType::Other,
    };
    let name = file.path.rsplit('/').next().unwrap_or_default();
    FileEntry {
        path: &file.path,
        name,
        kind,
        size: (kind == FileType::File).then_some(file.size),
        modified_at: file.modified_at.millis(),
    }
}

fn meta(version: &FileIteration) -> IterationMeta<'_> {
    IterationMeta {
        iteration: version.iteration,
        timestamp: version.at.millis(),
        size: version.size,
        hash: &version.hash,
    }
}

/// A zero byte is in no text, valid as it may be.
fn spelled(content: &[u8]) -> (Encoding, Cow<'_, str>) {
    match str::from_utf8(content) {
        Ok(text) if !content.contains(&0) => (Encoding::Utf8, text.into()),
        Ok(_) | Err(_) => (Encoding::Base64, STANDARD.encode(content).into()),
    }
}

/// `file_changed`, also of a file that is gone (docs/protocols/diminuendo.md, decision 10).
pub fn changed<'a>(session_id: &'a str, file: &'a FileVersion) -> ServerEvent<'a> {
    ServerEvent::FileChanged {
        session_id,
        path: &file.path,
        iteration: file.iteration,
        size: file.size,
        deleted: file.kind == FileChangeKind::Delete,
    }
}
