//! A directory as `read` shows it: its entries by name.

use std::path::Path;

use super::{ReadRequest, cannot, error};
use crate::path::Private;
use crate::{Failure, Scope, shown};

/// More entries are shown with an offset.
const ENTRIES_MAX: u64 = 200;

/// The names in a directory, those of directories with a slash.
pub(super) fn list(
    scope: &Scope,
    target: &Path,
    wish: &ReadRequest<'_>,
) -> Result<String, Failure> {
    let names = names(scope, target).map_err(|problem| cannot(wish.given, problem))?;
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
