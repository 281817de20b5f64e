//! What is told of a patch that was made.

use std::borrow::Cow;

use vocabulary::FileChange;

use super::files::{ContentOrigin, PatchedFile, PatchedFiles};
use crate::change::ChangedLines;
use crate::{path, text};

/// More of the changed lines are not shown, all files together.
const SHOWN_LINES_MAX: usize = 120;

impl PatchedFiles<'_> {
    /// What was done, for the model and for people.
    pub fn describe(&self) -> (String, Vec<FileChange>) {
        let mut told = PatchReport::default();
        for file in &self.files {
            self.describe_file(file, &mut told);
        }
        let notes = self.notes.iter().map(|note| format!("({note})"));
        let mut lines: Vec<String> = told.heads.into_iter().chain(notes).collect();
        let more = told.changed_lines.len() > SHOWN_LINES_MAX;
        told.changed_lines.truncate(SHOWN_LINES_MAX);
        lines.append(&mut told.changed_lines);
        if more {
            lines.push("[more changed lines are not shown]".to_owned());
        }
        if lines.is_empty() {
            lines.push("The files are already as the patch makes them.".to_owned());
        }
        (lines.join("\n"), told.changes)
    }

    fn describe_file(&self, file: &PatchedFile<'_>, told: &mut PatchReport) {
        let (pending, shown) = (
            &file.pending,
            path::display(self.scope, &file.pending.target),
        );
        let (before, now) = (file.before().map(words), file.now.as_deref().map(words));
        match (before, now, file.origin) {
            (None, None, _) => {}
            (Some(before), None, origin) => {
                let change = pending.describe_removal(self.scope, &before);
                if origin != ContentOrigin::Gone {
                    let lost = before.lines().count();
                    told.heads.push(format!("D {shown} (-{lost})"));
                }
                told.changes.push(change);
            }
            (before, Some(now), ContentOrigin::Moved { from, .. }) => {
                let change = pending.describe(self.scope, before.as_deref(), &now);
                told.changes.push(change);
                let source = self.files.iter().find(|file| file.given == from);
                let source = source.and_then(|file| file.before()).map(words);
                let (_, lines) =
                    pending.describe_edit(self.scope, &source.unwrap_or_default(), &now);
                told.updated(format!("R {from} -> {shown}"), lines);
            }
            (None, Some(now), _) => {
                let count = now.lines().count();
                told.heads.push(format!("A {shown} (+{count})"));
                told.changes.push(pending.describe(self.scope, None, &now));
            }
            (Some(before), Some(now), _) => {
                if before != now {
                    let (change, lines) = pending.describe_edit(self.scope, &before, &now);
                    told.changes.push(change);
                    told.updated(format!("M {shown}"), lines);
                }
            }
        }
    }
}

/// What is told of a patch, as it comes together.
#[derive(Default)]
struct PatchReport {
    /// A line for each file.
    heads: Vec<String>,
    changed_lines: Vec<String>,
    changes: Vec<FileChange>,
}

impl PatchReport {
    fn updated(&mut self, head: String, lines: ChangedLines) {
        let (added, removed) = (lines.added, lines.removed);
        self.heads.push(format!("{head} (+{added} -{removed})"));
        if added + removed > 0 {
            self.changed_lines.push(lines.place);
            let lines = lines.lines.lines().map(str::to_owned);
            self.changed_lines.extend(lines);
        }
    }
}

/// The text of a file; of one that is none, nothing is shown.
fn words(bytes: &[u8]) -> Cow<'_, str> {
    text::decode(bytes)
        .map(|(text, _)| text)
        .unwrap_or_default()
}
