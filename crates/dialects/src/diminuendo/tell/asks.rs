//! The agent waits for a person.

use std::borrow::Cow;

use vocabulary::{Ask, AskKind, Closing};

use super::{At, Spelled};
use crate::diminuendo::wire::ServerEvent;
use crate::diminuendo::wire::parts::{Question, QuestionOption};
use crate::frame::AsText;
use crate::request_id::RequestId;

impl<'a> At<'a> {
    /// Questions are listed without a number, permissions with one.
    pub fn asked(self, ask: &'a Ask) -> Spelled<'a> {
        let session_id = self.session_id;
        let request_id = AsText(RequestId::first(ask.id));
        match &ask.kind {
            AskKind::Approval(approval) => Spelled::Numbered(ServerEvent::PermissionRequested {
                session_id,
                request_id,
                tool_name: &ask.call.name,
                description: approval.command_in_full(),
                reason: &approval.reason,
                seq: self.seq,
                ts: self.ts,
            }),
            AskKind::Questions(questions) => Spelled::Unnumbered(ServerEvent::QuestionRequested {
                session_id,
                request_id,
                questions: questions.iter().map(question).collect(),
                context: context(ask),
            }),
        }
    }

    pub fn resolved(self, ask: &'a Ask, closing: &Closing) -> Option<Spelled<'a>> {
        match &ask.kind {
            AskKind::Questions(_) => None,
            AskKind::Approval(_) => Some(Spelled::Numbered(ServerEvent::ApprovalResolved {
                session_id: self.session_id,
                request_id: AsText(RequestId::first(ask.id)),
                approved: closing.approved(),
                user_id: self.user_id,
                seq: self.seq,
                ts: self.ts,
            })),
        }
    }
}

/// The tool by which the agent itself asks; every other call that asks says so.
const ASK_TOOL: &str = "ask";

/// Who wants to know, where that is not the session's own agent.
fn context(ask: &Ask) -> Option<Cow<'_, str>> {
    let asks_itself = ask.call.name == ASK_TOOL;
    match (&ask.call.agent, asks_itself) {
        (Some(agent), true) => Some(Cow::Owned(format!("asked by a sub-agent: {}", agent.kind))),
        (Some(agent), false) => Some(Cow::Owned(format!(
            "asked by the tool {} of a sub-agent: {}",
            ask.call.name, agent.kind
        ))),
        (None, false) if !ask.call.name.is_empty() => Some(Cow::Owned(format!(
            "asked by the tool {}, which waits for it",
            ask.call.name
        ))),
        (None, _) => None,
    }
}

fn question(question: &vocabulary::Question) -> Question<'_> {
    Question {
        id: &question.id,
        header: question.header.as_deref(),
        question: &question.question,
        options: question
            .options
            .iter()
            .map(|option| QuestionOption {
                label: &option.label,
                description: option.description.as_deref(),
            })
            .collect(),
        multi_select: question.multi_select,
        // The agent waits for every one; `dismissed` passes over all of them.
        required: true,
    }
}
