//! Events as notifications and requests: stateless, the same for everyone of an endpoint.
//!
//! The end of a tool call is not told here: its item repeats what was called, which only the
//! connection remembers (`listening`).

use serde::Serialize;
use vocabulary::{Event, Fact, Status, StatusReason, ThreadCard};

use super::{Endpoint, VERSION, asks, show};
use crate::Frame;

pub mod items;
mod stream;
mod turn;

/// Whose event it is, when it happened, and to whom it is told.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    pub thread: &'a str,
    pub card: &'a ThreadCard,
    pub event: &'a Event,
    pub endpoint: Endpoint,
}

pub fn notify(method: &str, params: &impl Serialize) -> Frame {
    VERSION.notification(method, params)
}

pub fn tell(card: &ThreadCard, event: &Event, endpoint: Endpoint) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let thread: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    let told = Told {
        thread,
        card,
        event,
        endpoint,
    };
    match &event.fact {
        Fact::ItemGrew {
            tag,
            item,
            growth,
            delta,
            ..
        } => stream::grew(told, tag, item, growth, delta),
        Fact::ItemStarted {
            tag, item, opening, ..
        } => stream::started(told, tag, item, opening),
        Fact::ItemFinished {
            tag, item, body, ..
        } => stream::finished(told, tag, item, body),

        Fact::TitleChanged { title, .. } => vec![turn::named(told, title)],
        Fact::ArchivedChanged { archived } => vec![turn::archived(told, *archived)],
        Fact::StatusChanged { status, reason } => status_changed(told, *status, *reason),
        Fact::PlanChanged { turn, steps } => turn::planned(told, turn.as_ref(), steps),

        Fact::TurnDiffed { turn, diff } => vec![turn::diffed(told, turn, diff)],

        Fact::TurnStarted { turn, input, .. } => turn::started(told, turn, input),
        Fact::TurnSteered { turn, input, .. } => turn::said(told, turn, input),
        Fact::TurnFinished { turn, outcome, .. } => turn::finished(told, turn, outcome),
        Fact::Compacted { tag, item, .. } => turn::compacted(told, tag, item),
        Fact::StepDelayed {
            tag,
            attempt,
            delay_ms,
            error,
            ..
        } => vec![turn::delayed(told, tag, *attempt, *delay_ms, error)],
        Fact::StepFinished {
            tag,
            usage,
            context_limit,
            thread_usage,
            ..
        } => turn::used(told, tag, *usage, *thread_usage, *context_limit),

        Fact::ToolReached { tag, call } => items::called(endpoint, card, call, items::Shown::Running)
            .map(|item| items::started(told, &tag.turn, item))
            .into_iter()
            .collect(),

        Fact::AskOpened { ask, .. } => {
            let status = show::waiting_status(endpoint, &ask.kind);
            vec![
                turn::status(told, status),
                asks::request(card, ask, event.at, endpoint),
            ]
        }
        Fact::AskClosed { ask, .. } => vec![asks::resolved(thread, ask.id)],

        Fact::ThreadCreated { .. }
        | Fact::SettingsChanged { .. }
        | Fact::ThreadReset
        | Fact::ThreadClosed
        | Fact::StepStarted { .. }
        | Fact::StepFailed { .. }
        | Fact::ToolPlanned { .. }
        // The next step's usage has it in the thread's.
        | Fact::UsageAdded { .. }
        | Fact::GrantRevoked { .. }
        | Fact::ToolStarted { .. }
        | Fact::CommandExited { .. }
        | Fact::ToolFinished { .. }
        | Fact::AskProgressed { .. }
        | Fact::CheckpointsChanged { .. }
        | Fact::FilesChanged { .. }
        | Fact::Logged { .. }
        | Fact::RawReceived { .. } => Vec::new(),
    }
}

/// The states on the way are not told, nor those that another event tells: an ask says what is
/// waited for, and a turn's ends say it where the app-server does. A turn's first state would come
/// before the response to `turn/start`, because it is shown before that is on disk.
fn status_changed(told: Told<'_>, status: Status, reason: StatusReason) -> Vec<Frame> {
    match (status, reason) {
        (Status::Running, StatusReason::AskClosed) => {
            vec![turn::status(told, show::running_status(told.endpoint))]
        }
        (Status::Inactive, StatusReason::Idle) => {
            let status = show::thread_status(told.endpoint, Status::Inactive);
            vec![turn::status(told, status)]
        }
        (
            Status::Inactive
            | Status::Activating
            | Status::Ready
            | Status::Running
            | Status::Waiting
            | Status::Deactivating
            | Status::Error,
            _,
        ) => Vec::new(),
    }
}
