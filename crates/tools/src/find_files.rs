//! Files by a few letters of their paths: every tree is walked, what git ignores and what is private
//! left out, and the best are kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::DirEntry;
use tokio_util::sync::CancellationToken;
use vocabulary::{FoundFile, FoundFiles};

use crate::Scope;
use crate::walk::{self, Walker};

mod rank;

/// How many are found at most.
pub const FOUND_MAX: usize = 200;
/// Files and directories that one search looks at.
pub const FIND_ENTRIES_MAX: usize = 500_000;
/// Letters that a search may have.
pub const FIND_QUERY_CHARS_MAX: usize = 200;
/// Trees that one search walks.
pub const FIND_ROOTS_MAX: usize = 32;

/// One root at a time; `limit` is of all together. Blocks.
pub fn find(scopes: &[Scope], query: &str, limit: usize, cancel: &CancellationToken) -> FoundFiles {
    let wanted = rank::Wanted::new(query);
    let found = Found {
        best: Mutex::default(),
        limit: limit.clamp(1, FOUND_MAX),
        looked_at: AtomicUsize::new(0),
        truncated: AtomicBool::new(false),
    };
    for scope in scopes {
        let Ok(root) = scope.directory.canonicalize() else {
            continue;
        };
        let builder = walk::below(scope, &root, |_| true);
        walk::run(&builder, cancel, || FileFinder {
            wanted: &wanted,
            found: &found,
            root: &root,
            named: &scope.directory,
        });
    }
    let truncated = found.truncated.load(Ordering::Relaxed) || cancel.is_cancelled();
    let best = found
        .best
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let files = best.into_sorted_vec().into_iter();
    FoundFiles {
        files: files.map(|Reverse(ranked)| ranked.into_file()).collect(),
        truncated,
    }
}

struct Found {
    best: Mutex<BinaryHeap<Reverse<Ranked>>>,
    limit: usize,
    looked_at: AtomicUsize,
    truncated: AtomicBool,
}

/// The best is the greatest: by its score, then the shorter path, then by its letters.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    score: u32,
    path: Reverse<(usize, String)>,
    root: Reverse<PathBuf>,
    is_directory: bool,
    matched: Vec<u32>,
}

impl Ranked {
    fn into_file(self) -> FoundFile {
        FoundFile {
            root: self.root.0,
            path: self.path.0.1,
            is_directory: self.is_directory,
            score: self.score,
            matched: self.matched,
        }
    }
}

struct FileFinder<'a> {
    wanted: &'a rank::Wanted,
    found: &'a Found,
    root: &'a Path,
    /// As the caller named it.
    named: &'a Path,
}

impl FileFinder<'_> {
    /// `false`: enough was looked at.
    fn look(&self, entry: &DirEntry, is_directory: bool) -> bool {
        if self.found.looked_at.fetch_add(1, Ordering::Relaxed) >= FIND_ENTRIES_MAX {
            self.found.truncated.store(true, Ordering::Relaxed);
            return false;
        }
        let inner = entry.path().strip_prefix(self.root).ok();
        // A name that is no text cannot be told.
        let Some(path) = inner.and_then(Path::to_str) else {
            return true;
        };
        if let Some((score, matched)) = self.wanted.rank(path) {
            let ranked = Ranked {
                score,
                path: Reverse((path.len(), path.to_owned())),
                root: Reverse(self.named.to_owned()),
                is_directory,
                matched,
            };
            let best = &self.found.best;
            let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
            best.push(Reverse(ranked));
            if best.len() > self.found.limit {
                best.pop();
            }
        }
        true
    }
}

impl Walker for FileFinder<'_> {
    fn file(&mut self, entry: &DirEntry) -> bool {
        self.look(entry, false)
    }

    fn directory(&mut self, entry: &DirEntry) {
        self.look(entry, true);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    fn paths(found: &FoundFiles) -> Vec<&str> {
        found.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn the_best_come_first_and_what_git_ignores_does_not_come() {
        let scratch = Scratch::new();
        for path in [
            "src/main.rs",
            "src/domain.rs",
            "docs/maintenance.md",
            "target/main.rs",
            ".git/main",
            "mail/in.txt",
        ] {
            let path = scratch.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(scratch.path(".gitignore"), "target\n").unwrap();
        let cancel = CancellationToken::new();
        let scope = scratch.scope();
        let found = find(&[scope.clone()], "main", 10, &cancel);
        assert_eq!(paths(&found)[0], "src/main.rs");
        assert!(paths(&found).contains(&"docs/maintenance.md"));
        assert!(paths(&found).contains(&"mail/in.txt"), "letters in order");
        assert!(!paths(&found).iter().any(|path| path.starts_with("target")));
        assert_eq!(found.files[0].matched, [4, 5, 6, 7]);
        assert!(!found.truncated);
        let few = find(&[scope.clone()], "main", 1, &cancel);
        assert_eq!(paths(&few), ["src/main.rs"]);
        assert!(find(&[scope], "zzz", 10, &cancel).files.is_empty());
    }

    #[test]
    fn a_search_that_is_cancelled_ends_and_says_so() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("main"), "").unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let found = find(&[scratch.scope()], "main", 10, &cancel);
        assert!(found.truncated && found.files.is_empty());
    }
}
