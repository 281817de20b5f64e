//! What stands between the server and a command: it starts the command behind the fence, watches its
//! limits, and ends with it everything that it started.
//!
//! The binary runs itself for this, in two steps: `watch`, which stays, and `fence`, which becomes the
//! command; where root runs the server there is one before, `map`, with a helper, `hold`. The server holds
//! the other end of its standard input ([`control`]): when that pipe closes, which it also does when the
//! server dies, nothing is left running.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use super::control::TERMINATE;
use super::control::{self, CommandInput};
use super::fence::{self, Confinement};
use super::id_map;
use super::launcher_file::{self, RUNNING};
use super::limits::Limits;
use super::network;
use super::terminal::Terminal;
use super::watch::Watch;
use crate::pdf;

/// The first argument of a binary that is to be the launcher.
pub const ARGUMENT: &str = "sandbox-exec";
const WATCH: &str = "watch";
const FENCE: &str = "fence";
pub(super) const MAP: &str = "map";
pub(super) const HOLD: &str = "hold";
pub(super) const COPY: &str = "copy";
pub(super) const NETWORK: &str = "network";
pub(super) const JOIN: &str = "join";
/// The first byte of the launcher's output, before any of the command's: the fence stands so far. If it
/// does not come, nothing of the command has run.
pub const STANDS: u8 = 0x06;
/// The launcher itself failed; nothing ran.
pub const EXIT_NOT_STARTED: i32 = 125;
/// As after a kill.
const EXIT_OVER_LIMIT: i32 = 137;
/// How long what is left behind is hunted.
const SWEEP_MAX: Duration = Duration::from_secs(10);
const SWEEP_PAUSE: Duration = Duration::from_millis(5);

/// What the server tells the launcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    pub fence: Confinement,
    pub network: bool,
    /// The server's own, which stay closed where the network is open.
    pub ports: Vec<u16>,
    pub limits: Limits,
    /// Whether the command gets a terminal. What it writes there comes out of the launcher's output.
    pub terminal: bool,
    /// Whether the command can be written to; at a terminal it always can.
    pub input: bool,
    /// The server's own process, which a command must not signal.
    pub server: i32,
}

impl Orders {
    /// The launcher's arguments for running a program.
    pub fn arguments(&self, program: &[&OsStr]) -> Result<Vec<OsString>, String> {
        let orders = serde_json::to_string(self)
            .map_err(|_| "the sandbox cannot be told of a path that is not text".to_owned())?;
        let mut list = vec![ARGUMENT.into(), WATCH.into(), orders.into()];
        list.extend(program.iter().map(|&word| word.to_owned()));
        Ok(list)
    }
}

/// Is the launcher if the command line says so; gives the exit code then.
///
/// To be called first thing in `main`, while there is one thread only.
pub fn run_if_asked() -> Option<i32> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let step = arguments.next()?;
    let outcome = match step.to_str()? {
        HOLD => id_map::hold(),
        COPY => launcher_file::copy(arguments.next()?.as_ref()),
        pdf::STEP => told(arguments.next()?).and_then(pdf::serve),
        NETWORK => network::hold(),
        JOIN => {
            let holder = arguments.next()?;
            let program: Vec<OsString> = arguments.collect();
            Err(network::join_and_become(holder.to_str()?, &program))
        }
        MAP => told(arguments.next()?).and_then(|mapping| {
            let program: Vec<OsString> = arguments.collect();
            id_map::become_program(&mapping, &program)
        }),
        step @ (WATCH | FENCE) => {
            let text = arguments.next()?;
            let program: Vec<OsString> = arguments.collect();
            told(text.clone()).and_then(|orders| match step {
                WATCH => watch(&orders, &text, &program),
                _ => Err(fence::become_program(&orders, &program)),
            })
        }
        _ => Err("it is not known what to do".to_owned()),
    };
    Some(outcome.unwrap_or_else(|error| {
        eprintln!("dragoman: the sandbox could not be set up: {error}");
        EXIT_NOT_STARTED
    }))
}

fn told<T: DeserializeOwned>(text: OsString) -> Result<T, String> {
    serde_json::from_slice(text.as_encoded_bytes())
        .map_err(|error| format!("its orders are not understood: {error}"))
}

