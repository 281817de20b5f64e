//! What a workspace looks like from above: how its repository stands, the top of its tree, how it is
//! built, which programs are there. Gathered when a conversation begins, within a time limit.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::DirEntry;

use super::git_facts::{self, GitFacts};
use super::manifests;
use crate::{Scope, shown, walk};

/// What is not known after this time is left out.
const TIME_MAX: Duration = Duration::from_millis(300);
/// How many names of the tree are told, and how many of one directory below the top.
const TREE_NAMES_MAX: usize = 60;
const BELOW_NAMES_MAX: usize = 12;
/// How much of a workspace is looked through for notebooks.
const NOTEBOOK_DEPTH_MAX: usize = 4;
const NOTEBOOK_ENTRIES_MAX: usize = 3_000;
/// What commands are good to know of.
const PROGRAMS: [&str; 7] = ["rg", "fd", "jq", "gh", "docker", "uv", "pnpm"];
/// Conversations that begin together look once.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// Looking for notebooks takes longer, and matters less.
const NOTEBOOK_FRESH_FOR: Duration = Duration::from_secs(60);
const REMEMBERED_MAX: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceFacts {
    pub git: Option<GitFacts>,
    /// A line for each name at the top; a directory's line also has what is in it.
    pub tree: Vec<String>,
    pub manifests: Vec<String>,
    pub programs: Vec<&'static str>,
}

/// Remembers for a moment how workspaces look.
#[derive(Debug, Default)]
pub struct WorkspaceFactsCache {
    facts: Remembered<Arc<WorkspaceFacts>>,
    notebooks: Remembered<bool>,
}

impl WorkspaceFactsCache {
    /// How the workspace looks now, or did a moment ago. Blocks.
    pub fn get(&self, scope: &Scope) -> Arc<WorkspaceFacts> {
        let find = || Arc::new(gather(scope));
        self.facts.get(&scope.directory, FRESH_FOR, find)
    }

    /// Whether a notebook lies in the workspace, as far as it is looked through. Blocks.
    pub fn has_notebook(&self, scope: &Scope) -> bool {
        let find = || has_notebook(scope);
        self.notebooks
            .get(&scope.directory, NOTEBOOK_FRESH_FOR, find)
    }
}

/// What was found out about directories, and when; the newest first.
#[derive(Debug)]
struct Remembered<T>(Mutex<VecDeque<(PathBuf, Instant, T)>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Remembered<T> {
    fn get(&self, directory: &Path, fresh_for: Duration, find: impl FnOnce() -> T) -> T {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |at: &Instant| at.elapsed() < fresh_for;
        let known = all()
            .iter()
            .find(|(of, at, _)| of == directory && is_fresh(at))
            .map(|(_, _, known)| known.clone());
        if let Some(known) = known {
            return known;
        }
        let found = find();
        let mut all = all();
        all.retain(|(of, _, _)| of != directory);
        all.truncate(REMEMBERED_MAX - 1);
        all.push_front((directory.to_owned(), Instant::now(), found.clone()));
        found
    }
}

fn gather(scope: &Scope) -> WorkspaceFacts {
    let until = Instant::now() + TIME_MAX;
    let directory = &scope.directory;
    let git = || git_facts::look(directory, program("git").as_deref(), until);
    // Git works while the tree is walked.
    std::thread::scope(|threads| {
        let git = threads.spawn(git);
        WorkspaceFacts {
            tree: tree(scope, until),
            manifests: manifests::lines(directory),
            programs: programs(),
            git: git.join().ok().flatten(),
        }
    })
}

/// Where a program lies that a command would find by its name.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        // A relative one would lead into the workspace.
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

fn programs() -> Vec<&'static str> {
    let there = |name: &&'static str| program(name).is_some();
    PROGRAMS.into_iter().filter(there).collect()
}

