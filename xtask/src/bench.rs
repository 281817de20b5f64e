//! `cargo xtask bench`: builds the server as it is shipped, and measures it; with `checkpoints`,
//! measures those beside others that keep states of a directory.

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;

use crate::run::{cargo, root, succeed};

/// Every open socket is a file, on both sides.
const RAISE_LIMIT_AND_RUN: &str = "ulimit -n \"$(ulimit -Hn)\"; exec \"$@\"";

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|word| word == "--help") {
        bail!(
            "`cargo xtask bench [--quick | --tiny] [--json FILE] [name…]`; a wrong name lists them all; \
             `cargo xtask bench checkpoints [--quick] [--json FILE] [sources] [many-small]`; \
             `cargo xtask bench search [threads]`"
        );
    }
    if let Some(rest) = without("checkpoints", arguments) {
        return checkpoints(&rest);
    }
    if let Some(rest) = without("search", arguments) {
        return search(&rest);
    }
    succeed(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "cli",
        "--bin",
        "dragoman",
    ]))?;
    succeed(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "testkit",
        "--example",
        "bench",
    ]))?;
    let release = release();
    succeed(
        Command::new("sh")
            .args(["-c", RAISE_LIMIT_AND_RUN, "bench"])
            .arg(release.join("examples/bench"))
            .arg(release.join("dragoman"))
            .args(arguments),
    )
}

/// What a search takes, and what the index costs those who append: the store alone.
fn search(arguments: &[String]) -> anyhow::Result<()> {
    succeed(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "store",
        "--features",
        "testing",
        "--example",
        "search_bench",
    ]))?;
    succeed(Command::new(release().join("examples/search_bench")).args(arguments))
}

/// It starts no server, so it needs none.
fn checkpoints(arguments: &[String]) -> anyhow::Result<()> {
    succeed(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "checkpoints",
        "--example",
        "checkpoints_bench",
    ]))?;
    succeed(Command::new(release().join("examples/checkpoints_bench")).args(arguments))
}

fn release() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    target.join("release")
}

/// The other words, if this one is among them.
fn without(word: &str, arguments: &[String]) -> Option<Vec<String>> {
    let rest: Vec<String> = arguments
        .iter()
        .filter(|other| *other != word)
        .cloned()
        .collect();
    (rest.len() < arguments.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_taken_out_wherever_it_stands() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let rest = without("checkpoints", &words("--quick checkpoints --json file"));
        assert_eq!(rest, Some(words("--quick --json file")));
        assert_eq!(without("checkpoints", &words("echo stream")), None);
    }
}
