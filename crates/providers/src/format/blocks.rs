//! Writes the blocks of an answer one after the other, whatever order their pieces come in: the
//! first is told as it grows, the others are held until it has ended.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use vocabulary::{Native, PART_BREAK};

use super::arguments;
use crate::{ErrorKind, FREE_TEXT_FIELD, ModelUsage, Part, ProviderError, StopCause};

/// The most one answer may hold, all blocks together.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most blocks and raw values one answer may have.
pub const BLOCKS_MAX: u64 = 10_000;

#[derive(Clone, Debug)]
pub(super) enum BlockKind {
    Text,
    Reasoning {
        summary: bool,
    },
    Call {
        call_id: String,
        name: String,
        input: CallInput,
    },
}

/// What the pieces of a call's input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallInput {
    /// The JSON of an object.
    Arguments,
    /// The text itself. It is told as the JSON of an object all the same.
    FreeText,
}

/// Names a block from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockKey(u64);

#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The first is being told.
    lanes: VecDeque<BlockLane>,
    lanes_made: u64,
    blocks_told: u32,
    bytes: usize,
    /// The addresses that were told as sources.
    cited: Vec<String>,
    called: bool,
    finished: bool,
}

#[derive(Debug)]
struct BlockLane {
    key: BlockKey,
    content: LaneContent,
    ended: bool,
}

#[derive(Debug)]
enum LaneContent {
    Block(BlockState),
    File(MadeFile),
    Source { url: String, title: Option<String> },
    Raw(Value),
}

/// A file that the model made.
#[derive(Debug)]
pub(super) struct MadeFile {
    pub media_type: String,
    pub base64: Arc<str>,
    pub native: Option<Box<Native>>,
}

#[derive(Debug)]
struct BlockState {
    kind: BlockKind,
    /// Its number, once its start was told.
    number: Option<u32>,
    text: String,
    told_bytes: usize,
    /// Where parts of a thought begin that were not told yet.
    breaks: VecDeque<usize>,
    native: Option<Box<Native>>,
    /// The arguments as the provider said them at last, where they are not what it streamed.
    arguments: Option<String>,
    /// The answer ended before it.
    cut: bool,
}

impl Blocks {
    /// A text block is told when its first text comes, so an empty one never is.
    pub fn start(
        &mut self,
        kind: BlockKind,
        out: &mut Vec<Part>,
    ) -> Result<BlockKey, ProviderError> {
        self.called |= matches!(kind, BlockKind::Call { .. });
        let block = BlockState {
            kind,
            number: None,
            text: String::new(),
            told_bytes: 0,
            breaks: VecDeque::new(),
            native: None,
            arguments: None,
            cut: false,
        };
        self.enqueue(LaneContent::Block(block), out)
    }

    /// A block that has ended does not grow.
    pub fn grow(
        &mut self,
        key: BlockKey,
        text: &str,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        self.count(text.len())?;
        if let Some(block) = self.open(key) {
            block.text.push_str(text);
            self.tell(out);
        }
        Ok(())
    }

    /// The next part of a thought, where there was one before.
    pub fn part(&mut self, key: BlockKey, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.count(PART_BREAK.len())?;
        let has_part = |block: &&mut BlockState| {
            matches!(block.kind, BlockKind::Reasoning { .. }) && !block.text.is_empty()
        };
        if let Some(block) = self.open(key).filter(has_part) {
            block.text.push_str(PART_BREAK);
            block.breaks.push_back(block.text.len());
            self.tell(out);
        }
        Ok(())
    }

    /// The block as a whole, told after its pieces: what they lacked is added.
    pub fn settle(
        &mut self,
        key: BlockKey,
        whole: &str,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let Some(block) = self.open(key) else {
            return Ok(());
        };
        if let Some(rest) = whole.strip_prefix(block.text.as_str()) {
            return self.grow(key, rest, out);
        }
        if !matches!(block.kind, BlockKind::Call { .. }) {
            return Ok(());
        }
        block.arguments = Some(whole.to_owned());
        self.count(whole.len())
    }

