//! The files of one patch: all are changed in memory first, then written together or not at all.

use super::NAME;
use super::parse::{PatchHunk, PatchSection, SectionChange};
use super::place;
use crate::change::{FILE_BYTES_MAX, PendingChange};
use crate::held::Stamp;
use crate::seen::{FileKnowledge, SeenExtent, SeenFiles};
use crate::{Failure, Scope, path, text};

/// The files that a patch names, as they are and as they shall be.
pub(super) struct PatchedFiles<'a> {
    pub scope: &'a Scope,
    seen: &'a SeenFiles,
    pub files: Vec<PatchedFile<'a>>,
    pub notes: Vec<String>,
}

pub(super) struct PatchedFile<'a> {
    pub given: &'a str,
    pub pending: PendingChange<'a>,
    /// The content it shall have; `None`: it shall not be there.
    pub now: Option<Vec<u8>>,
    pub origin: ContentOrigin<'a>,
}

/// Where a file's new content comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentOrigin<'a> {
    /// The file itself.
    Own,
    /// The model wrote all of it.
    Model,
    /// Another file.
    Moved {
        from: &'a str,
        mode: u32,
        extent: SeenExtent,
    },
    /// There was one, and it went to another place.
    Gone,
}

impl<'a> PatchedFiles<'a> {
    /// What the sections make of their files. Nothing is written yet.
    pub fn of(
        scope: &'a Scope,
        seen: &'a SeenFiles,
        sections: &[PatchSection<'a>],
    ) -> Result<PatchedFiles<'a>, Failure> {
        let mut files = PatchedFiles {
            scope,
            seen,
            files: Vec::new(),
            notes: Vec::new(),
        };
        for section in sections {
            files.make(section)?;
        }
        Ok(files)
    }

    fn make(&mut self, section: &PatchSection<'a>) -> Result<(), Failure> {
        let at = self.entry(section.path)?;
        match &section.change {
            SectionChange::Add(lines) => {
                let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
                self.replace(at, content.into_bytes(), ContentOrigin::Model)
            }
            SectionChange::Delete => {
                self.existing(at)?;
                self.named_itself(at)?;
                self.files[at].now = None;
                Ok(())
            }
            SectionChange::Update { moved_to, hunks } => {
                if !hunks.is_empty() {
                    let (content, notes) = self.patched(at, hunks)?;
                    self.files[at].now = Some(content);
                    let given = section.path;
                    let notes = notes.iter().map(|note| format!("{given}: {note}"));
                    self.notes.extend(notes);
                }
                match moved_to {
                    Some(target) => self.move_to(at, target),
                    None => Ok(()),
                }
            }
        }
    }

    /// The file of this name, taken as it is now if it was not named before.
    fn entry(&mut self, given: &'a str) -> Result<usize, Failure> {
        let target = path::resolve_to_change(NAME, self.scope, given)?;
        let mut files = self.files.iter();
        if let Some(at) = files.position(|file| file.pending.target == target) {
            return Ok(at);
        }
        let pending = PendingChange::open(NAME, given, target)?;
        let now = match &pending.old {
            Some(old) if old.bytes.is_none() => {
                return Err(pending.error(format!(
                    "{given} has more than the {FILE_BYTES_MAX} bytes that can be changed; use bash"
                )));
            }
            Some(old) => old.bytes.clone(),
            None => None,
        };
        self.files.push(PatchedFile {
            given,
            pending,
            now,
            origin: ContentOrigin::Own,
        });
        Ok(self.files.len() - 1)
    }

    fn existing(&self, at: usize) -> Result<&[u8], Failure> {
        let file = &self.files[at];
        file.now.as_deref().ok_or_else(|| {
            let given = file.given;
            let message = format!("{given} does not exist; \"*** Add File:\" makes files");
            file.pending.error(message)
        })
    }

    /// Refuses a name that is only a link: what it leads to would go, and the link stay.
    fn named_itself(&self, at: usize) -> Result<(), Failure> {
        let file = &self.files[at];
        let named = self.scope.directory.join(file.given);
        match std::fs::symlink_metadata(named).is_ok_and(|node| node.is_symlink()) {
            true => {
                let message = format!("{} is a link; use bash to remove or move it", file.given);
                Err(file.pending.error(message))
            }
            false => Ok(()),
        }
    }

