//! Directories of the machine, for whoever looks for a place to work in. Names are told, never what lies
//! in files, and places that no tool may read are not there.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use vocabulary::{DirectoryList, InspectedRepository};

use crate::git::{self, Repository};
use crate::path::{PATH_CHARS_MAX, Private};
use crate::{OutsideAccess, Scope};

/// Names that one list has.
pub const DIRECTORIES_LISTED_MAX: usize = 2_000;
/// Entries of one directory that are looked at for them.
const ENTRIES_READ_MAX: usize = 50_000;

/// What may be seen. Everything here blocks.
pub struct SeenDirectories {
    outside: OutsideAccess,
    private: Private,
}

impl SeenDirectories {
    /// `private`: the server's own places.
    pub fn new(outside: OutsideAccess, private: Vec<PathBuf>) -> Self {
        // A tenant's places lie within the server's, and are all that it sees.
        let private = match outside.is_closed() {
            true => Vec::new(),
            false => private,
        };
        let scope = Scope {
            directory: PathBuf::from("/"),
            extra: Vec::new(),
            private,
            spill: None,
            skills: Vec::new(),
            trusted: false,
            read_only: true,
            outside: outside.clone(),
        };
        Self {
            private: Private::of(&scope),
            outside,
        }
    }

    /// A directory as the file system knows it, if it may be seen. What is not there and what is not
    /// shown are the same.
    pub fn find(&self, path: &Path) -> Result<PathBuf> {
        let nowhere = || Error::from(ErrorKind::NotFound);
        let is_short = path.as_os_str().len() <= PATH_CHARS_MAX;
        if !path.is_absolute() || !is_short || self.private.has(path) {
            return Err(nowhere());
        }
        let canonical = path.canonicalize().map_err(|_| nowhere())?;
        match self.may_see(&canonical) && canonical.is_dir() {
            true => Ok(canonical),
            false => Err(nowhere()),
        }
    }

    /// Whether something may be put there that is not there yet.
    pub fn may_make(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        let there = above.find_map(|directory| directory.canonicalize().ok());
        let plain = path.components().all(|part| {
            use std::path::Component;
            matches!(part, Component::RootDir | Component::Normal(_))
        });
        let is_seen = |path: &Path| self.may_see(path);
        path.is_absolute()
            && plain
            && !self.private.has(path)
            && there.is_some_and(|there| is_seen(&there))
    }

    fn may_see(&self, canonical: &Path) -> bool {
        self.outside.may_open(canonical) && !self.private.has(canonical)
    }

    /// The directories in one, links to directories included.
    pub fn list(&self, path: &Path) -> Result<DirectoryList> {
        let current = self.find(path)?;
        let parent = current.parent().filter(|parent| self.may_see(parent));
        let mut list = DirectoryList {
            parent: parent.unwrap_or(&current).to_owned(),
            ..DirectoryList::default()
        };
        for (number, entry) in std::fs::read_dir(&current)?.flatten().enumerate() {
            if number >= ENTRIES_READ_MAX {
                list.truncated = true;
                break;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            if self.leads_to_directory(&entry) {
                list.names.push(name.to_owned());
            }
        }
        list.names.sort();
        list.truncated |= list.names.len() > DIRECTORIES_LISTED_MAX;
        list.names.truncate(DIRECTORIES_LISTED_MAX);
        list.current = current;
        Ok(list)
    }

    fn leads_to_directory(&self, entry: &std::fs::DirEntry) -> bool {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => !self.private.has(&entry.path()),
            Ok(kind) if kind.is_symlink() => self.find(&entry.path()).is_ok(),
            Ok(_) | Err(_) => false,
        }
    }

