//! How a repository stands: its branch, how much is changed, the newest commits.
//!
//! The branch is read from the repository's files. The rest is asked of git, and only where nothing that
//! came with the repository could make git run a program: that is found out by reading its settings,
//! as for a git command that runs unasked, and what git can be told to leave off is left off besides.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use crate::git::{self, Repository};
use crate::shown;

const SUBJECTS_MAX: usize = 3;
const SUBJECT_CHARS_MAX: usize = 100;
/// Of a longer answer the rest is not counted.
const ANSWER_BYTES_MAX: u64 = 4 << 20;
/// Over all that a repository or its owner says.
const SETTINGS: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "submodule.recurse=false",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// The top of the working tree.
    pub root: PathBuf,
    /// How many files differ from the last commit, and how many git does not know; not known where
    /// git is not asked.
    pub changes: Option<(usize, usize)>,
    /// The first lines of the newest commits, the newest first.
    pub subjects: Vec<String>,
}

/// The branch that is checked out around a directory, or the beginning of the commit's name.
pub fn branch(directory: &Path) -> Option<String> {
    const COMMIT_CHARS: usize = 12;
    let repository = Repository::around(directory)?;
    let head = git::pointer(&repository.git_dir.join("HEAD"))?;
    let name = match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.chars().take(SUBJECT_CHARS_MAX).collect(),
        // The file may be a link to anything: nothing but a commit's name is told of it.
        None if is_commit(&head) => format!("none, at commit {}", head.get(..COMMIT_CHARS)?),
        None => return None,
    };
    Some(shown::line(&name).into_owned())
}

fn is_commit(name: &str) -> bool {
    [40, 64].contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What there is to say by `until`; what is not known by then is left out.
pub fn look(directory: &Path, git: Option<&Path>, until: Instant) -> Option<GitFacts> {
    let repository = Repository::around(directory)?;
    let mut facts = GitFacts {
        root: repository.top,
        ..GitFacts::default()
    };
    let Some(git) = git.filter(|_| git::runs_programs(directory).is_none()) else {
        return Some(facts);
    };
    let subjects = format!("-{SUBJECTS_MAX}");
    let log = Asked::start(git, directory, &["log", &subjects, "--format=%s"]);
    let status = ["status", "--porcelain", "-z", "--ignore-submodules=all"];
    let status = Asked::start(git, directory, &status);
    if let Some(answer) = log.and_then(|asked| asked.answer(until)) {
        let lines = answer.lines().take(SUBJECTS_MAX);
        facts.subjects = lines.map(subject).collect();
    }
    let answer = status.and_then(|asked| asked.answer(until));
    facts.changes = answer.map(|answer| count(&answer));
    Some(facts)
}

fn subject(line: &str) -> String {
    let cut: String = line.chars().take(SUBJECT_CHARS_MAX).collect();
    shown::line(&cut).into_owned()
}

/// Changed and unknown files in the words of `status --porcelain -z`.
fn count(status: &str) -> (usize, usize) {
    let (mut changed, mut unknown) = (0, 0);
    let mut entries = status.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        match entry.get(..2) {
            Some("??") => unknown += 1,
            // Where it was before is an entry of its own.
            Some(kind) if kind.contains(['R', 'C']) => {
                changed += 1;
                entries.next();
            }
            Some(_) | None => changed += 1,
        }
    }
    (changed, unknown)
}

/// A git command that is under way.
struct Asked {
    child: std::process::Child,
    answered: mpsc::Receiver<Option<String>>,
}

impl Asked {
    fn start(git: &Path, directory: &Path, arguments: &[&str]) -> Option<Asked> {
        let mut command = Command::new(git);
        command.args(["--no-pager", "--no-optional-locks"]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let mut child = command
            .args(arguments)
            .current_dir(directory)
            .envs([
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                // A partial clone must not fetch what it misses.
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_ALLOW_PROTOCOL", "none"),
                ("LC_ALL", "C"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let output = child.stdout.take()?;
        let (answer, answered) = mpsc::sync_channel(1);
        let read = move || {
            let mut bytes = Vec::new();
            let read = output.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
            let text = read
                .ok()
                .map(|_| String::from_utf8_lossy(&bytes).into_owned());
            // Whoever waited too long is not there any more.
            let _ = answer.send(text);
        };
        std::thread::spawn(read);
        Some(Asked { child, answered })
    }

    /// All it said, if it was done in time and well.
    fn answer(mut self, until: Instant) -> Option<String> {
        let left = until.saturating_duration_since(Instant::now());
        let in_time = || self.answered.recv_timeout(left).ok().flatten();
        let answer = (!left.is_zero()).then(in_time).flatten();
        if answer.is_none() {
            // It may be gone by itself just now.
            let _ = self.child.kill();
        }
        let ended = self.child.wait().ok()?;
        answer.filter(|_| ended.success())
    }
}

#[cfg(test)]
mod tests;
