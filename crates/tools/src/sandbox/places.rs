//! Which places a command may write, which it may read, and which it never sees.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::known_places::{
    CREDENTIALS, OWN_INSIDE, PERSONAL_AT_HOME, READABLE, READABLE_AT_HOME, SETTINGS_OF_MACHINE,
    SYSTEM_SECRETS, TOOLCHAIN_VARIABLES,
};
use crate::{Scope, folders, path};

/// How deep a readable directory is taken apart around what is hidden in it.
const DEPTH_MAX: usize = 6;
/// How many sockets are hidden one by one.
const SOCKETS_MAX: usize = 1_000;

/// The places of one call; all exist and are free of symbolic links.
#[derive(Clone, Debug)]
pub struct Places {
    pub directory: PathBuf,
    /// The workspace and what else was opened.
    pub roots: Vec<PathBuf>,
    /// Those of them that may be written; none in a scope that is read-only.
    pub writable: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
    /// Hidden too where things can be covered. Where they can only be left out, a workspace with such a
    /// place in it could be given no new files.
    pub saved_keys: Vec<PathBuf>,
    /// The home directory, where it is hidden as a whole.
    pub home: Option<PathBuf>,
    /// What is readable at home: by the name it has there, which may be a link.
    pub home_readable: Vec<PathBuf>,
    /// Readable although it may lie in a hidden one.
    pub open: Vec<PathBuf>,
}

impl Places {
    pub fn of(scope: &Scope) -> std::io::Result<Self> {
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        Self::at_home(scope, home, &from_environment())
    }

    /// The places of a user whose home directory this is, with the toolchains they named themselves.
    fn at_home(
        scope: &Scope,
        home: Option<PathBuf>,
        toolchains: &[PathBuf],
    ) -> std::io::Result<Self> {
        let directory = scope.directory.canonicalize()?;
        if !scope.outside.may_open(&directory) {
            let message = "the workspace does not lie where its tenant's files are";
            return Err(std::io::Error::other(message));
        }
        let extra = real(&scope.extra).filter(|path| scope.outside.may_open(path));
        let mut roots: Vec<PathBuf> = std::iter::once(directory.clone()).chain(extra).collect();
        // Nobody means the whole machine by a workspace.
        roots.retain(|path| path.parent().is_some() && path.is_dir());
        roots.dedup();
        let private: Vec<PathBuf> = real(&scope.private).collect();
        let is_ours = |root: &PathBuf| {
            let mut private = private.iter();
            private.any(|own| root.starts_with(own) && !path::is_workspace_within(own, root))
        };
        if is_ours(&directory) {
            let message = "the workspace lies in the server's own data, which no command may see";
            return Err(std::io::Error::other(message));
        }
        roots.retain(|root| !is_ours(root));
        let credentials: Vec<PathBuf> = home
            .iter()
            .flat_map(|home| CREDENTIALS.iter().map(|name| home.join(name)))
            .collect();
        let closed = scope.outside.is_closed();
        let is_personal = |home: &Path, path: &Path| {
            let mut personal = PERSONAL_AT_HOME.iter();
            personal.any(|name| path.starts_with(home.join(name)))
        };
        let home_readable = home
            .iter()
            .flat_map(|home| {
                let mut readable = readable_at(home, toolchains);
                readable.retain(|path| !closed || !is_personal(home, path));
                readable
            })
            .collect();
        // Whose workspace holds their home directory means to open it.
        let home = home.filter(|home| {
            home.parent().is_some() && !roots.iter().any(|root| home.starts_with(root))
        });
        let system: Vec<PathBuf> = SYSTEM_SECRETS.iter().map(PathBuf::from).collect();
        let mut hidden: Vec<PathBuf> = [&private, &credentials, &system]
            .into_iter()
            .flat_map(real)
            .chain(listening(&roots))
            .collect();
        let mut open: Vec<PathBuf> = real(scope.spill.iter().chain(&scope.skills)).collect();
        if closed {
            hidden.extend(not_of_the_system());
            let readable: Vec<PathBuf> = READABLE.iter().map(PathBuf::from).collect();
            let is_hidden = |path: &PathBuf| hidden.iter().any(|hidden| path.starts_with(hidden));
            open.extend(real(&readable).filter(is_hidden));
        }
        hidden.sort();
        hidden.dedup();
        // A workspace is what it is even where a secret place was named the same.
        hidden.retain(|path| !roots.contains(path));
        Ok(Self {
            saved_keys: real(&scope.saved_keys()).collect(),
            directory,
            writable: match scope.read_only {
                true => Vec::new(),
                false => roots.clone(),
            },
            roots,
            hidden,
            home,
            home_readable,
            open,
        })
    }

