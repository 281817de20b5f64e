//! What a repository makes git do: read from its files, never by running git.
//!
//! A repository can come from anywhere, with settings that make harmless git commands run any program.

mod config;
mod head;
mod index;
pub mod worktrees;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::path;

pub use config::{GitSetting, parse as parse_config};
pub use head::info;
pub use index::gitlinks as parse_gitlinks;

/// Larger settings are not read; nobody writes such by hand.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
const INDEX_BYTES_MAX: u64 = 256 << 20;
/// Small files that only name a place.
const POINTER_BYTES_MAX: u64 = 64 << 10;
/// How deep includes are followed; git itself stops at ten.
const INCLUDES_DEPTH_MAX: usize = 10;
const INCLUDES_MAX: usize = 100;
/// How much of a branch's name is told.
const BRANCH_CHARS_MAX: usize = 200;
/// How many repositories below are looked into.
const BELOW_MAX: usize = 256;

/// Where a repository's own files lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The top of its working tree.
    pub top: PathBuf,
    pub git_dir: PathBuf,
    /// Another one for a linked worktree.
    pub common_dir: PathBuf,
}

impl Repository {
    /// The repository that git would find from here.
    pub fn around(directory: &Path) -> Option<Repository> {
        directory.ancestors().find_map(Repository::at)
    }

    /// The repository whose working tree begins here.
    pub fn at(top: &Path) -> Option<Repository> {
        let entry = top.join(".git");
        let git_dir = match entry.is_dir() {
            true => entry,
            false => top.join(pointer(&entry)?.strip_prefix("gitdir:")?.trim_start()),
        };
        let common_dir = match pointer(&git_dir.join("commondir")) {
            Some(named) => git_dir.join(named),
            None => git_dir.clone(),
        };
        Some(Repository {
            top: top.to_owned(),
            git_dir,
            common_dir,
        })
    }

    /// The files that git takes the repository's own settings from, includes left out.
    fn config_files(&self) -> [PathBuf; 2] {
        [
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ]
    }

    /// The paths of the index that are repositories of their own.
    pub fn gitlinks(&self) -> Option<BTreeSet<String>> {
        let read = |name: &str| read_up_to(&self.git_dir.join(name), INDEX_BYTES_MAX);
        match read("index") {
            Ok(Some(bytes)) => index::gitlinks(&bytes, |shared| read(shared).ok().flatten()),
            Ok(None) => Some(BTreeSet::new()),
            Err(_) => None,
        }
    }
}

/// Why `git status`, `log`, `diff` or `branch` here would run a program that the repository names.
/// `None`: they would not.
///
/// `core.hooksPath` of the repository itself does not count: many have it, and it is switched off for
/// commands that run unasked. For repositories below it cannot be.
pub fn runs_programs(directory: &Path) -> Option<String> {
    let repository = Repository::around(directory)?;
    if let Some(why) = named_program(&repository, Depth::Top) {
        return Some(why);
    }
    let Some(links) = repository.gitlinks() else {
        return Some(format!(
            "the index in {} cannot be understood",
            repository.git_dir.display()
        ));
    };
    if links.len() > BELOW_MAX {
        return Some(format!("the repository has {} others in it", links.len()));
    }
    links
        .iter()
        .filter_map(|link| Repository::at(&repository.top.join(link)))
        .find_map(|below| named_program(&below, Depth::Below))
}

/// What git would run when it only looks at the repository whose working tree begins here, from the
/// outside: an editor does, and so does git for the repository around it.
pub(crate) fn endangers(top: &Path) -> Option<String> {
    let repository = Repository::at(top)?;
    let hooks = repository.common_dir.join("hooks");
    named_program(&repository, Depth::Below).or_else(|| {
        let hook = has_hooks(&hooks).then(|| hooks.display());
        hook.map(|hooks| format!("{hooks} has hooks in it"))
    })
}

/// The branch that is checked out; none where a commit is.
pub(crate) fn checked_out_branch(repository: &Repository) -> Option<String> {
    let head = pointer(&repository.git_dir.join("HEAD"))?;
    let branch = head.strip_prefix("ref: refs/heads/")?;
    let name: String = branch.chars().take(BRANCH_CHARS_MAX).collect();
    Some(crate::shown::line(&name).into_owned())
}

/// Whether there is anything in a directory of hooks but examples.
fn has_hooks(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name())
        .any(|name| !name.to_string_lossy().ends_with(".sample"))
}

