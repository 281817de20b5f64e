//! Every limit of the work on checkpoints, in one place.

use std::time::Duration;

/// How long a caller waits for checkpoints that are still being prepared or taken.
pub const CHECKPOINTS_WAIT: Duration = Duration::from_secs(1);
/// How long a call that changes checkpoints waits for the original.
pub const ORIGINAL_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long the first write of a turn waits for a snapshot of what was there before.
pub const FIRST_WRITE_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long the first write of a turn waits for a restore of another thread.
pub const RESTORE_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long a turn waits after a write for its new versions; they are kept all the same.
pub const AFTER_WRITE_WAIT_MAX: Duration = Duration::from_secs(1);
/// Short reads and writes of one vault that run at the same time.
pub const VAULT_READS_MAX: usize = 4;
/// Scans of a workspace that nobody waits for urgently rest this many times as long as one takes.
pub const SCANS_REST_FACTOR: u32 = 9;
/// Scans of one workspace that wait; more are merged into the last of them.
pub const SCANS_WAITING_MAX: usize = 8;
/// Checkpoints of one thread that wait to be taken; further ones are left out.
pub const CHECKPOINTS_WAITING_MAX: usize = 16;
/// All checkpoints of a thread are told after every turn as long as there are at most this many;
/// then, as they would cost more and more, this often at most.
pub const CHECKPOINTS_TOLD_AT_ONCE: u64 = 32;
pub const CHECKPOINTS_TOLD_EVERY: Duration = Duration::from_secs(30);
/// Files that one fact names as changed.
pub const FILES_CHANGED_MAX: usize = 2_000;
/// Bytes of the diff of a turn, and of one between two checkpoints.
pub const TURN_DIFF_BYTES_MAX: usize = 1 << 20;
pub const DIFF_BYTES_MAX: usize = 4 << 20;
/// Work on checkpoints says how far it is after this time, and then again and again.
pub const PROGRESS_AFTER: Duration = Duration::from_secs(1);
pub const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// What happened to a workspace and its sessions have not heard yet.
pub const WORKSPACE_EVENTS_MAX: usize = 64;
/// How long changes from outside are gathered before they are looked at; longer where they go on and on.
pub const WATCH_PAUSE: Duration = Duration::from_millis(200);
pub const WATCH_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Directories of one workspace that are watched. What changes in others is seen when a turn ends.
pub const WATCHED_DIRECTORIES_MAX: usize = 4_096;
/// Paths that are looked at one by one; if more changed, everything is.
pub const WATCHED_PATHS_MAX: usize = 256;
/// How often everything is looked at again because new directories came meanwhile.
pub const WATCHED_ROUNDS_MAX: usize = 4;
/// Checkpoints are pruned this often where any are taken.
pub const PRUNE_EVERY: Duration = Duration::from_secs(3_600);
