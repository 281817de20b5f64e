//! Packed skills on their way: chunks in binary frames, kept in memory until they are installed, aborted,
//! too old, or the connection ends.
//!
//! A binary frame is `PSU1`, the length of its header in four bytes (the highest first), the header as
//! JSON, and the bytes of the chunk.

use sha2::{Digest as _, Sha256};
use vocabulary::Timestamp;

use super::wire::upload::{
    SkillsUploadChunkAckNotification, SkillsUploadChunkHeader, SkillsUploadParams,
    SkillsUploadStartParams,
};

pub const MAGIC: &[u8; 4] = b"PSU1";
pub const COMPRESSED_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// As the server unpacks them.
pub const UNCOMPRESSED_BYTES_MAX: u64 = 16 * 1024 * 1024;
pub const CHUNK_BYTES_MAX: usize = 1024 * 1024;
pub const CHUNK_BYTES_USUAL: usize = 256 * 1024;
/// Of one connection, at a time.
const UPLOADS_MAX: usize = 2;
const HEADER_BYTES_MAX: usize = 4 * 1024;
const FILE_NAME_CHARS_MAX: usize = 255;
const LIVES_MS: i64 = 10 * 60 * 1000;

/// The uploads of one connection. Nobody else can name them.
#[derive(Default)]
pub struct Uploads {
    started: u64,
    open: Vec<Upload>,
}

pub struct Upload {
    pub id: String,
    workspace: String,
    pub sha256: String,
    pub size: u64,
    pub expires_at: Timestamp,
    received: Vec<u8>,
    is_finished: bool,
}

/// What is wrong with the params of a start, before anybody is asked.
pub fn check_start(params: &SkillsUploadStartParams) -> Result<(), String> {
    let size = params.compressed_size_bytes;
    if size == 0 || size > COMPRESSED_BYTES_MAX {
        let message = format!("compressed_size_bytes: expected 1 to {COMPRESSED_BYTES_MAX}");
        return Err(message);
    }
    if params.uncompressed_size_hint_bytes > Some(UNCOMPRESSED_BYTES_MAX) {
        let message =
            format!("uncompressed_size_hint_bytes: expected at most {UNCOMPRESSED_BYTES_MAX}");
        return Err(message);
    }
    let sha256 = &params.sha256;
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("sha256: expected 64 hexadecimal digits".to_owned());
    }
    let name = &params.file_name;
    let is_long = name.chars().count() > FILE_NAME_CHARS_MAX;
    match name.trim().is_empty() || is_long || name.contains(char::is_control) {
        true => Err(format!(
            "file_name: expected 1 to {FILE_NAME_CHARS_MAX} characters"
        )),
        false => Ok(()),
    }
}

impl Uploads {
    pub fn forget_old(&mut self, now: Timestamp) {
        self.open.retain(|upload| upload.expires_at > now);
    }

    pub fn is_full(&self) -> bool {
        self.open.len() >= UPLOADS_MAX
    }

    pub fn start(&mut self, params: SkillsUploadStartParams, now: Timestamp) -> &Upload {
        self.started += 1;
        let upload = Upload {
            id: format!("upload-{:014}", self.started),
            workspace: params.workspace_id.trim().to_owned(),
            sha256: params.sha256.to_ascii_lowercase(),
            size: params.compressed_size_bytes,
            expires_at: Timestamp(now.millis() + LIVES_MS),
            received: Vec::new(),
            is_finished: false,
        };
        self.open.push(upload);
        let last = self.open.len() - 1;
        &self.open[last]
    }

