//! Whether a command failed because of the sandbox, as far as its words tell.
//!
//! Ordinary failures must not nag: only a command that failed counts, only its last words, and only
//! those that the fence makes; what the fence shares with ordinary failures counts only if the line
//! names nothing in the workspace.

use crate::sandbox::Mode;
use crate::{Output, Scope};

/// How many lines at the end of each stream are looked at.
const LINES: usize = 12;
/// Of words that have other causes, too, only the very last lines count.
const LAST_LINES: usize = 3;

const READ_ONLY: &str = "it may only write in the workspace and in $TMPDIR";
const NO_NETWORK: &str = "the network is closed to it";
const REFUSED: &str = "it wanted something that the sandbox refuses";

const READ_ONLY_WORDS: &[&str] = &["Read-only file system", "EROFS"];
const NETWORK_WORDS: &[&str] = &[
    "Network is unreachable",
    "ENETUNREACH",
    "Could not resolve host",
    "Couldn't resolve host",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "getaddrinfo EAI_AGAIN",
    "Name or service not known",
    "dns error",
    "failed to lookup address information",
    "unable to resolve host address",
];
const REFUSED_WORDS: &[&str] = &[
    "Operation not permitted",
    "Permission denied",
    "EPERM",
    "EACCES",
];

/// What the sandbox most likely did not let it do; `None` if it has nothing to do with it.
pub(super) fn cause(mode: Mode, scope: &Scope, output: &Output) -> Option<&'static str> {
    let Output::Command {
        stdout,
        stderr,
        exit_code,
        ..
    } = output
    else {
        return None;
    };
    if mode == Mode::Nothing || *exit_code == 0 {
        return None;
    }
    let says = |words: &[&str]| {
        let last = stderr
            .lines()
            .rev()
            .take(LINES)
            .chain(stdout.lines().rev().take(LINES));
        last.into_iter()
            .any(|line| words.iter().any(|word| line.contains(word)))
    };
    if says(READ_ONLY_WORDS) {
        return Some(READ_ONLY);
    }
    if says(NETWORK_WORDS) {
        return Some(NO_NETWORK);
    }
    let outside = stderr.lines().rev().take(LAST_LINES).any(|line| {
        REFUSED_WORDS.iter().any(|word| line.contains(word)) && names_outside(scope, line)
    });
    outside.then_some(REFUSED)
}

/// Whether a line names an absolute path, and all of them lie outside of the workspace; or a socket.
fn names_outside(scope: &Scope, line: &str) -> bool {
    let line = line.strip_prefix("bash: ").unwrap_or(line);
    let ends = |letter: char| letter.is_whitespace() || "'\"`:,;()‘’“”".contains(letter);
    let mut paths = line
        .split(ends)
        .filter(|word| word.starts_with('/'))
        .peekable();
    let inside = |path: &str| {
        let mut roots = std::iter::once(&scope.directory).chain(&scope.extra);
        roots.any(|root| std::path::Path::new(path).starts_with(root))
    };
    match paths.peek() {
        Some(_) => !paths.any(inside),
        None => ["socket", "ptrace", "unshare", "mount"]
            .iter()
            .any(|word| line.contains(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stderr: &str, exit_code: i32) -> Option<&'static str> {
        let scope = Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            directory: "/home/me/project".into(),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
        };
        let output = Output::Command {
            stdout: String::new(),
            stderr: stderr.to_owned(),
            exit_code,
            duration_ms: 1,
        };
        cause(Mode::Bubblewrap, &scope, &output)
    }

    #[test]
    fn what_the_fence_stops_is_known_and_ordinary_failures_are_not() {
        let table = [
            (
                "touch: cannot touch '/usr/x': Read-only file system",
                1,
                Some(READ_ONLY),
            ),
            (
                "touch: cannot touch '/usr/x': Read-only file system",
                0,
                None,
            ),
            (
                "curl: (6) Could not resolve host: example.com",
                6,
                Some(NO_NETWORK),
            ),
            (
                "bash: /home/me/other/x: Permission denied",
                1,
                Some(REFUSED),
            ),
            ("cat: /etc/shadow: Permission denied", 1, Some(REFUSED)),
            (
                "bash: /home/me/project/run.sh: Permission denied",
                126,
                None,
            ),
            ("bash: ./run.sh: Permission denied", 126, None),
            (
                "test login ... FAILED\nassertion: got \"Permission denied\"",
                101,
                None,
            ),
            ("git@example.com: Permission denied (publickey).", 128, None),
            ("socket: Operation not permitted", 1, Some(REFUSED)),
            ("error: no such command", 1, None),
        ];
        for (stderr, exit_code, expected) in table {
            assert_eq!(told(stderr, exit_code), expected, "{stderr}");
        }
    }

    #[test]
    fn only_the_last_words_count() {
        let much = format!("cat: /etc/shadow: Permission denied\n{}", "ok\n".repeat(50));
        assert_eq!(told(&much, 1), None);
    }
}
