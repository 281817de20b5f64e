//! What the model writes, while it writes it.

use vocabulary::{
    Growth, Item, ItemId, Opening, ReasoningKind, StreamTag, ToolCall, ToolOutcome, ToolOutput,
};

use super::{EventForClient, items, turn};
use crate::Frame;
use crate::codex::Endpoint;
use crate::codex::wire::item::ThreadItem;
use crate::codex::wire::notice::{Delta, McpToolCallProgress, ReasoningSummaryPartAdded};

pub fn started(
    told: EventForClient<'_>,
    tag: &StreamTag,
    item: &ItemId,
    opening: &Opening,
) -> Vec<Frame> {
    let id = item.as_str();
    match opening {
        Opening::Text => {
            let item = ThreadItem::AgentMessage { id, text: "" };
            vec![items::started(told, &tag.turn, item)]
        }
        Opening::Plan => {
            let item = ThreadItem::Plan { id, text: "" };
            vec![items::started(told, &tag.turn, item)]
        }
        Opening::Reasoning(kind) => {
            let item = ThreadItem::Reasoning {
                id,
                summary: Vec::new(),
                content: Vec::new(),
            };
            let mut frames = vec![items::started(told, &tag.turn, item)];
            if shown_as(told.endpoint, *kind) == ReasoningKind::Summary {
                frames.push(part_added(told, tag, id, 0));
            }
            frames
        }
        // A call is shown when the turn comes to it.
        Opening::ToolInput { .. } => Vec::new(),
    }
}

/// Zane's client draws a thought when it ends, even an empty one; the app-server's wants the end of
/// everything that began.
pub fn finished(
    told: EventForClient<'_>,
    tag: &StreamTag,
    item: &ItemId,
    body: &Item,
) -> Vec<Frame> {
    match told.endpoint {
        Endpoint::Zane if items::is_silent(body) => Vec::new(),
        Endpoint::Zane | Endpoint::Codex => {
            let written = items::written(told.endpoint, item, body);
            // It grew by nothing, so nothing has told that it began.
            if let (Item::ReviewEntered { .. } | Item::ReviewExited { .. }, Some(item)) =
                (body, &written)
            {
                return turn::whole(told, &tag.turn, item.clone());
            }
            let frame = written.map(|item| items::completed(told, &tag.turn, item));
            frame.into_iter().collect()
        }
    }
}

pub fn grew(
    told: EventForClient<'_>,
    tag: &StreamTag,
    item: &ItemId,
    growth: &Growth,
    text: &str,
) -> Vec<Frame> {
    let id = item.as_str();
    let (method, index) = match growth {
        Growth::Text => ("item/agentMessage/delta", Index::None),
        Growth::Plan => ("item/plan/delta", Index::None),
        Growth::Reasoning { kind, part } => match shown_as(told.endpoint, *kind) {
            ReasoningKind::Reasoning => ("item/reasoning/textDelta", Index::Content(*part)),
            ReasoningKind::Summary => ("item/reasoning/summaryTextDelta", Index::Summary(*part)),
        },
        Growth::ReasoningPart { kind, part } => match shown_as(told.endpoint, *kind) {
            // A new number says it.
            ReasoningKind::Reasoning => return Vec::new(),
            ReasoningKind::Summary => return vec![part_added(told, tag, id, *part)],
        },
        Growth::ToolInput { .. } => return Vec::new(),
    };
    vec![told.notify(method, &delta(told, tag, id, index, text))]
}

/// How a thought is told. The app-server's client shows summaries alone, so that there a thought of which
/// the provider shows the words themselves is told as one.
pub fn shown_as(endpoint: Endpoint, kind: ReasoningKind) -> ReasoningKind {
    match endpoint {
        Endpoint::Codex => ReasoningKind::Summary,
        Endpoint::Zane => kind,
    }
}

/// What a command prints.
pub fn wrote(told: EventForClient<'_>, tag: &StreamTag, call: &ToolCall, text: &str) -> Frame {
    let params = delta(told, tag, call.item.as_str(), Index::None, text);
    told.notify("item/commandExecution/outputDelta", &params)
}

/// What a change has made of files, for zane: its client draws it before the item is over.
pub fn diffed(
    told: EventForClient<'_>,
    tag: &StreamTag,
    call: &ToolCall,
    outcome: &ToolOutcome,
) -> Option<Frame> {
    let ToolOutcome::Succeeded(ToolOutput::Files { changes, .. }) = outcome else {
        return None;
    };
    if told.endpoint != Endpoint::Zane || !call.changes_files() {
        return None;
    }
    let diffs: Vec<&str> = changes.iter().map(|change| change.diff.as_str()).collect();
    let text = diffs.join("\n");
    let params = delta(told, tag, call.item.as_str(), Index::None, &text);
    (!text.is_empty()).then(|| told.notify("item/fileChange/outputDelta", &params))
}

/// How far a server's tool is.
pub fn progressed(
    told: EventForClient<'_>,
    tag: &StreamTag,
    call: &ToolCall,
    message: &str,
) -> Frame {
    let params = McpToolCallProgress {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        item_id: call.item.as_str(),
        message,
    };
    told.notify("item/mcpToolCall/progress", &params)
}

/// The next part of a thought's summary begins.
fn part_added(told: EventForClient<'_>, tag: &StreamTag, item_id: &str, part: u32) -> Frame {
    let params = ReasoningSummaryPartAdded {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        item_id,
        summary_index: part,
    };
    told.notify("item/reasoning/summaryPartAdded", &params)
}

/// Which entry of which of its item's lists a piece belongs to.
#[derive(Clone, Copy)]
enum Index {
    None,
    Content(u32),
    Summary(u32),
}

fn delta<'a>(
    told: EventForClient<'a>,
    tag: &'a StreamTag,
    item_id: &'a str,
    index: Index,
    delta: &'a str,
) -> Delta<'a> {
    let (content_index, summary_index) = match index {
        Index::None => (None, None),
        Index::Content(part) => (Some(part), None),
        Index::Summary(part) => (None, Some(part)),
    };
    Delta {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        item_id,
        content_index,
        summary_index,
        delta,
    }
}
