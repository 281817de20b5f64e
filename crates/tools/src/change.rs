//! Changing a file: all or nothing, and told as a unified diff.

mod changed_lines;
mod format;

use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;
use std::time::Duration;
use vocabulary::{FileChange, FileChangeKind};

use similar::TextDiff;

use crate::held::{NodeKind, Place, Stamp};
use crate::seen::{FileKnowledge, SeenExtent, SeenFiles};
use crate::{Failure, Scope, path, sandbox};
pub(crate) use changed_lines::ChangedLines;
pub(crate) use format::FileBeforeFormat;

/// Larger files are neither edited nor compared.
pub(crate) const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A longer diff is cut.
const DIFF_CHARS_MAX: usize = 400_000;
/// After this a diff is finished roughly, rather than finely.
const DIFF_TIME_MAX: Duration = Duration::from_millis(500);

/// What an input wants changed. Where in the file it would be is not known yet, and clients read
/// nothing without a place.
pub(crate) fn wanted(old: &str, new: &str) -> String {
    let lines = |sign: char, text: &str| -> String {
        text.lines().map(|line| format!("{sign}{line}\n")).collect()
    };
    let (lost, won) = (old.lines().count(), new.lines().count());
    format!(
        "@@ -1,{lost} +1,{won} @@\n{}{}",
        lines('-', old),
        lines('+', new)
    )
}

/// A file that a tool is about to change, as it is before.
pub(crate) struct PendingChange<'a> {
    tool: &'static str,
    /// How the model named it.
    given: &'a str,
    /// The canonical path.
    pub target: PathBuf,
    /// `None`: there is no such file.
    pub old: Option<Old>,
}

/// A file before its change.
pub(crate) struct Old {
    stamp: Stamp,
    pub mode: u32,
    /// `None`: it is larger than is edited.
    pub bytes: Option<Vec<u8>>,
}

