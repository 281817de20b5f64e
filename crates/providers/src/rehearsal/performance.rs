//! Turns the acts of an answer into a stream of parts, one at a time and as fast as it is read.

use std::time::Duration;

use futures_util::stream::{StreamExt, unfold};
use serde_json::Value;

use super::ScriptPosition;
use super::act::{Act, DeltaSource, WrittenBlock};
use crate::{Block, Message, ModelRequest, ModelUsage, Part, PartStream, ProviderError, StopCause};

/// After so many parts without a wait, other tasks get their turn.
const PARTS_PER_BREATH: u32 = 128;

/// The wait that a retry speaks of; it is not waited for.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Plays the acts.
pub(super) fn perform(
    place: &ScriptPosition<'_>,
    request: &ModelRequest,
    acts: Vec<Act>,
) -> PartStream {
    let performance = Performance {
        acts: acts.into_iter(),
        state: PerformanceState::Nothing,
        blocks: 0,
        calls: 0,
        retries: 0,
        call_id_prefix: format!("call_{}_{}_", place.turn, place.step + 1),
        usage: ModelUsage {
            input_tokens: words_of(request),
            ..ModelUsage::default()
        },
        usage_override: None,
        pace: Duration::ZERO,
        since_breath: 0,
    };
    unfold(performance, Performance::next_part).boxed()
}

struct Performance {
    acts: std::vec::IntoIter<Act>,
    state: PerformanceState,
    /// How many blocks were begun.
    blocks: u32,
    calls: u32,
    retries: u32,
    call_id_prefix: String,
    usage: ModelUsage,
    usage_override: Option<ModelUsage>,
    /// Between two deltas that have no gap of their own.
    pace: Duration,
    since_breath: u32,
}

/// What is under way between two parts.
enum PerformanceState {
    Nothing,
    Writing {
        kind: WrittenBlock,
        source: DeltaSource,
        gap: Duration,
        cursor: u64,
    },
    Calling {
        call_id: String,
        name: String,
        input: Value,
        /// The deltas still to tell, the last one first.
        deltas: Vec<String>,
    },
    Ended,
}

/// What comes next: a part, or something to wait for first.
enum Cue {
    Part(Part),
    PartAfter(Duration, Part),
    Wait(Duration),
    Hold,
    Fail(ProviderError),
    End,
}

impl Performance {
    async fn next_part(mut self) -> Option<(Result<Part, ProviderError>, Performance)> {
        self.breathe().await;
        loop {
            match self.next_cue() {
                Cue::Part(part) => return Some((Ok(part), self)),
                Cue::PartAfter(gap, part) => {
                    tokio::time::sleep(gap).await;
                    return Some((Ok(part), self));
                }
                Cue::Wait(duration) => tokio::time::sleep(duration).await,
                Cue::Hold => std::future::pending().await,
                Cue::Fail(error) => {
                    self.state = PerformanceState::Ended;
                    return Some((Err(error), self));
                }
                Cue::End => return None,
            }
        }
    }

    async fn breathe(&mut self) {
        self.since_breath += 1;
        if self.since_breath >= PARTS_PER_BREATH {
            self.since_breath = 0;
            tokio::task::yield_now().await;
        }
    }

    fn next_cue(&mut self) -> Cue {
        match &mut self.state {
            PerformanceState::Nothing => self.begin(),
            PerformanceState::Writing { .. } => self.write_on(),
            PerformanceState::Calling { .. } => self.call_on(),
            PerformanceState::Ended => Cue::End,
        }
    }

    fn begin(&mut self) -> Cue {
        match self.acts.next() {
            Some(Act::Write { kind, source, gap }) => {
                let gap = gap.max(self.pace);
                self.state = PerformanceState::Writing {
                    kind,
                    source,
                    gap,
                    cursor: 0,
                };
                let block = self.begin_block();
                Cue::Part(start_of(kind, block))
            }
            // One that follows no thought is a thought of its own.
            Some(Act::Part(text)) => {
                let (kind, source) = (WrittenBlock::Summary, DeltaSource::Words(text));
                self.state = PerformanceState::Writing {
                    kind,
                    source,
                    gap: self.pace,
                    cursor: 0,
                };
                let block = self.begin_block();
                Cue::Part(start_of(kind, block))
            }
            Some(Act::Call { name, input }) => self.begin_call(name, input),
            Some(Act::Raw(value)) => Cue::Part(Part::Raw(value)),
            Some(Act::Cite { url, title }) => Cue::Part(Part::Source { url, title }),
            Some(Act::File { media_type, base64 }) => {
                let block = self.begin_block();
                Cue::Part(Part::File {
                    block,
                    media_type,
                    base64,
                    native: None,
                })
            }
            Some(Act::Pause(duration)) => Cue::Wait(duration),
            Some(Act::Pace(pace)) => {
                self.pace = pace;
                self.begin()
            }
            Some(Act::Hold) => Cue::Hold,
            Some(Act::Fail(error) | Act::Full(error)) => Cue::Fail(error),
            Some(Act::Retry(why)) => {
                self.retries += 1;
                let (attempt, delay) = (self.retries, RETRY_DELAY);
                Cue::Part(Part::Retrying {
                    attempt,
                    delay,
                    why,
                })
            }
            Some(Act::Usage(usage)) => {
                self.usage_override = Some(usage);
                self.begin()
            }
            None => {
                self.state = PerformanceState::Ended;
                Cue::Part(self.finish())
            }
        }
    }

