//! Differences between two moments as people and programs read them: unified diffs, as git writes them.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use similar::TextDiff;

use crate::blobs;
use crate::database::{IndexEntry, TreeEntry};
use crate::tree::{TreeDifference, path_of};
use crate::vault::Vault;
use crate::{FileKind, Moment, Result};

/// Contents beyond this are said to differ, and no more.
const FILE_BYTES_MAX: u64 = 512 << 10;
/// Beyond this a coarser diff will do.
const TIME_MAX: Duration = Duration::from_millis(300);
const CONTEXT_LINES: usize = 3;
/// Where a NUL is looked for, as git does.
const BINARY_LOOK: usize = 8000;

pub fn diff(vault: &Vault, from: Moment, to: Moment, max: usize) -> Result<String> {
    let differences = vault.differences(from, to)?;
    let mut text = String::new();
    let mut left = 0;
    for difference in &differences {
        let one = one(vault, difference)?.unwrap_or_default();
        if text.len() + one.len() > max {
            left += 1;
        } else {
            text.push_str(&one);
        }
    }
    if left > 0 {
        let _ = writeln!(text, "# {left} more files differ");
    }
    Ok(text)
}

/// `None` where nothing changed that a diff can tell.
fn one(vault: &Vault, difference: &TreeDifference) -> Result<Option<String>> {
    let path = path_of(&difference.path);
    let (old, new) = (kept(difference.old.as_ref()), kept(difference.new.as_ref()));
    let same_content = old.map(|entry| entry.blob) == new.map(|entry| entry.blob);
    let modes = (old.map(mode), new.map(mode));
    if same_content && modes.0 == modes.1 {
        return Ok(None);
    }
    let (a, b) = (quoted("a/", &path), quoted("b/", &path));
    let mut text = format!("diff --git {a} {b}\n");
    let _ = match modes {
        (None, Some(new)) => writeln!(text, "new file mode {new}"),
        (Some(old), None) => writeln!(text, "deleted file mode {old}"),
        (Some(old), Some(new)) if old != new => {
            writeln!(text, "old mode {old}\nnew mode {new}")
        }
        _ => Ok(()),
    };
    if same_content {
        return Ok(Some(text));
    }
    let name = |there: bool, name: String| match there {
        true => name,
        false => "/dev/null".to_owned(),
    };
    let (a, b) = (name(old.is_some(), a), name(new.is_some(), b));
    // One that is there but is kept no more has a content that we do not know.
    let unknown =
        difference.new.is_some() && new.is_none() && !is_directory(difference.new.as_ref());
    match (content(vault, old)?, content(vault, new)?) {
        (Some(before), Some(after)) if !unknown => {
            let diff = TextDiff::configure()
                .timeout(TIME_MAX)
                .diff_lines(before.as_str(), after.as_str());
            let mut unified = diff.unified_diff();
            unified.context_radius(CONTEXT_LINES).header(&a, &b);
            let _ = write!(text, "{unified}");
        }
        _ => {
            let _ = writeln!(text, "Binary files {a} and {b} differ");
        }
    }
    Ok(Some(text))
}

fn is_directory(indexed: Option<&IndexEntry>) -> bool {
    indexed.is_some_and(|indexed| indexed.entry.is(FileKind::Directory))
}

fn kept(indexed: Option<&IndexEntry>) -> Option<TreeEntry> {
    let entry = indexed?.entry;
    (entry.is(FileKind::File) || entry.is(FileKind::Link)).then_some(entry)
}

fn mode(entry: TreeEntry) -> &'static str {
    match (entry.is(FileKind::Link), entry.mode & 0o100) {
        (true, _) => "120000",
        (false, 0) => "100644",
        (false, _) => "100755",
    }
}

/// The text of an entry; `None` if it is no text, or too much.
fn content(vault: &Vault, entry: Option<TreeEntry>) -> Result<Option<String>> {
    let Some(entry) = entry else {
        return Ok(Some(String::new()));
    };
    if entry.size > FILE_BYTES_MAX {
        return Ok(None);
    }
    let content = vault.content_of(entry.blob)?;
    let start = &content[..content.len().min(BINARY_LOOK)];
    if start.contains(&0) {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&content).into_owned()))
}

/// A name as git writes it: in quotes, with escapes, where it would be misread.
fn quoted(prefix: &str, path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let plain = |byte: &u8| !byte.is_ascii_control() && !matches!(byte, b'"' | b'\\');
    if let (Ok(text), true) = (std::str::from_utf8(bytes), bytes.iter().all(plain)) {
        return format!("{prefix}{text}");
    }
    let mut text = format!("\"{prefix}");
    for byte in bytes {
        let _ = match byte {
            b'\n' => write!(text, "\\n"),
            b'\t' => write!(text, "\\t"),
            b'"' | b'\\' => write!(text, "\\{}", *byte as char),
            0x20..=0x7e => write!(text, "{}", *byte as char),
            other => write!(text, "\\{other:03o}"),
        };
    }
    text.push('"');
    text
}

impl Vault {
    pub(crate) fn content_of(&self, blob: i64) -> Result<Vec<u8>> {
        let row = |db: &rusqlite::Connection| blobs::row(db, blob);
        let found = row(&self.db.lock())?;
        match self.blobs.read(&found) {
            Ok(content) => Ok(content),
            // Somebody may have moved it to another pack meanwhile.
            Err(error) => {
                let again = row(&self.db.lock())?;
                if again == found {
                    return Err(error);
                }
                self.blobs.read(&again)
            }
        }
    }
}
