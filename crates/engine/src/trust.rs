//! Trust: skills, commands and settings that came with a workspace do nothing until a person has
//! trusted exactly that content. A change of it is asked for again.

use std::path::{Path, PathBuf};

use vocabulary::{Refusal, ThreadCard};

use crate::Shared;
use crate::limits::{TRUST_BYTES_MAX, TRUST_FILES_MAX};
use crate::session::storage;

/// Where a workspace may bring content of its own besides the folder of its settings.
const OLDER_FOLDER: &str = ".agent";
/// What of it counts: the rest of these folders is data, or was written by us.
const COUNTS: [&str; 5] = [
    "skills",
    "commands",
    "config",
    "config.json",
    "mcp-servers.json",
];

/// How it stands with what came with a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It brought nothing.
    Nothing,
    Trusted,
    Untrusted(Content),
}

/// What a person would trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    hash: String,
    /// Relative to the workspace, sorted.
    pub files: Vec<PathBuf>,
}

/// Looks at the workspace of a thread as it is now.
pub async fn look(shared: &Shared, card: &ThreadCard) -> Result<Trust, Refusal> {
    let directory = card.directory.clone();
    let data = shared.config.workspace_data.clone();
    let read = tokio::task::spawn_blocking(move || read(&directory, &data)).await;
    let Some(content) = read.unwrap_or_else(|_| Some(Content::unreadable())) else {
        return Ok(Trust::Nothing);
    };
    let trusted = shared.store.setting(&card.tenant, &name(card)).await;
    Ok(match trusted.map_err(storage)? {
        Some(hash) if hash == content.hash && !hash.is_empty() => Trust::Trusted,
        Some(_) | None => Trust::Untrusted(content),
    })
}

/// From now on this content is trusted, as it was when it was looked at.
pub async fn keep(shared: &Shared, card: &ThreadCard, content: &Content) -> Result<(), Refusal> {
    let name = name(card);
    let kept = shared.store.set_setting(&card.tenant, &name, &content.hash);
    kept.await.map_err(storage)
}

fn name(card: &ThreadCard) -> String {
    format!("trust {}", card.directory.display())
}

impl Content {
    /// What a person is asked, in one line.
    pub fn question(&self) -> String {
        const NAMED: usize = 3;
        let names: Vec<String> = self
            .files
            .iter()
            .take(NAMED)
            .map(|file| file.display().to_string())
            .collect();
        let more = match self.files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "trust what came with this workspace: {}{more}",
            names.join(", ")
        )
    }

    /// Too much to look at, or not readable: never taken for what was trusted before.
    fn unreadable() -> Self {
        Self {
            hash: String::new(),
            files: Vec::new(),
        }
    }
}

/// All that counts, hashed; nothing where there is nothing.
fn read(workspace: &Path, data: &Path) -> Option<Content> {
    let mut files = Vec::new();
    for folder in [data, Path::new(OLDER_FOLDER)] {
        for name in COUNTS {
            gather(workspace, &folder.join(name), &mut files);
        }
    }
    if files.is_empty() {
        return None;
    }
    files.sort();
    Some(hash(workspace, &files).map_or_else(Content::unreadable, |hash| Content { hash, files }))
}

/// Adds the plain files below a path. A link counts as a file: what it points to is hashed too.
fn gather(workspace: &Path, path: &Path, files: &mut Vec<PathBuf>) {
    if files.len() > TRUST_FILES_MAX {
        return;
    }
    let full = workspace.join(path);
    match std::fs::symlink_metadata(&full) {
        Ok(metadata) if metadata.is_dir() => {
            let entries = std::fs::read_dir(&full).into_iter().flatten().flatten();
            for entry in entries {
                gather(workspace, &path.join(entry.file_name()), files);
            }
        }
        Ok(_) => files.push(path.to_owned()),
        Err(_) => {}
    }
}

fn hash(workspace: &Path, files: &[PathBuf]) -> Option<String> {
    if files.len() > TRUST_FILES_MAX {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    let mut left = TRUST_BYTES_MAX;
    for path in files {
        let full = workspace.join(path);
        // Looked at before it is opened: a pipe would never end.
        let metadata = std::fs::metadata(&full).ok()?;
        if !metadata.is_file() {
            return None;
        }
        left = left.checked_sub(metadata.len())?;
        let content = std::fs::read(&full).ok()?;
        for part in [path.as_os_str().as_encoded_bytes(), &content] {
            // With its length before it, so that no two trees read the same.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Some(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_what_counts_is_another_content() {
        let scratch = tempfile::tempdir().expect("a directory");
        let workspace = scratch.path();
        let write = |path: &str, text: &str| {
            let path = workspace.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        assert_eq!(read(workspace, Path::new(".data")), None);
        write(".data/memory/note.md", "data");
        assert_eq!(
            read(workspace, Path::new(".data")),
            None,
            "a memory is no order"
        );
        write(".agent/skills/a/SKILL.md", "do a");
        let first = read(workspace, Path::new(".data")).expect("content");
        assert_eq!(first.files, [PathBuf::from(".agent/skills/a/SKILL.md")]);
        assert_eq!(read(workspace, Path::new(".data")), Some(first.clone()));
        write(".agent/skills/a/SKILL.md", "do b");
        let second = read(workspace, Path::new(".data")).expect("content");
        assert_ne!(first.hash, second.hash);
        write(".data/mcp-servers.json", "{}");
        assert_ne!(
            read(workspace, Path::new(".data")).expect("content").hash,
            second.hash
        );
    }

    #[test]
    fn what_cannot_be_read_is_never_trusted() {
        let scratch = tempfile::tempdir().expect("a directory");
        let skills = scratch.path().join(".data/skills");
        std::fs::create_dir_all(&skills).expect("made");
        std::os::unix::fs::symlink("nowhere", skills.join("x")).expect("a link");
        assert_eq!(
            read(scratch.path(), Path::new(".data")),
            Some(Content::unreadable())
        );
    }
}
