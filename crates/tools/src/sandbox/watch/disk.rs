//! How much processes have put on disks: written there, or only reserved.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Pid;

use super::super::fence::Confinement;
use super::{DELETED, open_files};

const BLOCK_BYTES: u64 = 512;
/// So many files are looked at.
const FILES_MAX: usize = 1_000_000;
/// After a count that was fine, this part of the limit must be taken until the next one, …
const NEXT_PART: u64 = 8;
/// … or so much time must pass: others may have made room meanwhile.
const COUNT_PAUSE_MIN: Duration = Duration::from_secs(5);
/// Counting takes at most one part in so many of the time.
const COUNT_SHARE: u32 = 50;

pub struct Disk {
    /// Where the command can put files.
    roots: Vec<PathBuf>,
    /// What was free on each of their file systems, by one path on it.
    free_at_start: Vec<(PathBuf, u64)>,
    begun_secs: i64,
    /// What may be taken until the next count.
    counted_at: u64,
    next_count: Instant,
}

impl Disk {
    pub fn new(fence: &Confinement) -> Self {
        let inside = ["/tmp", "/var/tmp"].map(PathBuf::from);
        let roots: Vec<PathBuf> = match fence {
            Confinement::Within { writable } => writable.iter().cloned().chain(inside).collect(),
            Confinement::Paths { writable, .. } => writable.clone(),
            Confinement::Open => std::env::current_dir().into_iter().collect(),
        };
        let mut devices = BTreeMap::new();
        for root in &roots {
            if let (Ok(meta), Some(free)) = (root.metadata(), free_bytes(root)) {
                devices.entry(meta.dev()).or_insert((root.clone(), free));
            }
        }
        let begun = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            roots,
            free_at_start: devices.into_values().collect(),
            begun_secs: begun.map_or(0, |time| time.as_secs().cast_signed()),
            counted_at: 0,
            next_count: Instant::now() + COUNT_PAUSE_MIN,
        }
    }

    /// What was reserved without being written shows only in what is free; whose it is shows only in the
    /// files themselves, which are counted if there is a reason.
    pub fn is_over(&mut self, processes: &[Pid], most: u64) -> bool {
        let written: u64 = processes.iter().filter_map(|&pid| written_bytes(pid)).sum();
        if written > most {
            return true;
        }
        let starts = self.free_at_start.iter();
        let taken: u64 = starts
            .filter_map(|(path, free)| Some(free.saturating_sub(free_bytes(path)?)))
            .sum();
        let now = Instant::now();
        if taken <= most.max(self.counted_at) && now < self.next_count {
            return false;
        }
        let allocated = self.allocated(processes);
        self.counted_at = taken + most / NEXT_PART;
        self.next_count = Instant::now() + COUNT_PAUSE_MIN.max(now.elapsed() * COUNT_SHARE);
        allocated > most
    }

    /// The size on disk of files that were changed since the command began, those without a name too.
    fn allocated(&self, processes: &[Pid]) -> u64 {
        let mut files: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let mut count = |path: &Path| {
            let Ok(meta) = path.symlink_metadata() else {
                return;
            };
            if meta.is_file() && meta.ctime() >= self.begun_secs {
                files.insert((meta.dev(), meta.ino()), meta.blocks() * BLOCK_BYTES);
            }
        };
        let walks = self.roots.iter().flat_map(|root| {
            let walk = ignore::WalkBuilder::new(root)
                .standard_filters(false)
                .follow_links(false)
                .build();
            walk.flatten()
        });
        walks.take(FILES_MAX).for_each(|entry| count(entry.path()));
        let open = processes.iter().flat_map(|&pid| open_files(pid));
        for (path, _) in open.filter(|(_, target)| target.ends_with(DELETED)) {
            if let Some(meta) = path.metadata().ok().filter(std::fs::Metadata::is_file) {
                files.insert((meta.dev(), meta.ino()), meta.blocks() * BLOCK_BYTES);
            }
        }
        files.values().sum()
    }
}

fn written_bytes(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "))?;
    line.parse().ok()
}

fn free_bytes(path: &Path) -> Option<u64> {
    let fs = rustix::fs::statvfs(path).ok()?;
    Some(fs.f_bfree * fs.f_frsize)
}