/// The names at the top of the workspace and right below, as far as there is room for them.
fn tree(scope: &Scope, until: Instant) -> Vec<String> {
    let (top, cut) = names(scope, &scope.directory, TREE_NAMES_MAX, until);
    let mut room = TREE_NAMES_MAX.saturating_sub(top.len());
    let mut lines: Vec<String> = Vec::new();
    for name in top {
        let below = match name.ends_with('/') && room > 0 {
            true => {
                let most = room.min(BELOW_NAMES_MAX);
                let (mut below, cut) = names(scope, &scope.directory.join(&name), most, until);
                room -= below.len();
                below.extend(cut.then(|| "…".to_owned()));
                below
            }
            false => Vec::new(),
        };
        let shown = shown::line(&name);
        lines.push(match below.is_empty() {
            true => shown.into_owned(),
            false => format!("{shown} {}", shown::line(&below.join(" "))),
        });
    }
    lines.extend(cut.then(|| "…".to_owned()));
    lines
}

/// The first names of a directory that no rule ignores, and whether there are more.
fn names(scope: &Scope, directory: &Path, most: usize, until: Instant) -> (Vec<String>, bool) {
    let Ok(root) = std::fs::canonicalize(directory) else {
        return (Vec::new(), false);
    };
    let mut builder = walk::below(scope, &root, |_| true);
    builder.max_depth(Some(1)).sort_by_file_name(Ord::cmp);
    let mut names = Vec::new();
    for entry in builder.build().flatten().skip(1) {
        if names.len() == most || Instant::now() > until {
            return (names, true);
        }
        let end = if is_directory(&entry) { "/" } else { "" };
        names.push(format!("{}{end}", entry.file_name().to_string_lossy()));
    }
    (names, false)
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn has_notebook(scope: &Scope) -> bool {
    let Ok(root) = std::fs::canonicalize(&scope.directory) else {
        return false;
    };
    let until = Instant::now() + TIME_MAX;
    let mut builder = walk::below(scope, &root, |_| true);
    builder.max_depth(Some(NOTEBOOK_DEPTH_MAX));
    let entries = builder.build().flatten().take(NOTEBOOK_ENTRIES_MAX);
    entries
        .take_while(|_| Instant::now() < until)
        .any(|entry| entry.path().extension().is_some_and(|end| end == "ipynb"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_top_of_the_tree_is_told_without_what_is_ignored_and_says_where_it_is_cut() {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path(".git")).unwrap();
        std::fs::write(scratch.path(".gitignore"), "target/\n").unwrap();
        for directory in ["src/inner", "target/debug"] {
            std::fs::create_dir_all(scratch.path(directory)).unwrap();
        }
        for n in 0..20 {
            std::fs::write(scratch.path(&format!("src/{n:02}.rs")), "").unwrap();
        }
        std::fs::write(scratch.path("Cargo.toml"), "").unwrap();
        let facts = gather(&scratch.scope());
        let first: Vec<String> = (0..12).map(|n| format!("{n:02}.rs")).collect();
        let src = format!("src/ {} …", first.join(" "));
        assert_eq!(facts.tree, ["Cargo.toml".to_owned(), src]);
        assert_eq!(facts.manifests, ["Cargo.toml: cargo build, cargo test"]);
        for n in 0..100 {
            std::fs::write(scratch.path(&format!("file-{n:03}")), "").unwrap();
        }
        let tree = tree(&scratch.scope(), Instant::now() + TIME_MAX);
        assert_eq!(tree.len(), TREE_NAMES_MAX + 1);
        assert_eq!(tree.last().unwrap(), "…");
    }

    #[test]
    fn a_notebook_is_found_where_there_is_one() {
        let scratch = Scratch::new();
        assert!(!has_notebook(&scratch.scope()));
        std::fs::create_dir(scratch.path("study")).unwrap();
        std::fs::write(scratch.path("study/a.ipynb"), "{}").unwrap();
        assert!(has_notebook(&scratch.scope()));
    }

    #[test]
    fn conversations_that_begin_together_look_once() {
        let scratch = Scratch::new();
        let cache = WorkspaceFactsCache::default();
        let first = cache.get(&scratch.scope());
        std::fs::write(scratch.path("new"), "").unwrap();
        assert!(Arc::ptr_eq(&first, &cache.get(&scratch.scope())));
    }
}
