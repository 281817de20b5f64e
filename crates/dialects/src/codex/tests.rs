//! Stories of the codex dialect, told by a connection with a stub for an engine.

mod anything;
mod asking;
mod forks;
mod found;
mod inventory;
mod items;
mod listing;
mod methods;
mod offering;
mod opening;
mod ordering;
mod permissions;
mod rejoining;
mod saying;
mod searching;
mod sections;
mod servers;
mod settings;
mod signing;
mod stub;
mod telling;
mod thinking;
mod zane;
