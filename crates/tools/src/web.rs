//! How the web is reached: keys, limits, and which addresses are never asked.

/// What the web tools need.
#[derive(Debug, Default)]
pub struct Web {}
