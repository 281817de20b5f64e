//! What models are told about their work. Kept the same from step to step, so that a provider's
//! cache of the beginning of a conversation holds.

mod agent;
pub mod sub_agents;

pub use agent::system as agent;

/// Asks for a summary of a conversation that has grown too long.
pub const SUMMARY: &str = "\
    You are given the record of a conversation between a user and a coding agent that has grown too \
    long to go on with. Write what the agent needs to go on as if it remembered all of it: what the \
    user wants, in their own words where these matter; decisions and the reasons for them; what was \
    done, with file paths, names, commands and their results; what is under way at this moment; what \
    is left to do; anything the user asked not to do. Leave out what no longer matters. Write \
    nothing but that summary.";

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
