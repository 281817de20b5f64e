//! Finds out what holds, by really trying.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::bubblewrap;
use super::launcher::STANDS;
use super::{Limits, Mode, Sandbox};
use crate::Scope;

/// A sandbox that takes longer for nothing does not work.
const TRY_MAX: Duration = Duration::from_secs(10);
const TRIES: usize = 2;
const TRY_PAUSE: Duration = Duration::from_millis(2);
const WORD: &str = "the fence stands";
/// What a script says when it got through.
const THROUGH: &str = "through";
const MIB: u64 = 1 << 20;

/// One thing that a command was made to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it tried, for people.
    pub what: &'static str,
    /// Whether it was kept from it.
    pub holds: bool,
    /// Whether the mode promises this; what it does not is asked for instead.
    pub promised: bool,
}

/// Tries everything that a sandbox should keep a command from. Takes a second or two, and blocks.
pub fn check(sandbox: &Sandbox) -> std::io::Result<Vec<Finding>> {
    let ground = Ground::new()?;
    let limited = sandbox.clone().with_limits(small());
    let fenced = sandbox.mode() != Mode::Nothing;
    let mut findings = Vec::new();
    for (what, script) in ground.attempts() {
        findings.push(Finding {
            what,
            holds: ground.is_kept_from(sandbox, &script),
            promised: fenced,
        });
    }
    for (what, script) in INSIDE {
        findings.push(Finding {
            what,
            holds: ground.is_kept_from(sandbox, script),
            promised: sandbox.mode() == Mode::Bubblewrap,
        });
    }
    for (what, script) in STORMS {
        findings.push(Finding {
            what,
            holds: ground.is_kept_from(&limited, script),
            promised: true,
        });
    }
    Ok(findings)
}

/// Why a mode does not work here; `None` if it does.
pub fn why_not(sandbox: &Sandbox) -> Option<&'static str> {
    if works(sandbox) {
        return None;
    }
    let installed = || bubblewrap::program().is_file();
    Some(match sandbox.mode() {
        Mode::Bubblewrap if !installed() => "bwrap is not installed",
        Mode::Bubblewrap => {
            "bwrap cannot make its namespaces here (a container, or the kernel forbids it)"
        }
        Mode::Landlock => "this kernel has no Landlock, or it is switched off",
        Mode::Nothing => "commands cannot be run at all",
    })
}

const INSIDE: &[(&str, &str)] = &[
    (
        "write a git hook of the workspace",
        "echo x > .git/hooks/pre-commit && echo through",
    ),
    (
        "write git's settings of the workspace",
        "echo x > .git/config && echo through",
    ),
    (
        "write .cowork in the workspace",
        "mkdir -p .cowork && echo x > .cowork/x && echo through",
    ),
    (
        "write .agent in the workspace",
        "mkdir -p .agent && echo x > .agent/x && echo through",
    ),
];

const STORMS: &[(&str, &str)] = &[
    (
        "start processes without end",
        "for i in $(seq 100); do sleep 20 & done; wait; echo through",
    ),
    (
        "take memory without end",
        "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo through ${#x} | cut -c 1-20",
    ),
    (
        "fill the disk with a file",
        "head -c 8000000 /dev/zero > big && echo through",
    ),
];

fn small() -> Limits {
    Limits {
        process_memory_bytes: 128 * MIB,
        memory_bytes: 128 * MIB,
        processes: 30,
        file_bytes: MIB,
        ..Limits::default()
    }
}

/// What the attempts are made on.
struct Ground {
    base: tempfile::TempDir,
    port: TcpListener,
}

