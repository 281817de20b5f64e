//! Sockets, HTTP, assembly, shutdown; joins dialects to the engine.
//!
//! The only crate that sees both `dialects` and `engine`: a connection asks a dialect what to do
//! with a frame, does it with the engine, and hands the answer back.

mod accept;
mod access;
pub mod assembly;
mod auth_pages;
mod connection;
pub mod database;
mod descriptors;
mod door;
mod gate;
mod guesses;
pub mod home;
mod http;
mod id_key;
mod identity;
pub mod import;
pub mod limits;
mod log_limiter;
mod metrics;
pub mod origin;
mod pace;
mod page;
mod peer;
pub mod repair;
mod replacing;
mod seats;
mod socket;
pub mod table;
mod ticket;
pub mod token;
mod upgrade;

pub use assembly::{
    ListeningServer, RunningServer, Settings, ShutdownReason, listen, open_engine, skill_folders,
    start,
};
