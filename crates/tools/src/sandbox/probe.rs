//! Finds out what holds, by really trying.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::attacks::{self, Attack};
use super::bubblewrap;
use super::ground::Ground;
use super::launcher::STANDS;
use super::{Limits, Mode, Sandbox};
use crate::Scope;

/// A sandbox that takes longer for nothing does not work.
const TRY_MAX: Duration = Duration::from_secs(10);
const TRIES: usize = 2;
const TRY_PAUSE: Duration = Duration::from_millis(2);
const WORD: &str = "the fence stands";
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
    /// The program that it could not be tried without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<&'static str>,
}

/// Makes every attempt of the escape tests. Takes some seconds, and blocks.
pub fn check(sandbox: &Sandbox) -> std::io::Result<Vec<Finding>> {
    let limited = sandbox.clone().with_limits(small());
    let fenced = sandbox.mode() != Mode::Nothing;
    let mut findings = Vec::new();
    for attack in attacks::ALL {
        let missing = attack.missing();
        findings.push(Finding {
            what: attack.name,
            holds: missing.is_none() && is_kept_from(sandbox, attack.script)?,
            promised: missing.is_none() && promises(sandbox, attack),
            missing,
        });
    }
    findings.push(Finding {
        what: OWN_PORT.0,
        holds: is_kept_from_own_port(sandbox)?,
        promised: fenced && super::fence::can_close_ports(),
        missing: None,
    });
    for (what, script) in STORMS {
        findings.push(Finding {
            what,
            holds: is_kept_from(&limited, script)?,
            promised: true,
            missing: None,
        });
    }
    Ok(findings)
}

/// Whether the mode is meant to hold it.
fn promises(sandbox: &Sandbox, attack: &Attack) -> bool {
    match sandbox.mode() {
        Mode::Bubblewrap => true,
        Mode::Landlock => !attack.inside && !attack.beyond_landlock,
        Mode::Nothing => false,
    }
}

/// Whether there is a `bwrap` to be tried.
pub fn has_bubblewrap() -> bool {
    bubblewrap::program(&[]).is_some()
}

/// Why a mode does not work here; `None` if it does.
pub fn why_not(sandbox: &Sandbox) -> Option<&'static str> {
    if works(sandbox) {
        return None;
    }
    Some(match sandbox.mode() {
        Mode::Bubblewrap if !has_bubblewrap() => {
            "bwrap is not installed, or not where only root and you can change it"
        }
        Mode::Bubblewrap => {
            "bwrap cannot make its namespaces here (a container, or the kernel forbids it)"
        }
        Mode::Landlock => "this kernel has no Landlock, or it is switched off",
        Mode::Nothing => "commands cannot be run at all",
    })
}

const OWN_PORT: (&str, &str) = (
    "the server's port, with the network open",
    "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED",
);

const STORMS: &[(&str, &str)] = &[
    (
        "start processes without end",
        // The shell itself waits a quarter of a minute for one more process.
        "if command -v perl > /dev/null; then perl -e 'for (1 .. 100) { $p = fork; defined $p or die; $p or exec(\"sleep\", 2) or die } wait' && echo ESCAPED; \
         else for i in $(seq 100); do sleep 2 & done; wait; echo ESCAPED; fi",
    ),
    (
        "take memory without end",
        "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ESCAPED ${#x} | cut -c 1-20",
    ),
    (
        "fill the disk with a file",
        "head -c 8000000 /dev/zero > big && echo ESCAPED",
    ),
    (
        "fill the disk without writing",
        "for i in $(seq 40); do fallocate -l 1000000 f$i || exit; done; sleep 2; echo ESCAPED",
    ),
];

fn small() -> Limits {
    Limits {
        process_memory_bytes: 128 * MIB,
        memory_bytes: 128 * MIB,
        processes: 30,
        file_bytes: MIB,
        written_bytes: 24 * MIB,
        ..Limits::default()
    }
}

/// A new ground for each attempt. Not where temporary files are: those are hidden altogether.
fn ground() -> std::io::Result<Ground> {
    let home = std::env::home_dir().map(|home| Ground::new(&home));
    match home {
        Some(Ok(ground)) => Ok(ground),
        Some(Err(_)) | None => Ground::new(&std::env::temp_dir()),
    }
}

fn is_kept_from(sandbox: &Sandbox, script: &str) -> std::io::Result<bool> {
    let ground = ground()?;
    Ok(tries(sandbox, &ground, script))
}

fn is_kept_from_own_port(sandbox: &Sandbox) -> std::io::Result<bool> {
    let ground = ground()?;
    let open = sandbox.clone().with_network(true);
    Ok(tries(
        &open.with_ports(vec![ground.port()]),
        &ground,
        OWN_PORT.1,
    ))
}

fn tries(sandbox: &Sandbox, ground: &Ground, script: &str) -> bool {
    let script = format!("{}\n{script}", ground.variables());
    match run(sandbox, &ground.scope(), &script) {
        Some(said) => ground.damage(&said, "").is_none(),
        None => false,
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
        outside: Default::default(),
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
