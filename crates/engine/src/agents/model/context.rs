//! The model's context: the conversation so far, read from the log when a turn starts, and again when
//! a summary took its place: so it is the same for whoever reads it.

use std::sync::Arc;

use providers::{Block, Message, ToolResult, UserMessage};
use tools::ToolFaces;
use vocabulary::{
    Cause, Event, Fact, FilesFact, Item, ItemFact, ItemId, ModelRef, Refusal, StepFact, StreamTag,
    ToolCall, ToolEvent, ToolFact, ToolOutcome, ToolOutput, TurnFact, TurnId, TurnOutcome, Why,
};

use super::endings;
use crate::codec;
use crate::limits::{CONTEXT_MESSAGES_READ_MAX, KEPT_FILES_MAX};
use crate::turn::{Turn, offer};

mod orders;
mod placed;
mod replaced;
mod shown;

use orders::UserCommandLines;
pub use orders::{REVIEW, review_hint, user_command_note};
use placed::PlacedMessages;
use replaced::TurnInputs;
pub use replaced::clear_result;
pub use shown::{is_error, shown_to_model, user_message};

/// A conversation as the log has it.
pub struct Loaded {
    pub messages: Vec<Arc<Message>>,
    /// The places in the transcript where the messages begin.
    pub entries: Vec<Option<u64>>,
    /// How many of the messages the model had read or written when it last counted its tokens.
    pub counted: usize,
    /// Said to the running turn while its newest step was under way: they come after the results
    /// of that step.
    pub held: Vec<UserMessage>,
    /// Everything that was said to running turns and is in here.
    pub steered: Vec<ItemId>,
    /// What the user said in the thread, as far as it is known, with its place.
    pub said: Vec<(Option<u64>, String)>,
    /// Files that calls changed, as far as they are known.
    pub changed: Vec<String>,
    /// Where turns begin.
    pub turns: Vec<u64>,
    pub results: Vec<ReadResult>,
    pub before: LastEnding,
}

/// How the turn before the running one ended.
#[derive(Clone, Default)]
pub struct LastEnding {
    pub outcome: Option<TurnOutcome>,
    /// The calls that were cut short.
    pub interrupted: Vec<String>,
}

/// Where the result of a call is.
#[derive(Clone)]
pub struct ReadResult {
    pub item: ItemId,
    pub call_id: String,
    /// Of the message.
    pub entry: u64,
}

/// A conversation as far as it was read for a turn, so that the next one need not read it again.
pub struct ReadConversation {
    from_ordinal: u64,
    next_ordinal: u64,
    reading: Reading,
}

/// Reads the conversation as it is before this step: what was said by then is heard. Everything that
/// was told must be on disk.
pub async fn load(turn: &Turn, step: u32) -> Result<Loaded, Refusal> {
    let (sees, faces) = (sees(turn), offer::faces(&turn.model));
    let newest = turn.history.message_count;
    let oldest = newest.saturating_sub(CONTEXT_MESSAGES_READ_MAX as u64);
    let from_ordinal = turn.history.from_ordinal;
    let fits = |read: &ReadConversation| {
        let reading = &read.reading;
        read.from_ordinal == from_ordinal && reading.sees == sees && reading.faces == faces
    };
    let kept = turn.memory.lock().take();
    let known = kept.and_then(|kept| kept.downcast::<ReadConversation>().ok());
    let known = known.filter(|read| fits(read));
    let mut read = known.unwrap_or_else(|| {
        Box::new(ReadConversation {
            from_ordinal,
            next_ordinal: from_ordinal,
            reading: Reading::new(sees, faces),
        })
    });
    let store = &turn.shared.store;
    let rows = store.entries(turn.card.id, read.next_ordinal, oldest..u64::MAX, u32::MAX);
    let rows = rows
        .await
        .map_err(|error| Refusal::new(Why::Storage, error.to_string()))?;
    for (row, stored) in &rows {
        read.reading.add(row.ordinal, codec::decode(stored)?);
        read.next_ordinal = row.ordinal + 1;
    }
    read.reading.trim();
    let mut reading = read.reading.clone();
    *turn.memory.lock() = Some(read);
    reading.hear(step);
    Ok(reading.finish())
}

/// Whether pictures can be shown to the turn's model: not where it is known to be blind.
pub fn sees(turn: &Turn) -> bool {
    model_sees(turn, &turn.model)
}

pub fn model_sees(turn: &Turn, model: &ModelRef) -> bool {
    let known = turn.own().models.model(&model.provider, &model.model);
    known.and_then(|known| known.vision) != Some(false)
}

