//! Stories of the cowork dialect: whole frames, told by a connection with a stub for an engine.

mod anything;
mod commands;
mod connecting;
mod prompts;
mod recordings;
mod refusals;
mod samples;
mod schemas;
mod stub;
mod telling;
mod validation;
