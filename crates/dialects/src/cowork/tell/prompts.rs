//! Asks: the agent waits for a person.

use std::borrow::Cow;

use serde_json::json;
use vocabulary::{Ask, AskId, AskKind, Closing, Question};

use super::chunks::Chunks;
use crate::Frame;
use crate::cowork::asks::{approval_frame, ask_frame};
use crate::cowork::wire::part::{Part, ToolCallPart};
use crate::frame::AsText;
use crate::request_id::RequestId;

pub fn opened(chunks: Chunks<'_>, ask: &Ask) -> Vec<Frame> {
    let id = RequestId::first(ask.id);
    match &ask.kind {
        // A sub-agent's call is no part of the answer, but a person is asked all the same.
        AskKind::Approval(_) if ask.call.agent.is_some() => {
            approval_frame(chunks.session, ask).into_iter().collect()
        }
        AskKind::Approval(approval) => {
            let request = chunks.first(Part::ToolApprovalRequest {
                approval_id: AsText(id),
                tool_call: ToolCallPart {
                    tool_call_id: &ask.call.call_id,
                    tool_name: &ask.call.name,
                    // The whole input was told with the call; this is what a person is asked about.
                    input: Cow::Owned(json!({ "command": approval.command })),
                },
                tool_call_id: &ask.call.call_id,
                tool_name: &ask.call.name,
            });
            let approval = approval_frame(chunks.session, ask);
            std::iter::once(request).chain(approval).collect()
        }
        AskKind::Questions(questions) => questions
            .first()
            .map(|question| ask_frame(chunks.session, id, question))
            .into_iter()
            .collect(),
    }
}

/// The next of several questions, unless it was being asked already.
pub fn next(session: &str, ask: AskId, position: u32, question: Option<&Question>) -> Vec<Frame> {
    let id = RequestId { ask, position };
    let asked = question.map(|question| ask_frame(session, id, question));
    asked.into_iter().collect()
}

/// Only a person's no is told: what follows a yes, or an answer, is told by the call itself.
pub fn closed(chunks: Chunks<'_>, ask: &Ask, closing: &Closing) -> Vec<Frame> {
    let denied = match (&ask.kind, closing) {
        (AskKind::Approval(_), Closing::Answered(_)) => !closing.approved(),
        (AskKind::Approval(_), Closing::Cancelled | Closing::Lost { .. })
        | (AskKind::Questions(_), _) => false,
    };
    if !denied || ask.call.agent.is_some() {
        return Vec::new();
    }
    vec![chunks.first(Part::ToolOutputDenied {
        tool_call_id: &ask.call.call_id,
        tool_name: &ask.call.name,
    })]
}
