//! The path guard: which files a tool may touch.
//!
//! A path is taken apart by its letters first (`..` never climbs out), then by what the file system
//! says (no symbolic link leads out). What comes back is the canonical path; it is opened name by name
//! (see `held`), so that a link swapped in between leads nowhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::folders::GUARDED;
use crate::{Failure, Scope};

pub(crate) mod outside;

pub use outside::grant_keys as outside_grant_keys;

/// The longest path that is taken.
pub(crate) const PATH_CHARS_MAX: usize = 4096;

/// Where the workspaces lie that the server makes itself, below its own data. Each is open to its own
/// threads, although the data around it is private; so what lies there is a workspace and nothing else.
pub const WORKSPACES: &str = "workspaces";

/// Where what belongs to each tenant lies, below the server's own data: a directory each, with
/// [`WORKSPACES`] of its own.
pub const TENANTS: &str = "tenants";

/// The canonical path of `given`, if it lies in the workspace or where `tool` may read besides. The file
/// need not exist.
pub fn resolve(tool: &str, scope: &Scope, given: &str) -> Result<PathBuf, Failure> {
    let found = FoundPath::of(tool, scope, &scope.directory, given)?;
    let mut roots = roots(scope);
    roots.extend(shelves(scope));
    found.within(tool, scope, &roots)
}

/// Opens a plain file of the workspace for reading. No error: it is not in the workspace.
pub fn open_inside(scope: &Scope, path: &Path) -> Result<File, Option<std::io::Error>> {
    let (plain, roots) = (flatten(path), roots(scope));
    // Before it is looked at: what is elsewhere is nobody's business.
    if !roots.iter().any(|root| plain.starts_with(root)) {
        return Err(None);
    }
    let given = plain.to_str().ok_or(None)?;
    let found = FoundPath::of("", scope, &scope.directory, given).map_err(|_| None)?;
    let path = found.within("", scope, &roots).map_err(|_| None)?;
    crate::held::open(&path).map_err(Some)
}

/// A path that was given, as the file system knows it, and nobody's secret.
struct FoundPath<'a> {
    given: &'a str,
    /// By its letters alone.
    plain: PathBuf,
    canonical: PathBuf,
}

impl<'a> FoundPath<'a> {
    /// A relative path starts at `base`.
    fn of(
        tool: &str,
        scope: &Scope,
        base: &Path,
        given: &'a str,
    ) -> Result<FoundPath<'a>, Failure> {
        if given.is_empty() || given.contains('\0') {
            return Err(Failure::Error(format!(
                "{tool}: the path is empty or has a NUL in it"
            )));
        }
        let plain = flatten(&base.join(outside::with_home(scope, given)));
        let private = Private::of(scope);
        let blocked = |why| Failure::Error(format!("{tool} blocked: {given} {why}"));
        // Before it is looked at: what is there is nobody's business either.
        if let Some(why) = private.why(&plain) {
            return Err(blocked(why));
        }
        let canonical = canonical(&plain).map_err(|error| {
            // What stands in the way elsewhere would tell what is there.
            let is_outside = || !roots(scope).iter().any(|root| plain.starts_with(root));
            match scope.outside.is_closed() && is_outside() {
                true => outside_workspace(tool, scope, given),
                false => Failure::Error(format!("{tool}: cannot resolve {given}: {error}")),
            }
        })?;
        match private.why(&canonical) {
            Some(why) => Err(blocked(why)),
            None => Ok(FoundPath {
                given,
                plain,
                canonical,
            }),
        }
    }

    /// The canonical path, if it lies below one of these.
    fn within(self, tool: &str, scope: &Scope, roots: &[PathBuf]) -> Result<PathBuf, Failure> {
        let is_within = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let given = self.given;
        match (is_within(&self.plain), is_within(&self.canonical)) {
            (true, true) => Ok(self.canonical),
            (true, false) => Err(Failure::Error(format!(
                "{tool} blocked: {given} is a link that leads outside the workspace, to {}",
                self.canonical.display()
            ))),
            (false, _) => Err(outside_workspace(tool, scope, given)),
        }
    }
}