pub(super) enum LauncherEvent {
    /// The command has ended.
    Ended(i32),
    /// No process is left.
    Alone,
    Terminate,
    /// The server has gone, or wants the end now.
    Kill,
}

fn watch(orders: &Orders, text: &OsStr, program: &[OsString]) -> Result<i32, String> {
    let own = rustix::process::getpid();
    // What a command leaves behind becomes ours, however often it forks.
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| error.to_string())?;
    // The command is of the same user, but shall not read or write our memory.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| error.to_string())?;
    let mut fence = Command::new(RUNNING);
    fence
        .args([OsStr::new(ARGUMENT), OsStr::new(FENCE), text])
        .args(program)
        .stdin(match orders.input {
            true => Stdio::piped(),
            false => Stdio::null(),
        });
    let terminal = match orders.terminal {
        true => Some(Terminal::give(&mut fence).map_err(|error| format!("no terminal: {error}"))?),
        false => None,
    };
    let mut output = std::io::stdout();
    let told = output.write_all(&[STANDS]).and_then(|()| output.flush());
    told.map_err(|error| error.to_string())?;
    let mut child = fence.spawn().map_err(|error| error.to_string())?;
    // Our own copies of the terminal's other end would keep it open.
    drop(fence);
    let pipe = child.stdin.take().map(CommandInput::Pipe);
    let typed = terminal.as_ref().and_then(Terminal::typed);
    let input = typed.map(CommandInput::Terminal).or(pipe);
    let showing = terminal.map(Terminal::show);
    let command = Pid::from_child(&child);
    let (events, happening) = mpsc::channel();
    let hearing = events.clone();
    std::thread::spawn(move || control::hear(&hearing, input));
    std::thread::spawn(move || reap(command, &events));

    let mut watching = Watch::new(&orders.limits, &orders.fence);
    let mut pause = watching.pause();
    let mut over_limit = false;
    let mut terminated = false;
    let code = loop {
        match happening.recv_timeout(pause) {
            Ok(LauncherEvent::Ended(code)) => break code,
            Ok(LauncherEvent::Alone | LauncherEvent::Kill)
            | Err(RecvTimeoutError::Disconnected) => {
                break EXIT_OVER_LIMIT;
            }
            // It leads a session of its own.
            Ok(LauncherEvent::Terminate) => {
                terminated = true;
                let _ = rustix::process::kill_process_group(command, Signal::TERM);
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(excess) = watching.excess() {
                    eprintln!("dragoman: the command was ended: {excess}");
                    over_limit = true;
                    break EXIT_OVER_LIMIT;
                }
                pause = watching.pause();
            }
        }
    };
    // Who was told to end with the command is not left behind, though it may take a moment longer.
    let is_untold = !terminated && !over_limit && code != EXIT_OVER_LIMIT;
    let left = watching.others();
    if left > 0 && is_untold {
        eprintln!("dragoman: {left} left in the background ended with the command");
    }
    sweep(&watching, command, &happening);
    if let Some(showing) = showing {
        showing.wait();
    }
    Ok(code)
}

/// Ends whatever is left. Where this is the first process of its namespace the kernel does so, too.
fn sweep(watching: &Watch, command: Pid, happening: &mpsc::Receiver<LauncherEvent>) {
    let begun = Instant::now();
    while begun.elapsed() < SWEEP_MAX {
        let _ = rustix::process::kill_process_group(command, Signal::KILL);
        for pid in watching.processes() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        match happening.recv_timeout(SWEEP_PAUSE) {
            Ok(LauncherEvent::Alone) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(LauncherEvent::Ended(_) | LauncherEvent::Terminate | LauncherEvent::Kill)
            | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn reap(command: Pid, events: &Sender<LauncherEvent>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                let code = status.exit_status().or(signal).unwrap_or(1);
                let _ = events.send(LauncherEvent::Ended(code));
            }
            Ok(_) => {}
            Err(error) if error == rustix::io::Errno::INTR => {}
            Err(_) => {
                let _ = events.send(LauncherEvent::Alone);
                return;
            }
        }
    }
}
