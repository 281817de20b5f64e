//! Events as cowork frames.

use vocabulary::{Event, ThreadCard};

use crate::Frame;

/// Whether stream chunks carry their `rawPart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    Leave,
    Include,
}

pub fn tell(_card: &ThreadCard, _event: &Event, _raw: Raw) -> Vec<Frame> {
    Vec::new()
}
