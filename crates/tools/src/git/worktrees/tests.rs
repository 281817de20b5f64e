//! Worktrees of real repositories, hostile ones among them.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;

/// A repository with one commit.
fn repository(scratch: &Scratch) -> PathBuf {
    let repo = scratch.path("repo");
    std::fs::create_dir(&repo).unwrap();
    std::fs::write(repo.join("file"), "one\n").unwrap();
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "--quiet",
            "-m",
            "one",
        ],
    ] {
        let mut git = std::process::Command::new("git");
        let ended = git.args(arguments).current_dir(&repo).status().unwrap();
        assert!(ended.success(), "{arguments:?}");
    }
    repo.canonicalize().unwrap()
}

fn new(repository: &Path) -> NewWorktree {
    NewWorktree {
        repository: repository.to_owned(),
        ..NewWorktree::default()
    }
}

#[tokio::test]
async fn a_worktree_is_made_listed_and_removed() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    let place = scratch.path("").canonicalize().unwrap().join("deep/wt");
    let made = create(&new(&repo), "wt-1", &place).await.unwrap();
    assert_eq!((made.branch.as_str(), &made.path), ("wt-1", &place));
    assert_eq!(std::fs::read(place.join("file")).unwrap(), b"one\n");
    let found = list(&place).await.unwrap();
    assert_eq!(found.main, repo);
    assert_eq!(found.worktrees[1].path, place);
    assert_eq!(found.worktrees[1].branch.as_deref(), Some("wt-1"));
    assert_eq!(found.worktrees[1].head, made.head);
    assert_eq!(made.head.len(), 40);

    let GitRefusal(why) = create(&new(&repo), "wt-1", &scratch.path("other"))
        .await
        .unwrap_err();
    assert!(why.contains("already exists"), "{why}");
    std::fs::write(place.join("new"), "").unwrap();
    let GitRefusal(why) = remove(&repo, &place, false).await.unwrap_err();
    assert!(why.contains("untracked"), "{why}");
    remove(&repo, &place, true).await.unwrap();
    assert!(!place.exists());
    assert!(
        remove(&repo, &repo, true).await.is_err(),
        "not the main one"
    );
    assert!(repo.join("file").exists());
}

#[tokio::test]
async fn those_whose_directories_are_gone_are_pruned() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    let place = scratch.path("gone");
    create(&new(&repo), "wt-2", &place).await.unwrap();
    assert_eq!(prune(&repo).await.unwrap(), 0);
    std::fs::remove_dir_all(&place).unwrap();
    assert!(list(&repo).await.unwrap().worktrees[1].prunable);
    assert_eq!(prune(&repo).await.unwrap(), 1);
    assert_eq!(list(&repo).await.unwrap().worktrees.len(), 1);
}

#[tokio::test]
async fn nothing_that_came_with_a_repository_is_run() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    let trace = scratch.path("trace");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", trace.display());
    let hooks = repo.join(".git/hooks");
    for file in [hooks.join("post-checkout"), repo.join("smudge")] {
        std::fs::write(&file, &script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
    }
    create(&new(&repo), "hooked", &scratch.path("a"))
        .await
        .unwrap();
    assert!(!trace.exists(), "the hook ran");
    let config = repo.join(".git/config");
    let plain = std::fs::read_to_string(&config).unwrap();
    std::fs::write(repo.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    let evil = format!(
        "{plain}[filter \"evil\"]\nsmudge = {}\n",
        repo.join("smudge").display()
    );
    std::fs::write(&config, evil).unwrap();
    let GitRefusal(why) = create(&new(&repo), "filtered", &scratch.path("b"))
        .await
        .unwrap_err();
    assert!(why.contains("filter"), "{why}");
    assert!(!trace.exists() && !scratch.path("b").exists());
    for refused in [list(&repo).await.is_err(), prune(&repo).await.is_err()] {
        assert!(refused);
    }
}

#[tokio::test]
async fn what_looks_like_an_option_never_reaches_git() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    for branch in ["--help", "", "a b", "a\nb", &"x".repeat(201)] {
        let made = create(&new(&repo), branch, &scratch.path("x")).await;
        assert!(made.is_err(), "{branch:?}");
    }
    let from = NewWorktree {
        base: Some("--force".to_owned()),
        ..new(&repo)
    };
    let GitRefusal(why) = create(&from, "fine", &scratch.path("x")).await.unwrap_err();
    assert!(why.starts_with("baseRef:"), "{why}");
    let GitRefusal(why) = list(&scratch.path("")).await.unwrap_err();
    assert!(why.contains("no git repository"), "{why}");
}
