//! What of a workspace is shown, and that nothing else is.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};

use super::*;
use crate::scratch::Scratch;

const MAX: u64 = 1 << 20;

fn content(scratch: &Scratch, path: &str) -> Option<Vec<u8>> {
    let (scope, policy) = (scratch.scope(), Policy::default());
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    files.read(path, MAX).ok().and_then(|read| read.content)
}

fn paths(listing: &FileListing) -> Vec<&str> {
    listing
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect()
}

#[test]
fn files_are_read_by_paths_that_stay_inside() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("a/b")).unwrap();
    std::fs::write(scratch.path("a/b/c"), "deep").unwrap();
    symlink("a/b", scratch.path("near")).unwrap();
    let absolute = scratch.path("a/b/c");
    for path in ["a/b/c", "./a//b/./c", "near/c", absolute.to_str().unwrap()] {
        assert_eq!(
            content(&scratch, path).as_deref(),
            Some(&b"deep"[..]),
            "{path}"
        );
    }
}

#[test]
fn whatever_leads_out_is_not_there() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    std::fs::write(other.path("secret"), "secret").unwrap();
    std::fs::create_dir(scratch.path("a")).unwrap();
    symlink(other.path("secret"), scratch.path("file")).unwrap();
    symlink(other.path(""), scratch.path("dir")).unwrap();
    symlink("/proc/self/root", scratch.path("root")).unwrap();
    symlink("loop", scratch.path("loop")).unwrap();
    rustix::fs::mknodat(CWD, scratch.path("pipe"), FileType::Fifo, 0o600.into(), 0).unwrap();
    let long = "x/".repeat(PATH_CHARS_MAX);
    let outside = other.path("secret");
    let (scope, policy) = (scratch.scope(), Policy::default());
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    for path in [
        "",
        ".",
        "a",
        "none",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "file",
        "dir/secret",
        "a\0b",
        "root/etc/passwd",
        "loop",
        "pipe",
        "/dev/zero",
        "/proc/self/environ",
        &long,
        outside.to_str().unwrap(),
    ] {
        let error = files.read(path, MAX).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "{path:?}: {error}");
    }
    for path in ["none", "..", "dir", "root", "/etc", "file", "pipe", &long] {
        assert!(files.list(Some(path), 1).is_err(), "{path:?}");
    }
}

#[test]
fn a_directory_is_listed_as_deep_as_wanted() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("a/b/.git/objects")).unwrap();
    std::fs::write(scratch.path("a/b/c.txt"), "four").unwrap();
    std::fs::write(scratch.path(".hidden"), "").unwrap();
    symlink("/", scratch.path("out")).unwrap();
    let (scope, policy) = (scratch.scope(), Policy::default());
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    let top = files.list(None, 1).unwrap();
    assert_eq!(paths(&top), [".hidden", "a", "out"]);
    assert!(!top.truncated);
    assert_eq!(top.files[2].kind, ListedKind::Link);
    let all = files.list(Some("/"), 9).unwrap();
    assert_eq!(
        paths(&all),
        [".hidden", "a", "a/b", "a/b/.git", "a/b/c.txt", "out"]
    );
    assert_eq!(
        (all.files[4].kind, all.files[4].size),
        (ListedKind::File, 4)
    );
    let inner = files.list(Some("a/b/.git"), 1).unwrap();
    assert_eq!(paths(&inner), ["a/b/.git/objects"]);
}

#[test]
fn a_list_ends_somewhere_and_says_so() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("deep")).unwrap();
    for number in 0..LISTED_MAX {
        std::fs::write(scratch.path(&format!("deep/{number}")), "").unwrap();
    }
    let (scope, policy) = (scratch.scope(), Policy::default());
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    let listing = files.list(None, 2).unwrap();
    assert_eq!(listing.files.len(), LISTED_MAX);
    assert!(listing.truncated);
    assert_eq!(listing.files[0].path, "deep", "what lies above comes first");
    assert!(!files.list(Some("deep"), 1).unwrap().truncated);
}

#[test]
fn a_file_that_is_too_large_is_told_by_its_size() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), [7; 10]).unwrap();
    let (scope, policy) = (scratch.scope(), Policy::default());
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    let small = files.read("a", 10).unwrap();
    assert_eq!((small.size, small.content), (10, Some(vec![7; 10])));
    let large = files.read("a", 9).unwrap();
    assert_eq!((large.size, large.content), (10, None));
}

#[test]
fn what_no_tool_may_read_is_neither_read_nor_listed() {
    let scratch = Scratch::new();
    for directory in ["data", ".cowork/auth", "keys"] {
        std::fs::create_dir_all(scratch.path(directory)).unwrap();
    }
    for file in ["data/x", ".cowork/auth/k", "keys/a.pem", "keys/a.txt"] {
        std::fs::write(scratch.path(file), "s").unwrap();
    }
    symlink("keys/a.pem", scratch.path("alias")).unwrap();
    let mut scope = scratch.scope();
    scope.private.push(scratch.path("data"));
    let policy = "[[rule]]\neffect = \"refuse\"\npath = \"**/*.pem\"";
    let policy: Policy = toml::from_str(policy).unwrap();
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    for path in ["data/x", ".cowork/auth/k", "keys/a.pem", "alias"] {
        assert!(files.read(path, MAX).is_err(), "{path}");
    }
    assert!(files.read("keys/a.txt", MAX).is_ok());
    let all = files.list(None, 3).unwrap();
    assert_eq!(paths(&all), [".cowork", "alias", "keys", "keys/a.txt"]);
}

/// A directory that is a link out of the workspace every other moment, as a hostile program could make it.
#[test]
fn a_link_swapped_in_between_leads_nowhere() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    std::fs::create_dir(scratch.path("dir")).unwrap();
    std::fs::write(scratch.path("dir/file"), "mine").unwrap();
    std::fs::write(other.path("file"), "secret").unwrap();
    symlink(other.path(""), scratch.path("link")).unwrap();
    let (scope, policy) = (scratch.scope(), Policy::default());
    let files = WorkspaceFiles::open(&scope, &policy).unwrap();
    let stop = AtomicBool::new(false);
    let (mut read, mut listed) = (0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (directory, link) = (scratch.path("dir"), scratch.path("link"));
            while !stop.load(Ordering::Relaxed) {
                let exchange = RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &directory, CWD, &link, exchange).unwrap();
            }
        });
        for _ in 0..2_000 {
            if let Ok(file) = files.read("dir/file", MAX) {
                assert_eq!(file.content.as_deref(), Some(&b"mine"[..]));
                read += 1;
            }
            let listing = files.list(None, 2).unwrap();
            let inner = listing.files.iter().filter(|file| file.path.contains('/'));
            listed += inner.inspect(|file| assert_eq!(file.size, 4)).count();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(read > 0 && listed > 0, "it is there every other moment");
}
