//! `cargo xtask tidy`: the rules of ARCHITECTURE.md that a compiler does not check.

mod catalog;
mod folders;
mod layers;
mod names;
mod openings;
mod page;
mod paths;
pub mod protocols;
mod purity;
mod sizes;
mod source;
mod wildcards;

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::coverage::CoverageSources;
use crate::run::root;
use source::Source;

/// One broken rule: where, what, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub what: String,
    pub severity: Severity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Warning,
    Error,
}

impl Finding {
    pub fn error(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            severity: Severity::Error,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.severity {
            Severity::Warning => "warning: ",
            Severity::Error => "",
        };
        write!(out, "{}:{}: {prefix}{}", self.path, self.line, self.what)
    }
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`tidy` takes no argument, not `{unknown}`");
    }
    check()
}

pub fn check() -> anyhow::Result<()> {
    let findings = findings()?;
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    if errors > 0 {
        bail!("{errors} findings");
    }
    println!("tidy");
    Ok(())
}

fn findings() -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut manifests = Vec::new();
    let mut documents = protocols::Documents::default();
    let mut names = names::Names::default();
    let mut coverage = CoverageSources::new();
    let files = files()?;
    findings.extend(page::check(&files)?);
    for path in files {
        // What is not text has no rule.
        let Ok(text) = fs::read_to_string(root().join(&path)) else {
            continue;
        };
        findings.extend(paths::check(&path, &text));
        documents.take(&path, &text);
        coverage.take(&path, &text);
        if path.ends_with(".rs") {
            let source = Source::read(&path, &text);
            findings.extend(openings::check(&path, &text));
            findings.extend(sizes::check(&path, &text));
            findings.extend(wildcards::check(&source));
            findings.extend(folders::check(&source));
            findings.extend(purity::check(&source));
            names.read(&source);
        }
        if path.starts_with("crates/") && path.ends_with("/Cargo.toml") {
            manifests.push((path, text));
        }
    }
    findings.extend(layers::check(&manifests));
    findings.extend(documents.check());
    findings.extend(documents.check_listed());
    findings.extend(coverage.check());
    findings.extend(names.check());
    findings.extend(catalog::check()?);
    Ok(findings)
}

/// The tree's Rust files, as paths from its top.
pub fn rust_files() -> anyhow::Result<Vec<String>> {
    let mut files = files()?;
    files.retain(|path| path.ends_with(".rs"));
    Ok(files)
}

/// What git tracks or would track; without git, what lies there.
pub fn files() -> anyhow::Result<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let mut files = Vec::new();
    match listed {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8_lossy(&output.stdout);
            files.extend(names.lines().map(str::to_owned));
        }
        Ok(_) | Err(_) => walk(&root(), "", &mut files)?,
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(top: &Path, under: &str, files: &mut Vec<String>) -> anyhow::Result<()> {
    let folder = top.join(under);
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if matches!(name.as_str(), "target" | ".git" | "node_modules") {
            continue;
        }
        let path = match under {
            "" => name,
            under => format!("{under}/{name}"),
        };
        if entry.file_type()?.is_dir() {
            walk(top, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
