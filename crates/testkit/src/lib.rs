//! Scenarios, transcripts, a WebSocket client and scratch homes for tests.
//!
//! It knows the server only as a client does: a program to start and a socket to speak to.

pub mod bench;
pub mod chance;
pub mod client;
pub mod eval;
pub mod http;
pub mod peer;
pub mod process;
pub mod proxy;
pub mod receiver;
pub mod scenario;
pub mod scratch;
pub mod service;
pub mod stage;
pub mod tap;
pub mod terminal;
pub mod tongue;
pub mod transcript;
pub mod until;
pub mod visitor;

pub use client::{Client, Close, Heard};
pub use process::Process;
pub use scratch::Scratch;
pub use visitor::Visitor;
