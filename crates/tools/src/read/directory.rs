//! A directory as `read` shows it: its entries by name, or all that is below it down to a depth.

use std::path::Path;

use super::{ReadRequest, cannot, error};
use crate::path::Private;
use crate::{Failure, Scope, shown, walk};

/// More entries are shown with an offset.
const ENTRIES_MAX: u64 = 200;
/// Of more than these nothing is told.
const ENTRIES_BELOW_MAX: usize = 10_000;

/// The names in a directory, those of directories with a slash.
pub(super) fn list(
    scope: &Scope,
    target: &Path,
    wish: &ReadRequest<'_>,
) -> Result<String, Failure> {
    let names = match wish.depth {
        0 | 1 => names(scope, target).map_err(|problem| cannot(wish.given, problem))?,
        depth => names_below(scope, target, depth, wish),
    };
    let total = names.len() as u64;
    if total == 0 {
        return Ok("[the directory is empty]".to_owned());
    }
    let first = wish.first.number(total);
    if first > total {
        return Err(error(format!(
            "\"offset\" {first} is past the end: {} has {total} entries",
            wish.given
        )));
    }
    let end = total.min((first - 1).saturating_add(wish.limit.min(ENTRIES_MAX)));
    let mut text = names[first as usize - 1..end as usize].join("\n");
    if end < total {
        text.push_str(&format!(
            "\n[entries {first}-{end} of {total}; read on with offset {}]",
            end + 1
        ));
    }
    Ok(text)
}

/// The names in a directory that may be seen, sorted.
pub(super) fn names(scope: &Scope, target: &Path) -> std::io::Result<Vec<String>> {
    let private = Private::of(scope);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(target)? {
        // One that is gone by now is not there.
        let Ok(entry) = entry else { continue };
        if private.has(&entry.path()) {
            continue;
        }
        let name = entry.file_name();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let slash = if is_directory { "/" } else { "" };
        names.push(format!("{}{slash}", shown::line(&name.to_string_lossy())));
    }
    names.sort_unstable();
    Ok(names)
}

/// The paths below a directory down to this depth, without what git ignores, sorted.
fn names_below(scope: &Scope, target: &Path, depth: u64, wish: &ReadRequest<'_>) -> Vec<String> {
    let mut builder = walk::below(scope, target, |_| true);
    builder
        .max_depth(usize::try_from(depth).ok())
        .sort_by_file_name(Ord::cmp);
    let entries = builder.build().flatten().skip(1);
    let shown = entries.filter_map(|entry| {
        let path = entry.path().strip_prefix(target).ok()?;
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let slash = if is_directory { "/" } else { "" };
        Some(format!("{}{slash}", shown::line(&path.to_string_lossy())))
    });
    shown
        .take(ENTRIES_BELOW_MAX)
        .take_while(|_| !wish.cancel.is_cancelled())
        .collect()
}
