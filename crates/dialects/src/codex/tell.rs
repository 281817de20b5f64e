//! Events as notifications and requests: stateless, the same for everyone of an endpoint.

use serde::Serialize;
use vocabulary::{
    AskFact, Event, Fact, FilesFact, ItemFact, Status, StatusReason, StepFact, StreamTag, Subject,
    ThreadCard, ThreadFact, ToolEvent, ToolFact, TurnFact,
};

use self::items::CallProgress;
use super::{Endpoint, VERSION, asks, show, terminals};
use crate::Frame;

mod agents;
pub mod items;
mod searches;
mod stream;
mod turn;

pub use turn::completed as completed_turn;

/// Whose event it is, when it happened, and to whom it is told.
#[derive(Clone, Copy)]
pub struct EventForClient<'a> {
    pub thread: &'a str,
    pub card: &'a ThreadCard,
    pub event: &'a Event,
    pub endpoint: Endpoint,
}

/// Of what is no event of a thread.
pub fn notify(method: &str, params: &impl Serialize) -> Frame {
    VERSION.notification(method, params)
}

impl EventForClient<'_> {
    /// The app-server's clients are told when it was.
    pub fn notify(self, method: &str, params: &impl Serialize) -> Frame {
        match self.endpoint {
            Endpoint::Codex => VERSION.stamped(method, params, self.event.at.millis()),
            Endpoint::Zane => VERSION.notification(method, params),
        }
    }
}

pub fn tell(card: &ThreadCard, event: &Event, endpoint: Endpoint) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let thread: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    let told = EventForClient {
        thread,
        card,
        event,
        endpoint,
    };
    match &event.fact {
        Fact::Item {
            tag, item, what, ..
        } => match what {
            ItemFact::Grew { growth, delta } => stream::grew(told, tag, item, growth, delta),
            ItemFact::Started { opening } => stream::started(told, tag, item, opening),
            ItemFact::Finished { body, .. } => stream::finished(told, tag, item, body),
        },
        Fact::Thread(what) => match what {
            ThreadFact::Titled { title, .. } => vec![turn::named(told, title)],
            ThreadFact::Archived { archived } => vec![turn::archived(told, *archived)],
            ThreadFact::Reverted { .. } => vec![turn::reverted(told)],
            ThreadFact::StatusChanged { status, reason } => status_changed(told, *status, *reason),
            ThreadFact::Created { .. }
            | ThreadFact::SettingsChanged { .. }
            | ThreadFact::Labelled { .. }
            | ThreadFact::Reset
            | ThreadFact::Closed => Vec::new(),
        },
        Fact::Turn(what) => match what {
            TurnFact::Started {
                turn, cause, input, ..
            } => turn::started(told, turn, cause.is_said().then_some(input)),
            // It is told where it takes effect.
            TurnFact::Steered { .. } => Vec::new(),
            TurnFact::SteerPlaced { turn, input } => turn::said(told, turn, input),
            TurnFact::Finished {
                turn,
                outcome,
                started_at,
                ..
            } => turn::finished(told, turn, outcome, *started_at),
            TurnFact::PlanChanged { turn, steps } => turn::planned(told, turn.as_ref(), steps),
            // The next step's usage has it in the thread's.
            TurnFact::UsageAdded { .. } => Vec::new(),
        },
        Fact::Step { tag, what } => step(told, tag, what),
        Fact::Tool(tool) => called(told, tool),
        Fact::Ask { what, .. } => match what {
            AskFact::Opened { ask } => {
                let status = show::waiting_status(endpoint, &ask.kind);
                vec![
                    turn::status(told, status),
                    asks::request(card, ask, event.at, endpoint),
                ]
            }
            AskFact::Closed { ask, .. } => vec![asks::resolved(told, ask.id)],
            AskFact::Progressed { .. } => Vec::new(),
        },
        Fact::Files(FilesFact::TurnDiffed { turn, diff }) => vec![turn::diffed(told, turn, diff)],
        Fact::Files(_) | Fact::Note(_) => Vec::new(),
    }
}

