//! Real repositories, and git itself.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;
use crate::scratch::Scratch;

const LONG: Duration = Duration::from_secs(20);

fn git(directory: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

fn repository() -> Scratch {
    let scratch = Scratch::new();
    let directory = scratch.path("");
    git(&directory, &["init", "-q", "-b", "main"]);
    for (n, subject) in ["first", "second", "third", "fourth \u{1b}[2K"]
        .iter()
        .enumerate()
    {
        std::fs::write(scratch.path(&format!("{n}.txt")), "x").unwrap();
        git(&directory, &["add", "."]);
        git(&directory, &["commit", "-q", "-m", subject]);
    }
    scratch
}

fn look_now(scratch: &Scratch, until: Instant) -> GitFacts {
    look(&scratch.path(""), Some(Path::new("git")), until).unwrap()
}

#[test]
fn a_repository_tells_its_branch_its_changes_and_its_newest_commits() {
    let scratch = repository();
    std::fs::write(scratch.path("0.txt"), "changed").unwrap();
    std::fs::write(scratch.path("new.txt"), "new").unwrap();
    git(&scratch.path(""), &["mv", "1.txt", "moved.txt"]);
    let facts = look_now(&scratch, Instant::now() + LONG);
    assert_eq!(facts.changes, Some((2, 1)));
    assert_eq!(facts.subjects, ["fourth \\u{1b}[2K", "third", "second"]);
    assert_eq!(branch(&scratch.path("")).as_deref(), Some("main"));
    git(&scratch.path(""), &["checkout", "-q", "--detach"]);
    let detached = branch(&scratch.path("")).unwrap();
    assert!(detached.starts_with("none, at commit "), "{detached}");
    assert_eq!(branch(Path::new("/")), None);
    std::fs::write(scratch.path("secret"), "abcdefghijklmnop").unwrap();
    std::fs::remove_file(scratch.path(".git/HEAD")).unwrap();
    std::os::unix::fs::symlink(scratch.path("secret"), scratch.path(".git/HEAD")).unwrap();
    assert_eq!(branch(&scratch.path("")), None, "that is no commit");
}

#[test]
fn git_is_not_run_where_the_repository_names_a_program() {
    let scratch = repository();
    let ran = scratch.path("ran");
    let monitor = format!("touch {}", ran.display());
    git(&scratch.path(""), &["config", "core.fsmonitor", &monitor]);
    let facts = look_now(&scratch, Instant::now() + LONG);
    assert_eq!((facts.changes, facts.subjects.len()), (None, 0));
    assert!(!ran.exists());
}

#[test]
fn what_is_not_known_in_time_is_left_out() {
    let scratch = repository();
    let facts = look_now(&scratch, Instant::now());
    assert_eq!(facts.changes, None);
}