    /// A chunk, which must be the next of its upload. Damaged ones end it.
    pub fn chunk(&mut self, frame: &[u8]) -> Result<(String, [u64; 3]), String> {
        let (header, bytes) = parse(frame)?;
        let place = self.place(&header.workspace_id, &header.upload_id)?;
        let upload = &mut self.open[place];
        let received = upload.received.len() as u64;
        if upload.is_finished {
            return Err(format!("upload `{}` is finished", upload.id));
        }
        if header.offset != received {
            return Err(format!(
                "offset: expected {received}, found {}",
                header.offset
            ));
        }
        if header.len != bytes.len() as u64 || bytes.is_empty() {
            return Err(format!(
                "len: expected {}, found {}",
                bytes.len(),
                header.len
            ));
        }
        if bytes.len() > CHUNK_BYTES_MAX {
            return Err(format!("a chunk has at most {CHUNK_BYTES_MAX} bytes"));
        }
        if received + header.len > upload.size {
            return Err(format!("upload `{}` has {} bytes", upload.id, upload.size));
        }
        let is_wrong = |said: &String| !said.eq_ignore_ascii_case(&sha256_of(bytes));
        if header.chunk_sha256.as_ref().is_some_and(is_wrong) {
            let id = self.open.remove(place).id;
            return Err(format!(
                "chunk_sha256: the bytes are others; upload `{id}` ended"
            ));
        }
        upload.received.extend_from_slice(bytes);
        let next = received + header.len;
        Ok((header.upload_id, [header.offset, header.len, next]))
    }

    /// All is there, and is what was announced; otherwise the upload ends where it cannot get better.
    pub fn finish(&mut self, params: &SkillsUploadParams) -> Result<&Upload, String> {
        let place = self.place(&params.workspace_id, &params.upload_id)?;
        let upload = &mut self.open[place];
        let received = upload.received.len() as u64;
        if received != upload.size {
            return Err(format!("{received} of {} bytes were received", upload.size));
        }
        if sha256_of(&upload.received) != upload.sha256 {
            let id = self.open.remove(place).id;
            return Err(format!("sha256: the bytes are others; upload `{id}` ended"));
        }
        self.open[place].is_finished = true;
        Ok(&self.open[place])
    }

    pub fn abort(&mut self, params: &SkillsUploadParams) -> Result<Upload, String> {
        let place = self.place(&params.workspace_id, &params.upload_id)?;
        Ok(self.open.remove(place))
    }

    /// What was uploaded, once it is finished.
    pub fn packed(&self, workspace: &str, id: &str) -> Result<Vec<u8>, String> {
        let upload = &self.open[self.place(workspace, id)?];
        match upload.is_finished {
            true => Ok(upload.received.clone()),
            false => Err(format!("upload `{id}` is not finished")),
        }
    }

    /// It is installed.
    pub fn done(&mut self, id: &str) {
        self.open.retain(|upload| upload.id != id);
    }

    fn place(&self, workspace: &str, id: &str) -> Result<usize, String> {
        let is_it = |upload: &Upload| upload.id == id && upload.workspace == workspace.trim();
        let found = self.open.iter().position(is_it);
        found.ok_or_else(|| format!("upload `{id}` was not found"))
    }
}

fn parse(frame: &[u8]) -> Result<(SkillsUploadChunkHeader, &[u8]), String> {
    let wrong = || "expected PSU1, the header's length, a header and bytes".to_owned();
    let rest = frame.strip_prefix(MAGIC).ok_or_else(wrong)?;
    let (length, rest) = rest.split_at_checked(4).ok_or_else(wrong)?;
    let length: [u8; 4] = length.try_into().map_err(|_| wrong())?;
    let length = u32::from_be_bytes(length) as usize;
    if length > HEADER_BYTES_MAX {
        return Err(format!("a header has at most {HEADER_BYTES_MAX} bytes"));
    }
    let (header, bytes) = rest.split_at_checked(length).ok_or_else(wrong)?;
    let header = serde_json::from_slice(header).map_err(|error| format!("header: {error}"))?;
    Ok((header, bytes))
}

fn sha256_of(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn ack<'a>(id: &'a str, [offset, len, next]: [u64; 3]) -> SkillsUploadChunkAckNotification<'a> {
    SkillsUploadChunkAckNotification {
        upload_id: id,
        offset,
        len,
        received_bytes: next,
        next_offset: next,
    }
}
