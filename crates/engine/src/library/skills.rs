//! What clients want of skills and slash commands.

use vocabulary::{Refusal, Reply, RunCommand, SkillCall, SlashCommand, ThreadCard, Why};

use crate::Shared;

pub async fn answer(
    _shared: &Shared,
    _card: &ThreadCard,
    call: SkillCall,
) -> Result<Reply, Refusal> {
    match call {
        SkillCall::List => Ok(Reply::Skills(Vec::new())),
        SkillCall::Read { .. } | SkillCall::SetEnabled { .. } | SkillCall::Delete { .. } => {
            Err(not_yet())
        }
    }
}

/// What can be said with a slash.
pub async fn commands(_shared: &Shared, _card: &ThreadCard) -> Result<Vec<SlashCommand>, Refusal> {
    Ok(Vec::new())
}

/// The text that a command stands for.
pub async fn expand(
    _shared: &Shared,
    _card: &ThreadCard,
    _run: &RunCommand,
) -> Result<String, Refusal> {
    Err(not_yet())
}

fn not_yet() -> Refusal {
    Refusal::new(Why::Internal, "not available in this build yet")
}
