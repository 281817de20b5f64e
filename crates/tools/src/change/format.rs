//! A file that a formatter may change: what the conversation knew of it, it knows of the new content.

use std::path::{Path, PathBuf};

use super::{PendingChange, compare};
use crate::change::ChangedLines;
use crate::seen::{FileKnowledge, SeenFiles};
use crate::{Scope, path};

/// A text file before a formatter ran.
pub(crate) struct FileBeforeFormat {
    target: PathBuf,
    text: String,
    knowledge: FileKnowledge,
}

impl FileBeforeFormat {
    /// Nothing where there is no text, or where somebody else changed it: that is no formatting.
    pub fn take(seen: &SeenFiles, path: &Path) -> Option<FileBeforeFormat> {
        let target = path.canonicalize().ok()?;
        let now = PendingChange::open("format", "", target.clone()).ok()?;
        let knowledge = now.knowledge(seen);
        let text = String::from_utf8(now.old?.bytes?).ok()?;
        (knowledge != FileKnowledge::Changed).then_some(FileBeforeFormat {
            target,
            text,
            knowledge,
        })
    }

    /// Notes the file as it is now, if it changed; gives the changed lines for the model.
    pub fn compare(&self, scope: &Scope, seen: &SeenFiles) -> Option<String> {
        let now = PendingChange::open("format", "", self.target.clone()).ok()?;
        let old = now.old.as_ref()?;
        let bytes = old.bytes.as_deref()?;
        let text = std::str::from_utf8(bytes).ok()?;
        if text == self.text {
            return None;
        }
        let extent = super::extent_after(self.knowledge, self.text.as_bytes(), bytes);
        seen.note(&self.target, old.stamp, Some(bytes), extent);
        let shown = path::display(scope, &self.target);
        let ChangedLines { place, lines, .. } =
            ChangedLines::of(&shown, &compare(&self.text, text));
        Some(format!("{place}\n{lines}"))
    }
}
