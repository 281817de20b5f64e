//! Compaction: a conversation that no longer fits is, for the model, replaced by a summary of it and by
//! what outlives that. It happens as often as needed, unless it does not help.

mod fill;
mod kept;
mod record;
mod words;

use std::sync::Arc;

use futures_util::StreamExt;
use providers::{
    Block, ErrorKind, Message, ModelRequest, Part, Provider, ProviderError, RequestPurpose,
};
use tokio::time::timeout;
use vocabulary::{
    Fact, ModelRef, PlanStep, Purpose, Refusal, StepFact, StreamTag, TurnError, TurnFact, Why,
};

use super::{SessionGone, Turn, context, meter};
use crate::credits::StepCredit;
use crate::limits::{MODEL_SILENCE_MAX, SUMMARY_BYTES_MAX, SUMMARY_TOKENS_MAX, SUMMARY_WAIT_MAX};
use crate::session::state::ThreadState;
use crate::traces::requests::{RequestEnd, WatchedRequest};

pub use fill::{BYTES_PER_TOKEN, ContextFill, compact_at, estimate, estimate_result};
use kept::KeptBudget;

/// What the record for a summary may fill of what the model reads.
const RECORD_PERCENT: u64 = 50;
/// How hard to think about a summary of a record. In a conversation it stays as it is: another
/// effort would cost the cached prefix.
const RECORD_EFFORT: &str = "low";

/// Said where summaries do not help.
pub const DOES_NOT_FIT: &str = "the conversation is nearly as long as the model can read, and \
                                summaries of it do not make it much shorter; start a new thread, \
                                say less at once, or choose a model that reads more";

/// What came of asking for a summary.
pub enum Summarised {
    Text(String),
    Failed(ProviderError),
    /// The tenant's balance does not cover it.
    NotCovered(TurnError),
    Cancelled,
}

/// Asks the model for a summary of a conversation, `request` being the one that it would be sent
/// next: as one more message of it, and where that fails of a record of it. `refused`: it is known
/// to be too long.
pub async fn summarise(
    turn: &Turn,
    provider: &dyn Provider,
    model: &ModelRef,
    request: &ModelRequest,
    refused: bool,
    credit: &mut StepCredit,
) -> Result<Summarised, SessionGone> {
    let known = turn.known(model);
    let max_output_tokens = Some(summary_tokens(known.as_ref()));
    if !refused {
        let mut messages = request.messages.clone();
        let asks = format!("{}{}", words::IN_CONVERSATION, words::FORM);
        messages.push(Arc::new(Message::user(asks)));
        // Calls are not forbidden by the request: for some services that would be another prefix.
        let asked = ModelRequest {
            messages,
            max_output_tokens,
            purpose: RequestPurpose::Summary,
            ..request.clone()
        };
        match ask(turn, provider, model, asked, credit).await? {
            Summarised::Failed(_) => {}
            summarised @ (Summarised::Text(_)
            | Summarised::NotCovered(_)
            | Summarised::Cancelled) => return Ok(summarised),
        }
    }
    let room = compact_at(known.as_ref()) * BYTES_PER_TOKEN * RECORD_PERCENT / 100;
    let record = record::record(
        &request.messages,
        usize::try_from(room).unwrap_or(usize::MAX),
    );
    let asked = ModelRequest {
        model: request.model.clone(),
        system: format!("{}{}", words::OF_A_RECORD, words::FORM),
        messages: vec![Arc::new(Message::user(record))],
        effort: Some(RECORD_EFFORT.to_owned()),
        max_output_tokens,
        purpose: RequestPurpose::Summary,
        ..ModelRequest::default()
    };
    ask(turn, provider, model, asked, credit).await
}

/// How long a summary may be: as long as the model can write, and its window has room for.
fn summary_tokens(model: Option<&providers::catalog::Model>) -> u64 {
    let window = model.and_then(|model| model.context);
    let output = model.and_then(|model| model.output);
    SUMMARY_TOKENS_MAX
        .min(output.unwrap_or(SUMMARY_TOKENS_MAX))
        .min(window.map_or(SUMMARY_TOKENS_MAX, |window| window / 10))
}

async fn ask(
    turn: &Turn,
    provider: &dyn Provider,
    model: &ModelRef,
    request: ModelRequest,
    credit: &mut StepCredit,
) -> Result<Summarised, SessionGone> {
    if let Some(error) = credit.cover(turn, model, &request).await? {
        return Ok(Summarised::NotCovered(error));
    }
    let watched = WatchedRequest::begin(turn, model, &request, None);
    let answered = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => {
            watched.ended(&RequestEnd::Cancelled(&[]));
            return Ok(Summarised::Cancelled);
        }
        answered = timeout(SUMMARY_WAIT_MAX, text_of(provider, request)) => {
            answered.unwrap_or_else(|_| Err(silent()))
        }
    };
    match &answered {
        Ok((summary, usage)) => {
            let text = summary.clone();
            let block = Block::Text { text, native: None };
            watched.ended(&RequestEnd::Answered(&[block], *usage));
        }
        Err(error) => watched.ended(&RequestEnd::Failed(&[], &error.message)),
    }
    let (summary, usage) = match answered {
        Ok(answered) => answered,
        Err(error) => return Ok(Summarised::Failed(error)),
    };
    turn.spend(model, usage, Purpose::Compaction).await?;
    Ok(match summary.is_empty() {
        false => Summarised::Text(summary),
        true => Summarised::Failed(ProviderError::new(
            ErrorKind::Malformed,
            "the model's summary was empty",
        )),
    })
}

