//! The frames of the protocol as types: what requests carry, what they get, what is notified.
//!
//! Each carries the app-server's own name; docs/protocols/codex.md describes them. Params are
//! supersets of both endpoints' wherever keys do not clash; where the two endpoints spell a value
//! differently, the type has both spellings.

pub mod account;
pub mod anchor;
pub mod config;
pub mod exec;
pub mod file_search;
pub mod forks;
pub mod inventory;
pub mod item;
pub mod items_list;
pub mod mcp;
pub mod metadata;
pub mod notice;
pub mod orders;
pub mod params;
pub mod request;
pub mod results;
pub mod search;
pub mod sections;
pub mod settings;
pub mod terminals;
pub mod thread;
pub mod thread_list;
pub mod zane;
