//! Events as frames of protocol 1: whole messages only.

use vocabulary::{
    AskFact, AskKind, Changed, Event, Fact, FilesFact, NoteFact, StepFact, ThreadCard, ThreadFact,
    ToolEvent, ToolFact, TurnFact, TurnOutcome,
};

use super::super::asks::ask_frame;
use super::super::backup::{self, ComparedWith};
use super::super::tell::turn::{self, TurnResult, completed};
use super::super::tell::{log_lines, notes, prompts, thread, tools};
use super::wire::{ServerEvent, approval, busy, config, error};
use crate::Frame;
use crate::request_id::RequestId;

pub fn tell(card: &ThreadCard, event: &Event) -> Vec<Frame> {
    let mut buffer = [0; 36];
    let session: &str = card.id.0.hyphenated().encode_lower(&mut buffer);
    match &event.fact {
        Fact::Turn(what) => turn_changed(session, what),
        Fact::Step { what, .. } => match what {
            StepFact::Compacted { tokens_before, .. } => {
                vec![notes::compacted(session, *tokens_before)]
            }
            StepFact::Delayed {
                attempt,
                delay_ms,
                error,
                ..
            } => vec![notes::delayed(session, *attempt, *delay_ms, error)],
            StepFact::Started
            | StepFact::Informed { .. }
            | StepFact::Pruned { .. }
            | StepFact::Retried { .. }
            | StepFact::LimitReached { .. }
            | StepFact::CompactionStarted
            | StepFact::Finished { .. }
            | StepFact::Failed { .. }
            | StepFact::Cited { .. }
            | StepFact::RawReceived { .. } => Vec::new(),
        },
        Fact::Ask { what, .. } => asked(session, what),
        Fact::Thread(ThreadFact::SettingsChanged {
            settings, changed, ..
        }) if changed.contains(&Changed::Model) => {
            let event = ServerEvent::ConfigUpdated {
                session_id: session,
                config: config(card, &settings.model),
            };
            vec![event.frame()]
        }
        Fact::Thread(ThreadFact::Reset) => thread::reset(session),
        Fact::Thread(ThreadFact::Reverted { point }) => thread::reverted(session, point),
        Fact::Files(FilesFact::CheckpointsChanged { news, now }) => {
            let compared = ComparedWith::Original;
            vec![backup::changed(session, card, (*news, now), compared)]
        }
        Fact::Note(NoteFact::Logged { line }) => vec![tools::log(session, line)],
        Fact::Note(NoteFact::Instructed {
            files,
            skills,
            trusted,
        }) => {
            vec![tools::instructed(session, files, *skills, *trusted)]
        }
        Fact::Tool(ToolEvent { call, what, .. }) => match what {
            ToolFact::Reached => log_lines::reached(session, call).into_iter().collect(),
            ToolFact::Finished { outcome, .. } => {
                let log = log_lines::finished(session, call, outcome);
                log.into_iter().collect()
            }
            ToolFact::Planned { .. }
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => Vec::new(),
        },
        Fact::Thread(_) | Fact::Item { .. } | Fact::Files(_) | Fact::Note(NoteFact::Unknown) => {
            Vec::new()
        }
    }
}

fn turn_changed(session: &str, what: &TurnFact) -> Vec<Frame> {
    match what {
        TurnFact::Started { input, .. } => vec![turn::echo(session, input), busy(session, true)],
        TurnFact::Steered { input, .. } => vec![turn::echo(session, input)],
        TurnFact::PlanChanged { steps, .. } => vec![thread::todos(session, steps)],
        TurnFact::Finished {
            turn,
            outcome,
            text,
            reasoning,
            model,
            ..
        } => {
            let said = TurnResult {
                text,
                reasoning,
                usage: None,
                model: model.as_deref(),
            };
            let mut frames = match outcome {
                TurnOutcome::Completed => completed(session, turn, said),
                TurnOutcome::Cancelled => Vec::new(),
                TurnOutcome::Failed(failed) => {
                    let mut frames = match failed.kind.ends_with_an_answer() {
                        true => completed(session, turn, said),
                        false => Vec::new(),
                    };
                    frames.push(error(session, &failed.message));
                    frames
                }
            };
            frames.push(busy(session, false));
            frames
        }
        TurnFact::SteerPlaced { .. } | TurnFact::UsageAdded { .. } => Vec::new(),
    }
}

fn asked(session: &str, what: &AskFact) -> Vec<Frame> {
    match what {
        AskFact::Opened { ask } => match &ask.kind {
            AskKind::Approval(_) => approval(session, ask).into_iter().collect(),
            AskKind::Questions(questions) => questions
                .first()
                .map(|question| ask_frame(session, RequestId::first(ask.id), question))
                .into_iter()
                .collect(),
        },
        AskFact::Progressed {
            ask,
            next,
            position,
            ..
        } => prompts::next(session, *ask, *position, next.as_ref()),
        AskFact::Closed { .. } => Vec::new(),
    }
}
