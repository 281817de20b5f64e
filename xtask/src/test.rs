//! `cargo xtask test`: the stages that decide whether a change lands, each with its time.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::escape::{self, Bubblewrap};
use crate::page::{self, PagePackages};
use crate::peers::{Location, Peers};
use crate::run::{cargo, root, succeed, works};
use crate::tidy;

type Stage = (&'static str, fn(&mut Help) -> anyhow::Result<()>);

/// Cheap ones first: a forgotten `cargo fmt` should not cost a build.
const STAGES: [Stage; 8] = [
    ("fmt", |_| fmt()),
    ("tidy", |_| tidy::check()),
    ("clippy", clippy),
    ("tests", tests),
    ("escape", |_| escape()),
    ("live", live),
    ("page", page),
    ("doctests", |_| doctests()),
];

/// The tests that need a peer; they run last, and among themselves.
const LIVE: &str = "binary(peers)";
/// The tests that attack the sandbox; they run apart, as each user that this run can be.
const ESCAPE: &str = "binary(escape)";

/// What the tests need from outside: asked for when the compiler starts, needed when it is done.
#[derive(Default)]
struct Help {
    coming: Option<Peers>,
    here: Vec<Location>,
    bubblewrap: Option<Bubblewrap>,
    page: Option<PagePackages>,
}

impl Help {
    fn call(&mut self) -> anyhow::Result<()> {
        self.bubblewrap = Some(Bubblewrap::begin());
        self.page = Some(PagePackages::begin());
        self.coming = Some(Peers::begin()?);
        Ok(())
    }

    fn await_all(&mut self) -> anyhow::Result<&[Location]> {
        if let Some(coming) = self.coming.take() {
            let started = Instant::now();
            self.here = coming.finish()?;
            println!("waited {} for the peers", seconds(started.elapsed()));
        }
        Ok(&self.here)
    }
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`test` takes no argument, not `{unknown}`; one test runs with `cargo nextest run`");
    }
    let (mut table, mut help) = (Vec::new(), Help::default());
    for (name, stage) in STAGES {
        println!("== {name}");
        let started = Instant::now();
        let outcome = stage(&mut help);
        let took = started.elapsed();
        println!("== {name}: {}", seconds(took));
        table.push((name, took, outcome.is_ok()));
        if let Err(error) = outcome {
            print_table(&table);
            // What is half downloaded now would be downloaded again by the next run.
            if let Err(missing) = help.await_all() {
                eprintln!("{missing:#}");
            }
            return Err(error).with_context(|| format!("stage {name} failed"));
        }
    }
    print_table(&table);
    Ok(())
}

fn fmt() -> anyhow::Result<()> {
    succeed(&mut cargo(&["fmt", "--all", "--check"]))
}

/// The first stage that compiles, so the first that can hide a download.
fn clippy(help: &mut Help) -> anyhow::Result<()> {
    help.call()?;
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
/// without it the suite still runs, all of it here.
fn tests(help: &mut Help) -> anyhow::Result<()> {
    // Which sandbox there is shows in the stories.
    await_bubblewrap(help);
    if has_nextest() {
        return succeed(&mut nextest(&format!("not ({LIVE} or {ESCAPE})")));
    }
    println!("cargo-nextest is not installed; using cargo test");
    let peers = help.await_all()?;
    succeed(
        cargo(&["test", "--workspace", "--all-targets", "--no-fail-fast"])
            .envs(peers.iter().map(|(name, folder)| (name, folder))),
    )
}

/// In every mode of the sandbox that works here, as root and as an ordinary user.
fn escape() -> anyhow::Result<()> {
    if !has_nextest() {
        println!("ran with the others, as one user only");
        return Ok(());
    }
    escape::try_all(&["--workspace"])
}

fn await_bubblewrap(help: &mut Help) {
    if let Some(bubblewrap) = help.bubblewrap.take() {
        println!("{}", bubblewrap.finish());
    }
}

/// Against servers that we did not write.
fn live(help: &mut Help) -> anyhow::Result<()> {
    let peers = help.await_all()?;
    if !has_nextest() {
        println!("ran with the others");
        return Ok(());
    }
    succeed(nextest(LIVE).envs(peers.iter().map(|(name, folder)| (name, folder))))
}

/// The web page by itself; what it is served with is tested with the server.
fn page(help: &mut Help) -> anyhow::Result<()> {
    if let Some(packages) = help.page.take() {
        packages.finish()?;
    }
    page::test()
}

fn has_nextest() -> bool {
    works(&mut cargo(&["nextest", "--version"]))
}

fn nextest(which: &str) -> Command {
    cargo(&[
        "nextest",
        "run",
        "--workspace",
        "--no-tests=pass",
        "--no-fail-fast",
        "--filterset",
        which,
    ])
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