impl<'a> PendingChange<'a> {
    /// Takes the file as it is now. `target` must have been resolved for a change.
    pub fn open(
        tool: &'static str,
        given: &'a str,
        target: PathBuf,
    ) -> Result<PendingChange<'a>, Failure> {
        let mut draft = PendingChange {
            tool,
            given,
            target,
            old: None,
        };
        draft.old = draft.load()?;
        Ok(draft)
    }

    fn load(&self) -> Result<Option<Old>, Failure> {
        let failed = |problem| self.error(format!("cannot read {}: {problem}", self.given));
        let place = match Place::find(&self.target) {
            Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
            outcome => outcome.map_err(failed)?,
        };
        let mode = match place.kind().map_err(failed)? {
            None => return Ok(None),
            // A rename would not mind, but whoever made the file so did.
            Some(NodeKind::File { mode, .. }) if mode & 0o222 == 0 => {
                return Err(self.error(format!("{} is read-only", self.given)));
            }
            Some(NodeKind::File { mode, .. }) => mode,
            Some(NodeKind::Directory | NodeKind::Link | NodeKind::Special) => {
                return Err(self.error(format!("{} is not a plain file", self.given)));
            }
        };
        let (file, stamp) = place.open().map_err(failed)?;
        let mut bytes = Vec::new();
        let mut beginning = file.take(FILE_BYTES_MAX + 1);
        beginning.read_to_end(&mut bytes).map_err(failed)?;
        let whole = bytes.len() as u64 <= FILE_BYTES_MAX;
        Ok(Some(Old {
            stamp,
            mode,
            bytes: whole.then_some(bytes),
        }))
    }

    /// What the conversation knows of the file.
    pub fn knowledge(&self, seen: &SeenFiles) -> FileKnowledge {
        match &self.old {
            None => FileKnowledge::Never,
            Some(old) => seen.known(&self.target, old.stamp, old.bytes.as_deref()),
        }
    }

    /// As [`PendingChange::knowledge`]; refuses if it is no longer true.
    pub fn known(&self, seen: &SeenFiles) -> Result<FileKnowledge, Failure> {
        match self.knowledge(seen) {
            FileKnowledge::Changed => Err(self.changed()),
            known @ (FileKnowledge::Never
            | FileKnowledge::Edited
            | FileKnowledge::Partly(_)
            | FileKnowledge::Current) => Ok(known),
        }
    }

    /// The refusal of a change to a file that is no longer as it was seen.
    pub fn changed(&self) -> Failure {
        let given = self.given;
        self.error(format!("{given} changed since you read it; read it again"))
    }

    /// Saves a content that was made of the file's own. Who had not seen all of the file before has
    /// not seen all of it now.
    pub fn save(&self, seen: &SeenFiles, content: &[u8]) -> Result<Stamp, Failure> {
        let extent = match &self.old {
            None => SeenExtent::Whole,
            Some(old) => {
                let before = old.bytes.as_deref().unwrap_or_default();
                extent_after(self.knowledge(seen), before, content)
            }
        };
        self.replace(seen, content, extent)
    }

    /// Saves a content of which the conversation knows all.
    pub fn save_whole(&self, seen: &SeenFiles, content: &[u8]) -> Result<Stamp, Failure> {
        self.replace(seen, content, SeenExtent::Whole)
    }

    /// Replaces the content in one step, unless the file changed since it was taken.
    pub fn replace(
        &self,
        seen: &SeenFiles,
        content: &[u8],
        extent: SeenExtent,
    ) -> Result<Stamp, Failure> {
        let expected = self.old.as_ref().map(|old| old.stamp);
        let saved = Place::make(&self.target).and_then(|place| place.replace(content, expected));
        let stamp = saved.map_err(|problem| self.unsaved("write", &problem))?;
        seen.note(&self.target, stamp, Some(content), extent);
        // A command that runs meanwhile did not do this.
        sandbox::accept_change(&self.target);
        Ok(stamp)
    }

    /// Removes the file, unless it changed since it was taken.
    pub fn remove(&self) -> Result<(), Failure> {
        let Some(old) = &self.old else {
            return Ok(());
        };
        let removed = Place::find(&self.target).and_then(|place| place.remove(old.stamp));
        removed.map_err(|problem| self.unsaved("delete", &problem))?;
        sandbox::accept_change(&self.target);
        Ok(())
    }

    /// Gives the file that was saved the mode of another.
    pub fn set_mode(&self, mode: u32) -> std::io::Result<Stamp> {
        let place = Place::find(&self.target)?;
        place.set_mode(mode)?;
        Ok(place.open()?.1)
    }

    /// Makes the file as it was when it was taken; `now` is what lies there since.
    pub fn put_back(&self, now: Option<Stamp>) -> std::io::Result<()> {
        let place = Place::find(&self.target)?;
        match (&self.old, now) {
            (Some(old), now) => {
                let bytes = old.bytes.as_deref().unwrap_or_default();
                place.replace(bytes, now)?;
                place.set_mode(old.mode)?;
            }
            (None, Some(now)) => place.remove(now)?,
            (None, None) => {}
        }
        sandbox::accept_change(&self.target);
        Ok(())
    }

    fn unsaved(&self, what: &str, problem: &std::io::Error) -> Failure {
        let given = self.given;
        match problem.kind() {
            ErrorKind::StaleNetworkFileHandle => self.error(format!(
                "{given} was changed by someone else just now; read it again"
            )),
            _ => self.error(format!("cannot {what} {given}: {problem}")),
        }
    }

    /// The change from what it was to what it is.
    pub fn describe(&self, scope: &Scope, old: Option<&str>, new: &str) -> FileChange {
        describe(scope, &self.target, old, new)
    }

    /// As [`PendingChange::describe`], with the changed lines for the model.
    pub fn describe_edit(&self, scope: &Scope, old: &str, new: &str) -> (FileChange, ChangedLines) {
        let path = path::display(scope, &self.target);
        let compared = compare(old, new);
        let lines = ChangedLines::of(&path, &compared);
        let change = FileChange {
            diff: unified(&path, &compared),
            path,
            kind: FileChangeKind::Update,
        };
        (change, lines)
    }

    /// That the file is gone, and what was in it.
    pub fn describe_removal(&self, scope: &Scope, old: &str) -> FileChange {
        let path = path::display(scope, &self.target);
        FileChange {
            diff: unified(&path, &compare(old, "")),
            path,
            kind: FileChangeKind::Delete,
        }
    }

    pub fn error(&self, message: impl std::fmt::Display) -> Failure {
        Failure::Error(format!("{}: {message}", self.tool))
    }
}

/// How much of a new content is known to who knew so much of the one before, from which it was made.
fn extent_after(knowledge: FileKnowledge, before: &[u8], content: &[u8]) -> SeenExtent {
    match knowledge {
        FileKnowledge::Current => SeenExtent::Whole,
        FileKnowledge::Partly(known) => {
            // Lines that are gone may be among those that were known.
            let gone = line_ends(before).saturating_sub(line_ends(content));
            SeenExtent::Lines(known.saturating_sub(gone))
        }
        FileKnowledge::Never | FileKnowledge::Edited | FileKnowledge::Changed => {
            SeenExtent::EditedPlaces
        }
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The change from `old` (`None`: there was no file) to `new`.
pub(crate) fn describe(
    scope: &Scope,
    target: &std::path::Path,
    old: Option<&str>,
    new: &str,
) -> FileChange {
    let path = path::display(scope, target);
    match old {
        None => FileChange {
            path,
            kind: FileChangeKind::Add,
            diff: new.to_owned(),
        },
        Some(old) => FileChange {
            diff: unified(&path, &compare(old, new)),
            path,
            kind: FileChangeKind::Update,
        },
    }
}

fn compare<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure()
        .timeout(DIFF_TIME_MAX)
        .diff_lines(old, new)
}

fn unified(path: &str, compared: &TextDiff<'_, '_, str>) -> String {
    let diff = compared
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    match diff.char_indices().nth(DIFF_CHARS_MAX) {
        None => diff,
        Some((cut, _)) => {
            let more = diff[cut..].chars().count();
            format!(
                "{}\n[{more} more characters of this diff were cut]",
                &diff[..cut]
            )
        }
    }
}
