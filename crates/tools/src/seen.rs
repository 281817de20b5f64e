//! What a conversation has seen of files, so that an edit never overwrites what changed since.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::held::{self, Stamp};

/// Of more files the one seen longest ago is forgotten; it must be read again before a change.
const FILES_MAX: usize = 4096;
/// How many of the files that were seen last are looked at for changes.
const LOOKED_AT_MAX: usize = 256;
/// A larger file counts as changed when its times are others.
const COMPARED_BYTES_MAX: u64 = 1024 * 1024;

/// The files a conversation has read or written, as they were then.
#[derive(Debug, Default)]
pub struct SeenFiles {
    files: Mutex<Files>,
    /// Held from the reading of a file to its replacement, so that of two changes at once none is
    /// lost.
    change: Mutex<()>,
}

#[derive(Debug, Default)]
struct Files {
    marks: HashMap<PathBuf, Mark>,
    clock: u64,
}

#[derive(Debug)]
struct Mark {
    stamp: Stamp,
    /// Of the content, where it was read whole. File times are too coarse to tell two quick changes
    /// apart, and change where the content does not.
    hash: Option<blake3::Hash>,
    extent: SeenExtent,
    noted: u64,
    /// How it stood when its change was told.
    told: Option<ToldChange>,
}

/// A change that a conversation was told of: what the file was like then, or that it was gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ToldChange(Option<Stamp>);

/// How much of a file a conversation has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenExtent {
    /// It was read to its end, or the conversation wrote all of it.
    Whole,
    /// It was read: from the beginning so many lines without a gap.
    Lines(u64),
    /// Only the places that were edited; what else is in it was never shown.
    EditedPlaces,
}

/// The lines of a file that were shown at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenLines {
    pub first: u64,
    pub last: u64,
    /// Whether nothing follows them.
    pub to_end: bool,
}

impl SeenLines {
    /// What is known with these, if so many lines were known before.
    fn after(self, known: u64) -> SeenExtent {
        match self.first > known + 1 {
            true => SeenExtent::Lines(known),
            false if self.to_end => SeenExtent::Whole,
            false => SeenExtent::Lines(known.max(self.last)),
        }
    }
}

/// What a conversation knows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKnowledge {
    Never,
    /// It has edited the file without reading it: enough for another edit, not for a replacement.
    Edited,
    /// It has read the file, but of its beginning only so many lines.
    Partly(u64),
    Current,
    Changed,
}

