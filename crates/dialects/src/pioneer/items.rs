//! Facts as items of a turn.

use std::borrow::Cow;

use serde_json::json;
use vocabulary::{Image, IndexedTurn, Item, ItemId, ReasoningKind, TurnId, TurnOutcome, UserInput};

use super::wire::item::{Attachment, SystemEventLevel, TurnItem};
use super::wire::turn::{ItemDeltaStream, Turn, TurnStatus};
use crate::images;

mod calls;
mod web;

pub use calls::{call_ended, call_started, item_type, outputs};

pub fn running(turn: &TurnId) -> Turn<'_> {
    Turn {
        id: Cow::Borrowed(turn.as_str()),
        status: TurnStatus::InProgress,
        error: None,
    }
}

pub fn ended<'a>(turn: &'a TurnId, outcome: &'a TurnOutcome) -> Turn<'a> {
    let (status, error) = match outcome {
        TurnOutcome::Completed => (TurnStatus::Completed, None),
        TurnOutcome::Cancelled => (TurnStatus::Interrupted, None),
        TurnOutcome::Failed(error) => (TurnStatus::Failed, Some(Cow::from(&error.message))),
    };
    Turn {
        id: Cow::Borrowed(turn.as_str()),
        status,
        error,
    }
}

pub fn indexed(turn: &IndexedTurn) -> Turn<'_> {
    match &turn.ended {
        Some(end) => ended(&turn.turn, &end.outcome),
        None => running(&turn.turn),
    }
}

pub fn user_message(input: &UserInput) -> TurnItem<'_> {
    TurnItem::UserMessage {
        id: input.item.as_str(),
        text: input.shown(),
        attachments: input.images.iter().map(attachment).collect(),
    }
}

fn attachment(image: &Image) -> Attachment<'_> {
    match images::show(image) {
        images::ImageLink::Url(url) => Attachment::Image { url },
        images::ImageLink::Path(path) => Attachment::LocalImage { path },
    }
}

pub fn compacted<'a>(item: &'a ItemId, summary: &str, tokens_before: u64) -> TurnItem<'a> {
    TurnItem::SystemEvent {
        id: Cow::Borrowed(item.as_str()),
        level: SystemEventLevel::Info,
        message: Cow::Borrowed("What was said before is now a summary for the model."),
        code: "context_compressed",
        details: json!({ "summary": summary, "tokensBefore": tokens_before }),
    }
}

pub fn agent_message<'a>(item: &'a ItemId, text: &'a str) -> TurnItem<'a> {
    let id = item.as_str();
    TurnItem::AgentMessage { id, text }
}

/// With no text yet, or with all of it.
pub fn reasoning<'a>(item: &'a ItemId, kind: ReasoningKind, text: Option<&'a str>) -> TurnItem<'a> {
    let text: Vec<&str> = text.into_iter().filter(|text| !text.is_empty()).collect();
    let (summary, content) = match kind {
        ReasoningKind::Summary => (text, Vec::new()),
        ReasoningKind::Reasoning => (Vec::new(), text),
    };
    TurnItem::Reasoning {
        id: item.as_str(),
        summary,
        content,
    }
}

/// A finished item, its text, and the stream that text belongs to. A file that the model made has no
/// place in this protocol, and neither have the ends of a review: what was found is said in words, too.
pub fn written<'a>(
    item: &'a ItemId,
    body: &'a Item,
) -> Option<(TurnItem<'a>, &'a str, ItemDeltaStream)> {
    match body {
        Item::AgentMessage { text, .. } | Item::Plan { text, .. } => Some((
            agent_message(item, text),
            text,
            ItemDeltaStream::AgentMessage,
        )),
        Item::Reasoning { kind, text, .. } => Some((
            reasoning(item, *kind, Some(text)),
            text,
            ItemDeltaStream::Generic,
        )),
        Item::File { .. } | Item::ReviewEntered { .. } | Item::ReviewExited { .. } => None,
    }
}

/// The same item before anything was written.
pub fn unwritten<'a>(item: &'a ItemId, body: &'a Item) -> Option<TurnItem<'a>> {
    match body {
        Item::AgentMessage { .. } | Item::Plan { .. } => Some(agent_message(item, "")),
        Item::Reasoning { kind, .. } => Some(reasoning(item, *kind, None)),
        Item::File { .. } | Item::ReviewEntered { .. } | Item::ReviewExited { .. } => None,
    }
}
