//! The web page's own tests: its types, and its units over the recorded frames.

use std::process::Command;
use std::thread::{self, JoinHandle};

use anyhow::{anyhow, bail};

use crate::run::{root, succeed};

/// What the page is built and tested with, on its way from the package registry.
pub struct PagePackages(JoinHandle<anyhow::Result<()>>);

impl PagePackages {
    /// Begins at once and in the background: a download and a compiler do not hinder each other.
    pub fn begin() -> Self {
        // Not `ci`: npm leaves other systems' builds of a package out of the lock file, and then misses them.
        let words = [
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--silent",
        ];
        Self(thread::spawn(move || succeed(&mut npm(&words))))
    }

    pub fn finish(self) -> anyhow::Result<()> {
        let panicked = |_| Err(anyhow!("the installation of the page's packages panicked"));
        self.0.join().unwrap_or_else(panicked)
    }
}

/// `cargo xtask page`: only these tests.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`page` takes no argument, not `{unknown}`");
    }
    PagePackages::begin().finish()?;
    test()
}

pub fn test() -> anyhow::Result<()> {
    succeed(&mut npm(&["run", "--silent", "check"]))?;
    succeed(&mut npm(&["run", "--silent", "test"]))
}

fn npm(words: &[&str]) -> Command {
    let mut npm = Command::new("npm");
    npm.args(words).current_dir(root().join("web"));
    npm
}
