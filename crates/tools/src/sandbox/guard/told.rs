//! What is told of protected paths after a command, to people and to the model.

use std::path::Path;

use crate::sandbox::record::{Change, PutBack};

/// How many paths are named.
const NAMED_MAX: usize = 12;

#[derive(Default)]
pub struct GuardReport {
    put_back: Vec<String>,
    failed: Vec<String>,
    appeared: Vec<String>,
}

impl GuardReport {
    pub fn put_back(&mut self, root: &Path, changes: Vec<PutBack>) {
        let told = changes.into_iter().map(|change| {
            let how = match change.how {
                Change::Made => "was made",
                Change::Changed => "was changed",
                Change::Removed => "was removed",
            };
            format!("{} {how}", shown(root, &change.path))
        });
        self.put_back.extend(told);
    }

    pub fn failed(&mut self, root: &Path, path: &Path, error: &std::io::Error) {
        self.failed.push(format!("{}: {error}", shown(root, path)));
    }

    /// A repository that was made, and taken away because git would run something there.
    pub fn taken(&mut self, root: &Path, path: &Path, why: &str) {
        let path = shown(root, path);
        self.put_back.push(format!("{path} was made ({why})"));
    }

    /// What is new in a workspace and stays.
    pub fn appeared(&mut self, root: &Path, path: &Path, what: &str) {
        self.appeared.push(format!("{} {what}", shown(root, path)));
    }

    /// One note for each thing there is to say; each is written to the log as well.
    pub fn into_notes(self, kept: Option<&Path>) -> Vec<String> {
        let kept = kept.map_or_else(String::new, |kept| {
            format!("; what was in their place is kept in {}", kept.display())
        });
        let table = [
            (
                "put back as it was, because other programs run it by themselves",
                self.put_back,
                kept.as_str(),
            ),
            (
                "COULD NOT BE PUT BACK although other programs run it by themselves; look at it",
                self.failed,
                "",
            ),
            (
                "new in the workspace, and other programs may run it by themselves",
                self.appeared,
                "",
            ),
        ];
        let notes = table.into_iter().filter(|(_, paths, _)| !paths.is_empty());
        notes
            .map(|(what, mut paths, kept)| {
                paths.dedup();
                let more = paths.len().saturating_sub(NAMED_MAX);
                paths.truncate(NAMED_MAX);
                let more = match more {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let note = format!("[{what}: {}{more}{kept}]", paths.join(", "));
                tracing::warn!("after a command: {note}");
                note
            })
            .collect()
    }
}

/// Names come from a command: what would disturb a terminal is made visible.
fn shown(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let text = inner.to_string_lossy();
    text.chars().flat_map(char::escape_debug).collect()
}