    fn begin_block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }

    fn begin_call(&mut self, name: String, input: Value) -> Cue {
        let json = input.to_string();
        self.usage.output_tokens += words_in(&json);
        self.calls += 1;
        let call_id = format!("{}{}", self.call_id_prefix, self.calls);
        let block = self.begin_block();
        let start = Part::ToolInputStart {
            block,
            call_id: call_id.clone(),
            name: name.clone(),
        };
        let (first, second) = json.split_at(json.floor_char_boundary(json.len().div_ceil(2)));
        self.state = PerformanceState::Calling {
            call_id,
            name,
            input,
            deltas: vec![second.to_owned(), first.to_owned()],
        };
        Cue::Part(start)
    }

    fn write_on(&mut self) -> Cue {
        let block = self.blocks - 1;
        let PerformanceState::Writing {
            kind,
            source,
            gap,
            cursor,
        } = &mut self.state
        else {
            return Cue::End;
        };
        let kind = *kind;
        let first = *cursor == 0;
        let Some(text) = source.next(cursor) else {
            // A stream that is held is held in the middle of what it says.
            if matches!(self.acts.as_slice().first(), Some(Act::Hold)) {
                return Cue::Hold;
            }
            if let Some(Act::Part(text)) = self.acts.as_slice().first() {
                (*source, *cursor) = (DeltaSource::Words(text.clone()), 0);
                self.acts.next();
                return Cue::Part(Part::ReasoningPart { block });
            }
            self.state = PerformanceState::Nothing;
            return Cue::Part(end_of(kind, block));
        };
        self.usage.output_tokens += words_in(&text);
        let delta = delta_of(kind, block, text);
        if first || gap.is_zero() {
            Cue::Part(delta)
        } else {
            Cue::PartAfter(*gap, delta)
        }
    }

    fn call_on(&mut self) -> Cue {
        let block = self.blocks - 1;
        if let PerformanceState::Calling { deltas, .. } = &mut self.state
            && let Some(json) = deltas.pop()
        {
            let delta = Part::ToolInputDelta { block, json };
            return match self.pace.is_zero() {
                true => Cue::Part(delta),
                false => Cue::PartAfter(self.pace, delta),
            };
        }
        match std::mem::replace(&mut self.state, PerformanceState::Nothing) {
            PerformanceState::Calling {
                call_id,
                name,
                input,
                ..
            } => Cue::Part(Part::ToolCall {
                block,
                call_id,
                name,
                input,
                native: None,
                problem: None,
            }),
            PerformanceState::Nothing
            | PerformanceState::Writing { .. }
            | PerformanceState::Ended => Cue::End,
        }
    }

    fn finish(&self) -> Part {
        Part::Finish {
            stop: if self.calls > 0 {
                StopCause::ToolUse
            } else {
                StopCause::Stop
            },
            usage: self.usage_override.unwrap_or(self.usage),
        }
    }
}

fn start_of(kind: WrittenBlock, block: u32) -> Part {
    match kind {
        WrittenBlock::Text => Part::TextStart { block },
        WrittenBlock::Reasoning => Part::ReasoningStart {
            block,
            summary: false,
        },
        WrittenBlock::Summary => Part::ReasoningStart {
            block,
            summary: true,
        },
    }
}

fn delta_of(kind: WrittenBlock, block: u32, text: String) -> Part {
    match kind {
        WrittenBlock::Text => Part::TextDelta { block, text },
        WrittenBlock::Reasoning | WrittenBlock::Summary => Part::ReasoningDelta { block, text },
    }
}

fn end_of(kind: WrittenBlock, block: u32) -> Part {
    match kind {
        WrittenBlock::Text => Part::TextEnd {
            block,
            native: None,
        },
        WrittenBlock::Reasoning | WrittenBlock::Summary => Part::ReasoningEnd {
            block,
            native: None,
        },
    }
}

fn words_in(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// The rehearsal model's tokens are the words of the conversation: easy to check by hand.
fn words_of(request: &ModelRequest) -> u64 {
    let of_message = |message: &Message| match message {
        // What the server says depends on the machine; a rehearsal is the same everywhere.
        Message::User(said) if said.is_note => 0,
        Message::User(said) => words_in(&said.text),
        Message::Assistant(blocks) => blocks.iter().map(words_of_block).sum(),
        Message::ToolResults(results) => {
            results.iter().map(|result| words_in(&result.text())).sum()
        }
    };
    let messages = request.messages.iter();
    messages.map(|message| of_message(message)).sum()
}

fn words_of_block(block: &Block) -> u64 {
    match block {
        Block::Text { text, .. } | Block::Reasoning { text, .. } => words_in(text),
        Block::ToolCall { input, .. } => words_in(&input.to_string()),
        Block::File { .. } => 1,
    }
}