fn step(told: EventForClient<'_>, tag: &StreamTag, what: &StepFact) -> Vec<Frame> {
    match what {
        StepFact::Compacted { item, .. } => turn::compacted(told, tag, item),
        StepFact::Delayed {
            attempt,
            delay_ms,
            error,
            ..
        } => vec![turn::delayed(told, tag, *attempt, *delay_ms, error)],
        StepFact::Finished {
            usage,
            context_limit,
            thread_usage,
            ..
        } => turn::used(told, tag, *usage, *thread_usage, *context_limit),
        // The user did not say it, and need not read it.
        StepFact::Informed { .. }
        | StepFact::Pruned { .. }
        | StepFact::Retried { .. }
        | StepFact::LimitReached { .. }
        | StepFact::CompactionStarted
        | StepFact::Started
        | StepFact::Failed { .. }
        | StepFact::Cited { .. }
        | StepFact::RawReceived { .. } => Vec::new(),
    }
}

/// A call becomes an item when the turn comes to it. One that it never came to has an end all the
/// same, as it has one in history.
fn called(told: EventForClient<'_>, tool: &ToolEvent) -> Vec<Frame> {
    let ToolEvent { tag, call, what } = tool;
    let item = |shown| items::called(told.endpoint, told.card, call, shown);
    let frame = match what {
        ToolFact::Reached if searches::begins_when_it_runs(call) => None,
        ToolFact::Reached => {
            item(CallProgress::Running).map(|item| items::started(told, &tag.turn, item))
        }
        ToolFact::Finished {
            outcome,
            duration_ms,
        } => {
            if told.endpoint == Endpoint::Codex && items::runs_on(call, outcome) {
                return Vec::new();
            }
            let diff = stream::diffed(told, tag, call, outcome);
            let shown = CallProgress::Ended(outcome, *duration_ms);
            let is_whole = searches::is_told_at_its_end(call, shown);
            let began = item(shown).filter(|_| is_whole);
            let began = began.map(|item| items::started(told, &tag.turn, item));
            let ended = item(shown).map(|item| items::completed(told, &tag.turn, item));
            return diff.into_iter().chain(began).chain(ended).collect();
        }
        // What a tool that is no command writes meanwhile has no place in this protocol.
        ToolFact::Wrote { delta, .. } if call.is_command() => {
            Some(stream::wrote(told, tag, call, delta))
        }
        ToolFact::Progressed { message } if matches!(call.subject, Subject::Mcp { .. }) => {
            Some(stream::progressed(told, tag, call, message))
        }
        ToolFact::Started if searches::begins_when_it_runs(call) => {
            item(CallProgress::Running).map(|item| items::started(told, &tag.turn, item))
        }
        ToolFact::Interacted { process, stdin } => {
            Some(terminals::interacted(told, tag, call, *process, stdin))
        }
        ToolFact::JobEnded { outcome }
            if told.endpoint == Endpoint::Codex && items::is_background(call) =>
        {
            item(CallProgress::Ended(outcome, None))
                .map(|item| items::completed(told, &tag.turn, item))
        }
        ToolFact::Planned { .. }
        | ToolFact::JobEnded { .. }
        | ToolFact::Started
        | ToolFact::Wrote { .. }
        | ToolFact::Progressed { .. }
        | ToolFact::TimedOut { .. }
        | ToolFact::Exited { .. } => None,
    };
    frame.into_iter().collect()
}

/// The states on the way are not told, nor those that another event tells: an ask says what is
/// waited for, and a turn's ends say it where the app-server does. A turn's first state would come
/// before the response to `turn/start`, because it is shown before that is on disk.
fn status_changed(told: EventForClient<'_>, status: Status, reason: StatusReason) -> Vec<Frame> {
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
