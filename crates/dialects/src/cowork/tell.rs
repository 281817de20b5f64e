//! Events as cowork frames: stateless, the same for everyone, at any time.

use vocabulary::{
    AskFact, Event, Fact, FilesFact, ItemFact, NoteFact, StepFact, ThreadCard, ThreadFact,
    ToolCall, ToolEvent, ToolFact, TurnFact,
};

use self::chunks::Chunks;
use super::backup::{self, ComparedWith};
use crate::Frame;

pub mod chunks;
pub mod log_lines;
pub mod notes;
pub mod prompts;
mod stream;
pub(super) mod thread;
pub mod tools;
pub mod turn;

/// Whether stream chunks carry their `rawPart`, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawParts {
    #[default]
    Leave,
    Sanitized,
    Full,
}

/// Whose event it is, and when it happened.
#[derive(Clone, Copy)]
pub(super) struct EventContext<'a> {
    session: &'a str,
    card: &'a ThreadCard,
    event: &'a Event,
}

pub fn tell(card: &ThreadCard, event: &Event, raw: RawParts) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let session: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    let chunks = |tag| Chunks::new(session, tag, raw);
    let told = EventContext {
        session,
        card,
        event,
    };
    match &event.fact {
        Fact::Item {
            tag, content, what, ..
        } => item(chunks(tag), *content, what),
        Fact::Thread(what) => thread_changed(told, what),
        Fact::Turn(what) => turn_changed(session, what),
        Fact::Step { tag, what } => step(chunks(tag), what),
        Fact::Tool(ToolEvent { tag, call, what }) => tool(chunks(tag), call, what),
        Fact::Ask { tag, what } => match what {
            AskFact::Opened { ask } => prompts::opened(chunks(tag), ask),
            AskFact::Progressed {
                ask,
                next,
                position,
                ..
            } => prompts::next(session, *ask, *position, next.as_ref()),
            AskFact::Closed { ask, closing } => prompts::closed(chunks(tag), ask, closing),
        },
        Fact::Files(FilesFact::CheckpointsChanged { news, now }) => {
            let compared = ComparedWith::Previous;
            vec![backup::changed(session, card, (*news, now), compared)]
        }
        Fact::Files(FilesFact::Uploaded { file }) => vec![thread::uploaded(session, file)],
        Fact::Note(NoteFact::Logged { line }) => vec![tools::log(session, line)],
        Fact::Note(NoteFact::Instructed {
            files,
            skills,
            trusted,
        }) => {
            vec![tools::instructed(session, files, *skills, *trusted)]
        }
        Fact::Note(NoteFact::Unknown) => vec![chunks::unknown(session)],
        Fact::Files(FilesFact::Changed { .. } | FilesFact::TurnDiffed { .. }) => Vec::new(),
    }
}

fn item(chunks: Chunks<'_>, content: u32, what: &ItemFact) -> Vec<Frame> {
    match what {
        ItemFact::Grew { growth, delta } => stream::grew(chunks, content, growth, delta),
        ItemFact::Started { opening } => stream::started(chunks, content, opening),
        ItemFact::Finished { body, .. } => stream::finished(chunks, content, body),
    }
}

fn thread_changed(told: EventContext<'_>, what: &ThreadFact) -> Vec<Frame> {
    match what {
        ThreadFact::Titled { title, model } => thread::title_changed(told, title, model),
        ThreadFact::SettingsChanged {
            settings,
            changed,
            title,
        } => thread::settings_changed(told, settings, changed, title),
        ThreadFact::Reset => thread::reset(told.session),
        ThreadFact::Reverted { point } => thread::reverted(told.session, point),
        ThreadFact::Created { .. }
        | ThreadFact::Archived { .. }
        | ThreadFact::Labelled { .. }
        | ThreadFact::StatusChanged { .. }
        | ThreadFact::Closed => Vec::new(),
    }
}

fn turn_changed(session: &str, what: &TurnFact) -> Vec<Frame> {
    match what {
        TurnFact::Started {
            turn, cause, input, ..
        } => turn::started(session, turn, *cause, input),
        TurnFact::Steered { input, .. } => vec![turn::echo(session, input)],
        TurnFact::Finished {
            turn,
            outcome,
            text,
            reasoning,
            usage,
            model,
            ..
        } => {
            let said = turn::TurnResult {
                text,
                reasoning,
                usage: *usage,
                model: model.as_deref(),
            };
            turn::finished(session, turn, outcome, said)
        }
        TurnFact::PlanChanged { steps, .. } => vec![thread::todos(session, steps)],
        TurnFact::SteerPlaced { .. } | TurnFact::UsageAdded { .. } => Vec::new(),
    }
}

fn step(chunks: Chunks<'_>, what: &StepFact) -> Vec<Frame> {
    let session = chunks.session;
    match what {
        StepFact::Started => stream::step_started(chunks),
        StepFact::Finished { reason, usage, .. } => stream::step_finished(chunks, *reason, *usage),
        StepFact::Failed { reason, error } => stream::step_failed(chunks, *reason, error),
        StepFact::Cited { url, title } => stream::cited(chunks, url, title.as_deref()),
        StepFact::RawReceived { value } => stream::raw(chunks, value),
        StepFact::Compacted { tokens_before, .. } => {
            vec![notes::compacted(session, *tokens_before)]
        }
        StepFact::Informed { .. }
        | StepFact::Pruned { .. }
        | StepFact::Retried { .. }
        | StepFact::LimitReached { .. }
        | StepFact::CompactionStarted => Vec::new(),
        StepFact::Delayed {
            attempt,
            delay_ms,
            error,
            discards,
            agent: _,
        } => {
            let mut frames = vec![notes::delayed(session, *attempt, *delay_ms, error)];
            if *discards {
                frames.extend(stream::step_restarted(chunks));
            }
            frames
        }
    }
}

/// A sub-agent's calls are no parts of the answer; their ends are lines of the log.
fn tool(chunks: Chunks<'_>, call: &ToolCall, what: &ToolFact) -> Vec<Frame> {
    let is_part = call.agent.is_none();
    match what {
        ToolFact::Planned { .. } if is_part => tools::planned(chunks, call),
        ToolFact::Reached => log_lines::reached(chunks.session, call)
            .into_iter()
            .collect(),
        ToolFact::Finished { outcome, .. } if is_part => tools::finished(chunks, call, outcome),
        ToolFact::Finished { outcome, .. } => {
            let log = log_lines::finished(chunks.session, call, outcome);
            log.into_iter().collect()
        }
        // A command's output is told when the call is over.
        ToolFact::Planned { .. }
        | ToolFact::Started
        | ToolFact::Wrote { .. }
        | ToolFact::Interacted { .. }
        | ToolFact::JobEnded { .. }
        | ToolFact::Progressed { .. }
        | ToolFact::TimedOut { .. }
        | ToolFact::Exited { .. } => Vec::new(),
    }
}
