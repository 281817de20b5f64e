//! Stories of the codex dialect, told by a connection with a stub for an engine.

mod anything;
mod asking;
mod opening;
mod stub;
mod telling;