    /// The content with these hunks made, and what the model should know of it.
    fn patched(
        &self,
        at: usize,
        hunks: &[PatchHunk<'_>],
    ) -> Result<(Vec<u8>, Vec<String>), Failure> {
        let (file, bytes) = (&self.files[at], self.existing(at)?);
        let given = file.given;
        let (before, encoding) = text::decode(bytes).ok_or_else(|| {
            file.pending
                .error(format!("{given} is not a text file; use bash"))
        })?;
        let made = place::patched(&before, hunks);
        let made = made.map_err(|problem| file.pending.error(format!("{given}, {problem}")))?;
        let bytes = text::encode(&made.text, encoding).map_err(|letter| {
            let name = encoding.name();
            let message = format!("{given} is encoded as {name}, which has no {letter:?}");
            file.pending.error(message)
        })?;
        let mut notes = made.notes;
        if file.pending.knowledge(self.seen) == FileKnowledge::Changed {
            notes.push("it had changed since you read it".to_owned());
        }
        Ok((bytes, notes))
    }

    fn move_to(&mut self, at: usize, target: &'a str) -> Result<(), Failure> {
        self.existing(at)?;
        self.named_itself(at)?;
        let to = self.entry(target)?;
        if to == at {
            return Ok(());
        }
        let source = &mut self.files[at];
        let content = source.now.take().unwrap_or_default();
        let extent = match source.pending.knowledge(self.seen) {
            FileKnowledge::Current => SeenExtent::Whole,
            FileKnowledge::Never
            | FileKnowledge::Edited
            | FileKnowledge::Partly(_)
            | FileKnowledge::Changed => SeenExtent::EditedPlaces,
        };
        let mode = source.pending.old.as_ref().map_or(0o644, |old| old.mode);
        let from = source.given;
        source.origin = ContentOrigin::Gone;
        let origin = ContentOrigin::Moved { from, mode, extent };
        self.replace(to, content, origin)
    }

    /// Puts a content where none of this patch was: what is there already must be known, so that
    /// nothing is lost.
    fn replace(
        &mut self,
        at: usize,
        content: Vec<u8>,
        origin: ContentOrigin<'a>,
    ) -> Result<(), Failure> {
        let file = &mut self.files[at];
        let is_known = match &file.now {
            None => true,
            Some(there) => {
                there.is_empty()
                    || *there == content
                    || file.origin == ContentOrigin::Model
                    || file.pending.knowledge(self.seen) == FileKnowledge::Current
            }
        };
        if !is_known {
            let given = file.given;
            return Err(file.pending.error(format!(
                "{given} exists and you have not read all of it as it is now; update it, or read \
                 it first, so that nothing is lost"
            )));
        }
        file.now = Some(content);
        file.origin = origin;
        Ok(())
    }

    /// Writes everything; where something cannot be, what was written is put back.
    pub fn write(&self) -> Result<(), Failure> {
        let (removed, written): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|file| file.now.is_none());
        let mut done: Vec<(&PatchedFile<'_>, Option<Stamp>)> = Vec::new();
        // What is deleted goes last: a content that is moved is never nowhere.
        for file in written.into_iter().chain(removed) {
            match file.write(self.seen) {
                Ok(stamp) => done.push((file, stamp)),
                Err(failure) => return Err(put_back(&done, failure)),
            }
        }
        Ok(())
    }
}

impl PatchedFile<'_> {
    pub fn before(&self) -> Option<&[u8]> {
        self.pending.old.as_ref()?.bytes.as_deref()
    }

    /// Brings the file to what it shall be; gives what lies there then.
    fn write(&self, seen: &SeenFiles) -> Result<Option<Stamp>, Failure> {
        let Some(content) = &self.now else {
            self.pending.remove()?;
            return Ok(None);
        };
        let stamp = match self.origin {
            ContentOrigin::Own | ContentOrigin::Gone => self.pending.save(seen, content)?,
            ContentOrigin::Model => self.pending.save_whole(seen, content)?,
            ContentOrigin::Moved { extent, mode, .. } => {
                let stamp = self.pending.replace(seen, content, extent)?;
                self.pending.set_mode(mode).unwrap_or(stamp)
            }
        };
        Ok(Some(stamp))
    }
}

/// Undoes what was done of a patch that failed, the last first, and says what could not be undone.
fn put_back(done: &[(&PatchedFile<'_>, Option<Stamp>)], failure: Failure) -> Failure {
    let Failure::Error(message) = failure else {
        return failure;
    };
    let mut left = Vec::new();
    for (file, now) in done.iter().rev() {
        if let Err(problem) = file.pending.put_back(*now) {
            left.push(format!("{} ({problem})", file.given));
        }
    }
    Failure::Error(match left.is_empty() {
        true => format!("{message}; nothing was changed"),
        false => format!(
            "{message}; these files were changed already and could not be put back: {}",
            left.join(", ")
        ),
    })
}
