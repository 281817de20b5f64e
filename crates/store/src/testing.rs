//! Stores for tests and the story that every store must pass. Not part of the product: compiled for
//! this crate's own tests and with the feature `testing`, which only dev-dependencies may ask for.

pub mod faulty;
pub mod memory;
pub mod story;
