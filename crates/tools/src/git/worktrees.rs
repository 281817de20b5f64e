//! Worktrees of a repository, made and removed by git itself. Git is run so that nothing which came with
//! the repository makes it run a program: its settings are read first, hooks are off, the user's own
//! settings and with them their filters are not used, and nothing is fetched.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use vocabulary::{CreatedWorktree, NewWorktree, Worktree, WorktreeList};

use super::{Repository, runs_programs};

/// How long git may take: a worktree of a large repository has many files to write.
const GIT_TIME_MAX: Duration = Duration::from_secs(120);
const GIT_ANSWER_BYTES_MAX: u64 = 4 << 20;
/// How much of git's own words is passed on.
const GIT_WORDS_CHARS_MAX: usize = 500;
const REF_CHARS_MAX: usize = 200;
/// Worktrees that one list has.
const WORKTREES_MAX: usize = 1_000;

const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "protocol.allow=never",
    "gc.auto=0",
];

/// Why git did not do it, in words for people.
#[derive(Debug, PartialEq, Eq)]
pub struct GitRefusal(pub String);

type Done<T> = Result<T, GitRefusal>;

fn refuse<T>(words: impl Into<String>) -> Done<T> {
    Err(GitRefusal(words.into()))
}

/// The worktrees of the repository that this directory is in.
pub async fn list(directory: &Path) -> Done<WorktreeList> {
    let repository = top(directory)?;
    let listed = git(&repository, &["worktree", "list", "--porcelain", "-z"]).await?;
    let worktrees = parse(&listed.said);
    let Some(main) = worktrees.first() else {
        return refuse("git names no worktree of this repository");
    };
    Ok(WorktreeList {
        main: main.path.clone(),
        repository,
        worktrees,
    })
}

/// Makes a worktree with a new branch. `path` is where it lies.
pub async fn create(new: &NewWorktree, branch: &str, path: &Path) -> Done<CreatedWorktree> {
    check_ref("branchName", branch)?;
    let base = new.base.as_deref().unwrap_or("HEAD");
    check_ref("baseRef", base)?;
    let repository = top(&new.repository)?;
    let Some(place) = path.to_str() else {
        return refuse("path: expected text");
    };
    let add = ["worktree", "add", "-b", branch, "--", place, base];
    git(&repository, &add).await?;
    let head = git(path, &["rev-parse", "--verify", "HEAD"]).await?;
    Ok(CreatedWorktree {
        repository,
        path: path.to_owned(),
        branch: branch.to_owned(),
        head: head.said.trim().to_owned(),
    })
}

/// Removes one with its directory. Git refuses for the main one, and without `force` where something is
/// not committed.
pub async fn remove(directory: &Path, path: &Path, force: bool) -> Done<()> {
    let repository = top(directory)?;
    let Some(place) = path.to_str() else {
        return refuse("path: expected text");
    };
    let mut arguments = vec!["worktree", "remove"];
    if force {
        // Once for what is not committed, once more for a lock.
        arguments.extend(["--force", "--force"]);
    }
    arguments.extend(["--", place]);
    git(&repository, &arguments).await.map(drop)
}

/// Forgets those whose directories are gone; gives how many.
pub async fn prune(directory: &Path) -> Done<usize> {
    let repository = top(directory)?;
    let pruned = git(&repository, &["worktree", "prune", "--verbose"]).await?;
    let lines = pruned.said.lines().chain(pruned.complained.lines());
    Ok(lines.filter(|line| line.starts_with("Removing ")).count())
}

/// The top of the working tree, if git may be run there.
fn top(directory: &Path) -> Done<PathBuf> {
    let Some(repository) = Repository::around(directory) else {
        return refuse(format!("{} is in no git repository", directory.display()));
    };
    match runs_programs(&repository.top) {
        None => Ok(repository.top),
        Some(why) => refuse(format!(
            "git is not run in this repository, because its settings make git run other programs: {why}"
        )),
    }
}

/// Git checks the rest; what looks like an option never reaches it.
fn check_ref(field: &str, name: &str) -> Done<()> {
    let is_plain = |each: char| !each.is_control() && !each.is_whitespace();
    let length = name.chars().count();
    match (1..=REF_CHARS_MAX).contains(&length)
        && !name.starts_with('-')
        && name.chars().all(is_plain)
    {
        true => Ok(()),
        false => refuse(format!(
            "{field}: expected the name of a branch or commit, of at most {REF_CHARS_MAX} characters"
        )),
    }
}

struct GitAnswer {
    said: String,
    complained: String,
}

/// Runs git to its end, or ends it with all that it started.
async fn git(directory: &Path, arguments: &[&str]) -> Done<GitAnswer> {
    let mut command = Command::new("git");
    command.args(["--no-pager"]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    let spawned = command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("LC_ALL", "C"),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return refuse(format!("git cannot be started: {error}")),
    };
    let group = child.id();
    let (said, complained) = (child.stdout.take(), child.stderr.take());
    let run = async { tokio::join!(read(said), read(complained), child.wait()) };
    let Ok((said, complained, ended)) = tokio::time::timeout(GIT_TIME_MAX, run).await else {
        kill_group(group);
        let seconds = GIT_TIME_MAX.as_secs();
        return refuse(format!("git was not done after {seconds} s, and was ended"));
    };
    match ended.as_ref().is_ok_and(ExitStatus::success) {
        true => Ok(GitAnswer { said, complained }),
        false => refuse(words(&complained)),
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What was read by then is told; how git ended says whether it is enough.
        let _ = pipe
            .take(GIT_ANSWER_BYTES_MAX)
            .read_to_end(&mut bytes)
            .await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn kill_group(group: Option<u32>) {
    let group = group.and_then(|id| rustix::process::Pid::from_raw(id as i32));
    if let Some(group) = group {
        // It may be gone by itself just now.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// What git complained of, without its hints.
fn words(complained: &str) -> String {
    let lines = complained.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let all = lines
        .filter(|line| !line.starts_with("Preparing "))
        .collect::<Vec<_>>()
        .join("; ");
    match all.is_empty() {
        true => "git failed without a word".to_owned(),
        false => all.chars().take(GIT_WORDS_CHARS_MAX).collect(),
    }
}

/// What `worktree list --porcelain -z` says: lines end with a zero, entries with an empty line.
fn parse(listed: &str) -> Vec<Worktree> {
    let mut worktrees = Vec::new();
    for line in listed.split('\0') {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        if key == "worktree" {
            worktrees.push(Worktree {
                path: PathBuf::from(value),
                ..Worktree::default()
            });
        }
        let Some(last) = worktrees.last_mut() else {
            continue;
        };
        match key {
            "HEAD" => last.head = value.to_owned(),
            "branch" => {
                let name = value.strip_prefix("refs/heads/").unwrap_or(value);
                last.branch = Some(name.to_owned());
            }
            "locked" => last.locked = true,
            "prunable" => last.prunable = true,
            _ => {}
        }
    }
    worktrees.truncate(WORKTREES_MAX);
    worktrees
}

#[cfg(test)]
mod tests;
