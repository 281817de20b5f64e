//! Looks through a workspace for what is protected deeper in it, and for repositories in it.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::protected;

/// It is done before and after each command, so it must not take long.
const DIRECTORIES_MAX: usize = 3_000;
const DEPTH_MAX: usize = 8;

/// What is made by tools and full of copies of other people's repositories.
const SKIPPED: &[&str] = &[
    ".cache",
    ".gradle",
    ".next",
    ".tox",
    ".venv",
    "__pycache__",
    "bower_components",
    "build",
    "dist",
    "node_modules",
    "out",
    "target",
    "vendor",
    "venv",
];

/// The last names of all protected paths, so that most entries are passed by at once.
static LAST_NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let entries = protected::entries().iter();
    entries
        .filter_map(|entry| entry.path.rsplit('/').next())
        .collect()
});

/// What was found below the top of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nested {
    pub protected: BTreeSet<PathBuf>,
    /// Directories with a `.git` in them.
    pub repositories: BTreeSet<PathBuf>,
    /// Whether all of it was looked through.
    pub is_all: bool,
}

/// Looks through `root`, and through nothing that is hidden.
pub fn look(root: &Path, hidden: &[PathBuf]) -> Nested {
    let mut nested = Nested {
        is_all: true,
        ..Nested::default()
    };
    let mut ahead = VecDeque::from([(root.to_owned(), 0)]);
    let mut looked = 0;
    while let Some((directory, depth)) = ahead.pop_front() {
        if looked == DIRECTORIES_MAX {
            nested.is_all = false;
            break;
        }
        looked += 1;
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_str().unwrap_or_default();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if name == ".git" {
                if depth > 0 {
                    nested.repositories.insert(directory.clone());
                }
            } else if is_protected(root, &path, name) {
                nested.protected.insert(path);
            } else if is_directory && !SKIPPED.contains(&name) && !hidden.contains(&path) {
                match depth < DEPTH_MAX {
                    true => ahead.push_back((path, depth + 1)),
                    false => nested.is_all = false,
                }
            }
        }
    }
    nested
}

/// Whether it is a protected path, and not one at the very top.
fn is_protected(root: &Path, path: &Path, name: &str) -> bool {
    if !LAST_NAMES.contains(name) {
        return false;
    }
    let inner = path.strip_prefix(root).unwrap_or(path);
    protected::find(inner).is_some_and(|entry| Path::new(entry.path) != inner)
}