    /// All that may be read, where what is hidden can only be left out.
    pub fn readable(&self) -> Vec<PathBuf> {
        let system: Vec<PathBuf> = READABLE.iter().map(PathBuf::from).collect();
        let mut readable = Vec::new();
        for path in real(system.iter().chain(&self.home_readable)).chain(self.roots.clone()) {
            self.open_around_hidden(path, DEPTH_MAX, &mut readable);
        }
        readable.extend(self.open.clone());
        readable.sort();
        readable.dedup();
        readable
    }

    /// What of the writable places may be opened, where what is hidden can only be left out.
    pub fn writable_around_hidden(&self) -> Vec<PathBuf> {
        let mut open = Vec::new();
        for path in &self.writable {
            self.open_around_hidden(path.clone(), DEPTH_MAX, &mut open);
        }
        open
    }

    /// What must be covered where everything else is seen: not what the covered home directory covers.
    pub fn covered(&self) -> Vec<PathBuf> {
        let shown: Vec<PathBuf> = real(&self.home_readable)
            .chain(self.roots.clone())
            .chain(self.open.clone())
            .collect();
        let is_seen = |path: &PathBuf| match &self.home {
            Some(home) if path.starts_with(home) => {
                shown.iter().any(|shown| path.starts_with(shown))
            }
            Some(_) | None => true,
        };
        let home = self.home.iter().cloned();
        let hidden = self.hidden.iter().chain(&self.saved_keys);
        home.chain(hidden.filter(|path| is_seen(path)).cloned())
            .collect()
    }

    fn open_around_hidden(&self, path: PathBuf, depth: usize, open: &mut Vec<PathBuf>) {
        if self.hidden.contains(&path) {
            return;
        }
        if !self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            open.push(path);
            return;
        }
        if depth == 0 {
            return;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            // A link is followed to what it names, which has its own rule.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.open_around_hidden(entry.path(), depth - 1, open);
            }
        }
    }
}

/// Those that are there, free of links.
fn real<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> impl Iterator<Item = PathBuf> {
    let real = paths.into_iter().map(|path| path.canonicalize());
    real.flatten().collect::<Vec<_>>().into_iter()
}

/// What of the machine is neither a program nor a setting of the system, as far as it is known by the
/// directories at the root: there others keep their files.
fn not_of_the_system() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/").into_iter().flatten().flatten();
    // A link is followed to what it names, which has its own place.
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let is_known = |path: &PathBuf| {
        let path = path.to_str().unwrap_or_default();
        READABLE.contains(&path) || OWN_INSIDE.contains(&path)
    };
    let others = directories.map(|entry| entry.path());
    let others = others.filter(|path| !is_known(path));
    others
        .chain(
            [PathBuf::from(SETTINGS_OF_MACHINE)]
                .into_iter()
                .filter(|path| path.exists()),
        )
        .collect()
}

/// Toolchains in this home directory; those that the user named count only if they lie in it, since
/// what is outside is seen anyway, and are never the home directory itself.
fn readable_at(home: &Path, toolchains: &[PathBuf]) -> Vec<PathBuf> {
    let known = READABLE_AT_HOME.iter().map(|name| home.join(name));
    let own = toolchains.iter().filter_map(|path| {
        let real = path.canonicalize().ok()?;
        (real.starts_with(home) && real != home).then_some(real)
    });
    let mut all: Vec<PathBuf> = known.chain(own).filter(|path| path.exists()).collect();
    all.sort();
    all.dedup();
    all
}

/// The directories of programs, and toolchains that the user put elsewhere.
fn from_environment() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let named = TOOLCHAIN_VARIABLES.iter().map(|name| variable(name));
    let lists: Vec<OsString> = std::iter::once(variable("PATH")).chain(named).collect();
    let paths = lists.iter().flat_map(std::env::split_paths);
    paths.filter(|path| path.is_absolute()).collect()
}

