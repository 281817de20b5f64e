//! Anthropic's Messages: how its stream is read.

use serde_json::{Value, json};

use crate::format::blocks::{BlockKey, BlockKind, Blocks, CallInput};
use crate::format::{Decode, SseEvent, count, cut_off, failure, native, parse, text};
use crate::{ErrorKind, ModelUsage, Part, ProviderError, StopCause};

pub(in crate::format) struct MessagesDecoder {
    origin: String,
    seed: String,
    blocks: Blocks,
    open: Vec<OpenContentBlock>,
    calls: usize,
    stop: Option<StopCause>,
    counts: Counts,
}

/// A block between its start and its stop.
struct OpenContentBlock {
    index: Option<u64>,
    key: BlockKey,
    kind: OpenKind,
}

enum OpenKind {
    Text,
    Thinking {
        signature: String,
    },
    /// Its content is told at once and comes back as it is.
    Redacted(Value),
    /// The whole input, where it came with the start.
    Call {
        input: Option<Value>,
    },
}

/// The provider's counts, of which any may come again.
#[derive(Default)]
struct Counts {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    thinking: u64,
}

impl MessagesDecoder {
    pub fn new(origin: String, seed: &str) -> Self {
        Self {
            origin,
            seed: seed.to_owned(),
            blocks: Blocks::default(),
            open: Vec::new(),
            calls: 0,
            stop: None,
            counts: Counts::default(),
        }
    }

    fn event(
        &mut self,
        kind: &str,
        value: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        match kind {
            "ping" => Ok(()),
            "message_start" => {
                self.counts.update(&value["message"]["usage"]);
                Ok(())
            }
            "content_block_start" => self.start(value, out),
            "content_block_delta" => self.delta(value, out),
            "content_block_stop" => {
                if let Some(at) = self.find(value) {
                    self.end(at, out)?;
                }
                Ok(())
            }
            "message_delta" => {
                self.counts.update(&value["usage"]);
                self.stopped(&value["delta"])
            }
            "message_stop" => self.finish(out),
            "message" => self.whole(value, out),
            "error" => Err(failure::told(value)),
            _ => self.blocks.raw(value.clone(), out),
        }
    }

    /// The answer of a server that does not stream.
    fn whole(&mut self, message: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.counts.update(&message["usage"]);
        let blocks = message["content"].as_array().into_iter().flatten();
        for (index, block) in blocks.enumerate() {
            let start = json!({ "index": index, "content_block": block });
            self.start(&start, out)?;
            if let Some(at) = self.find(&start) {
                self.end(at, out)?;
            }
        }
        self.stopped(message)?;
        self.finish(out)
    }

    fn finish(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        while !self.open.is_empty() {
            self.end(0, out)?;
        }
        self.blocks.finish(self.stop, self.counts.usage(), out);
        Ok(())
    }

    fn start(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let block = &value["content_block"];
        let thinking = BlockKind::Reasoning { summary: false };
        let (shown, kind) = match block["type"].as_str() {
            Some("text") => (BlockKind::Text, OpenKind::Text),
            Some("thinking") => {
                let signature = block["signature"].as_str().unwrap_or("").to_owned();
                (thinking, OpenKind::Thinking { signature })
            }
            Some("redacted_thinking") => (thinking, OpenKind::Redacted(block.clone())),
            Some("tool_use") => {
                let input = block.get("input").filter(|input| says_something(input));
                let input = input.cloned();
                (self.call(block), OpenKind::Call { input })
            }
            Some("web_search_tool_result") => return self.found(value, out),
            _ => return self.blocks.raw(value.clone(), out),
        };
        let key = self.blocks.start(shown, out)?;
        let index = value["index"].as_u64();
        self.open.push(OpenContentBlock { index, key, kind });
        let said = text(block, "text").or_else(|| text(block, "thinking"));
        self.blocks.grow(key, said.unwrap_or(""), out)?;
        for citation in block["citations"].as_array().into_iter().flatten() {
            self.cite(citation, out)?;
        }
        Ok(())
    }

    /// What the service's own search found; where it found nothing it says why.
    fn found(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let Some(results) = value["content_block"]["content"].as_array() else {
            return self.blocks.raw(value.clone(), out);
        };
        for result in results {
            self.cite(result, out)?;
        }
        Ok(())
    }

    fn cite(&mut self, source: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let url = source["url"].as_str().unwrap_or("");
        self.blocks.cite(url, source["title"].as_str(), out)
    }

    fn call(&mut self, block: &Value) -> BlockKind {
        let made = format!("{}_{}", self.seed, self.calls);
        self.calls += 1;
        BlockKind::Call {
            call_id: text(block, "id").map_or(made, str::to_owned),
            name: block["name"].as_str().unwrap_or("").to_owned(),
            input: CallInput::Arguments,
        }
    }

