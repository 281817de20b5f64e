//! What is looked up: searches of the web, its pages, and pictures. Their items cannot say that nothing
//! came of it, so that what did not happen is told as any other call is.

use std::borrow::Cow;

use vocabulary::{ContentBlock, Subject, ThreadCard, ToolCall, ToolOutcome, ToolOutput};

use super::items::CallProgress;
use crate::codex::wire::item::{ThreadItem, WebSearchAction};

/// A call as the item that looking something up is.
pub enum LookUp<'a> {
    Item(ThreadItem<'a>),
    /// What it is shows when it ends.
    NotKnownYet,
    /// It is none, or did not happen.
    None,
}

pub fn look_up<'a>(card: &ThreadCard, call: &'a ToolCall, shown: CallProgress<'a>) -> LookUp<'a> {
    let id = call.item.as_str();
    let (query, action) = match &call.subject {
        Subject::Search { query } => (query, WebSearchAction::Search { query }),
        // Clients show the address in the place of the words.
        Subject::Web { url } => (url, WebSearchAction::OpenPage { url }),
        Subject::Files(_) => {
            return match call.picture() {
                Some(path) => picture(card, id, path, shown),
                None => LookUp::None,
            };
        }
        Subject::Command { .. }
        | Subject::Agent { .. }
        | Subject::Mcp { .. }
        | Subject::Question
        | Subject::Plan
        | Subject::Other => return LookUp::None,
    };
    match ran(shown) {
        true => LookUp::Item(ThreadItem::WebSearch { id, query, action }),
        false => LookUp::None,
    }
}

/// Whether its item begins when it runs rather than when the turn comes to it: a person may say no.
pub fn begins_when_it_runs(call: &ToolCall) -> bool {
    matches!(call.subject, Subject::Search { .. } | Subject::Web { .. })
}

/// Whether its item is told as a whole when it is over.
pub fn is_told_at_its_end(call: &ToolCall, shown: CallProgress<'_>) -> bool {
    call.picture().is_some() || begins_when_it_runs(call) && !ran(shown)
}

/// Older logs do not say how long a call ran; one that gave something did.
fn ran(shown: CallProgress<'_>) -> bool {
    match shown {
        CallProgress::Running | CallProgress::Writing(_) => true,
        CallProgress::Ended(outcome, duration_ms) => match outcome {
            ToolOutcome::Succeeded(_) | ToolOutcome::Interrupted(_) => true,
            ToolOutcome::Failed { .. } => duration_ms.is_some(),
            ToolOutcome::Denied(_) | ToolOutcome::NotRun { .. } => false,
        },
    }
}

fn picture<'a>(card: &ThreadCard, id: &'a str, path: &str, shown: CallProgress<'_>) -> LookUp<'a> {
    let is_picture = |block: &ContentBlock| matches!(block, ContentBlock::Image { .. });
    match shown {
        CallProgress::Running | CallProgress::Writing(_) => LookUp::NotKnownYet,
        CallProgress::Ended(ToolOutcome::Succeeded(ToolOutput::Content(blocks)), _)
            if blocks.iter().any(is_picture) =>
        {
            let path = card.directory.join(path);
            let path = Cow::Owned(path.to_string_lossy().into_owned());
            LookUp::Item(ThreadItem::ImageView { id, path })
        }
        CallProgress::Ended(..) => LookUp::None,
    }
}
