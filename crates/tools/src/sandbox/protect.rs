//! What of the writable places is mounted read-only, and what stands where nothing is yet.

use std::path::{Path, PathBuf};

use super::guard::Guard;
use super::placeholder::{Placeholder, PlaceholderKind};
use super::places::{self, Places};
use crate::folders::GUARDED;
use crate::git;
use crate::protected::{self, Missing};

/// The mounts that protect, and what must be kept until the command has ended.
#[derive(Debug, Default)]
pub struct Protection {
    /// Mounted upon themselves: a directory that is a mount cannot be renamed away with what is in it.
    pub pinned: Vec<PathBuf>,
    pub read_only: Vec<PathBuf>,
    pub placeholders: Vec<Placeholder>,
}

/// What stands in the workspace only while a command runs, and what is put back after it.
#[derive(Debug)]
pub struct HeldPaths {
    placeholders: Vec<Placeholder>,
    guard: Option<Guard>,
}

impl HeldPaths {
    pub fn new(placeholders: Vec<Placeholder>, guard: Guard) -> HeldPaths {
        HeldPaths {
            placeholders,
            guard: Some(guard),
        }
    }

    /// To be called when the command has ended: makes the workspace what it is to be, and gives what
    /// there is to tell of it. Reads and writes files.
    pub fn finish(mut self) -> Vec<String> {
        self.let_go()
    }

    fn let_go(&mut self) -> Vec<String> {
        // The inner ones first.
        while let Some(placeholder) = self.placeholders.pop() {
            drop(placeholder);
        }
        let guard = self.guard.take();
        guard.map(|guard| guard.finish()).unwrap_or_default()
    }
}

impl Drop for HeldPaths {
    fn drop(&mut self) {
        // It is in the log.
        let _ = self.let_go();
    }
}

/// Protects what makes other programs run something, in all writable places.
pub fn protect(places: &Places, guard: &Guard) -> Protection {
    let mut protection = Protection::default();
    for root in &places.writable {
        protection.git(root);
        for name in GUARDED {
            protection.hold(root.join(name), PlaceholderKind::Directory);
        }
        for entry in protected::entries() {
            let path = root.join(entry.path);
            match entry.missing {
                Missing::Hold => protection.hold(path, PlaceholderKind::Directory),
                Missing::PutBack => protection.hold_if_there(root, &path),
            }
        }
        for place in git::named_places(root) {
            if place.starts_with(root) && place != *root {
                protection.hold_if_there(root, &place);
            }
        }
    }
    for path in guard.nested() {
        protection.mount(&path);
    }
    // A workspace may itself lie in a hidden place, which does not hide what is in it.
    let in_root = |hidden: &&PathBuf| places.writable.iter().any(|root| hidden.starts_with(root));
    let hidden: Vec<&PathBuf> = places.hidden.iter().filter(in_root).collect();
    let is_hidden = |path: &PathBuf| hidden.iter().any(|hidden| path.starts_with(hidden));
    let is_writable = |path: &PathBuf| {
        places
            .writable
            .iter()
            .any(|root| path.starts_with(root) && path != root)
    };
    // Nor is anything opened again in what is read-only.
    let read_only = &protection.read_only;
    protection
        .pinned
        .retain(|path| !read_only.iter().any(|above| path.starts_with(above)));
    for mounts in [&mut protection.pinned, &mut protection.read_only] {
        mounts.retain(|path| is_writable(path) && !is_hidden(path));
        mounts.sort();
        mounts.dedup();
    }
    protection
}

impl Protection {
    fn git(&mut self, root: &Path) {
        let git = root.join(".git");
        if !git.is_dir() {
            // The file of a linked worktree, or nothing yet: then no repository can be made here.
            return self.hold(git, PlaceholderKind::Directory);
        }
        let Ok(real) = git.canonicalize() else { return };
        self.pinned.push(real.clone());
        for name in ["hooks", "worktrees", "modules"] {
            self.hold(real.join(name), PlaceholderKind::Directory);
        }
        for name in ["config", "config.worktree"] {
            self.hold(real.join(name), PlaceholderKind::File);
        }
        // An empty one would be an error to git.
        self.hold(real.join("commondir"), PlaceholderKind::GitCommonDir);
    }

    /// Mounts it read-only; something is put there first if it is missing.
    fn hold(&mut self, path: PathBuf, missing: PlaceholderKind) {
        // A placeholder of another call is held as well, so that it outlives that call.
        if !places::is_there(&path) || Placeholder::is_one(&path) {
            match Placeholder::make(&path, missing) {
                Some(placeholder) => self.placeholders.push(placeholder),
                None => return,
            }
        }
        self.mount(&path);
    }

    fn hold_if_there(&mut self, root: &Path, path: &Path) {
        let ways = path.ancestors().skip(1);
        for way in ways
            .take_while(|way| *way != root)
            .filter(|way| way.is_dir())
        {
            self.pinned.extend(way.canonicalize());
        }
        if places::is_there(path) && !Placeholder::is_one(path) {
            self.mount(path);
        }
    }

    fn mount(&mut self, path: &Path) {
        self.read_only.extend(path.canonicalize());
    }
}
