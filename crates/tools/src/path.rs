//! The path guard: which files a tool may touch.
//!
//! A path is taken apart by its letters first (`..` never climbs out), then by what the file system
//! says (no symbolic link leads out). What comes back is the canonical path, and work is done on
//! that one, so that a link swapped in between leads nowhere.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::{Failure, Scope};

/// The longest path that is taken.
pub(crate) const PATH_CHARS_MAX: usize = 4096;

/// The canonical path of `given`, if it lies where `tool` may work. The file need not exist.
pub fn resolve(tool: &str, scope: &Scope, given: &str) -> Result<PathBuf, Failure> {
    if given.is_empty() || given.contains('\0') {
        return Err(Failure::Error(format!(
            "{tool}: the path is empty or has a NUL in it"
        )));
    }
    let plain = flatten(&scope.directory.join(given));
    let roots = roots(scope);
    if !roots.iter().any(|root| plain.starts_with(root)) {
        return Err(Failure::Error(format!(
            "{tool} blocked: path is outside workingDirectory/outputDirectory/project root: {given}"
        )));
    }
    let canonical = canonical(&plain)
        .map_err(|error| Failure::Error(format!("{tool}: cannot resolve {given}: {error}")))?;
    if !roots.iter().any(|root| canonical.starts_with(root)) {
        return Err(Failure::Error(format!(
            "{tool} blocked: canonical target resolves outside allowed directories: {given}"
        )));
    }
    Ok(canonical)
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
    let path = resolve(tool, scope, given)?;
    let in_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let root = roots(scope)
        .into_iter()
        .filter(|root| path.starts_with(root))
        .max_by_key(|root| root.components().count());
    let inner = root.and_then(|root| path.strip_prefix(root).ok().map(Path::to_owned));
    if inner.unwrap_or_default().components().any(in_git) {
        return Err(Failure::Error(format!(
            "{tool} blocked: {given} belongs to git; change it with a git command"
        )));
    }
    Ok(path)
}

/// Tells of many paths whether they lie inside one scope.
pub(crate) struct Inside<'a> {
    scope: &'a Scope,
    roots: Vec<PathBuf>,
}

impl Inside<'_> {
    pub fn of(scope: &Scope) -> Inside<'_> {
        let roots = roots(scope);
        Inside { scope, roots }
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
        self.roots.iter().any(|root| path.starts_with(root))
    }
}

/// How a path is shown: relative to the workspace where it lies inside it.
pub(crate) fn display(scope: &Scope, path: &Path) -> String {
    let directory = std::fs::canonicalize(&scope.directory);
    let directory = directory.as_deref().unwrap_or(&scope.directory);
    let shown = path.strip_prefix(directory).unwrap_or(path);
    shown.display().to_string()
}

/// The open directories, as given and as the file system knows them.
fn roots(scope: &Scope) -> Vec<PathBuf> {
    let given = std::iter::once(&scope.directory).chain(&scope.extra);
    given
        .flat_map(|root| [Some(flatten(root)), std::fs::canonicalize(root).ok()])
        .flatten()
        // An empty or relative root would be the beginning of too many paths.
        .filter(|root| root.is_absolute())
        .collect()
}

/// Removes `.` and `..` by their letters alone.
fn flatten(path: &Path) -> PathBuf {
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    fn message(outcome: Result<PathBuf, Failure>) -> String {
        match outcome {
            Err(Failure::Error(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn paths_inside_are_taken_whether_or_not_they_exist() {
        let scratch = Scratch::new();
        let scope = scratch.scope();
        std::fs::write(scratch.path("a.txt"), "").unwrap();
        for given in ["a.txt", "new/deep/b.txt", "./x/../a.txt", "~", "..a"] {
            let path = resolve("read", &scope, given).unwrap();
            assert!(path.starts_with(std::fs::canonicalize(&scope.directory).unwrap()));
        }
        let absolute = scratch.path("a.txt");
        assert!(resolve("read", &scope, absolute.to_str().unwrap()).is_ok());
    }

    #[test]
    fn paths_outside_are_blocked_and_extra_directories_are_open() {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        let mut scope = scratch.scope();
        let beyond = other.path("x");
        let beyond = beyond.to_str().unwrap();
        for given in ["..", "../x", "/etc/passwd", "a/../../x", beyond] {
            assert_eq!(
                message(resolve("write", &scope, given)),
                format!(
                    "write blocked: path is outside workingDirectory/outputDirectory/project root: {given}"
                )
            );
        }
        scope.extra.push(other.path(""));
        assert!(resolve("write", &scope, beyond).is_ok());
    }

    #[test]
    fn links_out_are_blocked_wherever_they_stand() {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        let scope = scratch.scope();
        std::fs::write(other.path("secret"), "").unwrap();
        std::os::unix::fs::symlink(other.path("secret"), scratch.path("file")).unwrap();
        std::os::unix::fs::symlink(other.path(""), scratch.path("dir")).unwrap();
        std::os::unix::fs::symlink(other.path("none"), scratch.path("dangling")).unwrap();
        for given in ["file", "dir/secret", "dir/new"] {
            assert_eq!(
                message(resolve("read", &scope, given)),
                format!(
                    "read blocked: canonical target resolves outside allowed directories: {given}"
                )
            );
        }
        assert!(resolve("write", &scope, "dangling").is_err());
        // By its letters this stays inside, and so does the path that is worked on.
        let path = resolve("read", &scope, "dir/../x").unwrap();
        assert!(path.starts_with(std::fs::canonicalize(&scope.directory).unwrap()));
    }

    #[test]
    fn git_keeps_its_own_files() {
        let scratch = Scratch::new();
        for given in [".git/config", "sub/.git/hooks/x", ".GIT/config"] {
            let blocked = message(resolve_to_change("write", &scratch.scope(), given));
            assert!(blocked.contains("belongs to git"), "{blocked}");
        }
        assert!(resolve_to_change("write", &scratch.scope(), ".gitignore").is_ok());
    }
}
