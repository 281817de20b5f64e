//! How much memory processes have together: what each has for itself, and what they share, once.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

use super::{DELETED, open_files};

const BLOCK_BYTES: u64 = 512;

pub struct MemoryWatch {
    page_bytes: u64,
    /// Shared memory of the whole machine when the command began.
    shared_at_start: u64,
    /// Whether /dev/shm is ours alone.
    apart: bool,
}

impl MemoryWatch {
    pub fn new(apart: bool) -> Self {
        Self {
            page_bytes: rustix::param::page_size() as u64,
            shared_at_start: machine_shared().unwrap_or_default(),
            apart,
        }
    }

    /// Counts exactly only if a cheap look, which counts too much rather than too little, gives reason.
    pub fn is_over(&self, processes: &[Pid], most: u64) -> bool {
        let resident: u64 = processes.iter().filter_map(|&pid| self.resident(pid)).sum();
        // Nobody needs to have it mapped: a file in memory is enough.
        let grown = machine_shared().map_or(0, |now| now.saturating_sub(self.shared_at_start));
        resident + grown > most && self.used(processes) > most
    }

    fn resident(&self, pid: Pid) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * self.page_bytes)
    }

    fn used(&self, processes: &[Pid]) -> u64 {
        let (own, mapped) = processes
            .iter()
            .filter_map(|&pid| proportional(pid).or_else(|| whole(pid)))
            .fold((0, 0), |sum, (own, shared)| (sum.0 + own, sum.1 + shared));
        // A file in memory may be mapped as well, and is to be counted once.
        own + mapped.max(self.files_in_memory(processes))
    }

    fn files_in_memory(&self, processes: &[Pid]) -> u64 {
        let mut files: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (path, target) in processes.iter().flat_map(|&pid| open_files(pid)) {
            let nameless = target.starts_with("/memfd:");
            let removed = target.starts_with("/dev/shm/") && target.ends_with(DELETED);
            if let Some(meta) = path.metadata().ok().filter(|_| nameless || removed) {
                files.insert((meta.dev(), meta.ino()), meta.blocks() * BLOCK_BYTES);
            }
        }
        let named = match self.apart {
            true => rustix::fs::statvfs("/dev/shm")
                .map_or(0, |fs| fs.f_blocks.saturating_sub(fs.f_bfree) * fs.f_frsize),
            false => 0,
        };
        files.values().sum::<u64>() + named
    }
}

/// What a process has for itself, and its part of what it shares. Takes long for large processes.
fn proportional(pid: Pid) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    Some((
        kilobytes(&text, "Pss_Anon:")?,
        kilobytes(&text, "Pss_Shmem:")?,
    ))
}

/// The same of a process that does not let itself be looked at, with all that it shares.
fn whole(pid: Pid) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some((
        kilobytes(&text, "RssAnon:")?,
        kilobytes(&text, "RssShmem:")?,
    ))
}

fn machine_shared() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(&text, "Shmem:")
}

/// A line such as `Shmem:   1024 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}
