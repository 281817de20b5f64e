//! Trust: skills, commands and settings that came with a workspace do nothing until a person has
//! trusted exactly that content. A change of it is asked for again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tools::folders::GUARDED;
use vocabulary::{Refusal, ThreadCard};

use crate::Shared;
use crate::limits::{TRUST_BYTES_MAX, TRUST_FILES_MAX};
use crate::session::storage;

mod kept;
pub mod servers;

pub use kept::{ContentTrust, KeptTrust, TrustedWorkspace};

/// What of it counts: the rest of these folders is data, or was written by us.
const COUNTS: [&str; 6] = [
    "agents",
    "skills",
    "commands",
    "config",
    "config.json",
    SERVERS_FILE,
];
const SERVERS_FILE: &str = "mcp-servers.json";

/// How it stands with what came with a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It brought nothing.
    Nothing,
    Trusted(TrustedContent),
    Untrusted(TrustedContent),
    /// Too much to look at, or not readable: nobody can say what they would trust.
    Unreadable,
}

/// What a person would trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedContent {
    /// Of everything together.
    hash: String,
    /// Relative to the workspace, each with the hash of what is in it.
    files: BTreeMap<PathBuf, blake3::Hash>,
}

/// Looks at the workspace of a thread as it is now.
pub async fn look(shared: &Shared, card: &ThreadCard) -> Result<Trust, Refusal> {
    let directory = card.directory.clone();
    let read = tokio::task::spawn_blocking(move || read(&directory)).await;
    let content = match read.unwrap_or(TrustScan::Unreadable) {
        TrustScan::Nothing => return Ok(Trust::Nothing),
        TrustScan::Unreadable => return Ok(Trust::Unreadable),
        TrustScan::Content(content) => content,
    };
    let name = kept::content_setting(&card.directory);
    let trusted = shared.store.setting(&card.tenant, &name).await;
    Ok(match trusted.map_err(storage)? {
        Some(hash) if hash == content.hash => Trust::Trusted(content),
        Some(_) | None => Trust::Untrusted(content),
    })
}

/// From now on this content is trusted, as it was when it was looked at.
pub async fn keep(
    shared: &Shared,
    card: &ThreadCard,
    content: &TrustedContent,
) -> Result<(), Refusal> {
    let name = kept::content_setting(&card.directory);
    let kept = shared.store.set_setting(&card.tenant, &name, &content.hash);
    kept.await.map_err(storage)
}

/// Keeps trust through a change that a person made of the file of MCP servers: they did not touch the
/// rest. Only the servers' files may be others than before.
pub async fn keep_through(
    shared: &Shared,
    card: &ThreadCard,
    before: &Trust,
) -> Result<(), Refusal> {
    let before = match before {
        Trust::Nothing => &BTreeMap::new(),
        Trust::Trusted(content) => &content.files,
        Trust::Untrusted(_) | Trust::Unreadable => return Ok(()),
    };
    match look(shared, card).await? {
        Trust::Untrusted(after) if same_but_servers(before, &after.files) => {
            keep(shared, card, &after).await
        }
        Trust::Untrusted(_) | Trust::Nothing | Trust::Trusted(_) | Trust::Unreadable => Ok(()),
    }
}

/// A file of ours that a client changed through us.
pub struct OwnChange<'a> {
    /// From the workspace on.
    pub file: &'a Path,
    /// What was in it, and what is.
    pub before: Option<blake3::Hash>,
    pub after: blake3::Hash,
}

/// Keeps trust through such a change: exactly what was trusted was changed, and nothing beside it.
pub async fn keep_through_own(
    shared: &Shared,
    card: &ThreadCard,
    before: &Trust,
    change: OwnChange<'_>,
) -> Result<(), Refusal> {
    let before = match before {
        Trust::Nothing => &BTreeMap::new(),
        Trust::Trusted(content) => &content.files,
        Trust::Untrusted(_) | Trust::Unreadable => return Ok(()),
    };
    if before.get(change.file) != change.before.as_ref() {
        return Ok(());
    }
    let mut expected = before.clone();
    expected.insert(change.file.to_owned(), change.after);
    match look(shared, card).await? {
        Trust::Untrusted(after) if after.files == expected => keep(shared, card, &after).await,
        Trust::Untrusted(_) | Trust::Nothing | Trust::Trusted(_) | Trust::Unreadable => Ok(()),
    }
}

