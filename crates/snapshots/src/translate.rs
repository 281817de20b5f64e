//! What a vault says, in the words of the vocabulary.

use std::path::{Component, Path, PathBuf};

use checkpoints::{EntryChange, FileKind, RestoreStep, WorkProgress};
use vocabulary::{
    Checkpoint, CheckpointId, FileChangeKind, FileVersion, Refusal, Timestamp, Touched,
};

use crate::limits::FILES_CHANGED_MAX;

fn checkpoint(kept: &checkpoints::KeptCheckpoint) -> Checkpoint {
    Checkpoint {
        id: CheckpointId(kept.number),
        at: Timestamp(kept.at),
        trigger: kept.trigger,
        changed: kept.changed,
        changed_from_original: kept.changed_from_original,
        bytes: kept.bytes,
    }
}

pub fn list(kept: &checkpoints::ThreadHistory) -> Vec<Checkpoint> {
    kept.checkpoints.iter().map(checkpoint).collect()
}

/// The files among these changes, as many as one fact names.
pub fn files(changes: &[EntryChange]) -> Vec<FileVersion> {
    changes
        .iter()
        .filter_map(file)
        .take(FILES_CHANGED_MAX)
        .collect()
}

fn file(change: &EntryChange) -> Option<FileVersion> {
    let (kind, size) = match (change.was, change.kind) {
        (_, FileKind::File) => (change.what, change.size),
        // A directory or a link lies in its place: as a file it is gone.
        (Some(FileKind::File), FileKind::Directory | FileKind::Link) => (FileChangeKind::Delete, 0),
        (_, FileKind::Directory | FileKind::Link) => return None,
    };
    Some(FileVersion {
        path: change.path.to_string_lossy().into_owned(),
        iteration: change.iteration,
        size,
        kind,
    })
}

pub fn touched(step: RestoreStep) -> Touched {
    Touched {
        path: step.path.to_string_lossy().into_owned(),
        how: step.how,
    }
}

pub fn progress(doing: &str, progress: WorkProgress) -> String {
    let WorkProgress { done, total, bytes } = progress;
    let megabytes = bytes >> 20;
    match total {
        Some(total) => format!("[checkpoints] {doing}: {done} of {total} files, {megabytes} MB"),
        None => format!("[checkpoints] {doing}: {done} files, {megabytes} MB"),
    }
}

/// A path as a client or a model gives it, from the workspace on; none if it does not lie inside.
pub fn inside(workspace: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let path = path.strip_prefix(workspace).unwrap_or(path);
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let is_path =
        !inside.as_os_str().is_empty() && !path.as_os_str().as_encoded_bytes().contains(&0);
    is_path.then_some(inside)
}

pub fn checked_path(workspace: &Path, path: &str) -> Result<PathBuf, Refusal> {
    inside(workspace, path)
        .ok_or_else(|| Refusal::invalid("path", format!("{path:?} is not inside the workspace")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_inside_or_are_none() {
        let check = |path: &str, expected: Option<&str>| {
            let inside = inside(Path::new("/home/user/shop"), path);
            assert_eq!(inside, expected.map(PathBuf::from), "{path:?}");
        };
        check("src/main.rs", Some("src/main.rs"));
        check("./src//main.rs", Some("src/main.rs"));
        check("/home/user/shop/src/main.rs", Some("src/main.rs"));
        check("/home/user/shopping/list", None);
        check("/home/user/shop", None);
        check("/home/user/shop/../other", None);
        check("../other", None);
        check("src/../../other", None);
        check("/etc/passwd", None);
        check("a\0b", None);
        check(".", None);
        check("", None);
    }
}
