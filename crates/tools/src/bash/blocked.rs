//! Whether the sandbox stopped a command and what it wanted, as far as its words tell.
//!
//! Only the last words count, and only those that the fence makes; what the fence shares with ordinary
//! failures counts only if the line names nothing in the workspace.

use std::path::Path;
use vocabulary::ToolOutput;

use crate::Scope;
use crate::sandbox::Mode;

/// How many lines at the end of each stream are looked at.
const LINES: usize = 12;
/// Of words that have other causes, too, only the very last lines count.
const LAST_LINES: usize = 3;

/// What the sandbox did not let a command do, with the path or host where it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    Writing(Option<String>),
    /// As writing, in a workspace that could be opened for it.
    WritingInside,
    Network(Option<String>),
    /// Something else that it refuses.
    Reaching(Option<String>),
}

impl Stopped {
    /// For the model, behind what the command said.
    pub fn note(&self, scope: &Scope) -> String {
        let wanted = self.wanted();
        if scope.outside.no_more {
            return format!(
                "[the sandbox stopped this: {wanted}. You are planning, so nothing more is given.]"
            );
        }
        let escalate = match self {
            Stopped::WritingInside => "write",
            Stopped::Network(_) => "network",
            Stopped::Writing(_) | Stopped::Reaching(_) => "outside",
        };
        format!(
            "[the sandbox stopped this: {wanted}. If the task needs it, call again with \
             \"escalate\": \"{escalate}\" and a \"reason\"; the user is asked then.]"
        )
    }

    /// As in "the sandbox stopped this: …".
    pub fn wanted(&self) -> String {
        let named = |name: &Option<String>| {
            let name = name.as_ref().map(|name| format!(" ({name})"));
            name.unwrap_or_default()
        };
        match self {
            Stopped::Writing(path) => format!("it wanted to write{} where it may not", named(path)),
            Stopped::WritingInside => {
                "it wanted to write in the workspace, which this thread may only read".to_owned()
            }
            Stopped::Network(host) => format!("it wanted the network{}", named(host)),
            Stopped::Reaching(path) => {
                format!("it wanted something{} that is closed to it", named(path))
            }
        }
    }
}

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

const MISSING_WORDS: &[&str] = &["No such file or directory", "ENOENT"];

/// What the sandbox most likely did not let it do; `None` if it has nothing to do with it.
pub(super) fn stopped(mode: Mode, scope: &Scope, output: &ToolOutput) -> Option<Stopped> {
    let ToolOutput::Command {
        stdout,
        stderr,
        exit_code,
        ..
    } = output
    else {
        return None;
    };
    if mode == Mode::Nothing {
        return None;
    }
    // Of a command that went well, only its complaints: it may just have shown a text.
    let shown = match exit_code {
        0 => "",
        _ => stdout.as_str(),
    };
    let last = || {
        let of_stderr = stderr.lines().rev().take(LINES);
        of_stderr.chain(shown.lines().rev().take(LINES))
    };
    let says = |words: &[&str]| last().find(|line| words.iter().any(|word| line.contains(word)));
    if let Some(line) = says(READ_ONLY_WORDS) {
        return Some(match scope.read_only && !names_outside(scope, line) {
            true => Stopped::WritingInside,
            false => Stopped::Writing(path_in(line)),
        });
    }
    if let Some(line) = says(NETWORK_WORDS) {
        let host = host_in(line).or_else(|| last().find_map(host_in));
        return Some(Stopped::Network(host));
    }
    if *exit_code == 0 {
        return None;
    }
    let last = || stderr.lines().rev().take(LAST_LINES);
    let refused = last().find(|line| {
        REFUSED_WORDS.iter().any(|word| line.contains(word)) && names_outside(scope, line)
    });
    if let Some(line) = refused {
        return Some(Stopped::Reaching(path_in(line)));
    }
    let says_no = |line: &str| REFUSED_WORDS.iter().any(|word| line.contains(word));
    if scope.read_only && last().any(says_no) {
        return Some(Stopped::WritingInside);
    }
    let home = std::env::home_dir().filter(|_| mode == Mode::Bubblewrap)?;
    let hidden = last().find(|line| {
        MISSING_WORDS.iter().any(|word| line.contains(word)) && names_hidden(scope, &home, line)
    });
    hidden.map(|line| Stopped::Reaching(path_in(line)))
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    let ends = |letter: char| letter.is_whitespace() || "'\"`,;()[]<>‘’“”".contains(letter);
    line.split(ends)
        .map(|word| word.trim_end_matches([':', '.']))
}

/// The first absolute path that a line names.
fn path_in(line: &str) -> Option<String> {
    let mut paths = words_of(line).filter(|word| word.starts_with('/') && word.len() > 1);
    paths.next().map(str::to_owned)
}

/// The first name of a host, or of a URL's host, that a line has.
fn host_in(line: &str) -> Option<String> {
    let of_url = |word: &str| {
        let rest = word.split_once("://")?.1;
        let host = rest.split(['/', ':', '?']).next()?;
        (!host.is_empty()).then(|| host.to_owned())
    };
    let plain = |word: &str| {
        let word = word.split(':').next().unwrap_or_default();
        let letters = |label: &str| {
            let ok = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !label.is_empty() && label.bytes().all(ok)
        };
        let (_, top) = word.rsplit_once('.')?;
        let is_top = top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic());
        (is_top && word.split('.').all(letters)).then(|| word.to_owned())
    };
    words_of(line).find_map(|word| of_url(word).or_else(|| plain(word)))
}

