//! Events as this protocol's frames: stateless, the same for everyone, at any time.

use vocabulary::{
    AskFact, Event, Fact, FilesFact, ItemFact, LONE_MEMBER, Status, StatusReason, StepFact,
    ThreadCard, ThreadFact, ToolEvent, ToolFact,
};

use super::Form;
use super::files;
use super::wire::ServerEvent;
use super::wire::parts::SessionStatus;
use crate::Frame;
use crate::frame::frame;

mod asks;
mod stream;
mod tools;
mod turn;

/// An event in this protocol's words: one frame, and whether that has the event's number. Only
/// changed files are told by more than one, each without a number.
pub enum Spelled<'a> {
    Numbered(ServerEvent<'a>),
    Unnumbered(ServerEvent<'a>),
}

impl<'a> Spelled<'a> {
    pub fn into_event(self) -> ServerEvent<'a> {
        match self {
            Spelled::Numbered(event) | Spelled::Unnumbered(event) => event,
        }
    }
}

pub fn tell(card: &ThreadCard, event: &Event, form: Form) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let session: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    if let Fact::Files(FilesFact::Changed { files, .. }) = &event.fact {
        let told = files
            .iter()
            .filter_map(|file| files::changed(session, file));
        return told.map(|told| told.frame()).collect();
    }
    let Some(spelled) = spell(session, event) else {
        return Vec::new();
    };
    let told = spelled.into_event();
    let twin = match form {
        Form::Snake => context(session, event),
        Form::Dotted => dotted(&told).or_else(|| context(session, event)),
    };
    let payload_bytes = match &event.fact {
        Fact::Item {
            what: ItemFact::Grew { delta, .. },
            ..
        }
        | Fact::Tool(ToolEvent {
            what: ToolFact::Wrote { delta, .. },
            ..
        }) => delta.len(),
        // tidy: wildcard, because nothing else is told so often that it matters.
        _ => 0,
    };
    let frames = std::iter::once(told).chain(twin);
    frames.map(|told| frame(&told, payload_bytes)).collect()
}

/// How full the model's context is after a step, where it is known what it can hold.
fn context<'a>(session_id: &'a str, event: &'a Event) -> Option<ServerEvent<'a>> {
    let Fact::Step {
        tag,
        what:
            StepFact::Finished {
                usage,
                context_limit: Some(max_context_size),
                ..
            },
    } = &event.fact
    else {
        return None;
    };
    Some(ServerEvent::UsageContext {
        session_id,
        turn_id: tag.turn.as_str(),
        context_size: usage.total_tokens(),
        max_context_size: *max_context_size,
    })
}

/// The dotted twin, with the number and time of its event
/// (docs/protocols/diminuendo.md, decision 1).
fn dotted<'a>(event: &ServerEvent<'a>) -> Option<ServerEvent<'a>> {
    match *event {
        ServerEvent::TextDelta {
            session_id,
            turn_id,
            text,
            seq,
            ts,
        } => Some(ServerEvent::MessageDelta {
            session_id,
            turn_id,
            text,
            seq,
            ts,
        }),
        ServerEvent::TurnComplete {
            session_id,
            turn_id,
            final_text,
            seq,
            ts,
        } => Some(ServerEvent::MessageComplete {
            session_id,
            turn_id,
            text: final_text,
            seq,
            ts,
        }),
        _ => None,
    }
}

/// What an event is called; `None` for what this protocol has no word for.
pub fn spell<'a>(session_id: &'a str, event: &'a Event) -> Option<Spelled<'a>> {
    let at = At {
        session_id,
        seq: event.seq.0,
        ts: event.at.millis(),
        user_id: user_id(event),
    };
    match &event.fact {
        Fact::Item { tag, what, .. } => match what {
            ItemFact::Grew { growth, delta } => Some(at.grew(tag, growth, delta)),
            ItemFact::Started { opening } => at.started(tag, opening),
            ItemFact::Finished { body, .. } => at.finished(tag, body),
        },
        Fact::Thread(ThreadFact::StatusChanged { status, reason }) => {
            Some(Spelled::Unnumbered(ServerEvent::SessionState {
                session_id,
                state: state(*status),
                reason: spell_reason(*reason),
            }))
        }
        Fact::Turn(what) => at.turn(what),
        Fact::Step {
            tag,
            what: StepFact::Finished { usage, .. },
        } => Some(at.usage(&tag.turn, tag.model.as_deref(), *usage)),
        Fact::Tool(tool) => at.tool(tool),
        Fact::Ask { what, .. } => match what {
            AskFact::Opened { ask } => Some(at.asked(ask)),
            AskFact::Closed { ask, closing } => at.resolved(ask, closing),
            AskFact::Progressed { .. } => None,
        },
        Fact::Thread(_) | Fact::Step { .. } | Fact::Files(_) | Fact::Note(_) => None,
    }
}

/// Where and when something happened.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub session_id: &'a str,
    pub seq: u64,
    pub ts: i64,
    /// Who did it, where that says something.
    pub user_id: Option<&'a str>,
}

/// The member who caused an event. A lone user is not named: there is nobody else.
pub fn user_id(event: &Event) -> Option<&str> {
    let member = event.by.as_deref()?.member.as_str();
    (member != LONE_MEMBER).then_some(member)
}

pub fn state(status: Status) -> SessionStatus {
    match status {
        Status::Inactive => SessionStatus::Inactive,
        Status::Activating => SessionStatus::Activating,
        Status::Ready => SessionStatus::Ready,
        Status::Running => SessionStatus::Running,
        Status::Waiting => SessionStatus::Waiting,
        Status::Deactivating => SessionStatus::Deactivating,
        Status::Error => SessionStatus::Error,
    }
}

pub fn spell_reason(reason: StatusReason) -> &'static str {
    match reason {
        StatusReason::TurnStarted => "turn_started",
        StatusReason::TurnComplete => "turn_complete",
        StatusReason::UserStopped => "user_stopped",
        StatusReason::TurnFailed => "turn_error",
        StatusReason::AgentLost => "agent_disconnected",
        StatusReason::AskOpened => "waiting_for_user",
        StatusReason::AskClosed => "request_resolved",
        StatusReason::Woken => "activated",
        StatusReason::Idle => "idle",
        StatusReason::ServerRestart => "server_restart",
    }
}
