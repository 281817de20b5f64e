//! Checkpoints for threads: between the vaults of `checkpoints`, which block and know no thread, and
//! whoever runs threads. One keeper per workspace shares its looks among all sessions there; the work
//! on a thread's checkpoints is done one piece at a time; what comes of it is given back to be told.
//!
//! Nothing here records a fact or knows a session: a [`Report`] says what to tell.

use std::path::PathBuf;
use std::sync::Arc;

use checkpoints::{Limits, Policy};
use vocabulary::Timestamp;

mod error;
pub mod limits;
mod reads;
mod scan_queue;
mod scanner;
mod tasks;
mod thread_files;
mod thread_snapshots;
mod translate;
mod turn_writes;
mod vault_place;

pub use error::Trouble;
pub use reads::{Reads, state};
pub use scan_queue::{Haste, Ticket};
pub use scanner::{Found, Keeper, Keepers, News};
pub use tasks::{Asked, Came, Cause, Checkpointing, Done, Handled, Report, Shown};
pub use thread_files::{Ended, Failure, Task, ThreadFiles};
pub use thread_snapshots::{Shelf, Summary, Wanted};
pub use translate::inside;
pub use turn_writes::{Write, Writing};
pub use vault_place::VaultPlace;

/// Whether files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints {
    On { limits: Limits, policy: Policy },
    Off,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self::On {
            limits: Limits::default(),
            policy: Policy::default(),
        }
    }
}

/// What the keepers of all workspaces are started with.
#[derive(Clone)]
pub struct Settings {
    /// Where our data lies.
    pub home: PathBuf,
    /// The folder in a workspace that holds its settings.
    pub workspace_data: PathBuf,
    pub checkpoints: Checkpoints,
    /// What time it is.
    pub clock: Clock,
}

/// Tells the time; whoever runs threads has one for everything.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
