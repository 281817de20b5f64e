//! The servers our model code is tested against: installed on demand, pinned, outside the tree.
//!
//! They come from the package registries the user's npm and pip are set to, into a folder each
//! below the cache. A folder is either whole or not there, so a stopped run does no harm.

mod cache;
mod recipe;

use std::path::PathBuf;
use std::process::Command;
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow, bail};

use recipe::Recipe;

/// An environment variable, and the folder of the peer it tells the tests of.
pub type Location = (&'static str, PathBuf);

/// Installations under way, each in a thread of its own.
pub struct Peers(Vec<(Recipe, JoinHandle<anyhow::Result<PathBuf>>)>);

impl Peers {
    /// Begins at once and in the background: a download and a compiler do not hinder each other.
    pub fn begin() -> anyhow::Result<Self> {
        let cache = cache::folder()?;
        let begin = |recipe: Recipe| {
            let cache = cache.clone();
            let work = thread::spawn(move || cache::ensure(&recipe, &cache));
            (recipe, work)
        };
        Ok(Self(recipe::ALL.into_iter().map(begin).collect()))
    }

    /// Waits for all of them; an error names every peer that could not be had.
    pub fn finish(self) -> anyhow::Result<Vec<Location>> {
        let (mut locations, mut failures) = (Vec::new(), Vec::new());
        for (recipe, work) in self.0 {
            let outcome = work
                .join()
                .unwrap_or_else(|_| Err(anyhow!("its installation panicked")));
            match outcome {
                Ok(folder) => locations.push((recipe.variable, folder)),
                Err(error) => failures.push(format!("  {}: {error:#}", recipe.name)),
            }
        }
        if !failures.is_empty() {
            bail!("peers are missing:\n{}", failures.join("\n"));
        }
        Ok(locations)
    }
}

/// `cargo xtask peers`: only installs them, and says where they are.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`peers` takes no argument, not `{unknown}`");
    }
    for (variable, folder) in Peers::begin()?.finish()? {
        println!("export {variable}={}", folder.display());
    }
    Ok(())
}

/// Runs it in silence; a failure tells the end of what it said.
fn quietly(command: &mut Command, what: &str) -> anyhow::Result<()> {
    const LINES_SHOWN: usize = 12;
    let output = command
        .output()
        .with_context(|| format!("cannot start {what}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let from = lines.len().saturating_sub(LINES_SHOWN);
    bail!(
        "{what} ended with {}:\n{}",
        output.status,
        lines[from..].join("\n")
    )
}
