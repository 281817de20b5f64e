//! What the log says of turns: names, numbers and times, never what people, models or tools said.
//!
//! A span or line that nobody listens to is decided by one load: nothing is formatted for it. None
//! of them is made for a delta.

use tracing::{Span, info, info_span};
use vocabulary::{
    Answer, Ask, AskKind, Closing, ThreadId, Timestamp, TurnErrorKind, TurnId, TurnOutcome,
};

use crate::agents::model::CallCounts;
use crate::session::state::TurnState;

pub fn turn_span(thread: ThreadId, turn: &TurnId) -> Span {
    info_span!("turn", %thread, turn = turn.as_str())
}

pub fn step_span(step: u32) -> Span {
    info_span!("step", step)
}

/// A model may call what there is not, so the name is written as text, not as it is.
pub fn tool_span(tool: &str) -> Span {
    info_span!("tool", tool)
}

pub fn turn_ended(thread: ThreadId, turn: &TurnState, outcome: &TurnOutcome, at: Timestamp) {
    let usage = turn.usage.unwrap_or_default();
    info!(
        %thread,
        turn = turn.turn.as_str(),
        outcome = outcome_word(outcome),
        provider = turn.model.as_ref().map(|model| model.provider.as_str()),
        model = turn.model.as_ref().map(|model| model.model.as_str()),
        steps = turn.step,
        input_tokens = usage.input_tokens,
        output_tokens = usage.output_tokens,
        cost_micro_dollars = usage.cost_micro_dollars,
        took_ms = at.millis() - turn.started_at.millis(),
        "turn ended"
    );
}

/// How the model of a turn fared; within the turn's span.
pub fn turn_worked(calls: CallCounts, bad_answers: u32, summaries: u32) {
    info!(
        calls = calls.made,
        failed_calls = calls.failed,
        failed_changes = calls.failed_changes,
        repeated_calls = calls.repeated,
        bad_answers,
        summaries,
        "turn worked"
    );
}

/// A provider's words may repeat what it was sent, so only the kind of trouble is told.
fn outcome_word(outcome: &TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed => "completed",
        TurnOutcome::Cancelled => "cancelled",
        TurnOutcome::Failed(error) => match error.kind {
            TurnErrorKind::Provider => "failed: the provider said no or went away",
            TurnErrorKind::Budget => "failed: the budget is spent",
            TurnErrorKind::InsufficientCredits => "failed: the tenant's credit is used up",
            TurnErrorKind::StepLimit => "failed: the step limit is reached",
            TurnErrorKind::Loop => "failed: the same calls again and again",
            TurnErrorKind::OutputLimit => "failed: the output limit is reached",
            TurnErrorKind::EmptyAnswer => "failed: the model said nothing",
            TurnErrorKind::ContextFull => "failed: the conversation is too long",
            TurnErrorKind::ServerRestart => "failed: the server stopped",
            TurnErrorKind::AgentLost => "failed: the agent was lost",
            TurnErrorKind::Internal => "failed: an internal error",
        },
    }
}

pub fn ask_opened(thread: ThreadId, ask: &Ask) {
    let kind = match ask.kind {
        AskKind::Approval(_) => "approval",
        AskKind::Questions(_) => "questions",
    };
    info!(%thread, turn = ask.turn.as_str(), ask = %ask.id, kind, tool = ask.call.name.as_str(), "ask opened");
}

pub fn ask_closed(thread: ThreadId, ask: &Ask, closing: &Closing) {
    let answer = match closing {
        Closing::Answered(Answer::Approval(_)) if closing.approved() => "approved",
        Closing::Answered(Answer::Approval(_)) => "denied",
        Closing::Answered(Answer::Questions(_)) => "answered",
        Closing::Answered(Answer::Dismissed) => "dismissed",
        Closing::Cancelled => "cancelled with its turn",
        Closing::Lost { .. } => "lost with who asked",
    };
    info!(%thread, turn = ask.turn.as_str(), ask = %ask.id, answer, "ask closed");
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;

    use super::*;

    /// Whether the spans of a turn are there at this level. What is not there formats nothing.
    fn spans_at(level: LevelFilter) -> [bool; 3] {
        let filter = Targets::new().with_default(level);
        let log = tracing_subscriber::fmt::layer().with_writer(std::io::sink);
        let log = tracing_subscriber::registry().with(log.with_filter(filter));
        tracing::subscriber::with_default(log, || {
            let thread = ThreadId(uuid::Uuid::nil());
            let turn = turn_span(thread, &TurnId::new("t"));
            [turn, step_span(1), tool_span("bash")].map(|span| !span.is_disabled())
        })
    }

    #[test]
    fn spans_cost_nothing_at_the_usual_level() {
        assert_eq!(spans_at(LevelFilter::WARN), [false; 3]);
        assert_eq!(spans_at(LevelFilter::INFO), [true; 3]);
    }
}
