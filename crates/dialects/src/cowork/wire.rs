//! The frames of the protocol as types: one per client message, one per server event.
//!
//! Each carries the wire's own name in CamelCase and cites its heading in docs/protocols/cowork.md.
//! Server events borrow what they tell, so that spelling one costs its own bytes and no more.

pub mod backup;
pub mod client;
pub mod conversation;
pub mod event;
pub mod extras;
pub mod mcp;
pub mod part;
pub mod providers;
pub mod session;

pub use event::ServerEvent;
