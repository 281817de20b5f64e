//! What the model writes, while it writes it.

use vocabulary::{
    Growth, Item, ItemId, Opening, ReasoningKind, StreamTag, ToolCall, ToolOutcome, ToolOutput,
};

use super::{EventForClient, items, notify};
use crate::Frame;
use crate::codex::Endpoint;
use crate::codex::wire::item::ThreadItem;
use crate::codex::wire::notice::{Delta, McpToolCallProgress};

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
        Opening::Reasoning(kind) => {
            let item = ThreadItem::Reasoning {
                id,
                summary: Vec::new(),
                content: Vec::new(),
            };
            let mut frames = vec![items::started(told, &tag.turn, item)];
            if *kind == ReasoningKind::Summary {
                let part = delta(told, tag, id, Index::Summary, None);
                frames.push(notify("item/reasoning/summaryPartAdded", &part));
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
            let written = items::written(item, body);
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
    let (method, index) = match growth {
        Growth::Text => ("item/agentMessage/delta", Index::None),
        Growth::Reasoning(ReasoningKind::Reasoning) => ("item/reasoning/textDelta", Index::Content),
        Growth::Reasoning(ReasoningKind::Summary) => {
            ("item/reasoning/summaryTextDelta", Index::Summary)
        }
        Growth::ToolInput { .. } => return Vec::new(),
    };
    let params = delta(told, tag, item.as_str(), index, Some(text));
    vec![notify(method, &params)]
}

/// What a command prints.
pub fn wrote(told: EventForClient<'_>, tag: &StreamTag, call: &ToolCall, text: &str) -> Frame {
    let params = delta(told, tag, call.item.as_str(), Index::None, Some(text));
    notify("item/commandExecution/outputDelta", &params)
}

/// What a call has made of files, to Zane's clients before the item is done. The app-server's get it with the item.
pub fn changed_files(
    told: EventForClient<'_>,
    tag: &StreamTag,
    call: &ToolCall,
    outcome: &ToolOutcome,
) -> Option<Frame> {
    let ToolOutcome::Succeeded(ToolOutput::Files { changes, .. }) = outcome else {
        return None;
    };
    if told.endpoint == Endpoint::Codex || !call.changes_files() {
        return None;
    }
    let diffs: Vec<&str> = changes.iter().map(|change| change.diff.as_str()).collect();
    let text = diffs.join("\n");
    let params = delta(told, tag, call.item.as_str(), Index::None, Some(&text));
    (!text.is_empty()).then(|| notify("item/fileChange/outputDelta", &params))
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
    notify("item/mcpToolCall/progress", &params)
}

/// Which of its item's lists a piece belongs to; ours have one entry each.
enum Index {
    None,
    Content,
    Summary,
}

fn delta<'a>(
    told: EventForClient<'a>,
    tag: &'a StreamTag,
    item_id: &'a str,
    index: Index,
    delta: Option<&'a str>,
) -> Delta<'a> {
    Delta {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        item_id,
        content_index: matches!(index, Index::Content).then_some(0),
        summary_index: matches!(index, Index::Summary).then_some(0),
        delta,
    }
}
