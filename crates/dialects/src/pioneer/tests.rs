//! Stories of one connection whose engine is the story itself.

mod admin;
mod anything;
mod providers;
mod recovering;
mod rejoining;
mod samples;
mod saying;
mod stub;
mod threads;
mod turns;
mod workspaces;
