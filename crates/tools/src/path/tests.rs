//! Which paths are taken and which are not.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use super::*;
use crate::scratch::Scratch;
use vocabulary::ToolOutput;

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
    for given in ["a.txt", "new/deep/b.txt", "./x/../a.txt", "~a", "..a"] {
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
    let workspace = scope.directory.display().to_string();
    for given in ["..", "../x", "/etc/passwd", "a/../../x", beyond] {
        assert_eq!(
            message(resolve("write", &scope, given)),
            format!("write blocked: {given} is outside the workspace {workspace}")
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
    for (given, to) in [
        ("file", "secret"),
        ("dir/secret", "secret"),
        ("dir/new", "new"),
    ] {
        let to = std::fs::canonicalize(other.path("")).unwrap().join(to);
        let to = to.display();
        assert_eq!(
            message(resolve("read", &scope, given)),
            format!("read blocked: {given} is a link that leads outside the workspace, to {to}")
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

#[test]
fn settings_of_the_workspace_are_read_but_not_changed() {
    let scratch = Scratch::new();
    for given in [".cowork/config.json", "sub/.agent/x", ".COWORK/AGENT.md"] {
        assert!(resolve("read", &scratch.scope(), given).is_ok());
        let blocked = message(resolve_to_change("write", &scratch.scope(), given));
        assert!(blocked.contains("only the user changes"), "{blocked}");
    }
}

#[test]
fn private_places_are_closed_and_shelves_in_them_can_be_read() {
    let scratch = Scratch::new();
    let mut scope = scratch.scope();
    std::fs::create_dir_all(scratch.path("home/spill")).unwrap();
    std::fs::create_dir(scratch.path("home-not")).unwrap();
    std::os::unix::fs::symlink(scratch.path("home"), scratch.path("link")).unwrap();
    scope.private.push(scratch.path("home"));
    scope.spill = Some(scratch.path("home/spill"));
    for given in ["home", "home/token", "link/token", "home/spill/../token"] {
        let blocked = message(resolve("read", &scope, given));
        assert!(blocked.contains("private to the server"), "{blocked}");
        assert!(!Inside::of(&scope).has(given));
    }
    assert!(resolve("read", &scope, "home/spill/x").is_ok());
    assert!(resolve("read", &scope, "home-not/x").is_ok());
    let blocked = message(resolve_to_change("write", &scope, "home/spill/x"));
    assert!(blocked.contains("can only be read"), "{blocked}");
}

#[test]
fn keys_that_were_saved_for_the_workspace_are_closed() {
    let scratch = Scratch::new();
    let mut scope = scratch.scope();
    scope.extra.push(scratch.path("extra"));
    for name in [".cowork/auth", "extra/.cowork/auth", ".cowork/skills"] {
        std::fs::create_dir_all(scratch.path(name)).unwrap();
    }
    std::os::unix::fs::symlink(scratch.path(".cowork/auth"), scratch.path("link")).unwrap();
    for given in [
        ".cowork/auth",
        ".cowork/auth/mcp-credentials.json",
        ".cowork/skills/../auth/mcp-credentials.json",
        "link/mcp-credentials.json",
        "extra/.cowork/auth/mcp-credentials.json",
    ] {
        let blocked = message(resolve("read", &scope, given));
        assert!(blocked.contains("private to the server"), "{blocked}");
        assert!(!Inside::of(&scope).has(given));
    }
    assert!(resolve("read", &scope, ".cowork/skills/x").is_ok());
    assert!(resolve("read", &scope, ".cowork/mcp-servers.json").is_ok());
}

#[test]
fn a_workspace_under_the_servers_data_is_open_and_nothing_else_of_it() {
    let scratch = Scratch::new();
    let mut scope = scratch.scope();
    for name in [
        "home/workspaces/mine/deep",
        "home/workspaces/other",
        "home/config",
    ] {
        std::fs::create_dir_all(scratch.path(name)).unwrap();
    }
    scope.private.push(scratch.path("home"));
    scope
        .private
        .push(scratch.path("home/workspaces/mine/token"));
    let mut open = |directory: &str, given: &str| {
        scope.directory = scratch.path(directory);
        let paths = [
            resolve("read", &scope, given).is_ok(),
            resolve_to_change("write", &scope, given).is_ok(),
            Inside::of(&scope).has(given),
        ];
        assert!(
            paths.iter().all(|path| *path == paths[0]),
            "{directory} {given}: {paths:?}"
        );
        paths[0]
    };
    assert!(open("home/workspaces/mine", "a.txt"));
    assert!(open("home/workspaces/mine", "deep/a.txt"));
    assert!(open("home/workspaces/mine/deep", "a.txt"));
    for (directory, given) in [
        // What else is private stays so.
        ("home/workspaces/mine", "token"),
        ("home/workspaces/mine", "../other/a.txt"),
        ("home/workspaces/mine", "../../sessions.db"),
        // The server's own files are no workspace, nor is the place of all workspaces.
        ("home/config", "policy.toml"),
        ("home/workspaces", "a.txt"),
        ("home/workspaces", "mine/a.txt"),
        ("home", "workspaces/mine/a.txt"),
        ("", "home/workspaces/mine/a.txt"),
    ] {
        assert!(!open(directory, given), "{directory} {given}");
    }
}

#[test]
fn a_sibling_with_the_same_beginning_is_outside() {
    let scratch = Scratch::new();
    let mut scope = scratch.scope();
    scope.directory = scratch.path("ws");
    std::fs::create_dir(scratch.path("ws")).unwrap();
    std::fs::create_dir(scratch.path("ws-secret")).unwrap();
    let sibling = scratch.path("ws-secret/x");
    for given in ["../ws-secret/x", sibling.to_str().unwrap()] {
        assert!(resolve("read", &scope, given).is_err());
    }
}

/// A directory that is a link out of the workspace every other moment, as a hostile program could
/// make it, between the check of a path and its use.
#[tokio::test]
async fn a_link_swapped_in_between_leads_nowhere() {
    const ROUNDS: usize = 200;
    let (scratch, other) = (Scratch::new(), Scratch::new());
    std::fs::create_dir(scratch.path("dir")).unwrap();
    std::fs::write(scratch.path("dir/file"), "mine").unwrap();
    std::fs::write(other.path("file"), "secret").unwrap();
    std::os::unix::fs::symlink(other.path(""), scratch.path("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let stop = stop.clone();
        let (directory, link) = (scratch.path("dir"), scratch.path("link"));
        move || {
            let exchange = RenameFlags::EXCHANGE;
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &directory, CWD, &link, exchange).unwrap();
            }
        }
    });
    let mut read = 0;
    for round in 0..ROUNDS {
        let input = json!({"filePath": "dir/file"});
        if let Ok(output) = scratch.run(&crate::read::ReadTool, input).await {
            assert_ne!(output, ToolOutput::Text("1\tsecret".to_owned()));
            read += 1;
        }
        let file = format!("dir/new-{round}");
        let input = json!({"filePath": file, "content": ""});
        let _ = scratch.run(&crate::write::WriteTool, input).await;
        let input = json!({"pattern": "secret"});
        if let Ok(output) = scratch.run(&crate::grep::GrepTool, input).await {
            assert!(output.words().starts_with("No matches found"), "{output:?}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(read > 0, "the file is there every other moment");
    let outside = std::fs::read_dir(other.path("")).unwrap().count();
    assert_eq!(outside, 1, "nothing was written outside");
    assert_eq!(std::fs::read(other.path("file")).unwrap(), b"secret");
}