/// A conversation as it is read back.
#[derive(Clone, Default)]
struct Reading {
    read: PlacedMessages,
    /// Said while a step was under way: the model reads it after the results of that step.
    held: Vec<HeldInput>,
    told: TurnInputs,
    steered: Vec<ItemId>,
    said: Vec<(Option<u64>, String)>,
    changed: Vec<String>,
    turns: Vec<u64>,
    /// What made the turn start that is being read.
    cause: Cause,
    user_lines: UserCommandLines,
    results: Vec<ReadResult>,
    /// The step whose entries are being read, and how many messages there were before it.
    step: Option<(TurnId, u32)>,
    before_step: usize,
    /// The block of the step's answer whose text was read last, and whether that was a plan.
    text: Option<(u32, bool)>,
    /// The answer of this step broke off: the next one replaces it, if there is one.
    broken_off: Option<(TurnId, u32)>,
    /// Of the turn that is being read, and of the one before it.
    ending: LastEnding,
    before: LastEnding,
    sees: bool,
    /// How the model at hand knows the tools that were called.
    faces: ToolFaces,
}

#[derive(Clone)]
struct HeldInput {
    after_step: u32,
    entry: u64,
    said: UserMessage,
}

impl Reading {
    fn new(sees: bool, faces: ToolFaces) -> Self {
        Self {
            sees,
            faces,
            ..Self::default()
        }
    }

    /// Lets go of the oldest messages where there are many too many because no summary could be
    /// made: with every turn one less at the beginning, no request would begin with the one before.
    fn trim(&mut self) {
        let extra = self.read.len().saturating_sub(CONTEXT_MESSAGES_READ_MAX);
        if extra > CONTEXT_MESSAGES_READ_MAX / 4 {
            self.read.drop_first(extra);
            self.before_step = self.before_step.saturating_sub(extra);
        }
    }

    /// Adds one entry of the transcript, with its place.
    fn add(&mut self, entry: u64, event: Event) {
        match event.fact {
            Fact::Turn(what) => self.add_turn(entry, what),
            Fact::Step { tag, what } => self.add_step(entry, tag, what),
            Fact::Item {
                tag,
                content,
                what: ItemFact::Finished { body, .. },
                ..
            } => {
                self.add_item(entry, &tag, content, body);
            }
            Fact::Tool(tool) => {
                self.note_changes(&tool.what);
                // What a sub-agent does is a conversation of its own.
                if tool.call.by_user {
                    self.add_user_call(entry, tool);
                } else if tool.call.agent.is_none() {
                    self.add_call(entry, tool);
                }
            }
            Fact::Files(FilesFact::Uploaded { file }) => {
                self.read.push(entry, Message::note(shown::uploaded(&file)));
            }
            Fact::Thread(_)
            | Fact::Item { .. }
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Note(_) => {}
        }
    }

    /// A plan was told apart from the text that it is a part of; the model reads what it wrote.
    fn add_item(&mut self, entry: u64, tag: &StreamTag, content: u32, body: Item) {
        let is_plan = matches!(body, Item::Plan { .. });
        let before = self.text.take();
        let is_text = is_plan || matches!(body, Item::AgentMessage { .. });
        let Some(block) = written(body) else { return };
        self.enter(entry, tag);
        self.text = is_text.then_some((content, is_plan));
        match before {
            Some((place, was_plan)) if is_text && place == content && (was_plan || is_plan) => {
                self.read.extend_text(entry, block);
            }
            Some(_) | None => self.read.add_block(entry, block),
        }
    }

    fn add_turn(&mut self, entry: u64, what: TurnFact) {
        match what {
            TurnFact::Started { cause, input, .. } if !cause.is_said() => {
                self.add_order(entry, cause, &input);
            }
            TurnFact::Started { cause, input, .. } => {
                self.release();
                self.cause = cause;
                self.before = std::mem::take(&mut self.ending);
                let said = user_message(input, self.sees);
                self.turns.push(entry);
                self.said.push((Some(entry), said.text.clone()));
                self.told = TurnInputs::new(entry, said.images.clone());
                self.read.push(entry, Message::User(said));
            }
            TurnFact::Steered {
                input, after_step, ..
            } => {
                self.steered.push(input.item.clone());
                let said = user_message(input, self.sees);
                self.said.push((Some(entry), said.text.clone()));
                let held = HeldInput {
                    after_step,
                    entry,
                    said,
                };
                self.told.steer(held.clone());
                self.held.push(held);
            }
            TurnFact::Finished { outcome, .. } => {
                // How an order ended is not how the model's own turn did.
                if self.cause.is_said() {
                    self.ending.outcome = Some(outcome);
                }
                self.release();
            }
            TurnFact::SteerPlaced { .. }
            | TurnFact::PlanChanged { .. }
            | TurnFact::UsageAdded { .. } => {}
        }
    }

