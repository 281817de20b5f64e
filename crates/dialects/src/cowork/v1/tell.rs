//! Events as frames of protocol 1: whole messages only.

use vocabulary::{AskKind, Changed, Event, Fact, ThreadCard, TurnOutcome};

use super::super::asks::{RequestId, ask_frame};
use super::super::backup::{self, ComparedWith};
use super::super::tell::turn::{self, Said, completed};
use super::super::tell::{notes, prompts, thread, tools};
use super::wire::{ServerEvent, approval, busy, config, error};
use crate::Frame;

pub fn tell(card: &ThreadCard, event: &Event) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let session: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    match &event.fact {
        Fact::TurnStarted { input, .. } => vec![turn::echo(session, input), busy(session, true)],
        Fact::TurnSteered { input, .. } => vec![turn::echo(session, input)],
        Fact::Compacted { tokens_before, .. } => vec![notes::compacted(session, *tokens_before)],
        Fact::StepDelayed {
            attempt,
            delay_ms,
            error,
            ..
        } => vec![notes::delayed(session, *attempt, *delay_ms, error)],
        Fact::TurnFinished {
            turn,
            outcome,
            text,
            reasoning,
            ..
        } => {
            let mut frames = match outcome {
                TurnOutcome::Completed => {
                    let said = Said {
                        text,
                        reasoning,
                        usage: None,
                    };
                    completed(session, turn, said)
                }
                TurnOutcome::Cancelled => Vec::new(),
                TurnOutcome::Failed(failed) => vec![error(session, &failed.message)],
            };
            frames.push(busy(session, false));
            frames
        }
        Fact::AskOpened { ask, .. } => match &ask.kind {
            AskKind::Approval(_) => approval(session, ask).into_iter().collect(),
            AskKind::Questions(questions) => questions
                .first()
                .map(|question| ask_frame(session, RequestId::first(ask.id), question))
                .into_iter()
                .collect(),
        },
        Fact::AskProgressed {
            ask,
            next,
            position,
            ..
        } => prompts::next(session, *ask, *position, next.as_ref()),
        Fact::SettingsChanged {
            settings, changed, ..
        } if changed.contains(&Changed::Model) => {
            let event = ServerEvent::ConfigUpdated {
                session_id: session,
                config: config(card, &settings.model),
            };
            vec![event.frame()]
        }
        Fact::PlanChanged { steps, .. } => vec![thread::todos(session, steps)],
        Fact::ThreadReset => thread::reset(session),
        Fact::CheckpointsChanged { news, now } => {
            let compared = ComparedWith::Original;
            vec![backup::changed(session, card, (*news, now), compared)]
        }
        Fact::Logged { line } => vec![tools::log(session, line)],
        Fact::ToolReached { call, .. } => vec![tools::reached(session, call)],
        Fact::ToolFinished { call, outcome, .. } => {
            let log = tools::finished_log(session, call, outcome);
            log.into_iter().collect()
        }

        Fact::ThreadCreated { .. }
        | Fact::TitleChanged { .. }
        | Fact::SettingsChanged { .. }
        | Fact::ArchivedChanged { .. }
        | Fact::StatusChanged { .. }
        | Fact::ThreadClosed
        | Fact::StepStarted { .. }
        | Fact::StepFinished { .. }
        | Fact::StepFailed { .. }
        | Fact::ItemStarted { .. }
        | Fact::ItemGrew { .. }
        | Fact::ItemFinished { .. }
        | Fact::ToolPlanned { .. }
        | Fact::UsageAdded { .. }
        | Fact::GrantRevoked { .. }
        | Fact::ToolStarted { .. }
        | Fact::CommandExited { .. }
        | Fact::AskClosed { .. }
        | Fact::FilesChanged { .. }
        | Fact::TurnDiffed { .. }
        | Fact::RawReceived { .. } => Vec::new(),
    }
}
