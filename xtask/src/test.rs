//! `cargo xtask test`: the stages that decide whether a change lands, each with its time.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::run::{cargo, root, succeed, works};
use crate::tidy;

type Stage = (&'static str, fn() -> anyhow::Result<()>);

/// Cheap ones first: a forgotten `cargo fmt` should not cost a build.
const STAGES: [Stage; 5] = [
    ("fmt", fmt),
    ("tidy", tidy::check),
    ("clippy", clippy),
    ("tests", tests),
    ("doctests", doctests),
];

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`test` takes no argument, not `{unknown}`; one test runs with `cargo nextest run`");
    }
    let mut table = Vec::new();
    for (name, stage) in STAGES {
        println!("== {name}");
        let started = Instant::now();
        let outcome = stage();
        let took = started.elapsed();
        println!("== {name}: {}", seconds(took));
        table.push((name, took, outcome.is_ok()));
        if let Err(error) = outcome {
            print_table(&table);
            return Err(error).with_context(|| format!("stage {name} failed"));
        }
    }
    print_table(&table);
    Ok(())
}

fn fmt() -> anyhow::Result<()> {
    succeed(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> anyhow::Result<()> {
    succeed(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

/// nextest runs each test in a process of its own, which suits tests that start servers;
/// without it the suite still runs.
fn tests() -> anyhow::Result<()> {
    if works(&mut cargo(&["nextest", "--version"])) {
        succeed(&mut cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--no-tests=pass",
            "--no-fail-fast",
        ]))
    } else {
        println!("cargo-nextest is not installed; using cargo test");
        succeed(&mut cargo(&[
            "test",
            "--workspace",
            "--all-targets",
            "--no-fail-fast",
        ]))
    }
}

fn doctests() -> anyhow::Result<()> {
    if !any_doctest()? {
        println!("no doctests");
        return Ok(());
    }
    succeed(&mut cargo(&["test", "--workspace", "--doc"]))
}

/// Building every crate's documentation tests takes long, so only when there is one.
fn any_doctest() -> anyhow::Result<bool> {
    for path in tidy::rust_files()? {
        let text = fs::read_to_string(root().join(&path))
            .with_context(|| format!("cannot read {path}"))?;
        if has_doctest(&text) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_doctest(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
            .map(str::trim_start);
        let Some(fence) = comment.and_then(|comment| comment.strip_prefix("```")) else {
            continue;
        };
        inside = !inside;
        let runs = fence
            .split(',')
            .all(|word| matches!(word.trim(), "" | "rust" | "no_run" | "should_panic"));
        if inside && runs {
            return true;
        }
    }
    false
}

fn print_table(table: &[(&str, Duration, bool)]) {
    println!();
    for (name, took, ok) in table {
        let verdict = if *ok { "ok" } else { "FAILED" };
        println!("{name:<10} {:>8}  {verdict}", seconds(*took));
    }
    let total = table.iter().map(|(_, took, _)| *took).sum();
    println!("{:<10} {:>8}", "total", seconds(total));
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::has_doctest;

    #[test]
    fn only_fences_that_run_are_doctests() {
        assert!(has_doctest("/// ```\n/// assert!(true);\n/// ```"));
        assert!(has_doctest("//! ```rust,no_run\n//! ```"));
        assert!(!has_doctest("/// ```text\n/// a table\n/// ```\nfn f() {}"));
        assert!(!has_doctest("let fence = \"```\";"));
    }
}
