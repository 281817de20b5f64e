//! Turns that a person orders rather than says something: a summary of the conversation, and a review.

use std::sync::Arc;

use async_trait::async_trait;
use tools::{Failure, SpawnKind, SpawnRequest, SubAgentModel};
use vocabulary::{
    Effects, Fact, Growth, Item, ItemFact, ItemId, Opening, StreamTag, Subject, ToolCall, ToolFact,
    ToolOutcome, ToolOutput, TurnErrorKind,
};

use super::compaction::{self, Summarised, SummaryReason};
use super::{exhausted, failed, opening, sub};
use crate::agents::{Abilities, Agent};
use crate::credits::StepCredit;
use crate::turn::{SessionGone, Turn, TurnEnd, TurnStart, tooling};

/// Said where there is nothing to summarise.
pub const NOTHING_SAID: &str = "there is nothing to summarise: nothing was said yet";

/// Summarises a thread's conversation, and no more.
pub struct CompactionAgent;

#[async_trait]
impl Agent for CompactionAgent {
    fn abilities(&self) -> Abilities {
        Abilities {
            uses_model: true,
            ..Abilities::default()
        }
    }

    async fn run(&self, turn: Arc<Turn>, start: TurnStart) -> TurnEnd {
        ended(compact(&turn, &start).await)
    }
}

async fn compact(turn: &Arc<Turn>, start: &TurnStart) -> Result<TurnEnd, SessionGone> {
    let (mut talk, _) = match opening::open(turn, start).await? {
        Ok(opened) => opened,
        Err(end) => return Ok(end),
    };
    if talk.messages.is_empty() {
        return Ok(failed(TurnErrorKind::Internal, NOTHING_SAID.to_owned()));
    }
    if let Some(why) = exhausted(turn, &turn.model) {
        return Ok(failed(TurnErrorKind::Budget, why));
    }
    let request = talk.request();
    let (provider, credit) = (Arc::clone(&talk.provider), &mut StepCredit::Agent);
    let provider = provider.as_ref();
    compaction::tell_start(turn, turn.tag(talk.step)).await?;
    match compaction::summarise(turn, provider, &turn.model, &request, false, credit).await? {
        Summarised::Text(summary) => {
            let replaced = talk.replace(&summary, &request, SummaryReason::Wanted);
            Ok(replaced.await?.unwrap_or(TurnEnd::Completed))
        }
        Summarised::Cancelled => Ok(TurnEnd::Cancelled),
        Summarised::NotCovered(error) => Ok(TurnEnd::Failed(error)),
        Summarised::Failed(error) => {
            let message = format!("no summary was made: {error}");
            Ok(failed(TurnErrorKind::Provider, message))
        }
    }
}

/// Has changes reviewed by a sub-agent that only reads.
pub struct ReviewAgent {
    /// What is reviewed, in words for people.
    pub hint: String,
}

#[async_trait]
impl Agent for ReviewAgent {
    fn abilities(&self) -> Abilities {
        Abilities {
            uses_model: true,
            // Only to end: the reviewer died with its process.
            picks_up: true,
            ..Abilities::default()
        }
    }

    async fn run(&self, turn: Arc<Turn>, start: TurnStart) -> TurnEnd {
        match start {
            TurnStart::Fresh | TurnStart::UserCommand(_) => ended(review(&turn, &self.hint).await),
            TurnStart::PickUp { .. } => {
                let message = "the server stopped while this review was running".to_owned();
                failed(TurnErrorKind::ServerRestart, message)
            }
        }
    }
}

async fn review(turn: &Arc<Turn>, hint: &str) -> Result<TurnEnd, SessionGone> {
    let tag = turn.tag(1);
    let review = hint.to_owned();
    tell_item(turn, &tag, 0, Item::ReviewEntered { review }).await?;
    let call = Arc::new(review_call(turn.new_item(), hint));
    let tell = async |what| {
        turn.tell(Fact::tool(tag.clone(), Arc::clone(&call), what))
            .await
    };
    tell(ToolFact::Planned { content: 1 }).await?;
    tell(ToolFact::Reached).await?;
    let request = SpawnRequest {
        task: turn.input.clone(),
        kind: SpawnKind::Review,
        resume: None,
        model: Some(SubAgentModel::Same),
        thoroughness: None,
        files: Vec::new(),
    };
    let began = tokio::time::Instant::now();
    let found = sub::review(turn, &tag, &call, request).await;
    let ran = Some(began.elapsed());
    let (outcome, end) = match &found {
        Ok(text) => {
            let output = ToolOutput::Text(text.clone());
            (ToolOutcome::Succeeded(output), TurnEnd::Completed)
        }
        Err(Failure::Error(why)) => {
            let message = format!("the review ended early: {why}");
            let error = why.clone();
            let end = failed(TurnErrorKind::Provider, message);
            (ToolOutcome::Failed { error }, end)
        }
        Err(Failure::Cancelled(output)) => {
            (ToolOutcome::Interrupted(output.clone()), TurnEnd::Cancelled)
        }
    };
    tooling::tell_end(turn, &tag, &call, &outcome, ran).await?;
    let review = match found {
        Ok(text) => text,
        Err(Failure::Error(_)) => "The review ended early.".to_owned(),
        Err(Failure::Cancelled(_)) => "The review was stopped.".to_owned(),
    };
    say(turn, &tag, 2, &review).await?;
    tell_item(turn, &tag, 3, Item::ReviewExited { review }).await?;
    Ok(end)
}

/// The call that the reviewer works for. The user makes it, and so no model reads of it as its own.
fn review_call(item: ItemId, hint: &str) -> ToolCall {
    ToolCall {
        call_id: item.to_string(),
        item,
        name: "review".to_owned(),
        input: serde_json::json!({ "description": "Review", "target": hint }),
        subject: Subject::Other,
        effects: Effects::READS,
        native: None,
        problem: None,
        agent: None,
        by_user: true,
    }
}

async fn say(turn: &Turn, tag: &StreamTag, content: u32, text: &str) -> Result<(), SessionGone> {
    let item = turn.new_item();
    let opening = Opening::Text;
    tell_of(turn, tag, (&item, content), ItemFact::Started { opening }).await?;
    let (growth, delta) = (Growth::Text, text.to_owned());
    tell_of(
        turn,
        tag,
        (&item, content),
        ItemFact::Grew { growth, delta },
    )
    .await?;
    let body = Item::AgentMessage {
        text: text.to_owned(),
        partial: false,
        native: None,
    };
    tell_of(
        turn,
        tag,
        (&item, content),
        ItemFact::Finished { body, began: None },
    )
    .await
}

async fn tell_item(
    turn: &Turn,
    tag: &StreamTag,
    content: u32,
    body: Item,
) -> Result<(), SessionGone> {
    let item = turn.new_item();
    tell_of(
        turn,
        tag,
        (&item, content),
        ItemFact::Finished { body, began: None },
    )
    .await
}

async fn tell_of(
    turn: &Turn,
    tag: &StreamTag,
    (item, content): (&ItemId, u32),
    what: ItemFact,
) -> Result<(), SessionGone> {
    let (tag, item) = (tag.clone(), item.clone());
    let fact = Fact::Item {
        tag,
        item,
        content,
        what,
    };
    turn.tell(fact).await
}

fn ended(end: Result<TurnEnd, SessionGone>) -> TurnEnd {
    match end {
        Ok(end) => end,
        // Nobody is left to tell; the session has ended this turn already.
        Err(SessionGone) => TurnEnd::Cancelled,
    }
}
