//! A page of the transcript as `messages`.

use std::borrow::Cow;

use vocabulary::{
    Entry, Fact, Image, Item, ItemFact, MessagePage, ToolCall, ToolEvent, ToolFact, ToolOutcome,
    ToolOutput, TurnFact, UserInput,
};

use super::tell::tools::output;
use super::wire::ServerEvent;
use super::wire::session::{
    AssistantContent, Messages, ModelMessage, ToolContent, ToolResultOutput, UserContent, UserPiece,
};
use crate::Frame;
use crate::content::mcp_content;

pub fn messages(session: &str, page: &MessagePage) -> Frame {
    let messages = page.entries.chunk_by(|a, b| a.message == b.message);
    ServerEvent::Messages(Messages {
        session_id: session,
        messages: messages.filter_map(message).collect(),
        total: page.total,
        offset: page.offset,
        limit: page.limit,
    })
    .frame()
}

/// What an entry is within its message.
enum MessagePiece<'a> {
    User(&'a UserInput),
    Assistant(AssistantContent<'a>),
    Tool(ToolContent<'a>),
}

/// The entries of one message; the first says whose it is.
fn message(entries: &[Entry]) -> Option<ModelMessage<'_>> {
    let mut pieces = entries.iter().filter_map(|entry| piece(&entry.event.fact));
    match pieces.next()? {
        MessagePiece::User(input) => Some(ModelMessage::User(user_content(input))),
        MessagePiece::Assistant(first) => {
            let rest = pieces.filter_map(|piece| match piece {
                MessagePiece::Assistant(content) => Some(content),
                MessagePiece::User(_) | MessagePiece::Tool(_) => None,
            });
            let content = std::iter::once(first).chain(rest).collect();
            Some(ModelMessage::Assistant(content))
        }
        MessagePiece::Tool(first) => {
            let rest = pieces.filter_map(|piece| match piece {
                MessagePiece::Tool(content) => Some(content),
                MessagePiece::User(_) | MessagePiece::Assistant(_) => None,
            });
            let content = std::iter::once(first).chain(rest).collect();
            Some(ModelMessage::Tool(content))
        }
    }
}

/// With the pictures that came along, if any did.
fn user_content(input: &UserInput) -> UserContent<'_> {
    if input.images.is_empty() {
        return UserContent::Text(&input.text);
    }
    let pictures = input.images.iter().filter_map(|image| match image {
        Image::Data { media_type, base64 } => Some(UserPiece::Image {
            image: base64,
            media_type: Some(media_type),
        }),
        Image::Url(url) => Some(UserPiece::Image {
            image: url,
            media_type: None,
        }),
        // Read before it is accepted; a log has none.
        Image::Path(_) => None,
    });
    let text = UserPiece::Text { text: &input.text };
    UserContent::Pieces(std::iter::once(text).chain(pictures).collect())
}

fn piece(fact: &Fact) -> Option<MessagePiece<'_>> {
    match fact {
        Fact::Turn(TurnFact::Started { input, .. } | TurnFact::Steered { input, .. }) => {
            Some(MessagePiece::User(input))
        }
        Fact::Item {
            what: ItemFact::Finished { body, .. },
            ..
        } => match body {
            Item::AgentMessage { text, .. } | Item::Plan { text, .. } => {
                Some(MessagePiece::Assistant(AssistantContent::Text { text }))
            }
            // A provider may keep its thoughts to itself, and still want them back.
            Item::File {
                media_type, base64, ..
            } => Some(MessagePiece::Assistant(AssistantContent::File {
                data: base64,
                media_type,
            })),
            // What was found is said in words, too.
            Item::ReviewEntered { .. } | Item::ReviewExited { .. } => None,
            Item::Reasoning { text, .. } if text.trim().is_empty() => None,
            Item::Reasoning { text, .. } => {
                Some(MessagePiece::Assistant(AssistantContent::Reasoning {
                    text,
                }))
            }
        },
        // What a sub-agent does is its own history; the call it works for is in this one.
        Fact::Tool(ToolEvent { call, what, .. }) if call.agent.is_none() => match what {
            ToolFact::Planned { .. } => Some(MessagePiece::Assistant(tool_call(call))),
            ToolFact::Finished { outcome, .. } => {
                Some(MessagePiece::Tool(tool_result(call, outcome)))
            }
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => None,
        },
        Fact::Turn(_)
        | Fact::Item { .. }
        | Fact::Tool(_)
        | Fact::Thread(_)
        | Fact::Step { .. }
        | Fact::Ask { .. }
        | Fact::Files(_)
        | Fact::Note(_) => None,
    }
}

fn tool_call(call: &ToolCall) -> AssistantContent<'_> {
    AssistantContent::ToolCall {
        tool_call_id: &call.call_id,
        tool_name: &call.name,
        input: &call.input,
    }
}

fn tool_result<'a>(call: &'a ToolCall, outcome: &'a ToolOutcome) -> ToolContent<'a> {
    let text = |value| ToolResultOutput::Text { value };
    let (output, is_error) = match outcome {
        ToolOutcome::Succeeded(given @ ToolOutput::Content(_)) => {
            let value = mcp_content(given);
            (ToolResultOutput::Content { value }, false)
        }
        ToolOutcome::Succeeded(given)
        | ToolOutcome::Denied(given)
        | ToolOutcome::Interrupted(given) => (text(output(given).as_text()), false),
        ToolOutcome::Failed { error } => (text(Cow::Borrowed(error.as_str())), true),
        ToolOutcome::NotRun { why } => (text(Cow::Borrowed(why.as_str())), true),
    };
    ToolContent::ToolResult {
        tool_call_id: &call.call_id,
        tool_name: &call.name,
        output,
        is_error,
    }
}