/// Whether nothing in a new repository's files runs anything: as `git init` makes it.
pub(crate) fn is_plain(git_dir: &Path) -> bool {
    let plain_setting = |setting: &GitSetting| match setting.section.as_str() {
        "core" => matches!(
            setting.name.as_str(),
            "repositoryformatversion"
                | "filemode"
                | "bare"
                | "logallrefupdates"
                | "ignorecase"
                | "precomposeunicode"
                | "symlinks"
        ),
        "user" => matches!(setting.name.as_str(), "name" | "email"),
        _ => false,
    };
    let settings = settings(&git_dir.join("config"));
    let absent = ["commondir", "config.worktree", "modules", "worktrees"];
    settings.is_ok_and(|settings| settings.iter().all(plain_setting))
        && absent
            .iter()
            .all(|name| git_dir.join(name).symlink_metadata().is_err())
        && !has_hooks(&git_dir.join("hooks"))
}

/// Paths that the settings of the repository around `directory` name, and git then takes hooks or
/// settings from.
pub(crate) fn named_places(directory: &Path) -> Vec<PathBuf> {
    let Some(repository) = Repository::around(directory) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for file in repository.config_files() {
        collect(&repository, &file, INCLUDES_DEPTH_MAX, &mut places);
    }
    places.sort();
    places.dedup();
    places
}

fn collect(repository: &Repository, file: &Path, depth: usize, places: &mut Vec<PathBuf>) {
    for setting in settings(file).unwrap_or_default() {
        let Some(value) = &setting.value else {
            continue;
        };
        let from = |base: &Path| path::flatten(&base.join(path::home_expanded(value)));
        match (setting.section.as_str(), setting.name.as_str()) {
            ("core", "hookspath") => places.push(from(&repository.top)),
            ("include" | "includeif", "path") => {
                let included = from(file.parent().unwrap_or(file));
                let more = depth > 0 && places.len() < INCLUDES_MAX && !places.contains(&included);
                places.push(included.clone());
                if more {
                    collect(repository, &included, depth - 1, places);
                }
            }
            _ => {}
        }
    }
}

/// Whether a repository is the one that git was started in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Top,
    Below,
}

fn named_program(repository: &Repository, depth: Depth) -> Option<String> {
    repository
        .config_files()
        .iter()
        .find_map(|file| match settings(file) {
            Err(why) => Some(format!("{} {why}", file.display())),
            Ok(settings) => {
                let found = settings.iter().find(|setting| runs(setting, depth))?;
                Some(format!("{} sets {found}", file.display()))
            }
        })
}

/// Whether a setting makes one of the reading commands run a program. Some only do so with other
/// settings or options: those are common nowhere, so they all count.
fn runs(setting: &GitSetting, depth: Depth) -> bool {
    let is_program = !setting.is_boolean();
    match (setting.section.as_str(), setting.name.as_str()) {
        ("core", "fsmonitor") => is_program,
        ("core", "hookspath") => depth == Depth::Below,
        (
            "core",
            "pager" | "sshcommand" | "gitproxy" | "askpass" | "alternaterefscommand",
        )
        | ("diff", "external" | "command" | "textconv")
        | ("filter", "clean" | "smudge" | "process")
        | ("gpg", "program" | "defaultkeycommand")
        | ("credential", "helper")
        // A partial clone fetches what it misses when it is looked at.
        | ("remote", "uploadpack" | "vcs") => true,
        ("remote", "url") => setting.value.as_ref().is_some_and(|url| url.contains("::")),
        ("pager", _) => is_program,
        ("include" | "includeif", _) => true,
        _ => false,
    }
}

/// The settings of one file; none if it is not there.
fn settings(file: &Path) -> Result<Vec<GitSetting>, String> {
    match read_up_to(file, CONFIG_BYTES_MAX) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(bytes)) => {
            config::parse(&bytes).map_err(|line| format!("cannot be understood at line {line}"))
        }
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// The one line of a small file.
pub(crate) fn pointer(file: &Path) -> Option<String> {
    let bytes = read_up_to(file, POINTER_BYTES_MAX).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// A plain file's content, links followed as git does; `None` if there is none.
fn read_up_to(file: &Path, bytes_max: u64) -> std::io::Result<Option<Vec<u8>>> {
    let missing = [
        std::io::ErrorKind::NotFound,
        std::io::ErrorKind::NotADirectory,
    ];
    match file.metadata() {
        Err(error) if missing.contains(&error.kind()) => return Ok(None),
        Err(error) => return Err(error),
        // A pipe would make us wait.
        Ok(meta) if !meta.is_file() => return Err(std::io::Error::other("it is no file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file)?;
    opened.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(std::io::Error::other("it is too large")),
        false => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests;
