//! What a file that does not exist may have been meant to be.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::directory;
use crate::path::PathDisplay;
use crate::{Scope, walk};

const NAMES_MAX: usize = 3;
/// Names that are less alike are not worth showing.
const LIKENESS_MIN: f64 = 0.6;
/// So many files and directories are passed in search of the same name.
const VISITED_MAX: usize = 20_000;

/// Up to three names: the most alike in the same directory, then files of this name anywhere.
pub(super) fn of(scope: &Scope, cancel: &CancellationToken, target: &Path) -> Vec<String> {
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy().to_lowercase();
    let display = PathDisplay::of(scope);
    let folder = display.path(parent);
    let in_folder = |name: String| match folder.as_str() {
        "" => name,
        folder => format!("{folder}/{name}"),
    };
    let alike = alike(scope, parent, &name).into_iter();
    let mut near: Vec<String> = alike.take(NAMES_MAX).map(in_folder).collect();
    let Ok(root) = std::fs::canonicalize(&scope.directory) else {
        return near;
    };
    let mut walk = walk::below(scope, &root, |_| true);
    walk.sort_by_file_path(Path::cmp);
    for entry in walk.build().take(VISITED_MAX).flatten() {
        if near.len() >= NAMES_MAX || cancel.is_cancelled() {
            break;
        }
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_string_lossy().to_lowercase() == name {
            let path = display.path(entry.path());
            if !near.contains(&path) {
                near.push(path);
            }
        }
    }
    near
}

/// The names in a directory that are much like this one, the most alike first.
fn alike(scope: &Scope, directory: &Path, name: &str) -> Vec<String> {
    let names = directory::names(scope, directory).unwrap_or_default();
    let scored = names.into_iter().map(|other| {
        let plain = other.trim_end_matches('/').to_lowercase();
        (strsim::normalized_damerau_levenshtein(&plain, name), other)
    });
    let mut alike: Vec<(f64, String)> =
        scored.filter(|(score, _)| *score >= LIKENESS_MIN).collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    alike.into_iter().map(|(_, name)| name).collect()
}
