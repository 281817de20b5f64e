//! Where time and new ids come from: the one place of the engine that reads a clock or draws an id.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;
use vocabulary::Timestamp;

/// Tells the time and makes ids. Tests have one of their own, so that whole events can be compared.
pub trait Clock: fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;
    /// Never the same twice, on any machine; later ones sort behind earlier ones.
    fn new_id(&self) -> Uuid;
}

/// Those of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Timestamp(since.unwrap_or_default().as_millis() as i64)
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}
