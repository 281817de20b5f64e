//! Unified diffs, checked by applying them: `git apply` knows the format best.

use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use crate::children::available;
use crate::property::cases;
use crate::tree::{self, Node, Tree, assert_same};
use crate::world::World;

/// A few files of a few lines each; with and without a newline at the end, or not there at all.
fn texts() -> impl Strategy<Value = Vec<Option<String>>> {
    let line = prop::sample::select(vec!["", "a", "b", "  c", "+d", "-e", "@@", "\\ x", "--- y"]);
    let text = (prop::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, end)| {
        let mut text = lines.join("\n");
        if end && !text.is_empty() {
            text.push('\n');
        }
        text
    });
    prop::collection::vec(prop::option::weighted(0.8, text), NAMES.len())
}

const NAMES: [&str; 4] = ["plain", "dir/with space", "ünïcode", "dir/other.rs"];

fn put(world: &World, texts: &[Option<String>]) {
    for (name, text) in NAMES.iter().zip(texts) {
        match text {
            Some(text) => world.write(name, text),
            None => tree::remove(&world.at(name)),
        }
    }
}

fn files(tree: Tree) -> Tree {
    let is_file = |node: &Node| matches!(node, Node::File { .. });
    tree.into_iter().filter(|(_, node)| is_file(node)).collect()
}

fn apply(diff: &str, directory: &Path) {
    let mut git = Command::new("git");
    git.args(["apply", "--unidiff-zero", "--whitespace=nowarn", "-"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap())
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = git.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), diff.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}\n{diff}");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_diff_turns_one_state_into_the_other(from in texts(), to in texts()) {
        if !available(&["git", "--version"]) {
            return Ok(());
        }
        let world = World::new();
        put(&world, &from);
        let original = world.begin();
        put(&world, &to);
        let after = files(world.tree());
        let taken = world.take();
        let diff = world.vault.diff(original, taken.moment, 1 << 20).unwrap();
        put(&world, &from);
        if !diff.is_empty() {
            apply(&diff, &world.workspace());
        }
        assert_same(&files(world.tree()), &after, &diff);
    }
}

/// A section without any change in it makes the whole diff worthless to who applies it.
#[test]
fn a_mode_that_a_diff_cannot_tell_is_not_in_it() {
    if !available(&["git", "--version"]) {
        return;
    }
    let world = World::new();
    world.write("a", "same\n");
    tree::chmod(&world.at("a"), 0o644);
    world.write("b", "before\n");
    let original = world.begin();
    tree::chmod(&world.at("a"), 0o600);
    world.write("b", "after\n");
    let taken = world.take();
    let diff = world.vault.diff(original, taken.moment, 10_000).unwrap();
    world.write("b", "before\n");
    apply(&diff, &world.workspace());
    assert_eq!(std::fs::read(world.at("b")).unwrap(), b"after\n");
}

#[test]
fn a_file_that_became_a_directory_is_deleted_in_a_diff() {
    let world = World::new();
    world.write("thing", "one line\n");
    let original = world.begin();
    tree::remove(&world.at("thing"));
    world.write("thing/inside", "another\n");
    let taken = world.take();
    let there = world.vault.diff(original, taken.moment, 10_000).unwrap();
    for part in [
        "deleted file mode",
        "-one line",
        "new file mode",
        "+another",
    ] {
        assert!(there.contains(part), "{part}: {there}");
    }
    let back = world.vault.diff(taken.moment, original, 10_000).unwrap();
    for part in [
        "deleted file mode",
        "-another",
        "new file mode",
        "+one line",
    ] {
        assert!(back.contains(part), "{part}: {back}");
    }
}

/// What does not fit is counted, and the limit holds roughly.
#[test]
fn a_diff_has_a_limit() {
    let world = World::new();
    let original = world.begin();
    for number in 0..50 {
        world.write(
            format!("file-{number:02}"),
            format!("line {number}\n").repeat(200),
        );
    }
    world.write("binary", [0, 159, 146, 150]);
    let taken = world.take();
    let diff = world.vault.diff(original, taken.moment, 10_000).unwrap();
    assert!(diff.len() < 20_000, "{} bytes", diff.len());
    assert!(diff.contains("binary"));
    let whole = diff.matches("+++ ").count();
    let last = diff.lines().last().unwrap();
    let left_out: usize = last
        .split(|c: char| !c.is_ascii_digit())
        .find_map(|word| word.parse().ok())
        .unwrap();
    assert_eq!(
        whole + left_out,
        50 + usize::from(diff.contains("+++ b/binary")),
        "{last}"
    );
}
