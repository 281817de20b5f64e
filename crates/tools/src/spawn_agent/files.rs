//! Whether two sub-agents change different files, by the paths and globs that they name.

use std::path::{Component, Path, PathBuf};

/// Whether no file can be meant by both lists. Whoever names nothing may change anything.
pub fn disjoint(workspace: &Path, some: &[String], others: &[String]) -> bool {
    let begin = |files: &[String]| -> Vec<PathBuf> {
        let beginnings = files.iter().map(|file| beginning(workspace, file));
        beginnings.collect()
    };
    let (some, others) = (begin(some), begin(others));
    !some.is_empty()
        && !others.is_empty()
        && some.iter().all(|one| {
            let meets = |other: &PathBuf| one.starts_with(other) || other.starts_with(one);
            !others.iter().any(meets)
        })
}

/// The path up to its first pattern, from the workspace on: what two globs have in common lies below
/// what their beginnings have in common. Empty, and so everywhere, where that is not clear.
fn beginning(workspace: &Path, file: &str) -> PathBuf {
    let path = Path::new(file);
    let path = path.strip_prefix(workspace).unwrap_or(path);
    let mut beginning = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => {
                if name.to_string_lossy().contains(['*', '?', '[', '{', '!']) {
                    break;
                }
                beginning.push(name);
            }
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return PathBuf::new();
            }
        }
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_disjoint_where_no_path_can_be_in_both() {
        let disjoint = |some: &[&str], others: &[&str]| {
            let owned = |files: &[&str]| files.iter().map(|&file| file.into()).collect::<Vec<_>>();
            let (some, others) = (owned(some), owned(others));
            let forth = disjoint(Path::new("/w"), &some, &others);
            assert_eq!(forth, super::disjoint(Path::new("/w"), &others, &some));
            forth
        };
        assert!(disjoint(&["src/a.rs"], &["src/b.rs"]));
        assert!(disjoint(&["src/**"], &["tests/**/*.rs", "docs"]));
        assert!(disjoint(&["/w/src/a.rs"], &["./src/b.rs"]));
        assert!(disjoint(&["src/a"], &["src/ab"]));
        for (some, others) in [
            (&["src/a.rs"][..], &["src/a.rs"][..]),
            (&["src"], &["src/a.rs"]),
            (&["src/*.rs"], &["src/a.rs"]),
            (&["src/{a,b}.rs"], &["src/c.rs"]),
            (&["**/*.rs"], &["docs/a.md"]),
            (&["/w/src/a.rs"], &["src/a.rs"]),
            (&["../other"], &["src"]),
            (&["/etc/x"], &["src"]),
            (&["docs", "src"], &["src/a.rs"]),
            (&[], &["src"]),
            (&[], &[]),
        ] {
            assert!(!disjoint(some, others), "{some:?} {others:?}");
        }
    }
}
