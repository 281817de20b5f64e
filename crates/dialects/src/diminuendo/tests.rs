//! Stories of the diminuendo dialect: whole frames, told by a connection with a stub for an engine.

mod anything;
mod connecting;
pub(crate) mod facts;
mod files;
mod joining;
mod lists;
mod reading;
mod refusals;
mod replaying;
mod states;
mod stub;
mod talking;
mod telling;
