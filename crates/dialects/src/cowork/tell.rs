//! Events as cowork frames: stateless, the same for everyone, at any time.

use vocabulary::{Event, Fact, ThreadCard};

use self::chunks::Chunks;
use super::backup::{self, ComparedWith};
use crate::Frame;

pub mod chunks;
pub mod notes;
pub mod prompts;
mod stream;
pub(super) mod thread;
pub mod tools;
pub mod turn;

/// Whether stream chunks carry their `rawPart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    Leave,
    Include,
}

/// Whose event it is, and when it happened.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    session: &'a str,
    card: &'a ThreadCard,
    event: &'a Event,
}

pub fn tell(card: &ThreadCard, event: &Event, raw: Raw) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let session: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    let chunks = |tag| Chunks::new(session, tag, raw);
    let told = Told {
        session,
        card,
        event,
    };
    match &event.fact {
        Fact::ItemGrew {
            tag,
            content,
            growth,
            delta,
            ..
        } => stream::grew(chunks(tag), *content, growth, delta),

        Fact::TitleChanged { title, model } => thread::title_changed(told, title, model),
        Fact::SettingsChanged {
            settings,
            changed,
            title,
        } => thread::settings_changed(told, settings, changed, title),
        Fact::ThreadReset => thread::reset(session),
        Fact::PlanChanged { steps, .. } => vec![thread::todos(session, steps)],
        Fact::CheckpointsChanged { news, now } => {
            let compared = ComparedWith::Previous;
            vec![backup::changed(session, card, (*news, now), compared)]
        }
        Fact::Logged { line } => vec![tools::log(session, line)],

        Fact::TurnStarted {
            turn, cause, input, ..
        } => turn::started(session, turn, *cause, input),
        Fact::TurnFinished {
            turn,
            outcome,
            text,
            reasoning,
            usage,
            ..
        } => {
            let said = turn::Said {
                text,
                reasoning,
                usage: *usage,
            };
            turn::finished(session, turn, outcome, said)
        }

        Fact::TurnSteered { input, .. } => vec![turn::echo(session, input)],
        Fact::Compacted { tokens_before, .. } => vec![notes::compacted(session, *tokens_before)],
        Fact::StepDelayed {
            attempt,
            delay_ms,
            error,
            ..
        } => vec![notes::delayed(session, *attempt, *delay_ms, error)],

        Fact::StepStarted { tag } => stream::step_started(chunks(tag)),
        Fact::StepFinished {
            tag, reason, usage, ..
        } => stream::step_finished(chunks(tag), *reason, *usage),
        Fact::StepFailed { tag, reason, error } => stream::step_failed(chunks(tag), *reason, error),
        Fact::ItemStarted {
            tag,
            content,
            opening,
            ..
        } => stream::started(chunks(tag), *content, opening),
        Fact::ItemFinished {
            tag, content, body, ..
        } => stream::finished(chunks(tag), *content, body),
        Fact::RawReceived { tag, value } => stream::raw(chunks(tag), value),

        Fact::ToolPlanned { call, .. } if call.agent.is_some() => Vec::new(),
        Fact::ToolPlanned { tag, call, .. } => tools::planned(chunks(tag), call),
        Fact::ToolReached { call, .. } => vec![tools::reached(session, call)],
        Fact::ToolFinished { call, outcome, .. } if call.agent.is_some() => {
            tools::finished_log(session, call, outcome)
                .into_iter()
                .collect()
        }
        Fact::ToolFinished { tag, call, outcome } => tools::finished(chunks(tag), call, outcome),

        Fact::AskOpened { tag, ask } => prompts::opened(chunks(tag), ask),
        Fact::AskProgressed {
            ask,
            next,
            position,
            ..
        } => prompts::next(session, *ask, *position, next.as_ref()),
        Fact::AskClosed { tag, ask, closing } => prompts::closed(chunks(tag), ask, closing),

        Fact::ThreadCreated { .. }
        | Fact::ArchivedChanged { .. }
        | Fact::StatusChanged { .. }
        | Fact::ThreadClosed
        | Fact::UsageAdded { .. }
        | Fact::GrantRevoked { .. }
        | Fact::ToolStarted { .. }
        | Fact::CommandExited { .. }
        | Fact::FilesChanged { .. }
        | Fact::TurnDiffed { .. } => Vec::new(),
    }
}
