//! Numbers that say whether a list is still the same: each grows with every change that this process makes.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct ListVersions {
    skills: AtomicU64,
    mcp: AtomicU64,
}

impl ListVersions {
    pub fn skills(&self) -> u64 {
        self.skills.load(Ordering::Relaxed)
    }

    /// The new number.
    pub fn skills_changed(&self) -> u64 {
        self.skills.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn mcp(&self) -> u64 {
        self.mcp.load(Ordering::Relaxed)
    }

    /// The new number.
    pub fn mcp_changed(&self) -> u64 {
        self.mcp.fetch_add(1, Ordering::Relaxed) + 1
    }
}
