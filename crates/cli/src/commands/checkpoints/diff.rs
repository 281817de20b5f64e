//! How the files differ between two checkpoints.

use std::io::IsTerminal;

use checkpoints::{EntryChange, FileKind};
use serde_json::{Value, json};
use vocabulary::FileChangeKind;

use super::choice::{self, Chosen, Side};
use super::words::{BOLD, CYAN, GREEN, RED};
use super::{VaultCx, words, work};
use crate::screen;

/// Bytes of all diffs together; what does not fit is counted.
const DIFF_BYTES_MAX: usize = 64 << 20;

struct Difference {
    chosen: Chosen,
    from: Side,
    to: Side,
    changes: Vec<EntryChange>,
    text: String,
}

pub async fn run(cx: VaultCx, from: Option<Side>, to: Option<Side>) -> anyhow::Result<()> {
    let json = cx.json;
    let found = work::told("comparing", move |work| {
        let chosen = choice::thread(&cx)?;
        let vault = &cx.vault;
        let (from, to) = sides(&chosen, from, to);
        let moment = |side| match side {
            Side::Kept(target) => chosen.moment(target),
            Side::Now => Ok(vault.scan(work, None)?.moment),
        };
        let (before, after) = (moment(from)?, moment(to)?);
        Ok(Difference {
            from,
            to,
            changes: vault.changes(before, after)?,
            text: vault.diff(before, after, DIFF_BYTES_MAX)?,
            chosen,
        })
    })
    .await?;
    if json {
        return words::say_json(&found.to_json());
    }
    // Beside the diff, so that it stays one that programs can apply.
    let Difference {
        chosen, from, to, ..
    } = &found;
    eprintln!("Thread {}: from {from} to {to}", chosen.name());
    if found.text.is_empty() {
        eprintln!("No file differs.");
    }
    match std::io::stdout().is_terminal() {
        true => words::say(for_terminal(&found.text, words::colours())),
        false => words::say(&found.text),
    }
}

/// What is compared with what where a person left it open.
fn sides(chosen: &Chosen, from: Option<Side>, to: Option<Side>) -> (Side, Side) {
    let last = Side::Kept(chosen.last());
    match (from, to) {
        (Some(from), Some(to)) => (from, to),
        // Nobody asks how the past differs from the present.
        (Some(Side::Now), None) => (last, Side::Now),
        (Some(from), None) => (from, last),
        (None, to) => (Side::Kept(chosen.before_last()), to.unwrap_or(last)),
    }
}

impl Difference {
    fn to_json(&self) -> Value {
        let change = |change: &EntryChange| {
            json!({
                "path": change.path.to_string_lossy(),
                "what": match change.what {
                    FileChangeKind::Add => "added",
                    FileChangeKind::Update => "modified",
                    FileChangeKind::Delete => "removed",
                },
                "kind": match change.kind {
                    FileKind::File => "file",
                    FileKind::Link => "link",
                    FileKind::Directory => "directory",
                },
                "size": change.size,
                "version": change.iteration,
            })
        };
        json!({
            "thread": self.chosen.thread,
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "diff": self.text,
        })
    }
}

/// What was added and removed in colours, and nothing that the terminal would obey.
fn for_terminal(diff: &str, colours: bool) -> String {
    let mut text = String::with_capacity(diff.len() + diff.len() / 4);
    // Lines of a header look like lines that were added or removed.
    let mut header = false;
    for line in diff.lines() {
        header = line.starts_with("diff --git ") || (header && !line.starts_with("@@"));
        let paint = match line.as_bytes().first() {
            Some(_) if header => BOLD,
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            Some(b'@') => CYAN,
            Some(_) | None => "",
        };
        let line = screen::harmless_but(line, "\t");
        text.push_str(&screen::painted(&line, paint, colours));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_tell_headers_from_lines_that_look_like_them() {
        let diff =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- x\n+\x1b]0;t\n";
        let expected = [
            "\x1b[1mdiff --git a/x b/x\x1b[0m",
            "\x1b[1m--- a/x\x1b[0m",
            "\x1b[1m+++ b/x\x1b[0m",
            "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m",
            " same",
            "\x1b[31m--- x\x1b[0m",
            "\x1b[32m+\\u{1b}]0;t\x1b[0m",
        ];
        assert_eq!(
            for_terminal(diff, true).lines().collect::<Vec<_>>(),
            expected
        );
        let plain = for_terminal(diff, false);
        assert!(
            !plain.contains('\x1b') && plain.ends_with("+\\u{1b}]0;t\n"),
            "{plain:?}"
        );
    }
}