/// Tells people that a thread's own conversation is about to be summarised.
pub async fn tell_start(turn: &Turn, tag: StreamTag) -> Result<(), SessionGone> {
    let what = StepFact::CompactionStarted;
    turn.tell(Fact::Step { tag, what }).await
}

/// A conversation that no log has, with a summary in its place.
pub fn shortened(messages: &[Arc<Message>], summary: &str, compact_at: u64) -> Vec<Arc<Message>> {
    kept::shortened(messages, summary, KeptBudget::of(compact_at))
}

/// Why a conversation is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryReason {
    /// It does not fit: the newest steps stay as they are.
    TooLong,
    /// A person wants it; nothing of it is under way.
    Wanted,
}

/// Puts a summary in the place of a thread's conversation as it is before this step, on disk first.
/// Gives the conversation as it is from now on.
pub async fn replace(
    turn: &Turn,
    tag: StreamTag,
    surroundings: String,
    (summary, reason): (&str, SummaryReason),
    tokens_before: u64,
) -> Result<Result<Vec<Arc<Message>>, Refusal>, SessionGone> {
    let step = tag.step;
    turn.sync().await?;
    let (loaded, plan) = match (context::load(turn, step).await, plan(turn).await) {
        (Ok(loaded), Ok(plan)) => (loaded, plan),
        (Err(refusal), _) | (_, Err(refusal)) => return Ok(Err(refusal)),
    };
    let budget = KeptBudget::of(turn.compact_at(&turn.model));
    let budget = match reason {
        SummaryReason::TooLong => budget,
        SummaryReason::Wanted => budget.without_steps(),
    };
    let (kept, newest) = kept::choose(&loaded, surroundings, budget);
    let summary = match reason {
        SummaryReason::TooLong => kept::opening(summary, &kept.changed, &plan, newest),
        SummaryReason::Wanted => kept::opening_wanted(summary, &kept.changed, &plan),
    };
    let fact = StepFact::Compacted {
        item: turn.new_item(),
        summary,
        tokens_before,
        kept: Some(Box::new(kept)),
    };
    turn.tell(Fact::Step { tag, what: fact }).await?;
    turn.sync().await?;
    let loaded = context::load(turn, step).await;
    Ok(loaded.map(|loaded| loaded.messages))
}

/// The thread's plan, as it is on disk.
async fn plan(turn: &Turn) -> Result<Vec<PlanStep>, Refusal> {
    let storage = |error: store::StoreError| Refusal::new(Why::Storage, error.to_string());
    let loaded = turn
        .shared
        .store
        .load(turn.card.id)
        .await
        .map_err(storage)?;
    let state = loaded.as_ref().map(ThreadState::read).transpose()?;
    Ok(state.map(|state| state.plan).unwrap_or_default())
}

/// The whole text of one answer, within limits.
pub async fn text_of(
    provider: &dyn Provider,
    request: ModelRequest,
) -> Result<(String, providers::ModelUsage), ProviderError> {
    let started = timeout(MODEL_SILENCE_MAX, provider.stream(request)).await;
    let mut parts = started.map_err(|_| silent())??;
    let mut text = String::new();
    let mut calls = false;
    while let Some(part) = timeout(MODEL_SILENCE_MAX, parts.next())
        .await
        .map_err(|_| silent())?
    {
        match part? {
            Part::TextDelta { text: delta, .. } if text.len() < SUMMARY_BYTES_MAX => {
                text.push_str(&delta);
            }
            Part::ToolCall { .. } => calls = true,
            // Words before a call are not what was asked for.
            Part::Finish { usage, .. } if calls => return Ok((String::new(), usage)),
            Part::Finish { usage, .. } => return Ok((text.trim().to_owned(), usage)),
            // tidy: wildcard, because only the text of the answer is wanted.
            _ => {}
        }
    }
    Err(ProviderError::new(
        ErrorKind::CutOff,
        "the model's answer was cut off",
    ))
}

fn silent() -> ProviderError {
    ProviderError::new(ErrorKind::Stalled, "the model said nothing for too long")
}

impl Turn {
    /// Counts what was spent beside its steps, with its price.
    pub async fn spend(
        &self,
        model: &ModelRef,
        usage: providers::ModelUsage,
        purpose: Purpose,
    ) -> Result<(), SessionGone> {
        let usage = meter::priced(&self.own().models, model, usage);
        self.meter.add(usage);
        self.tell(Fact::Turn(TurnFact::UsageAdded {
            turn: Some(self.id.clone()),
            model: Arc::new(model.clone()),
            purpose,
            usage,
        }))
        .await
    }

    /// What the model's context can hold, where that is known.
    pub fn context_limit(&self) -> Option<u64> {
        self.known(&self.model)?.context
    }

    /// So many tokens may a conversation with this model have before it is summarised.
    pub fn compact_at(&self, model: &ModelRef) -> u64 {
        compact_at(self.known(model).as_ref())
    }

    fn known(&self, model: &ModelRef) -> Option<providers::catalog::Model> {
        self.own().models.model(&model.provider, &model.model)
    }
}