fn outside_workspace(tool: &str, scope: &Scope, given: &str) -> Failure {
    let workspace = scope.directory.display();
    Failure::Error(format!(
        "{tool} blocked: {given} is outside the workspace {workspace}"
    ))
}

/// As [`resolve`], for a file that will be changed.
///
/// What lies in a `.git` directory can make git run any program, and git's reading commands run
/// without asking; so changing it is left to git itself.
pub(crate) fn resolve_to_change(
    tool: &str,
    scope: &Scope,
    given: &str,
) -> Result<PathBuf, Failure> {
    let roots = roots(scope);
    let found = FoundPath::of(tool, scope, &scope.directory, given)?;
    let path = found.within(tool, scope, &roots)?;
    if shelves(scope).iter().any(|shelf| path.starts_with(shelf)) {
        return Err(Failure::Error(format!(
            "{tool} blocked: {given} can only be read"
        )));
    }
    let root = roots
        .into_iter()
        .filter(|root| path.starts_with(root))
        .max_by_key(|root| root.components().count());
    let inner = root.and_then(|root| path.strip_prefix(root).ok().map(Path::to_owned));
    let inner = inner.unwrap_or_default();
    // Some file systems do not tell letters of different case apart.
    let has = |name: &str| {
        let mut parts = inner.components();
        parts.any(|part| part.as_os_str().eq_ignore_ascii_case(name))
    };
    if has(".git") {
        return Err(Failure::Error(format!(
            "{tool} blocked: {given} belongs to git; change it with a git command"
        )));
    }
    // Who writes there decides what is allowed, so no file tool does.
    if GUARDED.iter().any(|name| has(name)) {
        return Err(Failure::Error(format!(
            "{tool} blocked: {given} holds settings that only the user changes; for notes use the \
             memory tool"
        )));
    }
    Ok(path)
}

/// Tells of files met on a walk whether they are private.
pub(crate) struct Private {
    /// The server's own.
    private: Vec<PathBuf>,
    /// Keys and passwords of the user and of the machine.
    secret: Vec<PathBuf>,
    shelves: Vec<PathBuf>,
    roots: Vec<PathBuf>,
}

impl Private {
    pub fn of(scope: &Scope) -> Private {
        Private {
            private: both_ways(scope.private.iter().chain(&scope.saved_keys())),
            secret: both_ways(outside::secret_places(scope).iter()),
            shelves: shelves(scope),
            roots: roots(scope),
        }
    }

    /// As [`Private::of`], for a walk below `root`: it asks often, and meets little of it.
    pub fn below(scope: &Scope, root: &Path) -> Private {
        let mut private = Private::of(scope);
        private
            .secret
            .retain(|place| place.starts_with(root) || root.starts_with(place));
        private
    }

    /// Whether the canonical path must not be looked into. What leads to an open place inside of a
    /// private one is passed through only where a walk begins there.
    pub fn has(&self, path: &Path) -> bool {
        self.why(path).is_some()
    }

    /// Why the path must not be looked into, as in "it …".
    fn why(&self, path: &Path) -> Option<&'static str> {
        let below = |root: &PathBuf| path.starts_with(root);
        if self.shelves.iter().any(below) {
            return None;
        }
        let is_own = |private: &PathBuf| {
            let mut roots = self.roots.iter();
            roots.any(|root| below(root) && is_workspace_within(private, root))
        };
        let mut private = self.private.iter();
        if private.any(|private| below(private) && !is_own(private)) {
            return Some("is private to the server and never shown or changed");
        }
        // A workspace is what it is, wherever it lies.
        let is_around = |secret: &PathBuf| {
            let mut roots = self.roots.iter();
            roots.any(|root| below(root) && root.starts_with(secret))
        };
        let mut secret = self.secret.iter();
        secret
            .any(|secret| below(secret) && !is_around(secret))
            .then_some("is kept for keys, passwords or the system, and never shown or changed")
    }
}

