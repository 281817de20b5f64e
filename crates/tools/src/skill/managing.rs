//! Global skills are switched on and off by moving them, deleted, and made.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::front::is_name;
use super::{FILE, catalog, tiers};
use crate::Scope;

/// Why a skill stays as it is.
#[derive(Debug, Error)]
pub enum SkillChangeError {
    #[error("there is no such skill")]
    NotFound,
    #[error("only global skills can be changed")]
    NotGlobal,
    #[error("{} is in the way: remove it or give it another name", .0.display())]
    InTheWay(PathBuf),
    #[error("a name is small letters and digits, in words joined by '-', of at most 64 characters")]
    Name,
    #[error("{} cannot be changed: {why}", path.display())]
    Failed { path: PathBuf, why: io::Error },
}

/// Puts a global skill into use, or takes it out of use. One that is so already stays. Blocks.
pub fn set_enabled(scope: &Scope, name: &str, enabled: bool) -> Result<(), SkillChangeError> {
    let (on, off) = both_places(scope, name)?;
    let (from, to) = match enabled {
        true => (off, on),
        false => (on, off),
    };
    if !lies(&from) {
        // Nothing to do, or nothing to do it with.
        return match lies(&to) {
            true => Ok(()),
            false => Err(not_global(scope, name)),
        };
    }
    if std::fs::symlink_metadata(&to).is_ok() {
        return Err(SkillChangeError::InTheWay(to));
    }
    let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::rename(&from, &to))
        .map_err(failed(&from))
}

/// Deletes a global skill with all that is in its directory, whether it is in use or not; of a link only
/// the link. Blocks.
pub fn delete(scope: &Scope, name: &str) -> Result<(), SkillChangeError> {
    let (on, off) = both_places(scope, name)?;
    let path = [on, off].into_iter().find(|path| lies(path));
    let path = path.ok_or_else(|| not_global(scope, name))?;
    let is_link = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
    let removed = match is_link {
        true => std::fs::remove_file(&path),
        false => std::fs::remove_dir_all(&path),
    };
    removed.map_err(failed(&path))
}

/// Makes a skill in this directory of skills, to be filled in; gives its file. Blocks.
pub fn create(folder: &Path, name: &str) -> Result<PathBuf, SkillChangeError> {
    if !is_name(name) {
        return Err(SkillChangeError::Name);
    }
    let directory = folder.join(name);
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    match std::fs::create_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(SkillChangeError::InTheWay(directory));
        }
        made => made.map_err(failed(&directory))?,
    }
    let file = directory.join(FILE);
    let text = format!(
        "---\nname: {name}\ndescription: What it does, and when an agent should load it.\n---\n\n\
         # {name}\n\nSay what to do, step by step.\n"
    );
    std::fs::write(&file, text).map_err(failed(&file))?;
    Ok(file)
}

/// Where a global skill of this name lies when it is in use, and when not.
fn both_places(scope: &Scope, name: &str) -> Result<(PathBuf, PathBuf), SkillChangeError> {
    if !is_name(name) {
        return Err(SkillChangeError::NotFound);
    }
    let places = tiers::global_folder(scope).zip(tiers::disabled_folder(scope));
    match places {
        Some((on, off)) => Ok((on.join(name), off.join(name))),
        None => Err(not_global(scope, name)),
    }
}

fn lies(directory: &Path) -> bool {
    directory.join(FILE).is_file()
}

/// Whether there is none at all, or only another's.
fn not_global(scope: &Scope, name: &str) -> SkillChangeError {
    match catalog::read(scope, name) {
        Some(_) => SkillChangeError::NotGlobal,
        None => SkillChangeError::NotFound,
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> SkillChangeError {
    let path = path.to_owned();
    |why| SkillChangeError::Failed { path, why }
}
