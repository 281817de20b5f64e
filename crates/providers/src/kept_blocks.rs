//! What of an answer stays in a conversation, for tests that go on with it.

use vocabulary::PART_BREAK;

use crate::{Block, Part};

/// The blocks of an answer, put together as whoever runs a conversation does.
pub fn kept_blocks(parts: impl IntoIterator<Item = Part>) -> Vec<Block> {
    let (mut blocks, mut grown) = (Vec::new(), String::new());
    for part in parts {
        match part {
            Part::TextDelta { text, .. } | Part::ReasoningDelta { text, .. } => {
                grown.push_str(&text);
            }
            Part::ReasoningPart { .. } => grown.push_str(PART_BREAK),
            Part::TextEnd { native, .. } => blocks.push(Block::Text {
                text: std::mem::take(&mut grown),
                native,
            }),
            Part::ReasoningEnd { native, .. } => blocks.push(Block::Reasoning {
                text: std::mem::take(&mut grown),
                native,
            }),
            Part::ToolCall {
                call_id,
                name,
                input,
                native,
                ..
            } => blocks.push(Block::ToolCall {
                call_id,
                name,
                input,
                native,
            }),
            Part::File {
                media_type,
                base64,
                native,
                ..
            } => blocks.push(Block::File {
                media_type,
                base64,
                native,
            }),
            Part::Retrying { .. }
            | Part::Source { .. }
            | Part::TextStart { .. }
            | Part::ReasoningStart { .. }
            | Part::ToolInputStart { .. }
            | Part::ToolInputDelta { .. }
            | Part::Raw(_)
            | Part::Finish { .. } => {}
        }
    }
    blocks
}
