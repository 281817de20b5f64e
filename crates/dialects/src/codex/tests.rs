//! Stories of the codex dialect, told by a connection with a stub for an engine.

mod anything;
mod asking;
mod listing;
mod offering;
mod opening;
mod permissions;
mod rejoining;
mod saying;
mod servers;
mod signing;
mod stub;
mod telling;
mod thinking;
mod zane;