    pub fn end(&mut self, key: BlockKey, native: Option<Box<Native>>, out: &mut Vec<Part>) {
        let Some(lane) = self.lane(key) else { return };
        lane.ended = true;
        if let LaneContent::Block(block) = &mut lane.content {
            block.native = native;
        }
        self.tell(out);
    }

    /// What the answer rests on, told after the block that is being written; an address once, and
    /// only one that people can follow.
    pub fn cite(
        &mut self,
        url: &str,
        title: Option<&str>,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let is_link = url.starts_with("https://") || url.starts_with("http://");
        if !is_link || self.cited.iter().any(|known| known == url) {
            return Ok(());
        }
        let title = title.map(str::trim).filter(|title| !title.is_empty());
        self.count(url.len() + title.map_or(0, str::len))?;
        self.cited.push(url.to_owned());
        let source = LaneContent::Source {
            url: url.to_owned(),
            title: title.map(str::to_owned),
        };
        self.enqueue(source, out)?;
        Ok(())
    }

    /// A file as a whole, told between blocks.
    pub fn file(&mut self, file: MadeFile, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.count(file.base64.len())?;
        self.enqueue(LaneContent::File(file), out)?;
        Ok(())
    }

    /// Something without a meaning for us: told between blocks, never within one.
    pub fn raw(&mut self, value: Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.count(value.to_string().len())?;
        self.enqueue(LaneContent::Raw(value), out)?;
        Ok(())
    }

    /// What an open block holds so far.
    pub fn text(&self, key: BlockKey) -> Option<&str> {
        let lane = self.lanes.iter().find(|lane| lane.key == key)?;
        match &lane.content {
            LaneContent::Block(block) if !lane.ended => Some(&block.text),
            LaneContent::Block(_)
            | LaneContent::File(_)
            | LaneContent::Source { .. }
            | LaneContent::Raw(_) => None,
        }
    }

    /// Whether something is held back.
    pub fn holding(&self) -> bool {
        self.lanes.len() > 1
    }

    /// Ends what is open.
    pub fn end_all(&mut self, out: &mut Vec<Part>) {
        for lane in &mut self.lanes {
            if let LaneContent::Block(block) = &mut lane.content {
                block.cut = !lane.ended;
            }
            lane.ended = true;
        }
        self.tell(out);
    }

    pub fn finish(&mut self, stop: Option<StopCause>, usage: ModelUsage, out: &mut Vec<Part>) {
        self.end_all(out);
        // That there are calls is seen by the calls: what providers say of it differs.
        let stop = match stop {
            Some(StopCause::Length) => StopCause::Length,
            Some(StopCause::Stop | StopCause::ToolUse) | None if self.called => StopCause::ToolUse,
            Some(StopCause::Stop | StopCause::ToolUse) | None => StopCause::Stop,
        };
        self.finished = true;
        out.push(Part::Finish { stop, usage });
    }

    pub fn finished(&self) -> bool {
        self.finished
    }

    /// Counts what the answer holds, told or not.
    pub fn count(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > ANSWER_BYTES_MAX {
            return Err(too_much(format!("{ANSWER_BYTES_MAX} bytes")));
        }
        Ok(())
    }

    fn enqueue(
        &mut self,
        content: LaneContent,
        out: &mut Vec<Part>,
    ) -> Result<BlockKey, ProviderError> {
        if self.lanes_made == BLOCKS_MAX {
            return Err(too_much(format!("{BLOCKS_MAX} blocks")));
        }
        let key = BlockKey(self.lanes_made);
        self.lanes_made += 1;
        self.lanes.push_back(BlockLane {
            key,
            ended: !matches!(content, LaneContent::Block(_)),
            content,
        });
        self.tell(out);
        Ok(key)
    }

    fn lane(&mut self, key: BlockKey) -> Option<&mut BlockLane> {
        self.lanes
            .iter_mut()
            .find(|lane| lane.key == key && !lane.ended)
    }

    fn open(&mut self, key: BlockKey) -> Option<&mut BlockState> {
        match &mut self.lane(key)?.content {
            LaneContent::Block(block) => Some(block),
            LaneContent::File(_) | LaneContent::Source { .. } | LaneContent::Raw(_) => None,
        }
    }

