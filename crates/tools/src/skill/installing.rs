//! Skills are installed whole: an archive is read, checked and written beside, then put in its place in
//! one step.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use thiserror::Error;
use vocabulary::{SkillArchive, SkillChange, SkillChangeKind, SkillTier};

use super::archive::{self, ArchiveError, PackedFiles};
use super::front::{FrontMatter, is_name};
use super::{FILE, SKILL_BYTES_MAX, tiers};
use crate::Scope;

/// Beside the directory of global skills, where they are written before they are put in their place.
const STAGING: &str = "installing-skills";

/// Why a skill is not installed. Nothing was changed.
#[derive(Debug, Error)]
pub enum SkillInstallError {
    #[error("the archive cannot be used: {0}")]
    Archive(#[from] ArchiveError),
    #[error("the archive has no {FILE}, or more than one directory beside it")]
    NoSkill,
    #[error("{FILE} cannot be used: {0}")]
    Skill(String),
    #[error("skill \"{0}\" is installed already; update it instead")]
    Exists(String),
    #[error("skill \"{0}\" is not installed")]
    NotFound(String),
    #[error("the archive has the skill \"{found}\", not \"{expected}\"")]
    OtherName { found: String, expected: String },
    #[error("skill \"{0}\" is another one by now: look at it again")]
    Changed(String),
    #[error("skill \"{0}\" is a link; change what it points to")]
    Link(String),
    #[error("there is no place for skills of your own")]
    NoPlace,
    #[error("{} cannot be written: {why}", path.display())]
    Failed { path: PathBuf, why: std::io::Error },
}

/// Puts an archive's skill where global ones lie, or in the place of one. Blocks.
pub fn install(scope: &Scope, packed: &SkillArchive) -> Result<SkillChange, SkillInstallError> {
    let on = tiers::global_folder(scope).ok_or(SkillInstallError::NoPlace)?;
    let off = tiers::disabled_folder(scope).ok_or(SkillInstallError::NoPlace)?;
    let above = on.parent().ok_or(SkillInstallError::NoPlace)?;
    let files = of_one_directory(archive::unpack(&packed.packed)?)?;
    let name = name_of(&files)?;
    let places = [on.join(&name), off.join(&name)];
    let known = places.iter().find(|path| path.symlink_metadata().is_ok());
    let before = match (&packed.replaces, known) {
        (None, None) => None,
        (None, Some(_)) => return Err(SkillInstallError::Exists(name)),
        (Some(replaces), _) if replaces.name != name => {
            let (found, expected) = (name, replaces.name.clone());
            return Err(SkillInstallError::OtherName { found, expected });
        }
        (Some(_), None) => return Err(SkillInstallError::NotFound(name)),
        (Some(_), Some(known)) if known.is_symlink() => return Err(SkillInstallError::Link(name)),
        (Some(replaces), Some(known)) => {
            let is = super::fingerprint(known);
            if replaces.fingerprint.as_ref().is_some_and(|was| *was != is) {
                return Err(SkillInstallError::Changed(name));
            }
            Some(is)
        }
    };
    let staging = above.join(STAGING);
    std::fs::create_dir_all(&staging).map_err(failed(&staging))?;
    // Removed when it is dropped, with whatever was written by then.
    let written = tempfile::tempdir_in(&staging).map_err(failed(&staging))?;
    let fresh = written.path().join(&name);
    write(&fresh, &files)?;
    let after = super::fingerprint(&fresh);
    let place = known.unwrap_or(&places[0]);
    std::fs::create_dir_all(on).map_err(failed(on))?;
    let flags = match known {
        // The old one is where the new one was, and goes with it.
        Some(_) => RenameFlags::EXCHANGE,
        None => RenameFlags::NOREPLACE,
    };
    let put = renameat_with(CWD, &fresh, CWD, place, flags);
    put.map_err(|why| failed(place)(why.into()))?;
    drop(written);
    let _ = std::fs::remove_dir(&staging);
    Ok(SkillChange {
        name,
        tier: SkillTier::Global,
        what: match before.is_some() {
            true => SkillChangeKind::Updated,
            false => SkillChangeKind::Installed,
        },
        before,
        after: Some(after),
    })
}

/// The files from the skill's own directory on: the archive's, or the only one in it.
fn of_one_directory(files: PackedFiles) -> Result<PackedFiles, SkillInstallError> {
    if files.contains_key(FILE) {
        return Ok(files);
    }
    let first = files.keys().next().and_then(|path| path.split_once('/'));
    let top = first.map(|(top, _)| format!("{top}/"));
    let top = top.ok_or(SkillInstallError::NoSkill)?;
    let inner: Option<PackedFiles> = files
        .into_iter()
        .map(|(path, file)| Some((path.strip_prefix(&top)?.to_owned(), file)))
        .collect();
    let inner = inner.filter(|files| files.contains_key(FILE));
    inner.ok_or(SkillInstallError::NoSkill)
}

fn name_of(files: &PackedFiles) -> Result<String, SkillInstallError> {
    let wrong = |what: String| SkillInstallError::Skill(what);
    let file = files.get(FILE).ok_or(SkillInstallError::NoSkill)?;
    if file.content.len() as u64 > SKILL_BYTES_MAX {
        return Err(wrong(format!("it has more than {SKILL_BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(&file.content);
    let text = text.map_err(|_| wrong("it is not UTF-8 text".to_owned()))?;
    let front = FrontMatter::of(text).map_err(wrong)?;
    let name = front.field("name").unwrap_or_default();
    if !is_name(&name) {
        let what = "its name must be small letters and digits, in words joined by '-'";
        return Err(wrong(what.to_owned()));
    }
    front.described(&name, "its directory").map_err(wrong)?;
    Ok(name)
}

fn write(directory: &Path, files: &PackedFiles) -> Result<(), SkillInstallError> {
    std::fs::create_dir(directory).map_err(failed(directory))?;
    for (path, file) in files {
        let path = directory.join(path);
        let above = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(above).map_err(failed(above))?;
        // A file where a directory is wanted, or the other way round, fails here.
        std::fs::write(&path, &file.content).map_err(failed(&path))?;
        let mode = if file.executable { 0o755 } else { 0o644 };
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, mode).map_err(failed(&path))?;
    }
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> SkillInstallError {
    let path = path.to_owned();
    |why| SkillInstallError::Failed { path, why }
}

#[cfg(test)]
mod tests;