fn same_but_servers(
    before: &BTreeMap<PathBuf, blake3::Hash>,
    after: &BTreeMap<PathBuf, blake3::Hash>,
) -> bool {
    let is_of_servers = |path: &Path| path.file_name().is_some_and(|name| name == SERVERS_FILE);
    let rest = |files: &BTreeMap<PathBuf, blake3::Hash>| {
        let mut files = files.clone();
        files.retain(|path, _| !is_of_servers(path));
        files
    };
    rest(before) == rest(after)
}

impl TrustedContent {
    /// What a person is asked, in one line: which files, and by the hash, in which state.
    pub fn question(&self) -> String {
        const NAMED: usize = 3;
        const HASH_CHARS: usize = 32;
        let names: Vec<String> = self
            .files
            .keys()
            .take(NAMED)
            .map(|file| tools::shown::line(&file.to_string_lossy()).into_owned())
            .collect();
        let more = match self.files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "trust what came with this workspace: {}{more} (as of now, {})",
            names.join(", "),
            &self.hash[..HASH_CHARS]
        )
    }

    /// For tools, which use a file only if it still is what was looked at.
    pub fn as_trusted(&self) -> tools::Trusted {
        tools::Trusted::new(self.files.clone())
    }
}

/// What looking at a workspace gave.
#[derive(Debug, PartialEq, Eq)]
enum TrustScan {
    Nothing,
    Content(TrustedContent),
    Unreadable,
}

/// All that counts, hashed.
fn read(workspace: &Path) -> TrustScan {
    let mut files = Vec::new();
    for folder in GUARDED {
        for name in COUNTS {
            gather(workspace, &Path::new(folder).join(name), &mut files);
        }
    }
    if files.is_empty() {
        return TrustScan::Nothing;
    }
    files.sort();
    hashed(workspace, files).map_or(TrustScan::Unreadable, TrustScan::Content)
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

fn hashed(workspace: &Path, paths: Vec<PathBuf>) -> Option<TrustedContent> {
    if paths.len() > TRUST_FILES_MAX {
        return None;
    }
    let (mut hasher, mut files) = (blake3::Hasher::new(), BTreeMap::new());
    let mut left = TRUST_BYTES_MAX;
    for path in paths {
        let full = workspace.join(&path);
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
        files.insert(path, blake3::hash(&content));
    }
    let hash = hasher.finalize().to_hex().to_string();
    Some(TrustedContent { hash, files })
}

#[cfg(test)]
mod tests {
    use tools::folders::OWN;

    use super::*;

    const SKILL: &str = ".agent/skills/a/SKILL.md";

    #[test]
    fn every_change_of_what_counts_is_another_content() {
        let scratch = tempfile::tempdir().expect("a directory");
        let workspace = scratch.path();
        let write = |path: &str, text: &str| {
            let path = workspace.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let look = || read(workspace);
        let content = || match look() {
            TrustScan::Content(content) => content,
            other => panic!("no content: {other:?}"),
        };
        assert_eq!(look(), TrustScan::Nothing);
        write(&format!("{OWN}/memory/note.md"), "data");
        assert_eq!(look(), TrustScan::Nothing, "a memory is no order");
        write(SKILL, "do a");
        let first = content();
        let path = PathBuf::from(SKILL);
        assert_eq!(first.files, BTreeMap::from([(path, blake3::hash(b"do a"))]));
        assert_eq!(content(), first);
        write(SKILL, "do b");
        let second = content();
        assert_ne!(first.hash, second.hash);
        assert_ne!(first.question(), second.question());
        write(&format!("{OWN}/mcp-servers.json"), "{}");
        assert_ne!(content().hash, second.hash);
    }

    #[test]
    fn a_question_hides_nothing() {
        let scratch = tempfile::tempdir().expect("a directory");
        let skills = scratch.path().join(OWN).join("skills");
        let skill = skills.join("a\n\u{1b}[2K\u{202e}");
        std::fs::create_dir_all(&skill).expect("made");
        std::fs::write(skill.join("SKILL.md"), "x").expect("written");
        let TrustScan::Content(content) = read(scratch.path()) else {
            panic!("no content")
        };
        let named = "skills/a\\n\\u{1b}[2K\\u{202e}/SKILL.md";
        let question = content.question();
        let asked = format!("trust what came with this workspace: {OWN}/{named} (as of now, ");
        assert!(question.starts_with(&asked), "{question}");
    }

    #[test]
    fn what_cannot_be_read_is_never_trusted() {
        let scratch = tempfile::tempdir().expect("a directory");
        let skills = scratch.path().join(OWN).join("skills");
        std::fs::create_dir_all(&skills).expect("made");
        std::os::unix::fs::symlink("nowhere", skills.join("x")).expect("a link");
        assert_eq!(read(scratch.path()), TrustScan::Unreadable);
    }
}
