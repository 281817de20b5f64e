//! Packages of the registries that npm and pip are set to, unpacked into a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// A package that was fetched.
pub struct Package {
    pub name: &'static str,
    pub version: String,
    pub folder: PathBuf,
}

/// What is read, and from where it comes.
const NPM: [&str; 3] = ["@earendil-works/pi-ai", "@anthropic-ai/sdk", "openai"];
const PIP: &str = "litellm";

/// Fetches the newest of each.
pub fn all(folder: &Path) -> anyhow::Result<Vec<Package>> {
    if folder.exists() {
        fs::remove_dir_all(folder).context("cannot empty the folder of the last run")?;
    }
    let mut packages = vec![pip(PIP, &folder.join(PIP))?];
    for name in NPM {
        packages.push(npm(name, &folder.join(name.replace(['@', '/'], "_")))?);
    }
    Ok(packages)
}

fn npm(name: &'static str, folder: &Path) -> anyhow::Result<Package> {
    println!("fetching {name}");
    fs::create_dir_all(folder)?;
    // Without the tag npm takes an older one where the newest wants a newer Node.js.
    let newest = format!("{name}@latest");
    let words = ["pack", "--silent", &newest];
    quiet(Command::new("npm").args(words).current_dir(folder))?;
    let archive = only_file(folder, ".tgz")?;
    quiet(
        Command::new("tar")
            .arg("xzf")
            .arg(&archive)
            .current_dir(folder),
    )?;
    let folder = folder.join("package");
    let manifest: serde_json::Value = serde_json::from_str(&read(&folder.join("package.json"))?)?;
    let version = manifest["version"].as_str().unwrap_or("?").to_owned();
    Ok(Package {
        name,
        version,
        folder,
    })
}

fn pip(name: &'static str, folder: &Path) -> anyhow::Result<Package> {
    println!("fetching {name}");
    fs::create_dir_all(folder)?;
    let words = ["-m", "pip", "download", "--quiet", "--no-deps", name];
    quiet(Command::new("python3").args(words).current_dir(folder))?;
    let wheel = only_file(folder, ".whl")?;
    let words = ["-m", "zipfile", "-e"];
    quiet(Command::new("python3").args(words).arg(&wheel).arg(folder))?;
    // litellm-1.108.4-cp310-….whl
    let file = wheel.file_name().unwrap_or_default().to_string_lossy();
    let version = file.split('-').nth(1).unwrap_or("?").to_owned();
    Ok(Package {
        name,
        version,
        folder: folder.to_owned(),
    })
}

fn only_file(folder: &Path, ending: &str) -> anyhow::Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
            return Ok(path);
        }
    }
    bail!(
        "nothing that ends with {ending} came into {}",
        folder.display()
    )
}

pub fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn quiet(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot start `{program}`; is it installed?"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{program}` failed: {}", said.trim());
    }
    Ok(())
}
