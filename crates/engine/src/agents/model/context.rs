//! The model's context: the conversation so far, read from the log when a turn starts.

use std::sync::Arc;

use providers::{Block, Message, ResultBlock, ToolResult, UserMessage};
use tools::ToolFaces;
use vocabulary::{
    ContentBlock, Event, Fact, Image, Item, ItemFact, ItemId, ModelRef, Refusal, StepFact,
    StreamTag, ToolCall, ToolEvent, ToolFact, ToolOutcome, ToolOutput, TurnFact, TurnId,
    TurnOutcome, UserInput, Why,
};

use super::endings;
use crate::codec;
use crate::limits::{CONTEXT_MESSAGES_MAX, CONTEXT_RESULT_BYTES_MAX};
use crate::turn::{Turn, offer};

const MESSAGES_KEPT: usize = CONTEXT_MESSAGES_MAX as usize;

/// A conversation as the log has it.
pub struct Loaded {
    pub messages: Vec<Arc<Message>>,
    /// How many of the messages the model had read or written when it last counted its tokens.
    pub counted: usize,
    /// Said to the running turn while its newest step was under way: they come after the results
    /// of that step.
    pub held: Vec<UserMessage>,
    /// What the running turn was told so far.
    pub told: TurnInputs,
    /// Everything that was said to running turns and is in here.
    pub steered: Vec<ItemId>,
    pub before: LastEnding,
}

/// How the turn before the running one ended.
#[derive(Clone, Default)]
pub struct LastEnding {
    pub outcome: Option<TurnOutcome>,
    /// The calls that were cut short.
    pub interrupted: Vec<String>,
}

/// What the user said to one turn; it outlives a summary of the conversation.
#[derive(Clone, Default)]
pub struct TurnInputs {
    /// The pictures of its input; the text is in the summary.
    images: Vec<providers::MessageImage>,
    /// With the step after which each was heard.
    steers: Vec<(u32, UserMessage)>,
}

impl TurnInputs {
    pub fn steer(&mut self, after_step: u32, said: UserMessage) {
        self.steers.push((after_step, said));
    }

    /// The conversation at this step once a summary stands for it.
    pub fn after(&self, summary: String, step: u32) -> Vec<Arc<Message>> {
        let first = UserMessage {
            text: summary,
            images: self.images.clone(),
            is_note: false,
        };
        let heard = self.steers.iter().filter(|(after, _)| *after < step);
        std::iter::once(first)
            .chain(heard.map(|(_, said)| said.clone()))
            .map(|said| Arc::new(Message::User(said)))
            .collect()
    }
}

/// A conversation as far as it was read for a turn, so that the next one need not read it again.
pub struct ReadConversation {
    from_ordinal: u64,
    next_ordinal: u64,
    reading: Reading,
}

/// Reads the conversation, the running turn's input last.
pub async fn load(turn: &Turn) -> Result<Loaded, Refusal> {
    let (sees, faces) = (sees(turn), offer::faces(&turn.model));
    let newest = turn.history.message_count;
    let oldest = newest.saturating_sub(CONTEXT_MESSAGES_MAX);
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
        read.reading.add(codec::decode(stored)?);
        read.next_ordinal = row.ordinal + 1;
    }
    read.reading.trim();
    let loaded = read.reading.clone().finish();
    *turn.memory.lock() = Some(read);
    Ok(loaded)
}

/// Whether pictures can be shown to the turn's model: not where it is known to be blind.
pub fn sees(turn: &Turn) -> bool {
    model_sees(turn, &turn.model)
}

pub fn model_sees(turn: &Turn, model: &ModelRef) -> bool {
    let known = turn.shared.models.model(&model.provider, &model.model);
    known.and_then(|known| known.vision) != Some(false)
}

/// A conversation as it is read back.
#[derive(Clone)]
struct Reading {
    messages: Vec<Arc<Message>>,
    /// Said while a step was under way: the model reads it after the results of that step.
    held: Vec<(u32, UserMessage)>,
    told: TurnInputs,
    steered: Vec<ItemId>,
    /// The step whose entries are being read, and how many messages there were before it.
    step: Option<(TurnId, u32)>,
    before_step: usize,
    /// The answer of this step broke off: the next one replaces it, if there is one.
    broken_off: Option<(TurnId, u32)>,
    /// Of the turn that is being read, and of the one before it.
    ending: LastEnding,
    before: LastEnding,
    sees: bool,
    /// How the model at hand knows the tools that were called.
    faces: ToolFaces,
}