/// Sockets that others listen on. A mount that is read-only does not keep anyone from connecting.
fn listening(writable: &[PathBuf]) -> Vec<PathBuf> {
    let text = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = text
        .lines()
        .filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let real = paths.filter_map(|path| path.canonicalize().ok());
    let others = real.filter(|path| !writable.iter().any(|root| path.starts_with(root)));
    let covered = |path: &PathBuf| ["/run", "/tmp"].iter().any(|root| path.starts_with(root));
    others
        .filter(|path| !covered(path))
        .take(SOCKETS_MAX)
        .collect()
}

/// A protected path that a link leads to, which cannot be held in place.
pub fn protected_link(scope: &Scope) -> Option<PathBuf> {
    let roots = std::iter::once(&scope.directory).chain(&scope.extra);
    let names = [
        ".git",
        ".git/hooks",
        ".git/config",
        ".git/config.worktree",
        ".git/commondir",
        ".git/worktrees",
        ".git/modules",
        folders::OWN,
        folders::OTHER_AGENTS,
    ];
    let mut paths = roots.flat_map(|root| names.map(|name| root.join(name)));
    paths.find(|path| path.is_symlink())
}

/// Whether a path is there, a dangling link included.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn scope(directory: &Path) -> Scope {
        Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: Default::default(),
            directory: directory.to_owned(),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
        }
    }

    /// A home directory with a workspace, a toolchain, and secrets in and beside it.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().canonicalize().unwrap();
        for name in ["work", ".cargo/bin", ".ssh", "tools/bin", "dotfiles"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "").unwrap();
        std::fs::write(home.join("dotfiles/gitconfig"), "").unwrap();
        std::os::unix::fs::symlink("dotfiles/gitconfig", home.join(".gitconfig")).unwrap();
        (scratch, home)
    }

    #[test]
    fn of_the_home_directory_only_toolchains_are_seen() {
        let (_scratch, home) = home();
        let named = [home.join("tools/bin"), home.clone()];
        let work = home.join("work");
        let places = Places::at_home(&scope(&work), Some(home.clone()), &named).unwrap();
        assert_eq!(places.home, Some(home.clone()));
        assert_eq!(
            places.home_readable,
            [".cargo", ".gitconfig", "tools/bin"].map(|name| home.join(name))
        );
        let mine = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
            let inside = paths.into_iter().filter(|path| path.starts_with(&home));
            inside.collect()
        };
        // What lies in the covered home directory needs no cover of its own.
        assert_eq!(
            mine(places.covered()),
            [home.clone(), home.join(".cargo/credentials.toml")]
        );
        let seen = [".cargo/bin", "dotfiles/gitconfig", "tools/bin", "work"];
        assert_eq!(mine(places.readable()), seen.map(|name| home.join(name)));
    }

    #[test]
    fn a_home_directory_that_was_opened_is_seen_but_for_its_secrets() {
        let (_scratch, home) = home();
        let places = Places::at_home(&scope(&home), Some(home.clone()), &[]).unwrap();
        assert_eq!(places.home, None);
        let covered = places.covered();
        let inside: Vec<_> = covered
            .iter()
            .filter(|path| path.starts_with(&home))
            .collect();
        assert_eq!(
            inside,
            [&home.join(".cargo/credentials.toml"), &home.join(".ssh")]
        );
    }

    #[test]
    fn keys_that_were_saved_for_an_open_directory_are_covered() {
        let (_scratch, home) = home();
        let scope = Scope {
            extra: vec![home.join("tools")],
            ..scope(&home.join("work"))
        };
        let keys = [
            home.join("tools/.cowork/auth"),
            home.join("work/.cowork/auth"),
        ];
        let covered = || {
            let places = Places::at_home(&scope, None, &[]).unwrap();
            keys.clone().map(|path| places.covered().contains(&path))
        };
        assert_eq!(covered(), [false, false]);
        for path in &keys {
            std::fs::create_dir_all(path).unwrap();
        }
        assert_eq!(covered(), [true, true]);
        // New files can be made beside them, even where nothing can be covered.
        let places = Places::at_home(&scope, None, &[]).unwrap();
        assert!(places.writable_around_hidden().contains(&home.join("work")));
    }

    #[test]
    fn a_read_only_scope_has_nothing_to_write() {
        let (_scratch, home) = home();
        let read_only = Scope {
            read_only: true,
            ..scope(&home.join("work"))
        };
        let places = Places::at_home(&read_only, Some(home.clone()), &[]).unwrap();
        assert_eq!(places.writable_around_hidden(), Vec::<PathBuf>::new());
        assert!(places.readable().contains(&home.join("work")));
    }
}
