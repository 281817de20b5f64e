//! Messages as they are read back, each with the place in the transcript where it begins.

use std::sync::Arc;

use providers::{Block, Message, ToolResult};

/// Kept side by side, because the model is sent the messages alone.
#[derive(Clone, Default)]
pub struct PlacedMessages {
    pub messages: Vec<Arc<Message>>,
    /// Of each message; none where it stands for something that has no place of its own.
    pub entries: Vec<Option<u64>>,
}

impl PlacedMessages {
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn push(&mut self, entry: impl Into<Option<u64>>, message: Message) {
        self.messages.push(Arc::new(message));
        self.entries.push(entry.into());
    }

    pub fn truncate(&mut self, len: usize) {
        self.messages.truncate(len);
        self.entries.truncate(len);
    }

    /// Lets go of the first ones.
    pub fn drop_first(&mut self, count: usize) {
        self.messages.drain(..count);
        self.entries.drain(..count);
    }

    pub fn position(&self, entry: u64) -> Option<usize> {
        self.entries.iter().position(|each| *each == Some(entry))
    }

    pub fn split_off(&mut self, at: usize) -> PlacedMessages {
        PlacedMessages {
            messages: self.messages.split_off(at),
            entries: self.entries.split_off(at),
        }
    }

    pub fn append(&mut self, mut others: PlacedMessages) {
        self.messages.append(&mut others.messages);
        self.entries.append(&mut others.entries);
    }

    pub fn retain(&mut self, keeps: impl Fn(&Message) -> bool) {
        let keep: Vec<bool> = self.messages.iter().map(|each| keeps(each)).collect();
        let (mut of_messages, mut of_entries) = (keep.iter(), keep.iter());
        let next = |kept: &mut std::slice::Iter<'_, bool>| kept.next().copied().unwrap_or(true);
        self.messages.retain(|_| next(&mut of_messages));
        self.entries.retain(|_| next(&mut of_entries));
    }

    /// To the answer that is under way.
    pub fn add_block(&mut self, entry: u64, block: Block) {
        match self.messages.last_mut().map(Arc::make_mut) {
            Some(Message::Assistant(blocks)) => blocks.push(block),
            Some(Message::User(_) | Message::ToolResults(_)) | None => {
                self.push(entry, Message::Assistant(vec![block]));
            }
        }
    }

    /// To the text that the answer ends with.
    pub fn extend_text(&mut self, entry: u64, block: Block) {
        let last = self.messages.last_mut().map(Arc::make_mut);
        let last = match last {
            Some(Message::Assistant(blocks)) => blocks.last_mut(),
            Some(Message::User(_) | Message::ToolResults(_)) | None => None,
        };
        match (last, block) {
            (
                Some(Block::Text { text, native }),
                Block::Text {
                    text: more,
                    native: newer,
                },
            ) => {
                text.push_str(&more);
                *native = newer.or(native.take());
            }
            (_, block) => self.add_block(entry, block),
        }
    }

    /// Gives the entry that begins the message with the result.
    pub fn add_result(&mut self, entry: u64, result: ToolResult) -> u64 {
        super::add_result(&mut self.messages, result);
        self.entries.resize(self.messages.len(), Some(entry));
        in_order_of_calls(&mut self.messages);
        self.entries.last().copied().flatten().unwrap_or(entry)
    }

    pub fn inform(&mut self, entry: u64, step: u32, text: String) {
        let len = super::inform(&mut self.messages, step, text);
        self.entries.insert(len, Some(entry));
    }
}

/// Calls made together end in any order; the model reads their results in the order of the calls.
fn in_order_of_calls(messages: &mut [Arc<Message>]) {
    let [.., answer, results] = messages else {
        return;
    };
    let (Message::Assistant(blocks), Message::ToolResults(results)) =
        (&**answer, Arc::make_mut(results))
    else {
        return;
    };
    let place = |result: &ToolResult| {
        blocks.iter().position(
            |block| matches!(block, Block::ToolCall { call_id, .. } if *call_id == result.call_id),
        )
    };
    results.sort_by_key(place);
}
