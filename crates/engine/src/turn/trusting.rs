//! Asks for trust in what came with the workspace, where a call wants to use it.

use vocabulary::{Approval, Approvals, AskKind, Closing, RiskCode, StreamTag, ToolCall};

use super::{SessionGone, Turn, tooling};
use crate::trust::{self, Trust};

/// How often a person is asked to trust content that changes while they are asked.
const ASKS_MAX: usize = 3;

/// What came with the workspace and may be used by this call; a person is asked where it is not known
/// yet. Their yes is to what they were asked about: what changed meanwhile is asked for again.
pub async fn trusted(
    turn: &Turn,
    tag: &StreamTag,
    call: &ToolCall,
) -> Result<tools::Trusted, SessionGone> {
    if !uses_workspace(turn, call).await {
        return Ok(tools::Trusted::nothing("nothing else uses it"));
    }
    let mut allowed = None;
    let _one = turn.asks_in_turn.lock().await;
    for asked in 0..=ASKS_MAX {
        let content = match trust::look(&turn.shared, &turn.card).await {
            Ok(Trust::Nothing) => return Ok(tools::Trusted::default()),
            Ok(Trust::Trusted(content)) => return Ok(content.as_trusted()),
            Ok(Trust::Untrusted(content)) => content,
            Ok(Trust::Unreadable) => {
                let why = "it is too much to look at, or cannot all be read";
                return Ok(tools::Trusted::nothing(why));
            }
            Err(_) => return Ok(tools::Trusted::nothing("it could not be looked up")),
        };
        let (all, none) = {
            let settings = &turn.permits.borrow().settings;
            let none = settings.approvals == Approvals::Never;
            (settings.auto_approve, none)
        };
        if all {
            return Ok(content.as_trusted());
        }
        if none {
            return Ok(tools::Trusted::nothing("this thread asks nobody"));
        }
        if allowed.as_ref() == Some(&content) {
            if let Err(error) = trust::keep(&turn.shared, &turn.card, &content).await {
                tracing::warn!(%error, "trust in a workspace could not be kept");
            }
            return Ok(content.as_trusted());
        }
        if asked == ASKS_MAX {
            break;
        }
        let kind = AskKind::Approval(Approval {
            command: content.question(),
            dangerous: true,
            risk: RiskCode::RequiresManualReview,
            reason: "this came with the workspace and nobody has trusted it yet".to_owned(),
            leaves_sandbox: false,
            // Trust has a place of its own.
            key: None,
            remembered: None,
        });
        match turn.ask(tag.clone(), call, kind).await? {
            closing if closing.approved() => {}
            Closing::Lost { .. } => {
                return Ok(tools::Trusted::nothing("nobody could be asked about it"));
            }
            Closing::Answered(_) | Closing::Cancelled => {
                return Ok(tools::Trusted::nothing("the user does not trust it"));
            }
        }
        allowed = Some(content);
    }
    let why = "it changed each time while the user was asked";
    Ok(tools::Trusted::nothing(why))
}

/// Whether a call may use what came with the workspace: a skill, or a kind of sub-agents.
async fn uses_workspace(turn: &Turn, call: &ToolCall) -> bool {
    if call.name != tools::SPAWN_AGENT {
        return call.name == tools::SKILL;
    }
    let (scope, input) = (tooling::scope(turn), call.input.clone());
    let look = move || tools::spawn_agent::comes_with_workspace(&scope, &input);
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or(false)
}
