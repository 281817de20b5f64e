//! Stories of the engine, told over the memory store with the rehearsal model or a puppet.

mod again;
mod agents;
mod answers;
mod broken;
mod budgets;
mod checkpoints;
mod clocks;
mod durability;
mod efforts;
mod grants;
mod house;
mod library;
mod listening;
mod losses;
mod older;
mod pictures;
mod puppet;
mod recall;
mod steering;
mod sub_agents;
mod summaries;
mod tenants;
mod titling;
mod toys;
mod turn_index;
mod turns;
