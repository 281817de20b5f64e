//! What models are told about their work. Kept the same from step to step, so that a provider's
//! cache of the beginning of a conversation holds.

mod agent;
pub mod sub_agents;

pub use agent::system as agent;

/// Asks for a title.
pub const TITLE: &str = "\
    Give the conversation a title: at most six words, in its own language, that tell it from others. \
    No quotation marks, no full stop, nothing but the title.";

/// Without a frame a small model would answer what was said instead of naming it.
pub fn to_be_titled(said: &str) -> String {
    format!(
        "The conversation begins with what stands between the lines.\n---\n{said}\n---\nIts title:"
    )
}
