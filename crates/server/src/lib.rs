//! Sockets, HTTP, configuration, shutdown; joins dialects to the engine.
//!
//! The only crate that sees both `dialects` and `engine`: a connection asks a dialect what to do
//! with a frame, does it with the engine, and hands the answer back.

mod accept;
mod access;
pub mod assembly;
pub mod cli;
pub mod commands;
mod connection;
mod database;
mod descriptors;
mod gate;
pub mod greeting;
mod guesses;
mod home;
mod http;
pub mod limits;
mod log_limiter;
pub mod origin;
mod pace;
mod peer;
pub mod screen;
mod seats;
mod socket;
pub mod table;
mod ticket;
pub mod token;

pub use assembly::{Listening, Running, Settings, listen, start};
pub use home::USUAL_NAME as USUAL_HOME;
