//! Stories of the engine, told over the memory store with the rehearsal model.

mod durability;
mod house;
mod library;
mod listening;
mod turns;
