//! Keeps what does not fit an answer in a file, for the model to read on.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Scope;

/// The rest of a longer text is lost.
pub(crate) const FILE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Of more files the oldest are removed.
const FILES_MAX: usize = 64;

/// Tells apart two files of one millisecond.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Keeps `text` in a new file named after `name` (letters and digits); gives its path.
///
/// `None` where the scope has no place for it or the file cannot be made; the answer is then cut
/// without a rest.
pub(crate) fn keep(scope: &Scope, name: &str, text: &str) -> Option<PathBuf> {
    let directory = scope.spill.as_deref()?;
    let kept = write(directory, name, text);
    if let Err(error) = &kept {
        tracing::warn!(%error, tool = name, "the rest of an answer could not be kept");
    }
    kept.ok()
}

/// `text`, or so much of its beginning as fits `chars_max` and where to read the rest.
pub fn cut(scope: &Scope, name: &str, text: String, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else {
        return text;
    };
    // A whole last line reads better, if that does not cost too much.
    let end = match text[..end].rfind('\n') {
        Some(line_end) if line_end > end / 2 => line_end,
        _ => end,
    };
    let more = text[end..].chars().count();
    let rest = match keep(scope, name, &text) {
        Some(path) => format!("all of it is in {}, read on there", path.display()),
        None => "ask for less".to_owned(),
    };
    format!(
        "{}\n[{more} more characters were cut; {rest}]",
        &text[..end]
    )
}

fn write(directory: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Names sort by age.
    let path = directory.join(format!("{millis:015}-{count:06}-{name}.txt"));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    let end = text.floor_char_boundary(FILE_BYTES_MAX);
    file.write_all(&text.as_bytes()[..end])?;
    if end < text.len() {
        write!(file, "\n[{} more bytes were not kept]", text.len() - end)?;
    }
    remove_oldest(directory)?;
    Ok(path)
}

fn remove_oldest(directory: &Path) -> std::io::Result<()> {
    let mut kept: Vec<PathBuf> = std::fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    kept.sort();
    for old in kept.iter().rev().skip(FILES_MAX) {
        std::fs::remove_file(old)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;
    use crate::Tool as _;
    use crate::scratch::Scratch;

    fn scope(scratch: &Scratch, home: &Scratch) -> Scope {
        let mut scope = scratch.scope();
        scope.private.push(home.path(""));
        scope.spill = Some(home.path("spill/thread"));
        scope
    }

    #[tokio::test]
    async fn the_rest_is_kept_and_can_be_read_though_it_lies_in_private() {
        let (scratch, home) = (Scratch::new(), Scratch::new());
        let scope = scope(&scratch, &home);
        let answer = cut(&scope, "grep", "line\n".repeat(100), 42);
        let (shown, note) = answer.rsplit_once('\n').unwrap();
        assert_eq!(shown, "line\n".repeat(8).trim_end());
        assert!(
            note.starts_with("[461 more characters were cut; all of it is in /"),
            "{note}"
        );
        let path = note.split(" is in ").nth(1).unwrap();
        let path = path.trim_end_matches(", read on there]");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(Path::new(path)), 0o600);
        assert_eq!(mode(&home.path("spill/thread")), 0o700);
        let mut cx = scratch.cx(&std::sync::Arc::default());
        cx.scope = scope;
        let input = json!({"filePath": path, "offset": 99});
        let read = crate::read::ReadTool.run(&cx, input).await.unwrap();
        assert_eq!(
            read,
            vocabulary::ToolOutput::Text("99\tline\n100\tline".to_owned())
        );
        let input = json!({"filePath": path, "content": ""});
        let refused = crate::write::WriteTool.run(&cx, input).await;
        assert!(refused.is_err(), "{refused:?}");
    }

    #[test]
    fn files_are_bounded_in_size_and_number() {
        let (scratch, home) = (Scratch::new(), Scratch::new());
        let scope = scope(&scratch, &home);
        let first = keep(&scope, "bash", &"ä".repeat(FILE_BYTES_MAX)).unwrap();
        let kept = std::fs::read_to_string(&first).unwrap();
        assert!(kept.ends_with("\n[8388608 more bytes were not kept]"));
        for _ in 0..FILES_MAX {
            keep(&scope, "bash", "x").unwrap();
        }
        assert!(!first.exists());
        let left = std::fs::read_dir(home.path("spill/thread"))
            .unwrap()
            .count();
        assert_eq!(left, FILES_MAX);
    }

    #[test]
    fn without_a_place_the_answer_is_only_cut() {
        let scratch = Scratch::new();
        let answer = cut(&scratch.scope(), "grep", "äöü".to_owned(), 2);
        assert_eq!(answer, "äö\n[1 more characters were cut; ask for less]");
    }
}
