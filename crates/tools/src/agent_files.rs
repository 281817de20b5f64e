//! Files for agents that are programs of their own: read and written through the same guard as by our
//! tools.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use vocabulary::FileChange;

use crate::change::{self, FILE_BYTES_MAX, PendingChange};
use crate::held::Place;
use crate::{Failure, Scope, SeenFiles, path};

const READ: &str = "read";
const WRITE: &str = "write";

/// The text of a file of the workspace: `limit` lines from `line` on, which counts from 1. Blocks.
pub fn read_text(
    scope: &Scope,
    given: &str,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<String, String> {
    let target = path::resolve(READ, scope, given).map_err(words)?;
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => format!("{READ}: there is no file {given}"),
        // tidy: wildcard, because the system says the others itself.
        _ => format!("{READ}: cannot read {given}: {error}"),
    };
    let place = Place::find(&target).map_err(failed)?;
    let (file, _) = place.open().map_err(failed)?;
    let mut bytes = Vec::new();
    let mut beginning = file.take(FILE_BYTES_MAX + 1);
    beginning.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let megabytes = FILE_BYTES_MAX / 1024 / 1024;
        return Err(format!("{READ}: {given} is larger than {megabytes} MB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("{READ}: {given} is not a text"))?;
    if line.is_none() && limit.is_none() {
        return Ok(text);
    }
    let first = line.unwrap_or(1).saturating_sub(1) as usize;
    let count = limit.map_or(usize::MAX, |limit| limit as usize);
    Ok(text.split_inclusive('\n').skip(first).take(count).collect())
}

/// Writes a whole file of the workspace, with the directories that it lies in. Blocks.
pub fn write_text(
    scope: &Scope,
    seen: &SeenFiles,
    given: &str,
    content: &str,
) -> Result<(), String> {
    if scope.read_only {
        return Err(format!("{WRITE} blocked: this thread may only read"));
    }
    let target = path::resolve_to_change(WRITE, scope, given).map_err(words)?;
    let change = PendingChange::open(WRITE, given, target).map_err(words)?;
    change
        .save_whole(seen, content.as_bytes())
        .map_err(words)
        .map(|_| ())
}

/// How a file changes, as an agent told it. `old`: nothing where there was no file.
pub fn change_of(scope: &Scope, path: &Path, old: Option<&str>, new: &str) -> FileChange {
    change::describe(scope, path, old, new)
}

fn words(failure: Failure) -> String {
    match failure {
        Failure::Error(error) => error,
        Failure::Cancelled(output) => output.words().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn files_are_read_and_written_inside_the_workspace_alone() {
        let scratch = Scratch::new();
        let scope = scratch.scope();
        let seen = SeenFiles::default();
        write_text(&scope, &seen, "new/a.txt", "1\n2\n3\n").expect("written");
        assert_eq!(
            read_text(&scope, "new/a.txt", None, None).as_deref(),
            Ok("1\n2\n3\n")
        );
        assert_eq!(
            read_text(&scope, "new/a.txt", Some(2), Some(1)).as_deref(),
            Ok("2\n")
        );
        for outside in ["../a.txt", "/etc/hostname", ".git/config"] {
            let written = write_text(&scope, &seen, outside, "x");
            assert!(
                written.is_err_and(|why| why.contains("blocked")),
                "{outside}"
            );
        }
        assert!(read_text(&scope, "/etc/hostname", None, None).is_err());
        assert!(read_text(&scope, "none.txt", None, None).is_err());
        let reader = Scope {
            read_only: true,
            ..scope
        };
        let written = write_text(&reader, &seen, "new/a.txt", "x");
        assert_eq!(
            written,
            Err("write blocked: this thread may only read".to_owned())
        );
    }
}