impl Reading {
    fn new(sees: bool, faces: ToolFaces) -> Self {
        Self {
            messages: Vec::new(),
            held: Vec::new(),
            told: TurnInputs::default(),
            steered: Vec::new(),
            step: None,
            before_step: 0,
            broken_off: None,
            ending: LastEnding::default(),
            before: LastEnding::default(),
            sees,
            faces,
        }
    }

    /// Lets go of the oldest messages when there are many too many: with every turn one less at the
    /// beginning, no request would begin with the one before it.
    fn trim(&mut self) {
        let extra = self.messages.len().saturating_sub(MESSAGES_KEPT);
        if extra > MESSAGES_KEPT / 4 {
            self.messages.drain(..extra);
            self.before_step = self.before_step.saturating_sub(extra);
        }
    }

    /// Adds one entry of the transcript.
    fn add(&mut self, event: Event) {
        match event.fact {
            Fact::Turn(what) => self.add_turn(what),
            Fact::Step {
                tag,
                what: StepFact::Compacted { summary, .. },
            } => {
                self.messages = self.told.after(summary, tag.step);
                self.held.retain(|(after, _)| *after >= tag.step);
                self.step = None;
            }
            Fact::Step {
                tag,
                what: StepFact::Informed { text },
            } => {
                self.drop_broken_off(&tag.turn);
                self.hear_before(tag.step);
                inform(&mut self.messages, tag.step, text);
            }
            Fact::Step {
                tag,
                what: StepFact::Delayed { discards: true, .. },
            } => self.broken_off = Some((tag.turn, tag.step)),
            Fact::Item {
                tag,
                what: ItemFact::Finished { body, .. },
                ..
            } => {
                self.enter(&tag);
                add_block(&mut self.messages, written(body));
            }
            Fact::Tool(tool) if tool.call.agent.is_none() => self.add_call(tool),
            Fact::Thread(_)
            | Fact::Step { .. }
            | Fact::Item { .. }
            | Fact::Tool(_)
            | Fact::Ask { .. }
            | Fact::Files(_)
            | Fact::Note(_) => {}
        }
    }

    fn add_turn(&mut self, what: TurnFact) {
        match what {
            TurnFact::Started { input, .. } => {
                self.release();
                self.before = std::mem::take(&mut self.ending);
                let said = user_message(input, self.sees);
                self.told = TurnInputs {
                    images: said.images.clone(),
                    steers: Vec::new(),
                };
                self.messages.push(Arc::new(Message::User(said)));
            }
            TurnFact::Steered {
                input, after_step, ..
            } => {
                self.steered.push(input.item.clone());
                let said = user_message(input, self.sees);
                self.told.steer(after_step, said.clone());
                self.held.push((after_step, said));
            }
            TurnFact::Finished { outcome, .. } => {
                self.ending.outcome = Some(outcome);
                self.release();
            }
            TurnFact::PlanChanged { .. } | TurnFact::UsageAdded { .. } => {}
        }
    }

    fn add_call(&mut self, tool: ToolEvent) {
        let ToolEvent { tag, call, what } = tool;
        match what {
            ToolFact::Planned { .. } => {
                self.enter(&tag);
                let written = self.faces.written(&call.name, &call.input);
                let call = Arc::unwrap_or_clone(call);
                add_block(
                    &mut self.messages,
                    Block::ToolCall {
                        call_id: call.call_id,
                        name: written.name,
                        input: written.input,
                        native: call.native,
                    },
                );
            }
            ToolFact::Finished { outcome } => {
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
                add_result(&mut self.messages, result);
                in_order_of_calls(&mut self.messages);
            }
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Exited { .. } => {}
        }
    }