/// Whether a line names something of the home directory that is there, or could be made there, and only
/// the sandbox does not show it.
fn names_hidden(scope: &Scope, home: &Path, line: &str) -> bool {
    let in_sight = |path: &Path| {
        let mut roots = std::iter::once(&scope.directory).chain(&scope.extra);
        roots.any(|root| path.starts_with(root))
    };
    let mut hidden = paths(line)
        .map(Path::new)
        .filter(|path| path.starts_with(home) && !in_sight(path));
    let has_place = |path: &Path| path.parent().is_some_and(|at| at != home && at.is_dir());
    hidden.any(|path| path.exists() || has_place(path))
}

/// The absolute paths that a line names.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let line = line.strip_prefix("bash: ").unwrap_or(line);
    let ends = |letter: char| letter.is_whitespace() || "'\"`:,;()‘’“”".contains(letter);
    line.split(ends).filter(|word| word.starts_with('/'))
}

/// Whether a line names an absolute path, and all of them lie outside of the workspace; or a socket.
fn names_outside(scope: &Scope, line: &str) -> bool {
    let mut paths = paths(line).peekable();
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn told(stderr: &str, exit_code: i32) -> Option<Stopped> {
        told_in(false, stderr, exit_code)
    }

    fn told_in(read_only: bool, stderr: &str, exit_code: i32) -> Option<Stopped> {
        let scope = Scope {
            skills: Vec::new(),
            trusted: false,
            read_only,
            outside: Default::default(),
            directory: "/home/me/project".into(),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
        };
        let output = ToolOutput::Command {
            stdout: String::new(),
            stderr: stderr.to_owned(),
            exit_code,
            duration_ms: 1,
            model_text: None,
        };
        stopped(Mode::Bubblewrap, &scope, &output)
    }

    #[test]
    fn what_the_fence_stops_is_known_by_name_and_ordinary_failures_are_not() {
        let writing = |path: &str| Some(Stopped::Writing(Some(path.to_owned())));
        let network = |host: &str| Some(Stopped::Network(Some(host.to_owned())));
        let reaching = |path: &str| Some(Stopped::Reaching(Some(path.to_owned())));
        let table = [
            (
                "touch: cannot touch '/usr/x': Read-only file system",
                1,
                writing("/usr/x"),
            ),
            (
                "bash: line 1: /opt/made: Read-only file system",
                0,
                writing("/opt/made"),
            ),
            (
                "curl: (6) Could not resolve host: example.com",
                6,
                network("example.com"),
            ),
            (
                "npm error code EAI_AGAIN\nnpm error request to https://packages.example/left-pad \
                 failed, reason: getaddrinfo EAI_AGAIN packages.example",
                1,
                network("packages.example"),
            ),
            (
                "fatal: unable to access 'https://git.example/a/b/': Could not resolve host: git.example",
                128,
                network("git.example"),
            ),
            (
                "connect: Network is unreachable",
                1,
                Some(Stopped::Network(None)),
            ),
            (
                "bash: /home/me/other/x: Permission denied",
                1,
                reaching("/home/me/other/x"),
            ),
            (
                "cat: /etc/shadow: Permission denied",
                1,
                reaching("/etc/shadow"),
            ),
            ("cat: /etc/shadow: Permission denied", 0, None),
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
            (
                "socket: Operation not permitted",
                1,
                Some(Stopped::Reaching(None)),
            ),
            ("error: no such command", 1, None),
        ];
        for (stderr, exit_code, expected) in table {
            assert_eq!(told(stderr, exit_code), expected, "{stderr}");
        }
    }

    #[test]
    fn what_only_the_fence_does_not_show_is_known() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["project", "notes"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let scope = Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: Default::default(),
            directory: at("project"),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
        };
        let table = [
            ("notes", true),
            ("notes/new", true),
            ("missing", false),
            ("missing/new", false),
            ("project/missing", false),
        ];
        for (name, expected) in table {
            let line = format!(
                "bash: line 1: {}: No such file or directory",
                at(name).display()
            );
            assert_eq!(names_hidden(&scope, home.path(), &line), expected, "{name}");
        }
    }

    #[test]
    fn a_thread_that_may_only_read_is_told_what_would_open_it() {
        for stderr in [
            "touch: cannot touch 'made': Permission denied",
            "touch: cannot touch 'made': Read-only file system",
            "bash: /home/me/project/x: Read-only file system",
        ] {
            assert_eq!(told_in(true, stderr, 1), Some(Stopped::WritingInside));
        }
        let outside = told_in(
            true,
            "touch: cannot touch '/usr/x': Read-only file system",
            1,
        );
        assert_eq!(outside, Some(Stopped::Writing(Some("/usr/x".to_owned()))));
    }

    #[test]
    fn only_the_last_words_count() {
        let much = format!("cat: /etc/shadow: Permission denied\n{}", "ok\n".repeat(50));
        assert_eq!(told(&much, 1), None);
    }

    #[test]
    fn the_note_says_what_was_wanted_and_how_to_ask_for_it() {
        let mut scope = crate::scratch::Scratch::new().scope();
        let stopped = Stopped::Network(Some("example.com".to_owned()));
        let note = stopped.note(&scope);
        assert_eq!(
            note,
            "[the sandbox stopped this: it wanted the network (example.com). If the task needs it, \
             call again with \"escalate\": \"network\" and a \"reason\"; the user is asked then.]"
        );
        scope.outside.no_more = true;
        let note = stopped.note(&scope);
        assert!(!note.contains("escalate"), "{note}");
    }
}
