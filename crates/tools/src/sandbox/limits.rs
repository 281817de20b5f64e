//! How much a command may use of the machine.

use serde::{Deserialize, Serialize};

const GIB: u64 = 1 << 30;
/// Taken where the machine does not tell how much memory it has.
const MEMORY_UNKNOWN_BYTES: u64 = 8 * GIB;

/// Limits of one command and all that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory that one process may have for itself; the kernel refuses more (`RLIMIT_DATA`, which
    /// does not count what is only reserved, as `RLIMIT_AS` would).
    pub process_memory_bytes: u64,
    /// Memory of all processes together. Watched: beyond it, the command is ended.
    pub memory_bytes: u64,
    /// Processes at once. Watched, and refused by the kernel where the user is not root and the
    /// sandbox has its own user namespace.
    pub processes: u64,
    /// The size of one file; the kernel refuses more.
    pub file_bytes: u64,
    /// What is written to disks in all. Watched: beyond it, the command is ended.
    pub written_bytes: u64,
    /// Open files of one process; the kernel refuses more.
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let machine = machine_memory_bytes().unwrap_or(MEMORY_UNKNOWN_BYTES);
        Self {
            process_memory_bytes: (8 * GIB).min(machine),
            memory_bytes: machine / 4 * 3,
            processes: 4096,
            file_bytes: 16 * GIB,
            written_bytes: 64 * GIB,
            open_files: 65_536,
        }
    }
}

fn machine_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
