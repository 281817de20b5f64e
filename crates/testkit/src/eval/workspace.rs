//! The copy of a task's repository that a model works in, and what is found in it afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::process::Command;

use super::EvalTask;
use crate::Scratch;

const SCRIPT_LIMIT: Duration = Duration::from_secs(60);
/// As much of a failed check as is shown.
const SHOWN_CHARS_MAX: usize = 400;

pub struct TaskWorkspace {
    pub scratch: Scratch,
    task: EvalTask,
    /// All files before the model came, by path.
    before: BTreeMap<String, Vec<u8>>,
    head: String,
}

impl TaskWorkspace {
    /// Copies `repo`, makes what is too large to be kept (`setup.sh`), commits it, and then changes
    /// what is not to be committed (`dirty.sh`).
    pub async fn prepare(task: &EvalTask) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let directory = scratch.workspace();
        if let Some(repo) = task.beside("repo") {
            copy(&repo, directory)?;
        }
        let script = |name: &str| task.beside(name);
        if let Some(setup) = script("setup.sh") {
            succeed(directory, shell().arg(setup)).await?;
        }
        for words in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--allow-empty", "--message", "Begin"],
        ] {
            succeed(directory, git().args(words)).await?;
        }
        if let Some(dirty) = script("dirty.sh") {
            succeed(directory, shell().arg(dirty)).await?;
        }
        Ok(Self {
            before: files(directory)?,
            head: head(directory).await?,
            task: task.clone(),
            scratch,
        })
    }

    /// Everything that is not as it should be, in words; nothing where the task is solved.
    pub async fn faults(&self, last_message: &str) -> anyhow::Result<Vec<String>> {
        let directory = self.scratch.workspace();
        let mut faults = Vec::new();
        let said = last_message.to_lowercase();
        let file = &self.task.file;
        for word in &file.answer {
            if !said.contains(&word.to_lowercase()) {
                faults.push(format!("the last message does not say {word:?}"));
            }
        }
        for word in &file.never {
            if said.contains(&word.to_lowercase()) {
                faults.push(format!("the last message says {word:?}"));
            }
        }
        for path in changed(&self.before, &files(directory)?) {
            if !self.task.may_change(&path) {
                faults.push(format!("{path} was changed"));
            }
        }
        if head(directory).await? != self.head {
            faults.push("something was committed, or the branch changed".to_owned());
        }
        if let Some(check) = self.task.beside("check.sh") {
            let answer = self.scratch.user().join("answer.txt");
            std::fs::write(&answer, last_message)?;
            let mut command = shell();
            command
                .arg(check)
                .env("ANSWER", &answer)
                .env("TASK", &self.task.folder);
            if let Err(error) = succeed(directory, &mut command).await {
                faults.push(format!("{error:#}"));
            }
        }
        Ok(faults)
    }
}

/// Stops at the first line that fails.
fn shell() -> Command {
    let mut command = Command::new("sh");
    command.arg("-e");
    command
}

/// Without what this machine's user has configured.
fn git() -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=Eval", "-c", "user.email=eval@example.org"])
        .args(["-c", "core.autocrlf=false", "-c", "core.quotePath=false"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

/// Which commit and which branch.
async fn head(directory: &Path) -> anyhow::Result<String> {
    let words = ["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"];
    let output = git().args(words).current_dir(directory).output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

async fn succeed(directory: &Path, command: &mut Command) -> anyhow::Result<()> {
    let command = command
        .current_dir(directory)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // What a script leaves behind vanishes with the rest.
        .env("TMPDIR", directory.parent().unwrap_or(directory))
        .kill_on_drop(true);
    let output = tokio::time::timeout(SCRIPT_LIMIT, command.output())
        .await
        .with_context(|| format!("a script ran for more than {SCRIPT_LIMIT:?}"))??;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let left_out = said.chars().count().saturating_sub(SHOWN_CHARS_MAX);
    let end: String = said.chars().skip(left_out).collect();
    bail!("a script ended with {}: {end}", output.status)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => {
                std::fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}

/// All files but git's own and what Python leaves behind.
fn files(directory: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_name() == ".git" || entry.file_name() == "__pycache__" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(directory)?.to_string_lossy();
                found.insert(name.into_owned(), std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

fn changed(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut names: Vec<&String> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    names.sort();
    names.dedup();
    names.into_iter().cloned().collect()
}
