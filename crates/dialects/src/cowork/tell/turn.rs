//! A turn's two ends.

use vocabulary::{Cause, ModelRef, ReasoningKind, TurnId, TurnOutcome, Usage, UserInput};

use super::stream::{reasoning_mode, wire_usage};
use crate::Frame;
use crate::cowork::refuse::turn_error_frame;
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::conversation::{AssistantMessage, Reasoning, TurnUsage, UserMessage};
use crate::cowork::wire::session::{BusyCause, BusyOutcome, SessionBusy};

/// What came of a turn.
pub struct TurnResult<'a> {
    pub text: &'a str,
    pub reasoning: &'a [(ReasoningKind, String)],
    pub usage: Option<Usage>,
    pub model: Option<&'a ModelRef>,
}

pub fn started(session: &str, turn: &TurnId, cause: Cause, input: &UserInput) -> Vec<Frame> {
    let busy = ServerEvent::SessionBusy(SessionBusy {
        session_id: session,
        busy: true,
        turn_id: turn.as_str(),
        cause: Some(match cause {
            Cause::UserMessage => BusyCause::UserMessage,
            Cause::SlashCommand | Cause::Compaction | Cause::Review | Cause::Shell => {
                BusyCause::Command
            }
        }),
        outcome: None,
    });
    vec![echo(session, input), busy.frame()]
}

/// What everyone hears of what a user said.
pub fn echo(session: &str, input: &UserInput) -> Frame {
    user_message(session, input.shown(), input.client_id.as_deref())
}

/// The echo of what a user said.
pub fn user_message(session: &str, text: &str, client_message_id: Option<&str>) -> Frame {
    ServerEvent::UserMessage(UserMessage {
        session_id: session,
        text,
        client_message_id,
    })
    .frame()
}

pub fn finished(
    session: &str,
    turn: &TurnId,
    outcome: &TurnOutcome,
    said: TurnResult<'_>,
) -> Vec<Frame> {
    let (mut frames, outcome) = match outcome {
        TurnOutcome::Completed => (completed(session, turn, said), BusyOutcome::Completed),
        TurnOutcome::Cancelled => (Vec::new(), BusyOutcome::Cancelled),
        TurnOutcome::Failed(error) => {
            let mut frames = match error.kind.ends_with_an_answer() {
                true => completed(session, turn, said),
                false => Vec::new(),
            };
            frames.push(turn_error_frame(session, error));
            (frames, BusyOutcome::Error)
        }
    };
    let rest = ServerEvent::SessionBusy(SessionBusy {
        session_id: session,
        busy: false,
        turn_id: turn.as_str(),
        cause: None,
        outcome: Some(outcome),
    });
    frames.push(rest.frame());
    frames
}

pub fn completed(session: &str, turn: &TurnId, said: TurnResult<'_>) -> Vec<Frame> {
    let reasoning = said
        .reasoning
        .iter()
        .filter(|(_, text)| !text.trim().is_empty());
    let reasoning = reasoning.map(|(kind, text)| {
        ServerEvent::Reasoning(Reasoning {
            session_id: session,
            kind: reasoning_mode(*kind, said.model),
            text,
        })
    });
    let text = said.text.trim();
    let message = (!text.is_empty()).then_some(ServerEvent::AssistantMessage(AssistantMessage {
        session_id: session,
        text,
    }));
    let usage = said.usage.map(|usage| {
        ServerEvent::TurnUsage(TurnUsage {
            session_id: session,
            turn_id: turn.as_str(),
            usage: wire_usage(usage),
        })
    });
    let events = reasoning.chain(message).chain(usage);
    events.map(|event| event.frame()).collect()
}
