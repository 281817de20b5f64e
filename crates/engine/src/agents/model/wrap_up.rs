//! The last answer of a turn that must stop: it makes no calls, it says how things stand.

use tracing::Instrument as _;
use vocabulary::{Fact, StepFact, TurnError, TurnErrorKind, TurnLimit};

use super::{StepOutcome, Talk, exhausted, failed};
use crate::limits::REPEATED_CALLS_MAX;
use crate::telemetry;
use crate::turn::{SessionGone, TurnEnd, tooling};

/// Why there are no more calls.
#[derive(Clone, Copy)]
pub enum WrapUp {
    StepLimit(u32),
    Loop,
}

impl WrapUp {
    /// What the model is told.
    pub fn note(self) -> String {
        let why = match self {
            WrapUp::StepLimit(steps) => format!("The limit of {steps} steps is reached"),
            WrapUp::Loop => {
                format!("The same calls gave the same results {REPEATED_CALLS_MAX} times")
            }
        };
        format!(
            "{why}, so no more calls are made. Say now, in words: what is done, what is not done, \
             and what comes next."
        )
    }

    /// What people are told.
    pub fn error(self) -> TurnError {
        let (kind, message) = match self {
            WrapUp::StepLimit(steps) => (
                TurnErrorKind::StepLimit,
                format!(
                    "stopped at the limit of {steps} steps before the work was done; say \"go on\", \
                     or allow more steps"
                ),
            ),
            WrapUp::Loop => (
                TurnErrorKind::Loop,
                format!(
                    "stopped before the work was done: the same calls gave the same results \
                     {REPEATED_CALLS_MAX} times in a row; say what to do differently"
                ),
            ),
        };
        TurnError { kind, message }
    }
}

impl Talk<'_> {
    pub(super) async fn wrap_up(&mut self, why: WrapUp) -> Result<TurnEnd, SessionGone> {
        if let Some(why) = exhausted(self.turn, &self.turn.model) {
            return Ok(failed(TurnErrorKind::Budget, why));
        }
        if let WrapUp::StepLimit(limit) = why {
            let observed = self.step;
            self.tell_limit(TurnLimit::Steps, limit, observed).await?;
        }
        self.inform(why.note()).await?;
        self.step += 1;
        self.hear_steers();
        self.no_calls = true;
        let span = telemetry::step_span(self.step);
        match self.take_step().instrument(span).await? {
            StepOutcome::Ended(TurnEnd::Cancelled) => return Ok(TurnEnd::Cancelled),
            // Why it stopped is told, whatever became of the last words.
            StepOutcome::Ended(TurnEnd::Completed | TurnEnd::Failed(_)) => {}
            StepOutcome::Answered { calls, .. } => {
                if !calls.is_empty() {
                    let observed = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                    self.tell_limit(TurnLimit::CallsInWrapUp, 0, observed)
                        .await?;
                }
                for due in &calls {
                    tooling::leave_out(self.turn, due, NO_MORE_CALLS).await?;
                }
            }
        }
        Ok(TurnEnd::Failed(why.error()))
    }

    async fn tell_limit(
        &self,
        kind: TurnLimit,
        limit: u32,
        observed: u32,
    ) -> Result<(), SessionGone> {
        let what = StepFact::LimitReached {
            kind,
            limit,
            observed,
        };
        let tag = self.turn.tag(self.step);
        self.turn.tell(Fact::Step { tag, what }).await
    }
}

/// The result of a call that a model makes all the same.
pub const NO_MORE_CALLS: &str = "not run: no more calls are made in this turn";
