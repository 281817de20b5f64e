//! `cargo xtask transcripts`: runs the scenarios, and compares or rewrites what they record.

use crate::run::{cargo, root, succeed};

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let mut update = false;
    let mut names = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--update" => update = true,
            flag if flag.starts_with('-') => {
                anyhow::bail!("`transcripts` knows --update and scenario names, not `{flag}`")
            }
            name if !root().join("scenarios").join(name).is_dir() => {
                anyhow::bail!("there is no scenarios/{name}; `ls scenarios` shows what there is")
            }
            name => names.push(name.replace('-', "_")),
        }
    }
    let mut command = cargo(&["test", "--package", "cli", "--test", "it", "--"]);
    if names.is_empty() {
        command.arg("scenarios::");
    } else {
        // Exact names, or `plan` would also run every name that begins with it.
        command.arg("--exact");
        for tongue in TONGUES {
            command.args(
                names
                    .iter()
                    .map(|name| format!("scenarios::{tongue}::{name}")),
            );
        }
    }
    let mode = if update { "update" } else { "check" };
    succeed(command.env("DRAGOMAN_TRANSCRIPTS", mode))?;
    if update {
        println!("transcripts rewritten; `git diff scenarios` shows what changed on the wire");
    }
    Ok(())
}

/// The test modules of `crates/cli/tests/it/scenarios.rs`, one per dialect.
const TONGUES: [&str; 6] = [
    "cowork",
    "cowork1",
    "diminuendo",
    "zane",
    "codex",
    "pioneer",
];
