//! Paths that other programs run by themselves: the list, and the judgement of a change there.

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use crate::path::{self, PATH_CHARS_MAX};
use crate::{Judgement, Risk, Scope, git};

/// The list as it is written, one path a line.
const LIST: &str = include_str!("protected.txt");

static ENTRIES: LazyLock<Vec<ProtectedPath>> =
    LazyLock::new(|| LIST.lines().filter_map(entry).collect());

/// One path of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtectedPath {
    /// Relative, with plain names only.
    pub path: &'static str,
    pub is_directory: bool,
    /// What is done where it does not exist.
    pub missing: Missing,
    pub run_by: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Hold,
    PutBack,
}

pub(crate) fn entries() -> &'static [ProtectedPath] {
    &ENTRIES
}

fn entry(line: &'static str) -> Option<ProtectedPath> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (how, rest) = line.split_once(char::is_whitespace)?;
    let (path, run_by) = rest.trim_start().split_once(char::is_whitespace)?;
    let missing = match how {
        "hold" => Missing::Hold,
        "back" => Missing::PutBack,
        _ => return None,
    };
    Some(ProtectedPath {
        path: path.trim_end_matches('/'),
        is_directory: path.ends_with('/'),
        missing,
        run_by: run_by.trim(),
    })
}

/// The entry that a path below a workspace falls under, at whatever depth.
pub(crate) fn find(inner: &Path) -> Option<&'static ProtectedPath> {
    let names: Vec<&str> = inner
        .components()
        .filter_map(|part| match part {
            // A name that is no text is none of ours.
            Component::Normal(name) => Some(name.to_str().unwrap_or_default()),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect();
    ENTRIES.iter().find(|entry| {
        let wanted: Vec<&str> = entry.path.split('/').collect();
        names.windows(wanted.len()).enumerate().any(|(at, found)| {
            let is_last = at + wanted.len() == names.len();
            let mut pairs = wanted.iter().zip(found);
            // Some file systems do not tell letters of different case apart.
            (entry.is_directory || is_last)
                && pairs.all(|(wanted, found)| wanted.eq_ignore_ascii_case(found))
        })
    })
}

/// Judges the change of one file: the path is in the field `field` of the input. What `run` refuses
/// anyway is judged harmless.
pub(crate) fn judge_change(tool: &str, scope: &Scope, input: &Value, field: &str) -> Judgement {
    match input.get(field).and_then(Value::as_str) {
        Some(given) => judge_path(tool, scope, given),
        None => Judgement::Allow,
    }
}

/// Judges the change of one file, as [`judge_change`].
pub(crate) fn judge_path(tool: &str, scope: &Scope, given: &str) -> Judgement {
    if given.chars().count() > PATH_CHARS_MAX {
        return Judgement::Allow;
    }
    let Ok(target) = path::resolve_to_change(tool, scope, given) else {
        return Judgement::Allow;
    };
    let ask = |dangerous, risk, why| Judgement::Ask {
        command: format!("{tool} {}", path::display(scope, &target)),
        dangerous,
        risk,
        why,
    };
    if let Some(why) = run_by(scope, &target) {
        return ask(true, Risk::ManualReview, why);
    }
    match scope.read_only {
        true => ask(false, Risk::OutsideScope, READ_ONLY.to_owned()),
        false => Judgement::Allow,
    }
}

/// Why a person is asked before anything is changed in a thread that only reads.
pub(crate) const READ_ONLY: &str = "this thread may only read";

/// Which program runs what lies at a canonical path by itself, in words.
fn run_by(scope: &Scope, target: &Path) -> Option<String> {
    let roots = path::roots(scope);
    let shown = path::display(scope, target);
    let mut inner = roots
        .iter()
        .filter_map(|root| target.strip_prefix(root).ok());
    if let Some(entry) = inner.find_map(find) {
        return Some(format!("{shown} is run by {}", entry.run_by));
    }
    let mut named = roots.iter().flat_map(|root| named_by_git(root));
    named
        .any(|place| target.starts_with(place))
        .then(|| format!("{shown} is run by git: the repository's settings name it"))
}

/// What the settings of the repository around `root` name, canonical and as written.
fn named_by_git(root: &Path) -> Vec<PathBuf> {
    git::named_places(root)
        .into_iter()
        .flat_map(|place| [place.canonicalize().ok(), Some(place)])
        .flatten()
        // A place that contains the whole workspace names nothing in particular.
        .filter(|place| !root.starts_with(place))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::Toolbox;
    use crate::scratch::Scratch;

    #[test]
    fn every_line_of_the_list_is_an_entry() {
        let written = LIST
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        assert_eq!(entries().len(), written.count());
        let paths: BTreeSet<&str> = entries().iter().map(|entry| entry.path).collect();
        assert_eq!(paths.len(), entries().len(), "none stands there twice");
        for entry in entries() {
            let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
            assert!(entry.path.split('/').all(plain), "{entry:?}");
            // Only an empty directory can stand in the way without an effect of its own.
            assert!(entry.is_directory || entry.missing == Missing::PutBack);
        }
    }

    #[test]
    fn paths_are_found_at_any_depth_and_in_any_case() {
        for (path, expected) in [
            (".vscode/tasks.json", Some(".vscode")),
            ("packages/a/.VSCode/x/y", Some(".vscode")),
            (".vscode", Some(".vscode")),
            (".github/workflows/ci.yml", Some(".github/workflows")),
            ("a/.github/workflows/ci.yml", Some(".github/workflows")),
            (".github/CODEOWNERS", None),
            ("workflows/ci.yml", None),
            (".cargo/config.toml", Some(".cargo/config.toml")),
            (".cargo/config.toml/x", None),
            (".cargo/registry/x", None),
            ("src/.envrc", Some(".envrc")),
            ("src/envrc", None),
            ("Makefile", None),
        ] {
            let found = find(Path::new(path)).map(|entry| entry.path);
            assert_eq!(found, expected, "{path}");
        }
    }

    /// How each changing tool judges a path.
    fn judged(scope: &Scope, path: &str) -> Vec<Judgement> {
        let table = [
            ("write", json!({"filePath": path, "content": ""})),
            (
                "edit",
                json!({"filePath": path, "oldString": "a", "newString": "b"}),
            ),
            (
                "notebookEdit",
                json!({"notebookPath": path, "cellIndex": 0, "newSource": ""}),
            ),
        ];
        table
            .map(|(tool, input)| {
                let tool = Toolbox::builtin().get(tool).unwrap();
                tool.judge(scope, &input)
            })
            .into()
    }

    #[test]
    fn a_change_that_others_would_run_is_asked_for() {
        let scratch = Scratch::new();
        let asked = |tool: &str| Judgement::Ask {
            command: format!("{tool} pkg/.vscode/settings.json"),
            dangerous: true,
            risk: Risk::ManualReview,
            why: "pkg/.vscode/settings.json is run by VS Code and its extensions".to_owned(),
        };
        assert_eq!(
            judged(&scratch.scope(), "pkg/../pkg/.vscode/settings.json"),
            [asked("write"), asked("edit"), asked("notebookEdit")]
        );
        // By another name.
        std::fs::create_dir(scratch.path(".husky")).unwrap();
        std::os::unix::fs::symlink(".husky", scratch.path("link")).unwrap();
        for judgement in judged(&scratch.scope(), "link/pre-commit") {
            assert!(matches!(
                judgement,
                Judgement::Ask {
                    dangerous: true,
                    ..
                }
            ));
        }
        for path in ["src/main.rs", "../.vscode/x", ".git/config"] {
            let allowed = [Judgement::Allow, Judgement::Allow, Judgement::Allow];
            assert_eq!(judged(&scratch.scope(), path), allowed, "{path}");
        }
    }

    #[test]
    fn what_the_settings_of_git_name_is_asked_for() {
        let scratch = Scratch::new();
        std::fs::create_dir_all(scratch.path(".git")).unwrap();
        std::fs::write(
            scratch.path(".git/config"),
            "[core]\nhooksPath = tools/hooks\n[include]\npath = ../team.cfg\n",
        )
        .unwrap();
        for path in ["tools/hooks/pre-commit", "team.cfg"] {
            for judgement in judged(&scratch.scope(), path) {
                let Judgement::Ask {
                    dangerous: true,
                    why,
                    ..
                } = judgement
                else {
                    panic!("{path}: {judgement:?}");
                };
                assert!(why.contains("is run by git"), "{why}");
            }
        }
        let allowed = [Judgement::Allow, Judgement::Allow, Judgement::Allow];
        assert_eq!(judged(&scratch.scope(), "tools/other"), allowed);
    }

    #[tokio::test]
    async fn a_thread_that_only_reads_asks_and_then_writes() {
        let scratch = Scratch::new();
        let mut cx = scratch.cx(&std::sync::Arc::default());
        cx.scope.read_only = true;
        let asked = |tool: &str| Judgement::Ask {
            command: format!("{tool} a.txt"),
            dangerous: false,
            risk: Risk::OutsideScope,
            why: "this thread may only read".to_owned(),
        };
        assert_eq!(
            judged(&cx.scope, "a.txt"),
            [asked("write"), asked("edit"), asked("notebookEdit")]
        );
        let memory = Toolbox::builtin().get("memory").unwrap();
        let note = json!({"action": "write", "key": "k", "content": "x"});
        assert!(matches!(
            memory.judge(&cx.scope, &note),
            Judgement::Ask {
                risk: Risk::OutsideScope,
                ..
            }
        ));
        let read = json!({"action": "read", "key": "k"});
        assert_eq!(memory.judge(&cx.scope, &read), Judgement::Allow);
        // A person said yes.
        let write = Toolbox::builtin().get("write").unwrap();
        let input = json!({"filePath": "a.txt", "content": "x"});
        write.run(&cx, input).await.unwrap();
        memory.run(&cx, note).await.unwrap();
        assert_eq!(std::fs::read(scratch.path("a.txt")).unwrap(), b"x");
    }
}
