//! The last step before a command: this process gives up what a command shall not have, and becomes it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use super::launcher::Orders;
use super::limits::Limits;
use super::rules::{self, Net};
use super::syscalls::{self, Filter};

/// From this kernel on, processes are counted per user namespace.
const COUNTED_APART: (u32, u32) = (5, 14);
/// From this kernel on, Landlock keeps signals in.
const SIGNALS_SCOPED: (u32, u32) = (6, 12);
/// From this kernel on, Landlock knows ports.
const PORTS_CLOSED: (u32, u32) = (6, 7);

/// What this process adds to the fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// Limits only.
    Open,
    /// Namespaces and mounts are there already. Landlock adds, where the kernel has it, what a
    /// read-only mount does not stop: writing to pipes and devices that lie on it.
    Within { writable: Vec<PathBuf> },
    /// Everything is done here, by Landlock and the filter of system calls.
    Paths {
        writable: Vec<PathBuf>,
        readable: Vec<PathBuf>,
    },
}

/// Does not return but for saying why it failed; then nothing of the command has run.
pub fn become_program(orders: &Orders, program: &[OsString]) -> String {
    if let Err(error) = enter(orders) {
        return error;
    }
    let Some((name, arguments)) = program.split_first() else {
        return "there is no program to run".to_owned();
    };
    let error = Command::new(name).args(arguments).exec();
    format!("cannot start {}: {error}", name.to_string_lossy())
}

fn enter(orders: &Orders) -> Result<(), String> {
    let launcher = rustix::process::getppid().map_or(1, |pid| pid.as_raw_pid());
    // Apart from the launcher, so that `kill 0` and a closed terminal do not reach it.
    rustix::process::setsid().map_err(|error| format!("no session of its own: {error}"))?;
    if orders.terminal {
        rustix::process::ioctl_tiocsctty(std::io::stdin())
            .map_err(|error| format!("no terminal: {error}"))?;
    }
    limit(&orders.limits, &orders.fence)?;
    let net = match orders.network {
        true => Net::But(&orders.ports),
        false => Net::Closed,
    };
    let filter = match &orders.fence {
        Confinement::Open => return Ok(()),
        Confinement::Within { writable } => {
            // Without the network there is a namespace that holds it, with a loopback of its own.
            let net = if orders.network { net } else { Net::But(&[]) };
            rules::restrict_writing(writable, net)?;
            // Nobody else can be seen from within.
            Filter {
                apart: true,
                network: orders.network,
                ..Filter::default()
            }
        }
        Confinement::Paths { writable, readable } => {
            let guarded = vec![orders.server, launcher];
            let threads = match is_at_least(SIGNALS_SCOPED) {
                true => Vec::new(),
                false => syscalls::guarded_threads(&guarded),
            };
            drop_capabilities()?;
            rules::restrict(writable, readable, net)?;
            Filter {
                apart: false,
                network: orders.network,
                guarded,
                threads,
            }
        }
    };
    syscalls::restrict(&filter)
}

/// Whether a port can be kept from a command that has the network.
pub fn can_close_ports() -> bool {
    is_at_least(PORTS_CLOSED)
}

fn limit(limits: &Limits, fence: &Confinement) -> Result<(), String> {
    lower(Resource::Core, 0)?;
    lower(Resource::Data, limits.process_memory_bytes)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    // Elsewhere all processes of the user would count, those of their desktop too.
    let apart = matches!(fence, Confinement::Within { .. });
    if apart && is_at_least(COUNTED_APART) {
        lower(Resource::Nproc, limits.processes)?;
    }
    Ok(())
}

/// Lowers a limit for good; never raises one.
fn lower(resource: Resource, most: u64) -> Result<(), String> {
    let now = rustix::process::getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let new = Rlimit {
        current: least(now.current),
        maximum: least(now.maximum),
    };
    rustix::process::setrlimit(resource, new)
        .map_err(|error| format!("no limit {resource:?}: {error}"))
}

fn is_at_least(version: (u32, u32)) -> bool {
    kernel().is_some_and(|kernel| kernel >= version)
}

fn kernel() -> Option<(u32, u32)> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = text.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Root without them is an ordinary user who owns root's files.
fn drop_capabilities() -> Result<(), String> {
    // Only root can, and only for root there is something in it that counts.
    for capability in CapabilitySet::all().iter() {
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())?;
    rustix::thread::set_capabilities(None, none)
        .map_err(|error| format!("cannot drop privileges: {error}"))
}
