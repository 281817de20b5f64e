//! Stories of one connection whose engine is the story itself.

mod anything;
mod samples;
mod stub;
mod threads;
mod turns;
mod workspaces;
