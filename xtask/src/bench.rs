//! `cargo xtask bench`: builds the server as it is shipped, and measures it.

use std::process::Command;

use anyhow::bail;

use crate::run::{cargo, root, succeed};

/// Every open socket is a file, on both sides.
const RAISE_LIMIT_AND_RUN: &str = "ulimit -n \"$(ulimit -Hn)\"; exec \"$@\"";

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|word| word == "--help") {
        bail!("`cargo xtask bench [--quick] [--json FILE] [name…]`; a wrong name lists them all");
    }
    succeed(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "server",
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
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), std::path::PathBuf::from);
    let release = target.join("release");
    succeed(
        Command::new("sh")
            .args(["-c", RAISE_LIMIT_AND_RUN, "bench"])
            .arg(release.join("examples/bench"))
            .arg(release.join("dragoman"))
            .args(arguments),
    )
}
