//! The protocol's own types: params as they are heard, results and notifications as they are told.
//!
//! Case conventions are mixed in this protocol and copied as they are
//! (docs/protocols/pioneer.md, "Frames"): most fields are snake_case, modes and states PascalCase,
//! items and history camelCase.

pub mod history;
pub mod item;
pub mod params;
pub mod permission;
pub mod provider;
pub mod recovery;
pub mod servers;
pub mod skills;
pub mod thread;
pub mod timeline;
pub mod turn;
pub mod upload;
pub mod workspace;