    /// A call in a few words: the log has its input where it was planned.
    fn in_words(&self, call: &ToolCall) -> String {
        const CHARS_MAX: usize = 120;
        let blocks = self
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
            Block::ToolCall { .. } | Block::Text { .. } | Block::Reasoning { .. } => None,
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
    fn enter(&mut self, tag: &StreamTag) {
        let step = Some((tag.turn.clone(), tag.step));
        self.drop_broken_off(&tag.turn);
        if self.step != step {
            self.hear_before(tag.step);
            self.step = step;
            self.before_step = self.messages.len();
            // An answer of its own, even where the last message was an answer too.
            self.messages.push(Arc::new(Message::Assistant(Vec::new())));
        }
    }

    /// What was said before a step listened, even where its answer had nothing in it.
    fn hear_before(&mut self, step: u32) {
        let heard = self
            .held
            .extract_if(.., |(after, _)| *after < step)
            .map(|(_, said)| Arc::new(Message::User(said)));
        self.messages.extend(heard);
    }

    /// Another answer came, be it one with nothing in it.
    fn drop_broken_off(&mut self, turn: &TurnId) {
        let broken_off = self.broken_off.take();
        if broken_off.as_ref().is_some_and(|(of, _)| of == turn) && self.step == broken_off {
            self.messages.truncate(self.before_step);
            self.step = None;
        }
    }

    /// A turn is over: what it has not heard is read by the next one.
    fn release(&mut self) {
        let held = self
            .held
            .drain(..)
            .map(|(_, said)| Arc::new(Message::User(said)));
        self.messages.extend(held);
    }

    fn finish(mut self) -> Loaded {
        // A window that starts in the middle must not start with results nobody asked for.
        let is_user = |message: &Arc<Message>| matches!(**message, Message::User(_));
        let start = self.messages.iter().position(is_user).unwrap_or(0);
        self.messages.drain(..start);
        // What counted for nothing in its turn counts for nothing later: thoughts alone.
        self.messages.retain(|message| match &**message {
            Message::Assistant(blocks) => endings::says_something(blocks),
            Message::User(_) | Message::ToolResults(_) => true,
        });
        let is_answer = |message: &Arc<Message>| matches!(**message, Message::Assistant(_));
        let last_answer = self.messages.iter().rposition(is_answer);
        Loaded {
            counted: last_answer.map_or(0, |last| last + 1),
            messages: self.messages,
            held: self.held.into_iter().map(|(_, said)| said).collect(),
            told: self.told,
            steered: self.steered,
            before: self.before,
        }
    }
}

fn written(body: Item) -> Block {
    match body {
        Item::AgentMessage { text, native, .. } => Block::Text { text, native },
        Item::Reasoning { text, native, .. } => Block::Reasoning { text, native },
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

/// What the user said, as the model reads it.
pub fn user_message(input: UserInput, sees: bool) -> UserMessage {
    let mut said = UserMessage {
        text: input.text,
        ..UserMessage::default()
    };
    match sees {
        true => said.images = input.images.into_iter().filter_map(image).collect(),
        false if input.images.is_empty() => {}
        false => {
            let note = "[a picture came with this message; this model cannot see pictures]";
            said.text = format!("{}\n\n{note}", said.text);
        }
    }
    said
}

fn image(image: Image) -> Option<providers::MessageImage> {
    match image {
        Image::Data { media_type, base64 } => {
            Some(providers::MessageImage::Data { media_type, base64 })
        }
        Image::Url(url) => Some(providers::MessageImage::Url(url)),
        // Read before it is accepted; a log has none.
        Image::Path(_) => None,
    }
}

/// Adds what the server tells the model at this step.
pub fn inform(messages: &mut Vec<Arc<Message>>, step: u32, text: String) {
    let told = Arc::new(Message::note(text));
    match (step, messages.last().map(AsRef::as_ref)) {
        (0, Some(Message::User(_))) => messages.insert(messages.len() - 1, told),
        (_, _) => messages.push(told),
    }
}

pub fn add_block(messages: &mut Vec<Arc<Message>>, block: Block) {
    match messages.last_mut().map(Arc::make_mut) {
        Some(Message::Assistant(blocks)) => blocks.push(block),
        Some(Message::User(_) | Message::ToolResults(_)) | None => {
            messages.push(Arc::new(Message::Assistant(vec![block])));
        }
    }
}

pub fn add_result(messages: &mut Vec<Arc<Message>>, result: ToolResult) {
    match messages.last_mut().map(Arc::make_mut) {
        Some(Message::ToolResults(results)) => results.push(result),
        Some(Message::User(_) | Message::Assistant(_)) | None => {
            messages.push(Arc::new(Message::ToolResults(vec![result])));
        }
    }
}

pub fn is_error(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Succeeded(_) | ToolOutcome::Denied(_) => false,
        ToolOutcome::Failed { .. } | ToolOutcome::Interrupted(_) | ToolOutcome::NotRun { .. } => {
            true
        }
    }
}

/// What the model is shown of a result.
pub fn shown_to_model(outcome: &ToolOutcome, sees: bool) -> Vec<ResultBlock> {
    match outcome {
        ToolOutcome::Succeeded(output)
        | ToolOutcome::Denied(output)
        | ToolOutcome::Interrupted(output) => shown_output(output, sees),
        ToolOutcome::Failed { error } => vec![text_block(error.clone())],
        ToolOutcome::NotRun { why } => vec![text_block(why.clone())],
    }
}

fn shown_output(output: &ToolOutput, sees: bool) -> Vec<ResultBlock> {
    let text = match output {
        ToolOutput::Command {
            model_text: Some(text),
            ..
        } => text.clone(),
        // Of an older log.
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            duration_ms: _,
            model_text: None,
        } => serde_json::json!({ "stdout": stdout, "stderr": stderr, "exitCode": exit_code })
            .to_string(),
        ToolOutput::Content(blocks) => {
            return blocks
                .iter()
                .map(|block| shown_block(block, sees))
                .collect();
        }
        ToolOutput::Text(_) | ToolOutput::Files { .. } | ToolOutput::Json(_) => {
            output.words().into_owned()
        }
    };
    vec![text_block(text)]
}

fn shown_block(block: &ContentBlock, sees: bool) -> ResultBlock {
    match block {
        ContentBlock::Image { media_type, base64 } if sees => {
            ResultBlock::Image(providers::MessageImage::Data {
                media_type: media_type.clone(),
                base64: Arc::clone(base64),
            })
        }
        ContentBlock::Image { .. } => {
            ResultBlock::Text("[a picture; this model cannot see pictures]".to_owned())
        }
        ContentBlock::Resource { uri, .. } => text_block(format!("{uri}:\n{}", block.words())),
        ContentBlock::Text(_) | ContentBlock::Structured(_) => {
            text_block(block.words().into_owned())
        }
    }
}

fn text_block(mut text: String) -> ResultBlock {
    if text.len() > CONTEXT_RESULT_BYTES_MAX {
        let end = text.floor_char_boundary(CONTEXT_RESULT_BYTES_MAX);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{left_out} more bytes are left out here]"));
    }
    ResultBlock::Text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_an_older_log_is_read_as_it_was() {
        let older = serde_json::json!({
            "command": {"stdout": "a\n", "stderr": "", "exit_code": 3, "duration_ms": 5}
        });
        let older: ToolOutput = serde_json::from_value(older).expect("an output");
        let [ResultBlock::Text(shown)] = &shown_output(&older, true)[..] else {
            panic!("not one text")
        };
        let shown: serde_json::Value = serde_json::from_str(shown).expect("JSON");
        let expected = serde_json::json!({"stdout": "a\n", "stderr": "", "exitCode": 3});
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_long_conversation_loses_its_beginning_now_and_then_and_not_at_every_turn() {
        let mut reading = Reading::new(true, ToolFaces::Own);
        let mut trimmed = 0;
        for number in 0..3 * MESSAGES_KEPT {
            let before = reading.messages.len();
            let said = Message::user(number.to_string());
            reading.messages.push(Arc::new(said));
            reading.trim();
            trimmed += usize::from(reading.messages.len() <= before);
            assert!(reading.messages.len() <= MESSAGES_KEPT + MESSAGES_KEPT / 4);
        }
        assert_eq!(trimmed, 7);
        let newest = (3 * MESSAGES_KEPT - 1).to_string();
        assert_eq!(
            reading.messages.last().map(|last| (**last).clone()),
            Some(Message::user(newest))
        );
    }
}
