//! Changing a file: all or nothing, and told as a unified diff.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use similar::TextDiff;

use crate::{Change, ChangeKind, Failure, Scope, path};

/// Larger files are neither edited nor compared.
pub(crate) const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A longer diff is cut.
const DIFF_CHARS_MAX: usize = 400_000;
/// After this a diff is finished roughly, rather than finely.
const DIFF_TIME_MAX: Duration = Duration::from_millis(500);
/// A new file may be read and written by all whom the process's umask lets.
const NEW_FILE_MODE: u32 = 0o666;

/// Replaces the content of the canonical path `target` in one step, and keeps its mode.
pub(crate) fn replace(
    tool: &str,
    target: &Path,
    given: &str,
    content: &str,
) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::Error(format!("{tool}: cannot write {given}: {error}"));
    let parent = target
        .parent()
        .ok_or_else(|| Failure::Error(format!("{tool}: {given} is not a file")))?;
    std::fs::create_dir_all(parent).map_err(failed)?;
    // The parents may have become links since the path was resolved.
    if std::fs::canonicalize(parent).map_err(failed)? != parent {
        return Err(Failure::Error(format!(
            "{tool} blocked: canonical target resolves outside allowed directories: {given}"
        )));
    }
    let permissions = match std::fs::symlink_metadata(target) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(Failure::Error(format!(
                "{tool}: {given} is not a plain file"
            )));
        }
        // A rename would not mind, but whoever made the file so did.
        Ok(metadata) if metadata.permissions().readonly() => {
            return Err(Failure::Error(format!("{tool}: {given} is read-only")));
        }
        Ok(metadata) => Some(metadata.permissions()),
        Err(_) => None,
    };
    let mut file = tempfile::Builder::new()
        .prefix(".dragoman-")
        .permissions(Permissions::from_mode(NEW_FILE_MODE))
        .tempfile_in(parent)
        .map_err(failed)?;
    file.write_all(content.as_bytes()).map_err(failed)?;
    if let Some(permissions) = permissions {
        file.as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
    }
    // Without this a power cut may leave the new name with none of its content.
    file.as_file().sync_data().map_err(failed)?;
    // Renaming replaces a link that came in between, and never follows it.
    file.persist(target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The change from `old` (`None`: there was no file) to `new`.
pub(crate) fn describe(scope: &Scope, target: &Path, old: Option<&str>, new: &str) -> Change {
    let path = path::display(scope, target);
    match old {
        None => Change {
            path,
            kind: ChangeKind::Add,
            diff: new.to_owned(),
        },
        Some(old) => Change {
            diff: diff(&path, old, new),
            path,
            kind: ChangeKind::Update,
        },
    }
}

fn diff(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME_MAX)
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    match diff.char_indices().nth(DIFF_CHARS_MAX) {
        None => diff,
        Some((cut, _)) => {
            let more = diff[cut..].chars().count();
            format!(
                "{}\n[{more} more characters of this diff were cut]",
                &diff[..cut]
            )
        }
    }
}