impl SeenFiles {
    /// Notes a file as it is now; `content` is `None` where it was not held whole.
    pub(crate) fn note(
        &self,
        path: &Path,
        stamp: Stamp,
        content: Option<&[u8]>,
        extent: SeenExtent,
    ) {
        let hash = content.map(blake3::hash);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.clock += 1;
        let mark = Mark {
            stamp,
            hash,
            extent,
            noted: files.clock,
            told: None,
        };
        files.marks.insert(path.to_owned(), mark);
        if files.marks.len() > FILES_MAX {
            let oldest = files.marks.iter().min_by_key(|(_, mark)| mark.noted);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                files.marks.remove(&oldest);
            }
        }
    }

    /// Notes lines that were read of a file as it is now.
    pub(crate) fn note_read(
        &self,
        path: &Path,
        stamp: Stamp,
        content: Option<&[u8]>,
        lines: SeenLines,
    ) {
        let extent = match self.known(path, stamp, content) {
            FileKnowledge::Current => SeenExtent::Whole,
            FileKnowledge::Partly(known) => lines.after(known),
            FileKnowledge::Never | FileKnowledge::Edited | FileKnowledge::Changed => lines.after(0),
        };
        self.note(path, stamp, content, extent);
    }

    /// Whether the file is as it was seen last.
    pub(crate) fn known(&self, path: &Path, stamp: Stamp, content: Option<&[u8]>) -> FileKnowledge {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mark) = files.marks.get(path) else {
            return FileKnowledge::Never;
        };
        let same = match (mark.hash, content) {
            (Some(then), Some(now)) => then == blake3::hash(now),
            _ => mark.stamp == stamp,
        };
        match (same, mark.extent) {
            (true, SeenExtent::Whole) => FileKnowledge::Current,
            (true, SeenExtent::Lines(known)) => FileKnowledge::Partly(known),
            (true, SeenExtent::EditedPlaces) => FileKnowledge::Edited,
            (false, _) => FileKnowledge::Changed,
        }
    }

    /// The files that are not as they were seen last, the newest first; each change is told once.
    /// Blocks.
    pub fn take_changed(&self) -> Vec<PathBuf> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut marks: Vec<(&PathBuf, &mut Mark)> = files.marks.iter_mut().collect();
        marks.sort_by_key(|(_, mark)| std::cmp::Reverse(mark.noted));
        marks.truncate(LOOKED_AT_MAX);
        let changed = marks.into_iter().filter_map(|(path, mark)| {
            let now = held::stamp_at(path);
            if now == Some(mark.stamp) || mark.told == Some(ToldChange(now)) {
                return None;
            }
            if let Some(now) = now
                && mark.hash.is_some()
                && mark.hash == hash_of(path, now)
            {
                mark.stamp = now;
                return None;
            }
            mark.told = Some(ToldChange(now));
            Some(path.clone())
        });
        changed.collect()
    }

    /// Whether a file whose name ends like this was seen.
    pub fn has_extension(&self, extension: &str) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut paths = files.marks.keys();
        paths.any(|path| path.extension().is_some_and(|end| end == extension))
    }

    /// Waits until no other change of this conversation is under way.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash_of(path: &Path, stamp: Stamp) -> Option<blake3::Hash> {
    (stamp.bytes <= COMPARED_BYTES_MAX).then_some(())?;
    let place = held::Place::find(path).ok()?;
    let (file, _) = place.open().ok()?;
    let mut bytes = Vec::new();
    file.take(COMPARED_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(blake3::hash(&bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::held::{NodeKind, Place};
    use crate::scratch::Scratch;

    fn stamp(path: &Path) -> Stamp {
        let path = std::fs::canonicalize(path).unwrap();
        match Place::find(&path).unwrap().kind().unwrap() {
            Some(NodeKind::File { stamp, .. }) => stamp,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_content_counts_where_it_is_known_and_the_times_otherwise() {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        std::fs::write(&path, "one").unwrap();
        let (seen, before) = (SeenFiles::default(), stamp(&path));
        assert_eq!(
            seen.known(&path, before, Some(b"one")),
            FileKnowledge::Never
        );
        seen.note(&path, before, Some(b"one"), SeenExtent::Whole);
        assert_eq!(
            seen.known(&path, before, Some(b"two")),
            FileKnowledge::Changed
        );
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "one!").unwrap();
        let after = stamp(&path);
        assert_eq!(
            seen.known(&path, after, Some(b"one")),
            FileKnowledge::Current
        );
        assert_eq!(seen.known(&path, after, None), FileKnowledge::Changed);
    }

    #[test]
    fn a_change_from_elsewhere_is_told_once_and_a_touch_never() {
        let scratch = Scratch::new();
        let names = ["same", "changed", "gone"];
        let directory = std::fs::canonicalize(scratch.path("")).unwrap();
        let seen = SeenFiles::default();
        for name in names {
            let path = directory.join(name);
            std::fs::write(&path, name).unwrap();
            let now = stamp(&path);
            seen.note(&path, now, Some(name.as_bytes()), SeenExtent::Whole);
        }
        assert!(seen.take_changed().is_empty());
        // Written again with the same words.
        std::fs::remove_file(directory.join("same")).unwrap();
        std::fs::write(directory.join("same"), "same").unwrap();
        std::fs::write(directory.join("changed"), "other words").unwrap();
        std::fs::remove_file(directory.join("gone")).unwrap();
        let expected = ["gone", "changed"].map(|name| directory.join(name));
        assert_eq!(seen.take_changed(), expected);
        assert!(seen.take_changed().is_empty());
        std::fs::write(directory.join("changed"), "yet other words").unwrap();
        assert_eq!(seen.take_changed(), [directory.join("changed")]);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a"), "").unwrap();
        let (seen, stamp) = (SeenFiles::default(), stamp(&scratch.path("a")));
        for n in 0..=FILES_MAX {
            seen.note(Path::new(&n.to_string()), stamp, None, SeenExtent::Whole);
        }
        assert_eq!(
            seen.known(Path::new("0"), stamp, None),
            FileKnowledge::Never
        );
        assert_eq!(
            seen.known(Path::new("1"), stamp, None),
            FileKnowledge::Current
        );
    }
}