    fn add_step(&mut self, entry: u64, tag: StreamTag, what: StepFact) {
        match what {
            StepFact::Compacted { summary, kept, .. } => {
                self.drop_broken_off(&tag.turn);
                self.hear(tag.step);
                self.replace(tag.step, summary, kept);
                self.step = None;
            }
            StepFact::Pruned { results } => self.clear(&results),
            StepFact::Informed { text } => {
                self.drop_broken_off(&tag.turn);
                // Its step has listened, though nothing may have come of it.
                self.hear(tag.step);
                self.read.inform(entry, tag.step, text);
            }
            StepFact::Delayed { discards: true, .. } => {
                self.broken_off = Some((tag.turn, tag.step));
            }
            StepFact::Started
            | StepFact::Delayed { .. }
            | StepFact::Retried { .. }
            | StepFact::LimitReached { .. }
            | StepFact::CompactionStarted
            | StepFact::Finished { .. }
            | StepFact::Failed { .. }
            | StepFact::Cited { .. }
            | StepFact::RawReceived { .. } => {}
        }
    }

    fn add_call(&mut self, entry: u64, tool: ToolEvent) {
        let ToolEvent { tag, call, what } = tool;
        match what {
            ToolFact::Planned { .. } => {
                self.enter(entry, &tag);
                self.text = None;
                let written = self.faces.written(&call.name, &call.input);
                let call = Arc::unwrap_or_clone(call);
                let block = Block::ToolCall {
                    call_id: call.call_id,
                    name: written.name,
                    input: written.input,
                    native: call.native,
                };
                self.read.add_block(entry, block);
            }
            ToolFact::Finished { outcome, .. } => {
                if matches!(outcome, ToolOutcome::Interrupted(_)) {
                    let words = self.in_words(&call);
                    self.ending.interrupted.push(words);
                }
                let result = ToolResult {
                    call_id: call.call_id.clone(),
                    name: call.name.clone(),
                    is_error: is_error(&outcome),
                    content: shown_to_model(&outcome, self.sees),
                };
                let entry = self.read.add_result(entry, result);
                self.results.push(ReadResult {
                    item: call.item.clone(),
                    call_id: call.call_id.clone(),
                    entry,
                });
            }
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => {}
        }
    }

    fn note_changes(&mut self, what: &ToolFact) {
        let ToolFact::Finished {
            outcome:
                ToolOutcome::Succeeded(ToolOutput::Files { changes, .. })
                | ToolOutcome::Interrupted(ToolOutput::Files { changes, .. }),
            ..
        } = what
        else {
            return;
        };
        for change in changes {
            if !self.changed.contains(&change.path) {
                self.changed.push(change.path.clone());
            }
        }
        let extra = self.changed.len().saturating_sub(KEPT_FILES_MAX);
        self.changed.drain(..extra);
    }

    /// A call in a few words: the log has its input where it was planned.
    fn in_words(&self, call: &ToolCall) -> String {
        const CHARS_MAX: usize = 120;
        let blocks = self
            .read
            .messages
            .iter()
            .rev()
            .find_map(|message| match &**message {
                Message::Assistant(blocks) => Some(blocks),
                Message::User(_) | Message::ToolResults(_) => None,
            });
        let command = blocks.into_iter().flatten().find_map(|block| match block {
            Block::ToolCall { call_id, input, .. } if *call_id == call.call_id => {
                input["command"].as_str()
            }
            Block::ToolCall { .. }
            | Block::Text { .. }
            | Block::Reasoning { .. }
            | Block::File { .. } => None,
        });
        match command {
            None => call.name.clone(),
            Some(command) => {
                let command: String = command.chars().take(CHARS_MAX).collect();
                format!("{} {}", call.name, tools::shown::line(&command))
            }
        }
    }

    /// What was said before this step had listened is read before its answer.
    fn enter(&mut self, entry: u64, tag: &StreamTag) {
        let step = Some((tag.turn.clone(), tag.step));
        self.drop_broken_off(&tag.turn);
        if self.step != step {
            self.hear(tag.step);
            self.step = step;
            self.text = None;
            self.before_step = self.read.len();
            // An answer of its own, even where the last message was an answer too.
            self.read.push(entry, Message::Assistant(Vec::new()));
        }
    }

