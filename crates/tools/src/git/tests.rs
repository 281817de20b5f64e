//! What is read of a repository, held against what the real git makes of it.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::scratch::Scratch;

fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(["-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {output:?}");
    said
}

fn repository(name: &str, scratch: &Scratch) -> PathBuf {
    let top = std::fs::canonicalize(scratch.path("")).unwrap().join(name);
    std::fs::create_dir_all(&top).unwrap();
    git(&top, &["init", "-q", "."]);
    git(&top, &["commit", "-q", "--allow-empty", "-m", "m"]);
    top
}

/// As `git config --list -z` tells it: names, a line break and the value.
fn listed(settings: &[GitSetting]) -> Vec<String> {
    settings
        .iter()
        .map(|setting| match &setting.value {
            Some(value) => format!("{setting}\n{value}"),
            None => setting.to_string(),
        })
        .collect()
}

#[test]
fn settings_are_read_as_git_reads_them() {
    let scratch = Scratch::new();
    let file = scratch.path("config");
    let texts = [
        "[core]\n\tbare = false\n\tFsMonitor = ./evil\n",
        "[Core] fsmonitor=./evil # why\n[diff \"X y\\\"z\"]textconv = a\\\n b ; c\n",
        "\u{feff}[a]\r\nb = \"  kept # \" and \\\"more\\\" \\t \r\n\r\n[a.Sub.x]c\n",
        "; [core]\n# x\n[filter \"l\\\\fs\"]\n  clean   =   \"g\" it \"lfs\"   \n  required\n",
        "[a]b=\n[a]c = \"\"\n[a]  d = one\\ntwo",
    ];
    for text in texts {
        std::fs::write(&file, text).unwrap();
        let told = git(
            &scratch.path(""),
            &["config", "--list", "-z", "--file", file.to_str().unwrap()],
        );
        let told: Vec<&str> = told.split_terminator('\0').collect();
        assert_eq!(listed(&config::parse(text.as_bytes()).unwrap()), told);
    }
    for (text, line) in [
        ("x = y", 1),
        ("[a]\nb = \"open\n", 3),
        ("[a\n]", 2),
        ("[a]\n\n1 = 2", 3),
    ] {
        assert_eq!(config::parse(text.as_bytes()), Err(line), "{text:?}");
    }
}

#[test]
fn what_would_run_a_program_is_told() {
    let scratch = Scratch::new();
    let top = repository("r", &scratch);
    std::fs::create_dir(top.join("sub")).unwrap();
    assert_eq!(runs_programs(&top), None);
    assert_eq!(runs_programs(&scratch.path("")), None);
    let plain = std::fs::read_to_string(top.join(".git/config")).unwrap();
    let table = [
        ("[core]\nfsmonitor = ./evil", Some("core.fsmonitor")),
        ("[core]\nfsmonitor", None),
        ("[core]\nfsmonitor = YES", None),
        ("[core]\nhooksPath = .husky", None),
        ("[Diff]External = x", Some("diff.external")),
        ("[diff \"jpg\"]\ntextConv = x", Some("diff.jpg.textconv")),
        ("[diff.jpg]\ncommand = x", Some("diff.jpg.command")),
        ("[filter \"lfs\"]clean = x", Some("filter.lfs.clean")),
        ("[core]pager = x", Some("core.pager")),
        ("[pager]log = x", Some("pager.log")),
        ("[pager]log = false", None),
        ("[include]path = x", Some("include.path")),
        (
            "[includeIf \"gitdir:x\"]path = x",
            Some("includeif.gitdir:x.path"),
        ),
        ("[gpg \"ssh\"]program = x", Some("gpg.ssh.program")),
        ("[remote \"o\"]url = ext::sh -c x", Some("remote.o.url")),
        ("[remote \"o\"]url = https://example.com/x", None),
        ("[branch \"main\"]remote = origin", None),
        ("[core]editor = x\n[alias]st = !x", None),
        ("[broken", Some("cannot be understood")),
    ];
    for (text, expected) in table {
        std::fs::write(top.join(".git/config"), format!("{plain}\n{text}\n")).unwrap();
        for directory in [top.clone(), top.join("sub")] {
            match (runs_programs(&directory), expected) {
                (None, None) => {}
                (Some(why), Some(word)) => assert!(why.contains(word), "{text}: {why}"),
                (why, _) => panic!("{text}: {why:?}"),
            }
        }
    }
}

#[test]
fn settings_of_a_linked_worktree_lie_with_the_first_one() {
    let scratch = Scratch::new();
    let top = repository("r", &scratch);
    git(&top, &["worktree", "add", "-q", "../linked"]);
    let linked = top.with_file_name("linked");
    assert_eq!(runs_programs(&linked), None);
    git(&top, &["config", "diff.external", "x"]);
    assert!(runs_programs(&linked).unwrap().contains("diff.external"));
    git(&top, &["config", "--unset", "diff.external"]);
    git(&top, &["config", "extensions.worktreeConfig", "true"]);
    git(&linked, &["config", "--worktree", "core.fsmonitor", "./x"]);
    assert!(runs_programs(&linked).unwrap().contains("core.fsmonitor"));
    assert_eq!(runs_programs(&top), None);
}

#[test]
fn repositories_below_are_found_in_every_kind_of_index() {
    let scratch = Scratch::new();
    let top = repository("r", &scratch);
    let below = repository("r/deep/below", &scratch);
    std::fs::write(top.join("file"), "").unwrap();
    let expected = BTreeSet::from(["deep/below".to_owned()]);
    let links = || Repository::at(&top).unwrap().gitlinks();
    assert_eq!(links(), Some(BTreeSet::new()));
    git(&top, &["add", "."]);
    for version in ["2", "3", "4"] {
        git(&top, &["update-index", "--index-version", version]);
        assert_eq!(links().as_ref(), Some(&expected), "{version}");
    }
    git(&top, &["update-index", "--split-index"]);
    std::fs::write(top.join("other"), "").unwrap();
    git(&top, &["add", "other"]);
    assert_eq!(links().as_ref(), Some(&expected), "split");
    assert_eq!(runs_programs(&top), None);
    git(&below, &["config", "core.hooksPath", "x"]);
    assert!(runs_programs(&top).unwrap().contains("core.hookspath"));
}

#[test]
fn what_settings_name_is_resolved_and_a_new_repository_is_plain() {
    let scratch = Scratch::new();
    let top = repository("r", &scratch);
    assert!(is_plain(&top.join(".git")));
    assert_eq!(named_places(&top), Vec::<PathBuf>::new());
    git(&top, &["config", "core.hooksPath", "./tools/../hooks"]);
    git(&top, &["config", "include.path", "../shared.cfg"]);
    std::fs::write(top.join("shared.cfg"), "[include]path=deeper/x\n").unwrap();
    assert_eq!(
        named_places(&top),
        [
            top.join("deeper/x"),
            top.join("hooks"),
            top.join("shared.cfg")
        ]
    );
    assert!(!is_plain(&top.join(".git")));
    let other = repository("other", &scratch);
    std::fs::write(other.join(".git/hooks/post-commit"), "").unwrap();
    assert!(!is_plain(&other.join(".git")));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = config::parse(&bytes);
        let mut index = b"DIRC\0\0\0\x04\0\0\0\x03".to_vec();
        index.extend_from_slice(&bytes);
        let _ = index::gitlinks(&index, |_| Some(bytes.clone()));
    }
}
