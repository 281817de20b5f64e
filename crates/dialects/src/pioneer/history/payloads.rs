//! Facts as the payloads of this protocol's history.

use vocabulary::{
    Event, Fact, Item, ItemFact, ItemId, StepFact, StreamTag, ThreadCard, TimeLimit, Timestamp,
    ToolCall, ToolEvent, ToolFact, TurnFact, TurnId, TurnOutcome, UserInput,
};

use super::said;
use crate::pioneer::items;
use crate::pioneer::loop_limit::LoopLimit;
use crate::pioneer::recovery::{self, RecoveryNews};
use crate::pioneer::wire::history::{ThreadHistoryEventPayload as Payload, Whose};
use crate::pioneer::wire::item::TurnItem;
use crate::pioneer::wire::recovery::{RecoveryAction, RecoveryTrigger};
use crate::pioneer::wire::turn::ItemDeltaStream;

/// The payloads of one turn's item.
struct OfTurn<'a> {
    whose: Whose<'a>,
    turn: &'a TurnId,
}

impl<'a> OfTurn<'a> {
    fn started(&self, item: TurnItem<'a>) -> Payload<'a> {
        Payload::ItemStarted {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item,
        }
    }

    fn completed(&self, item: TurnItem<'a>) -> Payload<'a> {
        Payload::ItemCompleted {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item,
        }
    }

    fn whole(&self, item: TurnItem<'a>) -> Vec<Payload<'a>> {
        vec![self.started(item.clone()), self.completed(item)]
    }

    fn step(&self, tag: &StreamTag, at: Timestamp, what: &'a StepFact) -> Vec<Payload<'a>> {
        match what {
            StepFact::Compacted {
                item,
                summary,
                tokens_before,
                kept: _,
            } => self.whole(items::compacted(item, summary, *tokens_before)),
            StepFact::LimitReached {
                kind,
                limit,
                observed,
            } => {
                let told = LoopLimit::from(*kind);
                vec![Payload::TurnToolLoopBudgetExceeded {
                    whose: self.whose.clone(),
                    turn_id: self.turn.as_str(),
                    limit_kind: told.kind,
                    limit: *limit,
                    observed: *observed,
                    action: told.action,
                    reason: told.reason,
                }]
            }
            StepFact::Delayed { .. } | StepFact::Retried { .. } => {
                let news = recovery::news(tag, at, what).into_iter();
                news.map(|news| self.recovery(news)).collect()
            }
            StepFact::Started
            | StepFact::CompactionStarted
            | StepFact::Pruned { .. }
            | StepFact::Informed { .. }
            | StepFact::Finished { .. }
            | StepFact::Failed { .. }
            | StepFact::Cited { .. }
            | StepFact::RawReceived { .. } => Vec::new(),
        }
    }

    fn recovery(&self, news: RecoveryNews<'a>) -> Payload<'a> {
        let (whose, turn_id) = (self.whose.clone(), self.turn.as_str());
        match news {
            RecoveryNews::ItemStarted(item) => self.started(item),
            RecoveryNews::ItemCompleted(item) => self.completed(item),
            RecoveryNews::ItemUpdated(item) => Payload::ItemUpdated {
                whose,
                turn_id,
                item,
            },
            RecoveryNews::Opened { of, attempt } => Payload::ItemRecoveryOpened {
                whose,
                turn_id,
                item_id: of.id,
                item_type: of.kind,
                recovery_job_id: of.job,
                trigger: RecoveryTrigger::ProviderError,
                action: RecoveryAction::RetryWithBackoff,
                attempt_number: attempt,
            },
            RecoveryNews::Scheduled {
                of,
                attempt,
                at,
                reason,
            } => Payload::ItemRetryScheduled {
                whose,
                turn_id,
                item_id: of.id,
                item_type: of.kind,
                recovery_job_id: of.job,
                attempt_number: attempt,
                next_run_at_unix: at,
                reason,
            },
            RecoveryNews::AttemptStarted { of, attempt } => Payload::ItemRetryAttemptStarted {
                whose,
                turn_id,
                item_id: of.id,
                item_type: of.kind,
                recovery_job_id: of.job,
                attempt_number: attempt,
            },
            RecoveryNews::Succeeded { of, attempt } => Payload::ItemRecoverySucceeded {
                whose,
                turn_id,
                item_id: of.id,
                item_type: of.kind,
                recovery_job_id: of.job,
                attempt_number: attempt,
            },
            RecoveryNews::Exhausted {
                of,
                attempt,
                status,
                error,
            } => Payload::ItemRecoveryExhausted {
                whose,
                turn_id,
                item_id: of.id,
                item_type: of.kind,
                recovery_job_id: of.job,
                attempt_number: attempt,
                status,
                error_message: error,
            },
        }
    }

    fn timed_out(&self, call: &'a ToolCall, by: TimeLimit) -> Payload<'a> {
        Payload::ItemTimeoutDetected {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item_id: call.item.as_str(),
            item_type: items::item_type(call),
            attempt_number: 1,
            reason: by.into(),
        }
    }

    fn delta(&self, item: &'a ItemId, delta: &'a str, stream: ItemDeltaStream) -> Payload<'a> {
        Payload::ItemDelta {
            whose: self.whose.clone(),
            turn_id: self.turn.as_str(),
            item_id: item.as_str(),
            delta,
            stream,
        }
    }
}

/// What one event of the log is in this history, and of which turn.
pub fn payloads<'a>(
    card: &'a ThreadCard,
    whose: &Whose<'a>,
    event: &'a Event,
) -> Option<(&'a TurnId, Vec<Payload<'a>>)> {
    let of = |turn: &'a TurnId| OfTurn {
        whose: whose.clone(),
        turn,
    };
    match &event.fact {
        Fact::Turn(what) => turn_payloads(whose, what),
        Fact::Step { tag, what } => {
            let payloads = of(&tag.turn).step(tag, event.at, what);
            (!payloads.is_empty()).then_some((&tag.turn, payloads))
        }
        Fact::Item {
            tag,
            item,
            what: ItemFact::Finished { body, .. },
            ..
        } if !is_silent(body) => {
            let of = of(&tag.turn);
            let (written, text, stream) = items::written(item, body)?;
            let payloads = vec![
                of.started(items::unwritten(item, body)?),
                of.delta(item, text, stream),
                of.completed(written),
            ];
            Some((&tag.turn, payloads))
        }
        Fact::Tool(ToolEvent { tag, call, what }) => {
            let of = of(&tag.turn);
            let payloads = match what {
                ToolFact::Planned { .. } => vec![of.started(items::call_started(card, call))],
                ToolFact::Finished {
                    outcome,
                    duration_ms,
                } => {
                    let ended = items::call_ended(card, call, outcome, *duration_ms);
                    let outputs = items::outputs(outcome).into_iter();
                    let outputs = outputs.map(|(text, stream)| of.delta(&call.item, text, stream));
                    outputs.chain([of.completed(ended)]).collect()
                }
                ToolFact::TimedOut { by, .. } => vec![of.timed_out(call, *by)],
                ToolFact::Reached
                | ToolFact::Started
                | ToolFact::Wrote { .. }
                | ToolFact::Interacted { .. }
                | ToolFact::JobEnded { .. }
                | ToolFact::Progressed { .. }
                | ToolFact::Exited { .. } => return None,
            };
            Some((&tag.turn, payloads))
        }
        Fact::Item { .. } | Fact::Thread(_) | Fact::Ask { .. } | Fact::Files(_) | Fact::Note(_) => {
            None
        }
    }
}

/// A thought that its provider keeps to itself.
fn is_silent(body: &Item) -> bool {
    matches!(body, Item::Reasoning { text, .. } if text.is_empty())
}

fn turn_payloads<'a>(
    whose: &Whose<'a>,
    what: &'a TurnFact,
) -> Option<(&'a TurnId, Vec<Payload<'a>>)> {
    let said = |turn: &'a TurnId, input: &'a UserInput| {
        let whose = whose.clone();
        OfTurn { whose, turn }.whole(items::user_message(input))
    };
    match what {
        TurnFact::Started { turn, input, .. } => {
            let begun = Payload::TurnStarted {
                whose: whose.clone(),
                turn: items::running(turn),
                input: said::input(input),
            };
            let payloads = std::iter::once(begun).chain(said(turn, input));
            Some((turn, payloads.collect()))
        }
        TurnFact::Steered { turn, input, .. } => Some((turn, said(turn, input))),
        TurnFact::Finished { turn, outcome, .. } => {
            let (whose, ended) = (whose.clone(), items::ended(turn, outcome));
            let payload = match outcome {
                TurnOutcome::Completed | TurnOutcome::Cancelled => {
                    Payload::TurnCompleted { whose, turn: ended }
                }
                TurnOutcome::Failed(_) => Payload::TurnFailed { whose, turn: ended },
            };
            Some((turn, vec![payload]))
        }
        TurnFact::SteerPlaced { .. }
        | TurnFact::PlanChanged { .. }
        | TurnFact::UsageAdded { .. } => None,
    }
}