    fn hear(&mut self, step: u32) {
        for held in self.held.extract_if(.., |held| held.after_step < step) {
            self.read.push(held.entry, Message::User(held.said));
        }
    }

    /// Another answer came, be it one with nothing in it.
    fn drop_broken_off(&mut self, turn: &TurnId) {
        let broken_off = self.broken_off.take();
        if broken_off.as_ref().is_some_and(|(of, _)| of == turn) && self.step == broken_off {
            self.read.truncate(self.before_step);
            self.step = None;
        }
    }

    /// A turn is over: what it has not heard is read by the next one.
    fn release(&mut self) {
        for held in self.held.drain(..) {
            self.read.push(held.entry, Message::User(held.said));
        }
    }

    fn finish(mut self) -> Loaded {
        // A window that starts in the middle must not start with results nobody asked for.
        let is_user = |message: &Arc<Message>| matches!(**message, Message::User(_));
        let start = self.read.messages.iter().position(is_user).unwrap_or(0);
        self.read.drop_first(start);
        // What counted for nothing in its turn counts for nothing later: thoughts alone.
        self.read.retain(|message| match message {
            Message::Assistant(blocks) => endings::says_something(blocks),
            Message::User(_) | Message::ToolResults(_) => true,
        });
        let is_answer = |message: &Arc<Message>| matches!(**message, Message::Assistant(_));
        let last_answer = self.read.messages.iter().rposition(is_answer);
        let unheard = |entry: &Option<u64>| {
            let mut held = self.held.iter();
            held.any(|held| Some(held.entry) == *entry)
        };
        self.said.retain(|(entry, _)| !unheard(entry));
        Loaded {
            counted: last_answer.map_or(0, |last| last + 1),
            messages: self.read.messages,
            entries: self.read.entries,
            held: self.held.into_iter().map(|held| held.said).collect(),
            steered: self.steered,
            said: self.said,
            changed: self.changed,
            turns: self.turns,
            results: self.results,
            before: self.before,
        }
    }
}

/// What an item is in the conversation.
pub fn written(body: Item) -> Option<Block> {
    Some(match body {
        Item::AgentMessage { text, native, .. } => Block::Text { text, native },
        Item::Plan {
            text,
            marks,
            native,
            ..
        } => Block::Text {
            text: format!("{}{text}{}", marks.before, marks.after),
            native,
        },
        Item::Reasoning { text, native, .. } => Block::Reasoning { text, native },
        Item::File {
            media_type,
            base64,
            native,
        } => Block::File {
            media_type,
            base64,
            native,
        },
        // What was found is said in words, too.
        Item::ReviewEntered { .. } | Item::ReviewExited { .. } => return None,
    })
}

/// Adds what the server tells the model at this step; gives its place.
pub fn inform(messages: &mut Vec<Arc<Message>>, step: u32, text: String) -> usize {
    let place = match (step, messages.last().map(AsRef::as_ref)) {
        (0, Some(Message::User(_))) => messages.len() - 1,
        (_, _) => messages.len(),
    };
    messages.insert(place, Arc::new(Message::note(text)));
    place
}

pub fn add_result(messages: &mut Vec<Arc<Message>>, result: ToolResult) {
    match messages.last_mut().map(Arc::make_mut) {
        Some(Message::ToolResults(results)) => results.push(result),
        Some(Message::User(_) | Message::Assistant(_)) | None => {
            messages.push(Arc::new(Message::ToolResults(vec![result])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_conversation_loses_its_beginning_now_and_then_and_not_at_every_turn() {
        let mut reading = Reading::new(true, ToolFaces::Own);
        let mut trimmed = 0;
        for number in 0..3 * CONTEXT_MESSAGES_READ_MAX {
            let before = reading.read.len();
            let said = Message::user(number.to_string());
            reading.read.push(number as u64, said);
            reading.trim();
            trimmed += usize::from(reading.read.len() <= before);
            assert!(
                reading.read.len() <= CONTEXT_MESSAGES_READ_MAX + CONTEXT_MESSAGES_READ_MAX / 4
            );
        }
        assert_eq!(trimmed, 7);
        let newest = (3 * CONTEXT_MESSAGES_READ_MAX - 1).to_string();
        assert_eq!(
            reading.read.messages.last().map(|last| (**last).clone()),
            Some(Message::user(newest))
        );
    }
}