    /// The repository around a directory, where it may be seen as well.
    pub fn repository(&self, path: &Path) -> Result<Option<InspectedRepository>> {
        let path = self.find(path)?;
        let Some(repository) = Repository::around(&path) else {
            return Ok(None);
        };
        let git_dir = repository.git_dir.canonicalize();
        let is_seen = git_dir.is_ok_and(|git_dir| self.may_see(&git_dir));
        if !is_seen || !self.may_see(&repository.top) {
            return Ok(None);
        }
        Ok(Some(InspectedRepository {
            branch: git::checked_out_branch(&repository),
            root: repository.top,
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    fn of_lone_user(home: &Path, private: &Path) -> SeenDirectories {
        let outside = OutsideAccess {
            home: Some(home.to_owned()),
            ..OutsideAccess::default()
        };
        SeenDirectories::new(outside, vec![private.to_owned()])
    }

    #[test]
    fn directories_are_listed_by_name_without_dots_files_and_keys() {
        let scratch = Scratch::new();
        for name in ["b", "a", "data", ".hidden", ".ssh", "a/inner"] {
            std::fs::create_dir(scratch.path(name)).unwrap();
        }
        std::fs::write(scratch.path("file"), "").unwrap();
        std::os::unix::fs::symlink("a", scratch.path("link")).unwrap();
        std::os::unix::fs::symlink(".ssh", scratch.path("keys")).unwrap();
        let root = scratch.path("").canonicalize().unwrap();
        let seen = of_lone_user(&root, &root.join("data"));
        let list = seen.list(&root).unwrap();
        assert_eq!(list.names, ["a", "b", "link"]);
        assert_eq!(list.current, root);
        assert_eq!(list.parent, root.parent().unwrap());
        assert_eq!(seen.list(&root.join("link")).unwrap().names, ["inner"]);
        for closed in ["data", ".ssh", "keys", "file", "nowhere", "a/../data"] {
            let found = seen.list(&root.join(closed)).unwrap_err();
            assert_eq!(found.kind(), ErrorKind::NotFound, "{closed}");
        }
        assert!(seen.list(Path::new("a")).is_err(), "no relative path");
        assert!(seen.may_make(&root.join("a/new/deeper")));
        for closed in ["data/new", ".ssh/new", "a/../b/new"] {
            assert!(!seen.may_make(&root.join(closed)), "{closed}");
        }
    }

    #[test]
    fn a_tenant_sees_its_own_places_only() {
        let scratch = Scratch::new();
        for name in ["own/inner", "other", "own/inner/deep"] {
            std::fs::create_dir_all(scratch.path(name)).unwrap();
        }
        std::os::unix::fs::symlink("../other", scratch.path("own/away")).unwrap();
        let root = scratch.path("").canonicalize().unwrap();
        let outside = OutsideAccess {
            own_places: Some(vec![root.join("own")]),
            ..OutsideAccess::default()
        };
        let seen = SeenDirectories::new(outside, vec![root.clone()]);
        let list = seen.list(&root.join("own")).unwrap();
        assert_eq!(list.names, ["inner"], "the link leads out");
        assert_eq!(list.parent, list.current, "there is nothing above");
        let below = seen.list(&root.join("own/inner")).unwrap();
        assert_eq!(below.parent, root.join("own"));
        for closed in ["", "other", "own/away", "own/.."] {
            assert!(seen.list(&root.join(closed)).is_err(), "{closed}");
        }
        assert!(!seen.may_make(&root.join("other/new")));
        assert!(seen.may_make(&root.join("own/new")));
    }

    #[test]
    fn a_repository_is_known_by_its_files() {
        let scratch = Scratch::new();
        std::fs::create_dir_all(scratch.path("repo/.git")).unwrap();
        std::fs::create_dir_all(scratch.path("repo/src")).unwrap();
        std::fs::create_dir_all(scratch.path("plain")).unwrap();
        let head = scratch.path("repo/.git/HEAD");
        std::fs::write(&head, "ref: refs/heads/feature/one\n").unwrap();
        let root = scratch.path("").canonicalize().unwrap();
        let seen = of_lone_user(&root, &root.join("data"));
        let found = seen.repository(&root.join("repo/src")).unwrap().unwrap();
        assert_eq!(found.root, root.join("repo"));
        assert_eq!(found.branch.as_deref(), Some("feature/one"));
        std::fs::write(&head, "0123456789012345678901234567890123456789\n").unwrap();
        let found = seen.repository(&root.join("repo")).unwrap().unwrap();
        assert_eq!(found.branch, None, "no branch, but a commit");
        assert_eq!(seen.repository(&root.join("plain")).unwrap(), None);
    }
}
