//! Taking over what another agent's file has; all of this blocks.

use std::path::{Path, PathBuf};

use tools::folders::OTHER_AGENTS;
use vocabulary::{McpScope, Refusal, Why};

use super::entries;
use super::file::EditedFile;
use crate::config::{FILE, spelling};
use crate::files::{HeldDirectory, SmallFileError};
use crate::{McpOptions, McpPlace};

/// Numbers that an older file is given when it is not the first.
const ARCHIVES_MAX: u32 = 100;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    pub imported: u32,
    /// Already there under the same name.
    pub skipped: u32,
    /// Where the older file lies now.
    pub archived: Option<PathBuf>,
}

/// The directory that the other agents' folder lies in.
pub fn source(options: &McpOptions, place: &McpPlace, scope: McpScope) -> Option<PathBuf> {
    match scope {
        McpScope::Workspace => Some(place.directory.clone()),
        McpScope::User => options.user.clone(),
    }
}

pub fn migrate(base: Option<&Path>, target: &EditedFile) -> Result<Migrated, Refusal> {
    let Some(base) = base else {
        return Ok(Migrated::default());
    };
    let path = base.join(OTHER_AGENTS).join(FILE);
    let failed = |error: SmallFileError| {
        let message = format!("{} cannot be taken over: {error}", path.display());
        Refusal::new(Why::Storage, message)
    };
    let Some(directory) = HeldDirectory::open(base, &[OTHER_AGENTS]).map_err(failed)? else {
        return Ok(Migrated::default());
    };
    let _lock = directory.lock().map_err(failed)?;
    let Some((bytes, _)) = directory.read(FILE).map_err(failed)? else {
        return Ok(Migrated::default());
    };
    let root = spelling::parse_root(&bytes);
    let root = root.and_then(|root| spelling::servers_of(&root).map(|_| root));
    let root = root.map_err(|error| {
        let path = path.display();
        let message = format!("{path} is malformed and was not taken over: {error}");
        Refusal::new(Why::Conflict, message)
    })?;
    let theirs = root.get("servers").and_then(|list| list.as_array());
    let theirs = theirs.cloned().unwrap_or_default();
    let mut migrated = target.change(|list| {
        let mut migrated = Migrated::default();
        for entry in theirs {
            let name = entries::name_of(&entry);
            match name.and_then(|name| entries::position(list, name)) {
                Some(_) => migrated.skipped += 1,
                None => {
                    list.push(entry);
                    migrated.imported += 1;
                }
            }
        }
        Ok(migrated)
    })?;
    migrated.archived = Some(base.join(OTHER_AGENTS).join(archive(&directory)?));
    Ok(migrated)
}

/// Gives the older file a name under which nobody reads it, and says which.
fn archive(directory: &HeldDirectory) -> Result<String, Refusal> {
    let stem = FILE.trim_end_matches(".json");
    let names = (1..=ARCHIVES_MAX).map(|number| match number {
        1 => format!("{stem}.legacy-migrated.json"),
        number => format!("{stem}.legacy-migrated-{number}.json"),
    });
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!(
            "the servers were taken over, but the older file could not be put aside: {error}"
        );
        Refusal::new(Why::Storage, message)
    };
    for name in names {
        if directory
            .rename(FILE, &name)
            .map_err(|error| failed(&error))?
        {
            return Ok(name);
        }
    }
    Err(failed(&"too many are there already"))
}
