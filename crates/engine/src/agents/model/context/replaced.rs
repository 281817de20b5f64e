//! What takes the place of a conversation, or of a part of it, as it is read back: a summary with what
//! outlives it, and words in the place of old results.

use std::sync::Arc;

use providers::{Message, MessageImage, ResultBlock, UserMessage};
use vocabulary::{ItemId, KeptContext};

use super::placed::PlacedMessages;
use super::{HeldInput, Reading};

/// What stands where a result was.
pub const CLEARED: &str = "[cleared; read it again if needed]";

/// What the user said to one turn; its pictures outlive a summary of the conversation.
#[derive(Clone, Default)]
pub struct TurnInputs {
    entry: u64,
    images: Vec<MessageImage>,
    steers: Vec<HeldInput>,
}

impl TurnInputs {
    pub fn new(entry: u64, images: Vec<MessageImage>) -> Self {
        Self {
            entry,
            images,
            steers: Vec::new(),
        }
    }

    pub fn steer(&mut self, held: HeldInput) {
        self.steers.push(held);
    }

    fn heard(&self, step: u32) -> impl Iterator<Item = &HeldInput> {
        self.steers
            .iter()
            .filter(move |held| held.after_step < step)
    }

    /// The conversation at this step once a summary stands for it that has the turn's input in it.
    fn after(&self, summary: String, step: u32) -> PlacedMessages {
        let mut messages = PlacedMessages::default();
        let first = UserMessage {
            text: summary,
            images: self.images.clone(),
            is_note: false,
        };
        messages.push(None, Message::User(first));
        for held in self.heard(step) {
            messages.push(held.entry, Message::User(held.said.clone()));
        }
        messages
    }

    /// The pictures that were heard by this step and are not among these messages.
    fn pictures_without(&self, step: u32, kept: &PlacedMessages) -> Vec<MessageImage> {
        let input = (self.entry, &self.images);
        let steers = self.heard(step).map(|held| (held.entry, &held.said.images));
        std::iter::once(input)
            .chain(steers)
            .filter(|(entry, _)| kept.position(*entry).is_none())
            .flat_map(|(_, images)| images.iter().cloned())
            .collect()
    }
}

impl Reading {
    /// A summary took the place of what was said by this step.
    pub(super) fn replace(&mut self, step: u32, summary: String, kept: Option<Box<KeptContext>>) {
        let Some(kept) = kept else {
            self.read = self.told.after(summary, step);
            return;
        };
        let start = match kept.steps {
            // Those that began before what is read here are all that is read here.
            Some(steps) => self.read.position(steps.entry).unwrap_or(0),
            None => self.read.len(),
        };
        let newest = self.read.split_off(start);
        let images = self.told.pictures_without(step, &newest);
        self.read = PlacedMessages::default();
        if !kept.surroundings.is_empty() {
            self.read.push(None, Message::note(kept.surroundings));
        }
        for text in &kept.said {
            self.read.push(None, Message::user(text.clone()));
        }
        let summary = UserMessage {
            text: summary,
            images,
            is_note: true,
        };
        self.read.push(None, Message::User(summary));
        self.forget_said(&newest, kept.said);
        self.read.append(newest);
        self.changed = kept.changed;
    }

    /// What was said is what the summary kept, what the newest steps have, and what no step heard yet.
    fn forget_said(&mut self, newest: &PlacedMessages, said: Vec<String>) {
        let held: Vec<u64> = self.held.iter().map(|held| held.entry).collect();
        self.said.retain(|(entry, _)| {
            entry.is_some_and(|entry| newest.position(entry).is_some() || held.contains(&entry))
        });
        let said = said.into_iter().map(|text| (None, text));
        self.said.splice(..0, said);
    }

    /// These results are not shown any more.
    pub(super) fn clear(&mut self, items: &[ItemId]) {
        for item in items {
            let Some(known) = self.results.iter().find(|known| known.item == *item) else {
                continue;
            };
            if let Some(at) = self.read.position(known.entry) {
                clear_result(&mut self.read.messages[at], &known.call_id);
            }
        }
    }
}

/// Puts words in the place of a result.
pub fn clear_result(message: &mut Arc<Message>, call_id: &str) {
    if let Message::ToolResults(results) = Arc::make_mut(message) {
        for result in results.iter_mut().filter(|each| each.call_id == call_id) {
            result.content = vec![ResultBlock::Text(CLEARED.to_owned())];
        }
    }
}
