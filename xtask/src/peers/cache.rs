//! Where the peers are kept, and how a folder becomes whole at once or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};

use super::recipe::Recipe;
use crate::run::root;

/// Holds the text of the recipe that made a folder; written last, before it gets its name.
const RECEIPT: &str = "installed.txt";

/// `$DRAGOMAN_PEERS`, else a folder of the user's cache.
pub fn folder() -> anyhow::Result<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = if let Some(folder) = given("DRAGOMAN_PEERS") {
        std::path::absolute(PathBuf::from(folder))?
    } else if let Some(cache) = given("XDG_CACHE_HOME") {
        PathBuf::from(cache).join("dragoman/peers")
    } else if let Some(home) = given("HOME") {
        PathBuf::from(home).join(".cache/dragoman/peers")
    } else {
        bail!("no place for the peers; set DRAGOMAN_PEERS to a folder");
    };
    if folder.starts_with(root()) {
        bail!(
            "{} is inside of the source tree; set DRAGOMAN_PEERS to a folder outside",
            folder.display()
        );
    }
    Ok(folder)
}

/// The peer's folder, installed first if it is not there as the recipe wants it.
pub fn ensure(recipe: &Recipe, cache: &Path) -> anyhow::Result<PathBuf> {
    let started = Instant::now();
    fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let label = format!("{}-{}", recipe.name, recipe.version);
    // Two runs at once: the second waits, and finds it done.
    let lock = File::create(cache.join(format!("{label}.lock")))?;
    lock.lock().context("cannot lock the cache of peers")?;
    let folder = cache.join(&label);
    if receipt(&folder).is_some_and(|text| text == recipe.text()) && recipe.probe(&folder) {
        println!("peer {label}: there");
        return Ok(folder);
    }
    println!("peer {label}: installing");
    let partial = cache.join(format!("{label}.partial"));
    clear(&partial)?;
    fs::create_dir(&partial)?;
    recipe.install(&partial)?;
    fs::write(partial.join(RECEIPT), recipe.text())?;
    clear(&folder)?;
    fs::rename(&partial, &folder)
        .with_context(|| format!("cannot move {} into place", partial.display()))?;
    if !recipe.probe(&folder) {
        bail!(
            "installed into {}, but does not load from there",
            folder.display()
        );
    }
    let took = started.elapsed().as_secs_f64();
    println!("peer {label}: installed in {took:.1} s");
    Ok(folder)
}

fn receipt(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(RECEIPT)).ok()
}

fn clear(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot delete {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::recipe::Source;

    /// A recipe whose installation is a shell script, so that no registry is asked.
    fn recipe(script: &'static str) -> Recipe {
        Recipe {
            name: "toy",
            version: "1",
            variable: "TOY",
            source: Source::Script(script),
        }
    }

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        clear(&folder).expect("a clear place");
        folder
    }

    #[test]
    fn what_is_there_is_not_installed_again_but_another_recipe_is() -> anyhow::Result<()> {
        let cache = scratch("again");
        let folder = ensure(&recipe("echo one > toy"), &cache)?;
        fs::write(folder.join("toy"), "kept")?;
        ensure(&recipe("echo one > toy"), &cache)?;
        assert_eq!(fs::read_to_string(folder.join("toy"))?, "kept");
        ensure(&recipe("echo two > toy"), &cache)?;
        assert_eq!(fs::read_to_string(folder.join("toy"))?, "two\n");
        clear(&cache)
    }

    #[test]
    fn a_failed_installation_leaves_nothing_that_looks_whole() -> anyhow::Result<()> {
        let cache = scratch("failed");
        let error = ensure(&recipe("echo half > toy; echo no space; exit 3"), &cache)
            .expect_err("the script fails");
        assert!(format!("{error:#}").contains("no space"), "{error:#}");
        assert!(!cache.join("toy-1").exists());
        ensure(&recipe("echo whole > toy"), &cache)?;
        assert_eq!(fs::read_to_string(cache.join("toy-1/toy"))?, "whole\n");
        clear(&cache)
    }

    #[test]
    fn two_runs_at_once_install_once() -> anyhow::Result<()> {
        let cache = scratch("twice");
        let install = || {
            let cache = cache.clone();
            std::thread::spawn(move || {
                let script = "echo made >> ../log; echo toy > toy";
                ensure(&recipe(script), &cache)
            })
        };
        for run in [install(), install()] {
            run.join().expect("no panic")?;
        }
        assert_eq!(fs::read_to_string(cache.join("log"))?, "made\n");
        clear(&cache)
    }
}
