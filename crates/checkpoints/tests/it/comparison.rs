//! How two trees differ, by comparing every path of both: what the vault has to agree with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use checkpoints::{EntryChange, FileKind, RestoreStep};
use vocabulary::{FileChangeKind, RestoreAction};

use crate::tree::Tree;

/// A change without what only the vault can know.
pub type Difference = (PathBuf, FileChangeKind, FileKind);

pub fn differences(from: &Tree, to: &Tree) -> Vec<Difference> {
    let paths: BTreeSet<&PathBuf> = from.keys().chain(to.keys()).collect();
    let mut found = Vec::new();
    for path in paths {
        let change = match (from.get(path), to.get(path)) {
            (None, Some(new)) => (FileChangeKind::Add, new.kind()),
            (Some(old), None) => (FileChangeKind::Delete, old.kind()),
            (Some(old), Some(new)) if old != new => (FileChangeKind::Update, new.kind()),
            (Some(_), Some(_)) | (None, None) => continue,
        };
        found.push((path.clone(), change.0, change.1));
    }
    found
}

/// The same of what the vault says.
pub fn told(changes: &[EntryChange]) -> Vec<Difference> {
    let mut told: Vec<Difference> = changes
        .iter()
        .map(|change| (change.path.clone(), change.what, change.kind))
        .collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    told
}

/// What a restore has to do to turn one tree into the other.
pub fn steps(from: &Tree, to: &Tree) -> Vec<RestoreStep> {
    let step = |(path, what, _): Difference| RestoreStep {
        path,
        how: match what {
            FileChangeKind::Add => RestoreAction::Create,
            FileChangeKind::Update => RestoreAction::Replace,
            FileChangeKind::Delete => RestoreAction::Delete,
        },
    };
    differences(from, to).into_iter().map(step).collect()
}

pub fn sorted(mut steps: Vec<RestoreStep>) -> Vec<RestoreStep> {
    steps.sort_by(|one, other| one.path.cmp(&other.path));
    steps
}

/// One tree with what lies at a path taken from another.
pub fn grafted(tree: &Tree, path: &Path, from: &Tree) -> Tree {
    let below = |(at, _): &(&PathBuf, _)| at.starts_with(path);
    let mut grafted: Tree = tree
        .iter()
        .filter(|entry| !below(entry))
        .map(|(at, node)| (at.clone(), node.clone()))
        .collect();
    for (at, node) in from.iter().filter(below) {
        grafted.insert(at.clone(), node.clone());
    }
    // What a thing lies in comes back with it.
    if from.contains_key(path) {
        for parent in path.ancestors().skip(1) {
            if let Some(node) = from.get(parent)
                && !grafted.contains_key(parent)
            {
                grafted.insert(parent.to_owned(), node.clone());
            }
        }
    }
    grafted
}
