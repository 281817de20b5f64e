//! The ids of new threads, which can be known again without having been written down.
//!
//! A client may hold the id of a thread in which nothing happened, and of which nothing was kept. The
//! last bits of an id are a keyed hash of the others, so that it is seen to be one of ours.

use std::fmt;

use uuid::Uuid;
use vocabulary::ThreadId;

/// Bytes of an id that are its check. What remains has the time and a counter, so that ids stay unique
/// and in order.
const CHECK_BYTES: usize = 4;

/// What ids of threads are checked with: the same for all processes on one home.
#[derive(Clone)]
pub struct ThreadIdKey([u8; Self::BYTES]);

impl ThreadIdKey {
    pub const BYTES: usize = 32;

    pub fn new(key: [u8; Self::BYTES]) -> Self {
        Self(key)
    }

    /// Gives an id its check.
    pub(crate) fn seal(&self, id: Uuid) -> ThreadId {
        let mut bytes = *id.as_bytes();
        let (rest, check) = bytes.split_at_mut(size_of::<Uuid>() - CHECK_BYTES);
        let hash = blake3::keyed_hash(&self.0, rest);
        check.copy_from_slice(&hash.as_bytes()[..CHECK_BYTES]);
        ThreadId(Uuid::from_bytes(bytes))
    }

    /// Whether an id was made with this key.
    pub(crate) fn has_sealed(&self, id: ThreadId) -> bool {
        self.seal(id.0) == id
    }
}

impl fmt::Debug for ThreadIdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThreadIdKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, SystemClock};

    #[test]
    fn ids_are_known_again_by_whoever_has_the_key() {
        let (key, other) = (ThreadIdKey::new([1; 32]), ThreadIdKey::new([2; 32]));
        let mut before = Uuid::nil();
        for _ in 0..10_000 {
            let made = SystemClock.new_id();
            let id = key.seal(made);
            assert_eq!(id.0.get_version_num(), 7);
            assert!(id.0 > before, "in order, and never twice");
            before = id.0;
            assert!(key.has_sealed(id));
            assert!(!key.has_sealed(ThreadId(made)));
            assert!(!other.has_sealed(id));
        }
    }
}
