//! The user's git repository: never changed, and nothing that its configuration names is ever run.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::LIMIT;
use super::outside::mkfifo;
use crate::children::available;
use crate::tree::{self, assert_same};
use crate::world::{World, within};

/// Leaves a trace of each way by which a repository runs programs.
fn lay_traps(workspace: &Path, marker: &Path) {
    let git = workspace.join(".git");
    for directory in [
        "hooks",
        "objects/info",
        "objects/pack",
        "refs/heads",
        "info",
    ] {
        fs::create_dir_all(git.join(directory)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let trap = git.join("trap");
    let script = format!("#!/bin/sh\necho \"$0\" >> '{}'\ncat\n", marker.display());
    tree::write(&trap, 0o755, script.as_bytes());
    let trap = trap.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = {trap}\n\
         \thooksPath = {0}/hooks\n\tpager = {trap}\n\tsshCommand = {trap}\n\
         [filter \"trap\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\trequired = true\n\
         [diff \"trap\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n",
        git.display()
    );
    fs::write(git.join("config"), config).unwrap();
    for hook in [
        "post-index-change",
        "pre-commit",
        "post-checkout",
        "fsmonitor-watchman",
    ] {
        tree::write(&git.join("hooks").join(hook), 0o755, script.as_bytes());
    }
    fs::write(
        workspace.join(".gitattributes"),
        "* filter=trap diff=trap\n",
    )
    .unwrap();
}

#[test]
fn a_repository_is_left_alone_and_runs_nothing() {
    within(LIMIT, || {
        let world = World::new();
        let marker = world.home.path().join("marker");
        lay_traps(&world.workspace(), &marker);
        world.write("file", "one\n");
        // Who looks into .git lists these; who reads them hangs.
        mkfifo(&world.at(".git/pipe"));
        world.write("nested/.git/config", "[core]\n");
        world.write("worktree/.git", "gitdir: /nowhere\n");
        let inside = |world: &World| {
            let mut tree = tree::read(&world.workspace());
            tree.retain(|path, _| path.iter().any(|name| name == ".git"));
            tree
        };
        let repository = inside(&world);

        let original = world.begin();
        assert_eq!(world.vault.left_out(original).unwrap(), []);
        world.write("file", "two\n");
        let taken = world.take();
        let changes = world.vault.changes(original, taken.moment).unwrap();
        assert_eq!(changes.len(), 1);
        let diff = world.vault.diff(original, taken.moment, 10_000).unwrap();
        assert!(diff.contains("-one") && diff.contains("+two"), "{diff}");
        fs::remove_dir_all(world.at("nested/.git")).unwrap();
        world.write("nested/.git/config", "[core]\n");
        fs::remove_file(world.at("file")).unwrap();
        world.restore(original);
        assert_eq!(fs::read(world.at("file")).unwrap(), b"one\n");
        assert_same(&inside(&world), &repository, ".git");
        assert!(!marker.exists(), "{:?}", fs::read_to_string(&marker));

        // The traps are real: git itself walks into them.
        if available(&["git", "--version"]) {
            fs::remove_file(world.at(".git/pipe")).unwrap();
            fs::remove_file(world.at("worktree/.git")).unwrap();
            let mut git = Command::new("git");
            git.args(["-c", "safe.directory=*", "add", "file"])
                .current_dir(world.workspace());
            println!("{:?}", git.output());
            assert!(marker.exists(), "a trap that never snaps proves nothing");
        }
    });
}