/// Whether `root` is, or lies in, one workspace of those that a private place holds, for itself or for
/// its tenants.
pub fn is_workspace_within(private: &Path, root: &Path) -> bool {
    let Ok(inner) = root.strip_prefix(private) else {
        return false;
    };
    let names: Vec<&OsStr> = inner.iter().collect();
    match names.as_slice() {
        [tenants, _, workspaces, _, ..] if *tenants == TENANTS => *workspaces == WORKSPACES,
        [workspaces, _, ..] => *workspaces == WORKSPACES,
        [] | [_] => false,
    }
}

/// Tells of many paths whether they lie inside one scope.
pub(crate) struct Inside<'a> {
    scope: &'a Scope,
    roots: Vec<PathBuf>,
    private: Private,
}

impl Inside<'_> {
    pub fn of(scope: &Scope) -> Inside<'_> {
        Inside {
            scope,
            roots: roots(scope),
            private: Private::of(scope),
        }
    }

    /// Whether `given`, an argument of a command, stays inside if it names a file at all.
    pub fn has(&self, given: &str) -> bool {
        let plain = flatten(&self.scope.directory.join(given));
        self.has_path(&plain)
            && match canonical(&plain) {
                Ok(canonical) => self.has_path(&canonical),
                // What cannot be a file leads nowhere: a long sentence, or what is behind a file.
                Err(error) => matches!(
                    error.kind(),
                    ErrorKind::InvalidFilename | ErrorKind::NotADirectory
                ),
            }
    }

    fn has_path(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root)) && !self.private.has(path)
    }
}

/// How a path is shown: relative to the workspace where it lies inside it.
pub(crate) fn display(scope: &Scope, path: &Path) -> String {
    PathDisplay::of(scope).path(path)
}

/// Shows many paths of one scope.
pub(crate) struct PathDisplay(PathBuf);

impl PathDisplay {
    pub fn of(scope: &Scope) -> PathDisplay {
        let directory = std::fs::canonicalize(&scope.directory);
        PathDisplay(directory.unwrap_or_else(|_| scope.directory.clone()))
    }

    pub fn path(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.0).unwrap_or(path);
        shown.display().to_string()
    }
}

/// Whether a path lies below a directory by its letters, which lead no way up.
pub fn is_below(directory: &Path, path: &Path) -> bool {
    flatten(path).starts_with(flatten(directory))
}

/// The open directories, as given and as the file system knows them.
pub(crate) fn roots(scope: &Scope) -> Vec<PathBuf> {
    let given = std::iter::once(&scope.directory).chain(&scope.extra);
    both_ways(given.filter(|root| {
        let canonical = std::fs::canonicalize(root);
        canonical.map_or(!scope.outside.is_closed(), |root| {
            scope.outside.may_open(&root)
        })
    }))
}

/// What is open for reading though it may lie in a private place.
fn shelves(scope: &Scope) -> Vec<PathBuf> {
    both_ways(scope.spill.iter().chain(&scope.skills))
}

fn both_ways<'a>(given: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    given
        .flat_map(|root| [Some(flatten(root)), std::fs::canonicalize(root).ok()])
        .flatten()
        // An empty or relative root would be the beginning of too many paths.
        .filter(|root| root.is_absolute())
        .collect()
}

/// A path as people write it in settings: `~/` is the user's own directory.
pub(crate) fn home_expanded(value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => PathBuf::from(value),
    }
}

/// Removes `.` and `..` by their letters alone.
pub(crate) fn flatten(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                flat.pop();
            }
            other => flat.push(other),
        }
    }
    flat
}

/// The canonical path of the deepest ancestor that exists, and the rest behind it.
fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    // A dangling link exists here and fails below: what is written through it would lie elsewhere.
    while let Err(error) = std::fs::symlink_metadata(existing) {
        let (parent, name) = match (error.kind(), existing.parent(), existing.file_name()) {
            (ErrorKind::NotFound, Some(parent), Some(name)) => (parent, name),
            _ => return Err(error),
        };
        missing.push(name.to_owned());
        existing = parent;
    }
    let mut canonical = std::fs::canonicalize(existing)?;
    canonical.extend(missing.iter().rev());
    Ok(canonical)
}

#[cfg(test)]
mod tests;
