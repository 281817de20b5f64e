//! Looks through files with several threads at once, and gathers what each has.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::DirEntry;
use tokio_util::sync::CancellationToken;

use super::GrepRequest;
use super::lines::{Lines, ShownLine};
use super::report::GrepMode;
use crate::path::PathDisplay;
use crate::walk::Walker;
use crate::{held, spill};

/// With more the matches are only counted.
const FOUND_BYTES_MAX: usize = spill::FILE_BYTES_MAX / 2;
/// A file with longer lines than fit here is given up.
const HEAP_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What was found in one file.
pub(super) struct FileMatches {
    pub path: PathBuf,
    pub shown: String,
    pub modified: SystemTime,
    pub count: usize,
    /// The first of them, with the lines around.
    pub lines: Vec<ShownLine>,
}

/// What a whole search came to.
pub(super) struct SearchResult {
    pub files: Vec<FileMatches>,
    /// How many files were searched.
    pub searched: usize,
    /// Whether a binary file was left out.
    pub binary: bool,
}

/// One search: what all its threads share.
pub(super) struct Search<'a> {
    cancel: &'a CancellationToken,
    request: &'a GrepRequest,
    shown: PathDisplay,
    /// It ends with the first match, or when so many files were searched.
    first_of: Option<usize>,
    files: Mutex<Vec<FileMatches>>,
    bytes: AtomicUsize,
    searched: AtomicUsize,
    binary: AtomicBool,
}

impl<'a> Search<'a> {
    pub fn new(
        cancel: &'a CancellationToken,
        request: &'a GrepRequest,
        shown: PathDisplay,
    ) -> Search<'a> {
        Search {
            cancel,
            request,
            shown,
            first_of: None,
            files: Mutex::default(),
            bytes: AtomicUsize::new(0),
            searched: AtomicUsize::new(0),
            binary: AtomicBool::new(false),
        }
    }

    /// The same, but over with the first match or after so many files.
    pub fn until_first(self, files_max: usize) -> Search<'a> {
        Search {
            first_of: Some(files_max),
            ..self
        }
    }

    fn is_over(&self) -> bool {
        self.first_of.is_some_and(|files_max| {
            let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            !files.is_empty() || self.searched.load(Ordering::Relaxed) >= files_max
        })
    }

    pub fn thread(&self) -> SearchThread<'_> {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .multi_line(self.request.multiline)
            .before_context(self.request.context)
            .after_context(self.request.context)
            .heap_limit(Some(HEAP_BYTES_MAX))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        SearchThread {
            search: self,
            searcher,
        }
    }

    pub fn found(self) -> SearchResult {
        let files = self.files.into_inner();
        SearchResult {
            files: files.unwrap_or_else(PoisonError::into_inner),
            searched: self.searched.into_inner(),
            binary: self.binary.into_inner(),
        }
    }

    /// How many matches of one more file are kept with their lines.
    fn lines_kept(&self) -> usize {
        let full = self.bytes.load(Ordering::Relaxed) >= FOUND_BYTES_MAX;
        match (self.request.mode, full) {
            (GrepMode::Lines, false) => self.request.limit,
            (GrepMode::Lines, true) | (GrepMode::Files | GrepMode::Counts, _) => 0,
        }
    }
}

/// One thread of a search.
pub(super) struct SearchThread<'a> {
    search: &'a Search<'a>,
    searcher: Searcher,
}

impl SearchThread<'_> {
    pub fn search(&mut self, path: &Path) {
        let search = self.search;
        // What cannot be opened is left out, as ripgrep does after saying so on stderr.
        let Ok(file) = held::open(path) else {
            return;
        };
        search.searched.fetch_add(1, Ordering::Relaxed);
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let mut lines = Lines::new(search.lines_kept(), search.request.mode == GrepMode::Files);
        let reader = Cancellable {
            file,
            cancel: search.cancel,
        };
        // An error ends this file: it cannot be read, or a line is too long to hold.
        let matcher = &search.request.matcher;
        let _ = self.searcher.search_reader(matcher, reader, &mut lines);
        if lines.is_binary() {
            search.binary.store(true, Ordering::Relaxed);
            return;
        }
        let (count, lines) = lines.into_parts();
        if count == 0 {
            return;
        }
        let bytes = lines.iter().map(|line| line.text.len()).sum();
        search.bytes.fetch_add(bytes, Ordering::Relaxed);
        let found = FileMatches {
            path: path.to_owned(),
            shown: search.shown.path(path),
            modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
            count,
            lines,
        };
        let mut files = search.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.push(found);
    }
}

impl Walker for SearchThread<'_> {
    fn file(&mut self, entry: &DirEntry) -> bool {
        self.search(entry.path());
        !self.search.is_over()
    }
}

/// A file that ends when the search is cancelled, as one file may be huge.
struct Cancellable<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.cancel.is_cancelled() {
            true => Ok(0),
            false => self.file.read(buffer),
        }
    }
}
