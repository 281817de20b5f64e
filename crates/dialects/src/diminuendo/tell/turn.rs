//! A turn's two ends, and what it cost.

use vocabulary::{
    ModelRef, TurnError, TurnErrorKind, TurnFact, TurnId, TurnOutcome, Usage, UserInput,
};

use super::{At, Spelled};
use crate::diminuendo::wire::ServerEvent;

impl<'a> At<'a> {
    pub fn turn(self, what: &'a TurnFact) -> Option<Spelled<'a>> {
        match what {
            TurnFact::Started { turn, .. } => Some(self.turn_started(turn)),
            TurnFact::Finished {
                turn,
                outcome,
                text,
                ..
            } => Some(self.turn_finished(turn, outcome, text)),
            TurnFact::Steered { input, .. } => Some(self.steered(input)),
            TurnFact::UsageAdded {
                turn: Some(turn),
                model,
                usage,
                ..
            } => Some(self.usage(turn, Some(model), *usage)),
            // Usage is told of a turn.
            TurnFact::SteerPlaced { .. }
            | TurnFact::UsageAdded { turn: None, .. }
            | TurnFact::PlanChanged { .. } => None,
        }
    }

    fn turn_started(self, turn: &'a TurnId) -> Spelled<'a> {
        Spelled::Numbered(ServerEvent::TurnStarted {
            session_id: self.session_id,
            turn_id: turn.as_str(),
            user_id: self.user_id,
            seq: self.seq,
            ts: self.ts,
        })
    }

    /// A turn that was stopped is complete, with what it had said.
    fn turn_finished(
        self,
        turn: &'a TurnId,
        outcome: &'a TurnOutcome,
        text: &'a str,
    ) -> Spelled<'a> {
        let At {
            session_id,
            seq,
            ts,
            ..
        } = self;
        let turn_id = turn.as_str();
        Spelled::Numbered(match outcome {
            TurnOutcome::Completed | TurnOutcome::Cancelled => ServerEvent::TurnComplete {
                session_id,
                turn_id,
                final_text: text,
                seq,
                ts,
            },
            TurnOutcome::Failed(TurnError { kind, message }) => ServerEvent::TurnError {
                session_id,
                turn_id,
                message,
                code: match kind {
                    TurnErrorKind::Provider | TurnErrorKind::Internal => "AGENT_ERROR",
                    TurnErrorKind::Budget => "BUDGET_EXHAUSTED",
                    TurnErrorKind::InsufficientCredits => "InsufficientCredits",
                    TurnErrorKind::StepLimit => "STEP_LIMIT",
                    TurnErrorKind::Loop => "LOOP",
                    TurnErrorKind::OutputLimit => "OUTPUT_LIMIT",
                    TurnErrorKind::EmptyAnswer => "EMPTY_ANSWER",
                    TurnErrorKind::ContextFull => "CONTEXT_FULL",
                    TurnErrorKind::AgentLost => "AGENT_DISCONNECTED",
                    TurnErrorKind::ServerRestart => "SERVER_RESTART",
                },
                seq,
                ts,
            },
        })
    }

    /// Listed without a number, as all that confirms.
    fn steered(self, input: &'a UserInput) -> Spelled<'a> {
        Spelled::Unnumbered(ServerEvent::SteerSent {
            session_id: self.session_id,
            steer_id: input.item.as_str(),
            content: input.shown(),
            user_id: self.user_id,
        })
    }

    /// A price that is not known is not told: it is not zero.
    pub fn usage(self, turn: &'a TurnId, model: Option<&'a ModelRef>, usage: Usage) -> Spelled<'a> {
        Spelled::Unnumbered(ServerEvent::UsageUpdate {
            session_id: self.session_id,
            turn_id: turn.as_str(),
            model: model.map_or("unknown", |model| &model.model),
            provider: model.map_or("unknown", |model| &model.provider),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            cost_micro_dollars: usage.cost_micro_dollars,
        })
    }
}