    fn delta(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let delta = &value["delta"];
        let Some(at) = self.find(value) else {
            return self.unannounced(value, out);
        };
        let open = &mut self.open[at];
        let piece = match (delta["type"].as_str(), &mut open.kind) {
            (Some("text_delta"), OpenKind::Text) => text(delta, "text"),
            (Some("thinking_delta"), OpenKind::Thinking { .. }) => text(delta, "thinking"),
            (Some("signature_delta"), OpenKind::Thinking { signature }) => {
                let piece = delta["signature"].as_str().unwrap_or("");
                signature.push_str(piece);
                return self.blocks.count(piece.len());
            }
            (Some("input_json_delta"), OpenKind::Call { .. }) => text(delta, "partial_json"),
            // One that names a place in a document has no address.
            (Some("citations_delta"), OpenKind::Text) if delta["citation"]["url"].is_string() => {
                return self.cite(&delta["citation"], out);
            }
            _ => return self.blocks.raw(value.clone(), out),
        };
        self.blocks.grow(open.key, piece.unwrap_or(""), out)
    }

    /// A piece of a block whose start never came: a text needs none.
    fn unannounced(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if value["delta"]["type"] != "text_delta" {
            return self.blocks.raw(value.clone(), out);
        }
        let key = self.blocks.start(BlockKind::Text, out)?;
        self.open.push(OpenContentBlock {
            index: value["index"].as_u64(),
            key,
            kind: OpenKind::Text,
        });
        self.blocks
            .grow(key, text(&value["delta"], "text").unwrap_or(""), out)
    }

    fn end(&mut self, at: usize, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let OpenContentBlock { key, kind, .. } = self.open.remove(at);
        let native = match kind {
            OpenKind::Text => None,
            OpenKind::Redacted(block) => Some(native(&self.origin, block)),
            // Without its signature a thought is not taken back.
            OpenKind::Thinking { signature } if signature.is_empty() => None,
            OpenKind::Thinking { signature } => {
                let thinking = self.blocks.text(key).unwrap_or("");
                let value =
                    json!({ "type": "thinking", "thinking": thinking, "signature": signature });
                Some(native(&self.origin, value))
            }
            OpenKind::Call { input } => {
                let streamed = self.blocks.text(key).is_some_and(|text| !text.is_empty());
                if let (Some(input), false) = (input, streamed) {
                    self.blocks.grow(key, &input.to_string(), out)?;
                }
                None
            }
        };
        self.blocks.end(key, native, out);
        Ok(())
    }

    /// The block an event is about: by its number, else the last that is open.
    fn find(&self, value: &Value) -> Option<usize> {
        match value["index"].as_u64() {
            Some(index) => self.open.iter().rposition(|open| open.index == Some(index)),
            None => self.open.len().checked_sub(1),
        }
    }

    fn stopped(&mut self, delta: &Value) -> Result<(), ProviderError> {
        let stop = match delta["stop_reason"].as_str() {
            Some("refusal" | "sensitive") => {
                let words = delta.pointer("/stop_details/explanation");
                let words = words.and_then(Value::as_str).unwrap_or("");
                return Err(failure::refused(words));
            }
            // Not a matter of this answer's length: a shorter one has no more room.
            Some("model_context_window_exceeded") => {
                let message = "the conversation filled the model's context before the answer ended";
                return Err(ProviderError::new(ErrorKind::ContextTooLong, message));
            }
            // What was paused goes on like what was cut: with another request.
            Some("max_tokens" | "pause_turn") => StopCause::Length,
            Some("tool_use") => StopCause::ToolUse,
            Some(_) => StopCause::Stop,
            None => return Ok(()),
        };
        self.stop = Some(stop);
        Ok(())
    }
}

impl Decode for MessagesDecoder {
    fn push(&mut self, event: SseEvent<'_>, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if self.finished() || event.data.trim().is_empty() || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let value = parse(event.data)?;
        let kind = value["type"]
            .as_str()
            .or(event.event)
            .unwrap_or("")
            .to_owned();
        if kind.is_empty() && !value["error"].is_null() {
            return Err(failure::told(&value));
        }
        self.event(&kind, &value, out)
    }

    fn end(&mut self, _out: &mut Vec<Part>) -> Result<(), ProviderError> {
        match self.finished() {
            true => Ok(()),
            false => Err(cut_off()),
        }
    }

    fn finished(&self) -> bool {
        self.blocks.finished()
    }
}

/// A start brings `{}`, or the whole input.
fn says_something(input: &Value) -> bool {
    match input {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => true,
    }
}

impl Counts {
    fn update(&mut self, usage: &Value) {
        let set = |field: &mut u64, pointer| {
            if let Some(tokens) = count(usage, pointer) {
                *field = tokens;
            }
        };
        set(&mut self.input, "/input_tokens");
        set(&mut self.cache_read, "/cache_read_input_tokens");
        set(&mut self.cache_write, "/cache_creation_input_tokens");
        set(&mut self.output, "/output_tokens");
        set(&mut self.thinking, "/output_tokens_details/thinking_tokens");
    }

    /// The provider counts what it read from its cache, and wrote to it, apart from the input.
    fn usage(&self) -> ModelUsage {
        ModelUsage {
            input_tokens: self
                .input
                .saturating_add(self.cache_read)
                .saturating_add(self.cache_write),
            output_tokens: self.output,
            cached_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            reasoning_tokens: self.thinking,
            cost_micro_dollars: None,
        }
    }
}