impl Ground {
    fn new() -> std::io::Result<Self> {
        // Not where temporary files are: those are hidden altogether. Elsewhere it may be read-only.
        let home = std::env::home_dir().map(|home| {
            tempfile::Builder::new()
                .prefix(".dragoman-check-")
                .tempdir_in(home)
        });
        let base = match home {
            Some(Ok(base)) => base,
            Some(Err(_)) | None => tempfile::tempdir()?,
        };
        for name in ["workspace/.git/hooks", "outside", "private"] {
            std::fs::create_dir_all(base.path().join(name))?;
        }
        std::fs::write(base.path().join("workspace/.git/config"), "")?;
        std::fs::write(base.path().join("private/token"), THROUGH)?;
        let port = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self { base, port })
    }

    fn scope(&self) -> Scope {
        Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            directory: self.base.path().join("workspace"),
            extra: Vec::new(),
            private: vec![self.base.path().join("private")],
            spill: None,
        }
    }

    fn attempts(&self) -> Vec<(&'static str, String)> {
        let port = self.port.local_addr().map_or(0, |address| address.port());
        let server = std::process::id();
        let ptrace = if cfg!(target_arch = "x86_64") {
            101
        } else {
            117
        };
        vec![
            (
                "write outside of the workspace",
                "echo x > ../outside/made && echo through".to_owned(),
            ),
            (
                "follow a link out",
                "ln -sfn ../outside link; echo x > link/made && echo through".to_owned(),
            ),
            ("read the server's keys", "cat ../private/token".to_owned()),
            (
                "read the server's environment",
                format!("grep -q . /proc/{server}/environ && echo through"),
            ),
            (
                "connect to the server's port",
                format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo through"),
            ),
            (
                "signal the server",
                format!("kill -0 {server} && echo through"),
            ),
            (
                "trace another process",
                format!(
                    "sleep 5 & if command -v perl > /dev/null; then perl -e 'exit(syscall({ptrace}, 16, $ARGV[0] + 0, 0, 0) == 0 ? 0 : 1)' $! && echo through; \
                 else grep -q 'Seccomp:.*2' /proc/self/status || echo through; fi; kill -9 $!"
                ),
            ),
            (
                "mount something",
                "unshare -Urm true && echo through".to_owned(),
            ),
        ]
    }

    fn is_kept_from(&self, sandbox: &Sandbox, script: &str) -> bool {
        match run(sandbox, &self.scope(), script) {
            Some(said) => !said.contains(THROUGH),
            None => false,
        }
    }
}

/// Whether a command runs in it and cannot write outside; without a fence, whether it runs.
pub(super) fn works(sandbox: &Sandbox) -> bool {
    // Once may fail by chance, where what is to be hidden vanishes just then.
    (0..TRIES).any(|_| works_once(sandbox))
}

fn works_once(sandbox: &Sandbox) -> bool {
    let (Ok(inside), Ok(outside)) = (tempfile::tempdir(), tempfile::tempdir()) else {
        return false;
    };
    let target = outside.path().join("made");
    let script = format!("true >'{}'; printf '{WORD}'", target.display());
    let scope = Scope {
        skills: Vec::new(),
        trusted: false,
        read_only: false,
        directory: inside.path().to_owned(),
        extra: Vec::new(),
        private: Vec::new(),
        spill: None,
    };
    let said = run(sandbox, &scope, &script);
    let held = sandbox.mode() == Mode::Nothing || !target.exists();
    held && said.is_some_and(|said| said == WORD)
}

/// Runs a script; gives what it says, or `None` if it cannot be run at all.
fn run(sandbox: &Sandbox, scope: &Scope, script: &str) -> Option<String> {
    let words = ["bash", "-c", script].map(OsStr::new);
    let fenced = sandbox.fence(scope, &words).ok()?;
    let mut child = Command::new(&fenced.program)
        .args(&fenced.arguments)
        .envs(fenced.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&scope.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // The launcher ends all when its input is closed.
    let control = child.stdin.take();
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > TRY_MAX {
            drop(control);
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(TRY_PAUSE);
    }
    let output = child.wait_with_output().ok()?;
    let said = match fenced.is_launched {
        true => output.stdout.strip_prefix(&[STANDS])?,
        false => output.stdout.as_slice(),
    };
    Some(String::from_utf8_lossy(said).into_owned())
}