    /// Tells what can be told: of the first lane what is new, and of the next when it has ended.
    fn tell(&mut self, out: &mut Vec<Part>) {
        while let Some(mut lane) = self.lanes.pop_front() {
            if let LaneContent::Block(block) = &mut lane.content {
                block.tell_growth(&mut self.blocks_told, out);
            }
            if !lane.ended {
                self.lanes.push_front(lane);
                return;
            }
            match lane.content {
                LaneContent::Block(block) => block.tell_end(out),
                LaneContent::File(file) => {
                    let block = self.blocks_told;
                    self.blocks_told += 1;
                    out.push(Part::File {
                        block,
                        media_type: file.media_type,
                        base64: file.base64,
                        native: file.native,
                    });
                }
                LaneContent::Source { url, title } => out.push(Part::Source { url, title }),
                LaneContent::Raw(value) => out.push(Part::Raw(value)),
            }
        }
    }
}

impl BlockState {
    fn tell_growth(&mut self, blocks_told: &mut u32, out: &mut Vec<Part>) {
        if matches!(self.kind, BlockKind::Text) && self.text.is_empty() {
            return;
        }
        let block = match self.number {
            Some(number) => number,
            None => {
                let number = *blocks_told;
                *blocks_told += 1;
                self.number = Some(number);
                out.push(self.kind.start(number));
                number
            }
        };
        while let Some(start) = self.breaks.pop_front() {
            let growth = &self.text[self.told_bytes..start - PART_BREAK.len()];
            if !growth.is_empty() {
                out.push(self.kind.delta(block, growth.to_owned()));
            }
            out.push(Part::ReasoningPart { block });
            self.told_bytes = start;
        }
        let growth = &self.text[self.told_bytes..];
        if !growth.is_empty() {
            let growth = match (self.kind.is_free_text(), self.told_bytes) {
                (false, _) => growth.to_owned(),
                (true, 0) => format!("{{\"{FREE_TEXT_FIELD}\":\"{}", arguments::escaped(growth)),
                (true, _) => arguments::escaped(growth),
            };
            out.push(self.kind.delta(block, growth));
            self.told_bytes = self.text.len();
        }
    }

    fn tell_end(self, out: &mut Vec<Part>) {
        let Some(block) = self.number else { return };
        if self.kind.is_free_text() && self.told_bytes > 0 {
            out.push(self.kind.delta(block, "\"}".to_owned()));
        }
        let native = self.native;
        out.push(match self.kind {
            BlockKind::Text => Part::TextEnd { block, native },
            BlockKind::Reasoning { .. } => Part::ReasoningEnd { block, native },
            BlockKind::Call {
                call_id,
                name,
                input,
            } => {
                let written = self.arguments.as_ref().unwrap_or(&self.text);
                let (input, problem) = match input {
                    CallInput::Arguments => arguments::read(written),
                    CallInput::FreeText => arguments::free_text(written, self.cut),
                };
                Part::ToolCall {
                    block,
                    call_id,
                    name,
                    input,
                    native,
                    problem,
                }
            }
        });
    }
}

impl BlockKind {
    fn is_free_text(&self) -> bool {
        let input = CallInput::FreeText;
        matches!(self, BlockKind::Call { input: written, .. } if *written == input)
    }

    fn start(&self, block: u32) -> Part {
        match self {
            BlockKind::Text => Part::TextStart { block },
            BlockKind::Reasoning { summary } => Part::ReasoningStart {
                block,
                summary: *summary,
            },
            BlockKind::Call { call_id, name, .. } => Part::ToolInputStart {
                block,
                call_id: call_id.clone(),
                name: name.clone(),
            },
        }
    }

    fn delta(&self, block: u32, text: String) -> Part {
        match self {
            BlockKind::Text => Part::TextDelta { block, text },
            BlockKind::Reasoning { .. } => Part::ReasoningDelta { block, text },
            BlockKind::Call { .. } => Part::ToolInputDelta { block, json: text },
        }
    }
}

fn too_much(limit: String) -> ProviderError {
    let message = format!("the answer is longer than {limit}");
    ProviderError::new(ErrorKind::Malformed, message)
}
