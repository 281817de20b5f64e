//! Stories of the engine, told over the memory store with the rehearsal model.

mod durability;
mod house;
mod listening;
mod turns;
