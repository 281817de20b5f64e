//! What models are told about their work. Kept the same from step to step, so that a provider's
//! cache of the beginning of a conversation holds.

use std::path::Path;

mod agent;

pub use agent::system as agent;

/// For an agent that works for a call of another one.
pub fn sub_agent(kind: &str, directory: &Path) -> String {
    let duty = match kind {
        "explore" => {
            "Explore the workspace and answer the question you are given. Do not change anything."
        }
        "research" => {
            "Research the question you are given, with the sources you have. Do not change anything."
        }
        _ => "Do the task you are given, completely.",
    };
    format!(
        "You are a sub-agent: another agent gave you a task and reads your last message as its \
         result. It sees nothing else of your work, so that message must hold all that matters: \
         what you found or did, with paths and line numbers, and what is left open. You cannot \
         talk to the user.\n\n{duty}\n\nSurroundings:\n- Workspace: {}\n- System: {}\n",
        directory.display(),
        std::env::consts::OS
    )
}

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
