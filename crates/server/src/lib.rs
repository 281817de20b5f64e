//! Sockets, HTTP, configuration, shutdown; joins dialects to the engine.
//!
//! The only crate that sees both `dialects` and `engine`: a connection asks a dialect what to do
//! with a frame, does it with the engine, and hands the answer back.

pub mod assembly;
pub mod cli;
mod connection;
mod http;
pub mod limits;
mod origin;
mod table;

pub use assembly::{Running, Settings, start};
