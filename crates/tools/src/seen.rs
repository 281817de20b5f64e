//! What a conversation has seen of files, so that an edit never overwrites what changed since.

/// The files a conversation has read or written, as they were then.
#[derive(Debug, Default)]
pub struct Seen {}
