//! Stories of the cowork dialect: whole frames, told by a connection with a stub for an engine.

mod agents;
mod anything;
pub(crate) mod backup;
mod closing;
mod commands;
mod connecting;
mod defaults;
mod harness;
mod history;
mod mcp;
mod messages;
mod prompts;
mod recordings;
mod refusals;
mod rejoining;
pub(crate) mod samples;
mod schemas;
mod sign_in;
mod skills;
mod streams;
mod stub;
mod telling;
mod tools;
mod uploads;
mod validation;
