//! The skills of a workspace as people see them: all that lie in its places, in use or not, and what is
//! wrong with those that cannot be used.

use std::path::{Path, PathBuf};

use vocabulary::{Skill, SkillText};

use super::front::{self, FrontMatter, is_name};
use super::look::{self, IconRoom};
use super::tiers::{self, SkillPlace};
use super::{FILE, SKILLS};
use crate::folders::GUARDED;
use crate::{Failure, Scope};

/// How many are listed.
const SKILLS_MAX: usize = 500;
const TRIGGERS_MAX: usize = 20;
const TRIGGER_CHARS_MAX: usize = 100;

/// What lies in the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillCatalog {
    /// By name. Only a name that is not in use as well can be there twice.
    pub skills: Vec<Skill>,
    pub problems: Vec<SkillProblem>,
}

/// Why a file does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProblem {
    pub path: PathBuf,
    pub problem: String,
}

/// All skills, whether the workspace is trusted or not. Blocks.
pub fn catalog(scope: &Scope) -> SkillCatalog {
    let mut catalog = SkillCatalog::default();
    let mut icons = IconRoom::default();
    for name in tiers::names(scope, true) {
        let mut used: Option<PathBuf> = None;
        for place in tiers::places(scope, &name) {
            let outcome = match (place, &used) {
                (Ok(place), Some(first)) => Err(hidden(&place, first)),
                (Ok(place), None) => described(&place, &name, true, &mut icons),
                (Err(closed), _) => Err(SkillProblem {
                    path: closed.file,
                    problem: words(closed.why),
                }),
            };
            if let Ok(skill) = &outcome {
                used = Some(skill.path.clone());
            }
            catalog.add(outcome);
        }
    }
    for name in disabled_names(scope) {
        let place = tiers::disabled(scope, &name);
        let outcome = place.map(|place| described(&place, &name, false, &mut icons));
        outcome.into_iter().for_each(|outcome| catalog.add(outcome));
    }
    catalog.problems.extend(misnamed(scope));
    catalog.skills.sort_by(|a, b| a.name.cmp(&b.name));
    catalog.skills.truncate(SKILLS_MAX);
    catalog
}

impl SkillCatalog {
    fn add(&mut self, outcome: Result<Skill, SkillProblem>) {
        match outcome {
            Ok(skill) => self.skills.push(skill),
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// One skill with its text: the one that is in use, or else the one that is not. Blocks.
pub fn read(scope: &Scope, name: &str) -> Option<SkillText> {
    if !is_name(name) {
        return None;
    }
    let mut icons = IconRoom::default();
    let places = tiers::places(scope, name).into_iter().flatten();
    let places = places.map(|place| (place, true));
    let disabled = tiers::disabled(scope, name).map(|place| (place, false));
    places.chain(disabled).find_map(|(place, enabled)| {
        let skill = described(&place, name, enabled, &mut icons).ok()?;
        let text = place.text(name).ok()?;
        let content = front::body(&text, name).ok()?.trim().to_owned();
        Some(SkillText { skill, content })
    })
}

fn disabled_names(scope: &Scope) -> Vec<String> {
    let names = tiers::disabled_folder(scope).map(|folder| tiers::names_in(&folder));
    let mut names = names.unwrap_or_default();
    names.retain(|name| is_name(name));
    names
}

fn described(
    place: &SkillPlace,
    name: &str,
    enabled: bool,
    icons: &mut IconRoom,
) -> Result<Skill, SkillProblem> {
    let problem = |problem: String| SkillProblem {
        path: place.file.clone(),
        problem,
    };
    let text = place.text(name).map_err(|why| problem(words(why)))?;
    let front = FrontMatter::of(&text).map_err(problem)?;
    let (description, _) = front.described(name, "its directory").map_err(problem)?;
    let interface = place.directory();
    Ok(Skill {
        name: name.to_owned(),
        path: place.file.clone(),
        tier: place.tier,
        enabled,
        triggers: triggers(&front, name),
        description,
        interface: interface.and_then(|directory| look::read(directory, icons)),
    })
}

fn triggers(front: &FrontMatter<'_>, name: &str) -> Vec<String> {
    let mut triggers = front.list("triggers");
    if triggers.is_empty() {
        triggers = front.nested_list("metadata", "triggers");
    }
    triggers.retain(|trigger| trigger.chars().count() <= TRIGGER_CHARS_MAX);
    triggers.truncate(TRIGGERS_MAX);
    match triggers.is_empty() {
        true => vec![name.to_owned()],
        false => triggers,
    }
}

fn hidden(place: &SkillPlace, first: &Path) -> SkillProblem {
    SkillProblem {
        path: place.file.clone(),
        problem: format!("{} has the same name and goes before it", first.display()),
    }
}

/// Skills that can never be found, as their directories have names that no skill can have.
fn misnamed(scope: &Scope) -> Vec<SkillProblem> {
    let project = GUARDED.map(|folder| scope.directory.join(folder).join(SKILLS));
    let folders = scope.skills.iter().chain(&project);
    let names = folders.flat_map(|folder| {
        let names = tiers::names_in(folder).into_iter();
        names.map(|name| (folder.join(&name).join(FILE), name))
    });
    let problem =
        "the name of its directory must be small letters and digits, in words joined by '-'";
    let wrong = names.filter(|(_, name)| !is_name(name));
    wrong
        .map(|(path, _)| SkillProblem {
            path,
            problem: problem.to_owned(),
        })
        .collect()
}

/// For people, to whom it does not matter which tool would have said it.
fn words(failure: Failure) -> String {
    match failure {
        Failure::Error(message) => message.trim_start_matches("skill: ").to_owned(),
        Failure::Cancelled(_) => "it could not be read".to_owned(),
    }
}
