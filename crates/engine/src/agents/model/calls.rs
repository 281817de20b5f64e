//! The calls of one answer, made together where they may be; their results come in their order.

use std::sync::Arc;

use futures_util::future::try_join_all;
use providers::{Message, ToolResult};
use tracing::Instrument as _;
use vocabulary::ToolOutcome;

use super::concurrency::CallBatch;
use super::context;
use super::repetition::RecentCalls;
use crate::telemetry;
use crate::turn::{DueCall, SessionGone, Turn, tooling};

/// Makes the calls and adds their results to the conversation, in the order of the calls. Gives what
/// the model is to be told after them; nothing when the turn was cancelled. `sees`: the model can be
/// shown pictures.
pub async fn make(
    turn: &Arc<Turn>,
    messages: &mut Vec<Arc<Message>>,
    recent: &mut RecentCalls,
    calls: &[DueCall],
    sees: bool,
) -> Result<Option<Vec<String>>, SessionGone> {
    let mut going = true;
    let mut notes = Vec::new();
    let mut rest = calls;
    while !rest.is_empty() {
        let batch = CallBatch::first_of(turn, rest);
        let (now, later) = rest.split_at(batch.len());
        let known: Vec<bool> = now.iter().map(|due| recent.is_known(&due.call)).collect();
        let makings = now.iter().zip(&known).enumerate();
        let makings = makings.map(|(at, (due, known))| {
            let span = telemetry::tool_span(&due.call.name);
            let making = make_one(turn, due, *known).instrument(span);
            batch.run(at, making)
        });
        let outcomes = try_join_all(makings).await?;
        for ((due, known), outcome) in now.iter().zip(known).zip(outcomes) {
            // The rest is told as not run, so that no call stays without an end.
            let Some(outcome) = outcome else {
                going = false;
                continue;
            };
            match known {
                true => recent.not_made(&due.call),
                false => notes.extend(recent.made(&due.call, &outcome)),
            }
            context::add_result(messages, result_of(due, &outcome, sees));
        }
        rest = later;
    }
    Ok(going.then_some(notes))
}

/// `known`: it has given the same result too often to be made again.
async fn make_one(
    turn: &Arc<Turn>,
    due: &DueCall,
    known: bool,
) -> Result<Option<ToolOutcome>, SessionGone> {
    match known {
        true => tooling::leave_out(turn, due, KNOWN).await,
        false => tooling::make(turn, due).await,
    }
}

const KNOWN: &str = "not run: this call gave the same result every time. Do something else, or \
                     say what is in the way.";

fn result_of(due: &DueCall, outcome: &ToolOutcome, sees: bool) -> ToolResult {
    ToolResult {
        call_id: due.model_call_id.clone(),
        name: due.call.name.clone(),
        is_error: context::is_error(outcome),
        content: context::shown_to_model(outcome, sees),
    }
}
