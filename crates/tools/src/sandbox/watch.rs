//! What a command and all that it started use just now, against their limits.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::fence::Confinement;
use super::limits::Limits;
use disk::Disk;
use memory::MemoryWatch;

mod disk;
mod memory;

/// Between two looks.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// Looking takes at most one part in so many of the time.
const SHARE: u32 = 20;
/// More processes than this are not looked at one by one; there are too many then anyway.
const PROCESSES_MAX: usize = 100_000;

pub struct Watch {
    limits: Limits,
    own: Pid,
    memory: MemoryWatch,
    disk: Disk,
    last: Duration,
}

impl Watch {
    pub fn new(limits: &Limits, fence: &Confinement) -> Self {
        let own = rustix::process::getpid();
        Self {
            limits: limits.clone(),
            own,
            memory: MemoryWatch::new(own.is_init()),
            disk: Disk::new(fence),
            last: Duration::ZERO,
        }
    }

    /// How long to wait until the next look.
    pub fn pause(&self) -> Duration {
        PAUSE_MIN.max(self.last * SHARE)
    }

    /// Looks; says what is too much.
    pub fn excess(&mut self) -> Option<String> {
        let begun = Instant::now();
        let excess = self.look();
        self.last = begun.elapsed();
        excess
    }

    fn look(&mut self) -> Option<String> {
        let processes = self.processes();
        if processes.len() as u64 > self.limits.processes {
            return Some(format!(
                "more than {} processes at once",
                self.limits.processes
            ));
        }
        if self.memory.is_over(&processes, self.limits.memory_bytes) {
            return Some(format!(
                "more than {} of memory",
                size(self.limits.memory_bytes)
            ));
        }
        // What has ended is counted with the one who waited for it.
        let all: Vec<Pid> = processes.iter().copied().chain([self.own]).collect();
        if self.disk.is_over(&all, self.limits.written_bytes) {
            let most = size(self.limits.written_bytes);
            return Some(format!("more than {most} written to disk"));
        }
        None
    }

    /// Says how many processes there are, or nothing if there are none.
    pub fn others(&self) -> usize {
        let alive = |pid: &Pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        self.processes().iter().filter(|pid| alive(pid)).count()
    }

    /// All below this one.
    pub fn processes(&self) -> Vec<Pid> {
        if self.own.is_init() {
            return every_other();
        }
        let mut found = children(self.own);
        let mut next = 0;
        while next < found.len() && found.len() < PROCESSES_MAX {
            found.extend(children(found[next]));
            next += 1;
        }
        found
    }
}

/// In a namespace of its own.
fn every_other() -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter_map(Pid::from_raw)
        .filter(|pid| !pid.is_init())
        .take(PROCESSES_MAX)
        .collect()
}

fn children(pid: Pid) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let mut found = Vec::new();
    for list in lists {
        found.extend(
            list.split_whitespace()
                .filter_map(|word| Pid::from_raw(word.parse().ok()?)),
        );
    }
    found
}

/// Files that a process has open, by where they lead.
fn open_files(pid: Pid) -> impl Iterator<Item = (PathBuf, String)> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    entries.filter_map(|entry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        Some((entry.path(), target.to_string_lossy().into_owned()))
    })
}

/// How the kernel marks the name of an open file that has none any more.
const DELETED: &str = " (deleted)";

fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes / MIB {
        mib if mib >= 10 * 1024 => format!("{} GiB", mib / 1024),
        mib => format!("{mib} MiB"),
    }
}
