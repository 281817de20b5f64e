//! Reading outside of the workspace: what is closed to everyone, what is open to everyone, and what a
//! person is asked for.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::{FoundPath, PATH_CHARS_MAX, both_ways, outside_workspace, roots, shelves};
use crate::sandbox::known_places::{
    CREDENTIALS, LIBRARIES, LIBRARIES_AT_HOME, LIBRARY_VARIABLES, NOT_FOR_READING, SYSTEM_SECRETS,
};
use crate::{Failure, Judgement, Risk, Scope, Tool, policy};

/// Directories of installed packages, by their names, and what stands before the names.
const PACKAGES: [(&str, &str); 2] = [("python", "site-packages"), ("python", "dist-packages")];
const NODE_PACKAGES: &str = "node_modules";

/// Where a path leads that is to be read.
enum ReadReach {
    /// It may be read.
    Open(PathBuf),
    /// A person is asked first.
    Outside(PathBuf),
}

/// The canonical path of `given`, if the call may read it.
pub(crate) fn resolve_to_read(tool: &str, scope: &Scope, given: &str) -> Result<PathBuf, Failure> {
    resolve_to_read_from(tool, scope, &scope.directory, given)
}

/// As [`resolve_to_read`]; a relative path starts at `base`.
pub(crate) fn resolve_to_read_from(
    tool: &str,
    scope: &Scope,
    base: &Path,
    given: &str,
) -> Result<PathBuf, Failure> {
    match reach(tool, scope, base, given)? {
        ReadReach::Open(path) => Ok(path),
        ReadReach::Outside(_) if scope.outside.is_closed() => {
            Err(outside_workspace(tool, scope, given))
        }
        ReadReach::Outside(path) => match &scope.outside.asked {
            Some(asked) if path.starts_with(asked) => Ok(path),
            Some(_) | None => Err(Failure::Error(format!(
                "{tool} blocked: {given} is outside the workspace {}, and nobody was asked for it",
                scope.directory.display()
            ))),
        },
    }
}

/// The place outside that a person is to be asked for before `given` is read. What cannot be read
/// anyway is left to the one who tries.
pub(crate) fn asked_for(scope: &Scope, base: &Path, given: &str) -> Option<PathBuf> {
    if given.chars().count() > PATH_CHARS_MAX || scope.outside.is_closed() {
        return None;
    }
    match reach("", scope, base, given) {
        Ok(ReadReach::Outside(path)) => Some(path),
        Ok(ReadReach::Open(_)) | Err(_) => None,
    }
}

/// Judges a call that only reads.
pub(crate) fn judge(tool: &dyn Tool, scope: &Scope, input: &Value) -> Judgement {
    let asked = scope.outside.asked.clone();
    let Some(place) = asked.or_else(|| tool.reads_outside(scope, input)) else {
        return Judgement::Allow;
    };
    Judgement::Ask {
        command: format!("{} {}", tool.name(), place.display()),
        dangerous: false,
        risk: Risk::OutsideRead,
        why: format!(
            "reads outside the workspace; allowed for longer, it is for all of {}",
            directory_of(&place).display()
        ),
    }
}

/// What a yes to reading a place is kept under, and then what else covers it: the directories around.
pub fn grant_keys(place: &Path) -> Vec<String> {
    let key = |directory: &Path| {
        let directory = directory.display().to_string();
        policy::grant_key("read", &json!({ "directory": directory }))
    };
    directory_of(place).ancestors().map(key).collect()
}

/// A yes is for a directory, whatever of it is read.
fn directory_of(place: &Path) -> &Path {
    match place.is_dir() {
        true => place,
        false => place.parent().unwrap_or(place),
    }
}

fn reach(tool: &str, scope: &Scope, base: &Path, given: &str) -> Result<ReadReach, Failure> {
    let found = FoundPath::of(tool, scope, base, given)?;
    let workspace = roots(scope);
    let is_below = |path: &Path, places: &[PathBuf]| places.iter().any(|at| path.starts_with(at));
    let is_inside = is_below(&found.canonical, &workspace);
    // Package managers link what several projects use.
    let is_linked_package =
        is_below(&found.plain, &workspace) && has_directory(&found.canonical, NODE_PACKAGES);
    // By their names alone these could be anybody's.
    let is_named_so =
        !scope.outside.is_closed() && (is_linked_package || is_package(&found.canonical));
    let is_open = is_inside
        || is_named_so
        || is_below(&found.canonical, &shelves(scope))
        || is_below(&found.canonical, &libraries(scope));
    Ok(match is_open {
        true => ReadReach::Open(found.canonical),
        false => ReadReach::Outside(found.canonical),
    })
}

fn has_directory(path: &Path, name: &str) -> bool {
    let mut names = path.components();
    names.any(|part| part.as_os_str() == name)
}

/// Whether it is one of the packages that an interpreter finds by itself.
fn is_package(path: &Path) -> bool {
    let names: Vec<&str> = path
        .components()
        .filter_map(|part| part.as_os_str().to_str())
        .collect();
    names.windows(2).any(|pair| {
        let is = |(before, name): (&str, &str)| pair[0].starts_with(before) && pair[1] == name;
        PACKAGES.into_iter().any(is)
    })
}

/// Where toolchains and what projects depend on lie.
fn libraries(scope: &Scope) -> Vec<PathBuf> {
    let system = LIBRARIES.iter().map(PathBuf::from);
    if scope.outside.is_closed() {
        let system: Vec<PathBuf> = system.collect();
        return both_ways(system.iter());
    }
    let at_home = home(scope)
        .into_iter()
        .flat_map(|home| LIBRARIES_AT_HOME.iter().map(move |name| home.join(name)));
    let named = LIBRARY_VARIABLES.iter().filter_map(|(variable, inner)| {
        let place = PathBuf::from(std::env::var_os(variable)?).join(inner);
        // Whoever names the whole machine, or their home, does not mean a library.
        let is_narrow = place.parent().is_some() && home(scope) != Some(place.as_path());
        is_narrow.then_some(place)
    });
    let all: Vec<PathBuf> = system.chain(at_home).chain(named).collect();
    both_ways(all.iter())
}

/// What no tool shows, wherever the workspace lies.
pub(super) fn secret_places(scope: &Scope) -> Vec<PathBuf> {
    let system = SYSTEM_SECRETS.iter().chain(NOT_FOR_READING);
    let at_home = home(scope)
        .into_iter()
        .flat_map(|home| CREDENTIALS.iter().map(move |name| home.join(name)));
    system.map(PathBuf::from).chain(at_home).collect()
}

fn home(scope: &Scope) -> Option<&Path> {
    let home = scope.outside.home.as_deref();
    home.filter(|home| home.is_absolute() && home.parent().is_some())
}

/// The path with the home directory in place of a `~` in front.
pub(super) fn with_home<'a>(scope: &Scope, given: &'a str) -> Cow<'a, Path> {
    let mut parts = Path::new(given).components();
    match (parts.next(), home(scope)) {
        (Some(Component::Normal(first)), Some(home)) if first == "~" => {
            Cow::Owned(home.join(parts.as_path()))
        }
        _ => Cow::Borrowed(Path::new(given)),
    }
}

#[cfg(test)]
mod tests;
