//! What the client wants of the machine: a directory to work in, and worktrees.

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::Scratch;

use super::{LIMIT, Page, start};
use crate::tell;

fn repository(scratch: &Scratch) -> anyhow::Result<String> {
    let repo = scratch.user().join("repo");
    std::fs::create_dir_all(&repo)?;
    std::fs::write(repo.join("file"), "one\n")?;
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
        let ended = git.args(arguments).current_dir(&repo).status()?;
        ensure!(ended.success(), "{arguments:?}");
    }
    Ok(repo.canonicalize()?.display().to_string())
}

/// B1: without these nobody can choose a project, and so nobody can start a task in today's client.
#[test]
fn b1_directories_are_listed_from_home_on_and_up_again() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let home = scratch.user().canonicalize()?;
        for name in ["work/deep", "notes", ".ssh"] {
            std::fs::create_dir_all(home.join(name))?;
        }
        let server = start(&scratch).await?;
        let mut page = Page::open(&server).await?;
        // Ids of these are words, and are told back as they came.
        let frame = json!({ "id": "dir-3", "method": "anchor.listDirs", "params": { "path": "" } });
        page.control(frame).await?;
        let listed = page.socket.until(|frame| frame["id"] == "dir-3").await?;
        let listed = &listed["result"];
        assert_eq!(listed["current"], home.display().to_string());
        let dirs = listed["dirs"].as_array().context("dirs")?;
        ensure!(
            dirs.contains(&json!("notes")) && dirs.contains(&json!("work")),
            "{listed}"
        );
        ensure!(
            !dirs
                .iter()
                .any(|name| name.as_str().unwrap_or_default().starts_with('.'))
        );
        let below = home.join("work").display().to_string();
        let below = page
            .ask("anchor.listDirs", json!({ "path": below }))
            .await?;
        assert_eq!(below["dirs"], json!(["deep"]));
        assert_eq!(below["parent"], home.display().to_string());
        for closed in [
            home.join(".ssh"),
            home.join("nowhere"),
            scratch.home().to_path_buf(),
        ] {
            let closed = closed.display().to_string();
            let error = page
                .refused("anchor.listDirs", json!({ "path": closed }))
                .await?;
            assert_eq!(error["code"], -1, "{closed}: {error}");
        }
        let error = page
            .refused("anchor.listDirs", json!({ "path": "work" }))
            .await?;
        assert_eq!(
            error["message"],
            "anchor.listDirs: path: expected an absolute path"
        );
        let error = page.refused("anchor.teleport", json!({})).await?;
        assert_eq!(error["code"], -32601);
        Ok(())
    });
}

#[test]
fn b1_worktrees_are_made_listed_removed_and_pruned() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let repo = repository(&scratch)?;
        let server = start(&scratch).await?;
        let mut page = Page::open(&server).await?;
        let inspected = page
            .ask("anchor.git.inspect", json!({ "path": repo }))
            .await?;
        let expected = json!({ "isGitRepo": true, "repoRoot": repo, "currentBranch": "main" });
        assert_eq!(inspected, expected);
        let plain = scratch.workspace().canonicalize()?.display().to_string();
        let inspected = page
            .ask("anchor.git.inspect", json!({ "path": plain }))
            .await?;
        assert_eq!(inspected, json!({ "isGitRepo": false }));

        let repo_root = json!({ "repoRoot": repo });
        let made = page
            .ask("anchor.git.worktree.create", repo_root.clone())
            .await?;
        let (path, branch) = (&made["path"], made["branch"].as_str().context("a branch")?);
        ensure!(branch.starts_with("wt-") && branch.len() == "wt-260131-1504-0a1b2c".len());
        let place = std::path::PathBuf::from(path.as_str().context("a path")?);
        assert_eq!(std::fs::read_to_string(place.join("file"))?, "one\n");
        let listed = page
            .ask("anchor.git.worktree.list", repo_root.clone())
            .await?;
        assert_eq!(listed["mainPath"], repo.as_str());
        assert_eq!(listed["worktrees"][0]["isMain"], true);
        let second = &listed["worktrees"][1];
        assert_eq!(
            (&second["path"], &second["branch"]),
            (path, &made["branch"])
        );
        assert_eq!(
            (&second["locked"], &second["prunable"]),
            (&json!(false), &json!(false))
        );
        // A task can be started in it.
        let thread = page.start_thread(path.as_str().context("a path")?).await?;
        assert_eq!(page.converse(&thread, "echo there").await?, "Completed");

        let remove = json!({ "repoRoot": repo, "path": path, "force": true });
        let removed = page.ask("anchor.git.worktree.remove", remove).await?;
        assert_eq!(removed, json!({ "removed": true }));
        ensure!(!place.exists());
        let named = json!({ "repoRoot": repo, "branchName": "mine", "baseRef": "main",
            "path": scratch.user().canonicalize()?.join("mine") });
        page.ask("anchor.git.worktree.create", named.clone())
            .await?;
        let error = page.refused("anchor.git.worktree.create", named).await?;
        assert_eq!(error["code"], -1);
        std::fs::remove_dir_all(scratch.user().join("mine"))?;
        let pruned = page.ask("anchor.git.worktree.prune", repo_root).await?;
        assert_eq!(pruned, json!({ "prunedCount": 1 }));
        Ok(())
    });
}

/// What a hostile repository brings along is not run, and a directory of the server's data is no place.
#[test]
fn worktrees_run_nothing_and_lie_nowhere_private() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let repo = repository(&scratch)?;
        let trace = scratch.user().join("ran");
        let hook = std::path::Path::new(&repo).join(".git/hooks/post-checkout");
        std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", trace.display()))?;
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let server = start(&scratch).await?;
        let mut page = Page::open(&server).await?;
        let private = scratch.home().join("stolen").display().to_string();
        let into = json!({ "repoRoot": repo, "path": private });
        let error = page.refused("anchor.git.worktree.create", into).await?;
        ensure!(
            error["message"]
                .as_str()
                .unwrap_or_default()
                .starts_with("path:"),
            "{error}"
        );
        page.ask("anchor.git.worktree.create", json!({ "repoRoot": repo }))
            .await?;
        ensure!(!trace.exists(), "the repository's hook ran");
        Ok(())
    });
}
