//! Where skills lie: with the workspace, in the user's two directories, in the server itself. Of two with
//! one name the first is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vocabulary::SkillTier;

use super::front::is_name;
use super::{FILE, SKILLS, built_in, content};
use crate::folders::GUARDED;
use crate::{Failure, Scope, path};

/// Beside the directory of global skills, where those lie that are not in use.
const DISABLED: &str = "disabled-skills";
/// What the paths of skills begin with that lie nowhere.
const BUILT_IN_ROOT: &str = "builtin:";
/// A directory with more entries is not looked at to its end.
const ENTRIES_MAX: usize = 1_000;

/// One skill as it lies somewhere, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SkillPlace {
    pub tier: SkillTier,
    /// Its SKILL.md; of one that is built in, a path that leads nowhere.
    pub file: PathBuf,
    /// The same from the workspace on, for what came with it.
    pub in_workspace: Option<PathBuf>,
}

impl SkillPlace {
    pub fn text(&self, name: &str) -> Result<String, Failure> {
        match self.tier {
            SkillTier::BuiltIn => {
                let text = built_in::find(name).map(|skill| skill.text.to_owned());
                Ok(text.unwrap_or_default())
            }
            SkillTier::Project | SkillTier::Global | SkillTier::User => content(&self.file),
        }
    }

    /// Where its other files are.
    pub fn directory(&self) -> Option<&Path> {
        match self.tier {
            SkillTier::BuiltIn => None,
            SkillTier::Project | SkillTier::Global | SkillTier::User => self.file.parent(),
        }
    }
}

/// A place that may not be looked at, and why not.
pub(super) struct ClosedPlace {
    pub file: PathBuf,
    pub why: Failure,
}

/// Where skills of this name lie, the strongest first.
pub(super) fn places(scope: &Scope, name: &str) -> Vec<Result<SkillPlace, ClosedPlace>> {
    let mut places = Vec::new();
    for folder in GUARDED {
        let path = format!("{folder}/{SKILLS}/{name}/{FILE}");
        // Looked at before the path guard is asked, which costs far more: every turn comes here.
        if std::fs::symlink_metadata(scope.directory.join(&path)).is_err() {
            continue;
        }
        match path::resolve("skill", scope, &path) {
            // Whose workspace holds their home directory did not get these with it.
            Ok(file) if is_users_own(scope, &file) => {}
            Ok(file) if file.is_file() => places.push(Ok(SkillPlace {
                tier: SkillTier::Project,
                file,
                in_workspace: Some(path.into()),
            })),
            Ok(_) => {}
            Err(why) => places.push(Err(ClosedPlace {
                file: scope.directory.join(path),
                why,
            })),
        }
    }
    let users = scope.skills.iter().zip(tiers_of_user());
    places.extend(users.filter_map(|(folder, tier)| plain(folder, name, tier).map(Ok)));
    places.extend(built_in::find(name).map(|skill| {
        Ok(SkillPlace {
            tier: SkillTier::BuiltIn,
            file: Path::new(BUILT_IN_ROOT).join(skill.name).join(FILE),
            in_workspace: None,
        })
    }));
    places
}

/// A skill in a directory of the user's, whose links lead where the user wants.
fn plain(folder: &Path, name: &str, tier: SkillTier) -> Option<SkillPlace> {
    let file = std::fs::canonicalize(folder.join(name).join(FILE)).ok()?;
    file.is_file().then_some(SkillPlace {
        tier,
        file,
        in_workspace: None,
    })
}

/// The global skill of this name that is not in use.
pub(super) fn disabled(scope: &Scope, name: &str) -> Option<SkillPlace> {
    plain(&disabled_folder(scope)?, name, SkillTier::Global)
}

/// Where global skills lie: the first of the user's directories.
pub(super) fn global_folder(scope: &Scope) -> Option<&PathBuf> {
    scope.skills.first()
}

pub(super) fn disabled_folder(scope: &Scope) -> Option<PathBuf> {
    Some(global_folder(scope)?.parent()?.join(DISABLED))
}

fn tiers_of_user() -> impl Iterator<Item = SkillTier> {
    std::iter::once(SkillTier::Global).chain(std::iter::repeat(SkillTier::User))
}

fn is_users_own(scope: &Scope, file: &Path) -> bool {
    let mut folders = scope.skills.iter();
    folders.any(|folder| std::fs::canonicalize(folder).is_ok_and(|folder| file.starts_with(folder)))
}

/// The names in all places; of the workspace only where `project` says so.
pub(super) fn names(scope: &Scope, project: bool) -> BTreeSet<String> {
    let mut folders: Vec<PathBuf> = scope.skills.clone();
    if project {
        folders.extend(GUARDED.map(|folder| scope.directory.join(folder).join(SKILLS)));
    }
    let built_in = built_in::BUILT_IN.iter().map(|skill| skill.name.to_owned());
    let names = folders.iter().flat_map(|folder| names_in(folder));
    names.filter(|name| is_name(name)).chain(built_in).collect()
}

/// The directories with a skill's file in this one, also those with a name that no skill can have.
pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let skills = entries
        .take(ENTRIES_MAX)
        .filter(|entry| entry.path().join(FILE).is_file());
    let names = skills.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}
