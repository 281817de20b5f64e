//! OpenAI's Chat Completions: how its stream is read. `finish_reason` is the end of the answer;
//! its usage and `[DONE]` come after it, or do not.

use std::borrow::Cow;

use serde_json::Value;
use vocabulary::Native;

use crate::format::arguments::JsonClosing;
use crate::format::blocks::{BlockKey, BlockKind, Blocks};
use crate::format::{Decode, SseEvent, count, cut_off, failure, family, native, parse, text};
use crate::{ErrorKind, ModelUsage, Part, ProviderError, StopCause};

/// What a call counts for, so that empty ones have a limit too.
const CALL_BYTES: usize = 1024;

pub(in crate::format) struct ChatDecoder {
    /// Makes the ids of calls that come without one. The answer's own id would not do: servers that
    /// name no calls name all answers alike.
    seed: String,
    /// Of thoughts, where the server wants them back.
    native: Option<Box<Native>>,
    blocks: Blocks,
    prose: Option<ChatText>,
    calls: Vec<ChatCall>,
    refusal: String,
    /// Set by `finish_reason`.
    stop: Option<StopCause>,
    usage: ModelUsage,
}

/// The text or the thought that is growing.
struct ChatText {
    reasoning: bool,
    key: BlockKey,
}

struct ChatCall {
    index: Option<u64>,
    id: String,
    name: String,
    /// What came before its name.
    early: String,
    key: Option<BlockKey>,
    closing: JsonClosing,
}

impl ChatDecoder {
    pub fn new(origin: String, seed: &str) -> Self {
        let wanted = family::wants_thoughts_back(&origin);
        Self {
            seed: seed.to_owned(),
            native: wanted.then(|| native(&origin, Value::Null)),
            blocks: Blocks::default(),
            prose: None,
            calls: Vec::new(),
            refusal: String::new(),
            stop: None,
            usage: ModelUsage::default(),
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if chunk["error"].is_object() || chunk["error"].is_string() {
            return Err(failure::told(chunk));
        }
        let told = [&chunk["usage"], &chunk["x_groq"]["usage"]];
        let told = told.into_iter().find(|usage| usage.is_object());
        if let Some(usage) = told {
            self.usage = read_usage(usage);
        }
        let Some(choices) = chunk["choices"].as_array() else {
            return match told {
                Some(_) => Ok(()),
                None => self.blocks.raw(chunk.clone(), out),
            };
        };
        for choice in choices {
            // One answer was asked for.
            match choice["index"].as_u64() {
                Some(0) | None => self.choice(choice, out)?,
                Some(_) => self.blocks.raw(choice.clone(), out)?,
            }
        }
        if choices.is_empty() && told.is_some() && self.stop.is_some() {
            self.finish(out)?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        // Some servers answer with the whole message at once.
        let delta = match &choice["delta"] {
            Value::Null => &choice["message"],
            delta => delta,
        };
        let thought = text(delta, "reasoning_content").or_else(|| text(delta, "reasoning"));
        self.grow(true, thought.unwrap_or(""), out)?;
        self.content(&delta["content"], out)?;
        if let Some(refusal) = text(delta, "refusal") {
            self.blocks.count(refusal.len())?;
            self.refusal.push_str(refusal);
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, out)?;
        }
        // A call whose object has closed is done: what waits for it may go on.
        if self.blocks.holding() {
            for call in self.calls.iter().filter(|call| call.closing.closed()) {
                if let Some(key) = call.key {
                    self.blocks.end(key, None, out);
                }
            }
        }
        match choice["finish_reason"].as_str() {
            Some(reason) if !reason.is_empty() => self.stopped(reason, out),
            Some(_) | None => Ok(()),
        }
    }

    /// A text, or a list of texts and thoughts.
    fn content(&mut self, content: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if let Some(text) = content.as_str() {
            return self.grow(false, text, out);
        }
        for part in content.as_array().into_iter().flatten() {
            let thoughts = part["thinking"].as_array().into_iter().flatten();
            for thought in thoughts.filter_map(|thought| thought["text"].as_str()) {
                self.grow(true, thought, out)?;
            }
            self.grow(false, part["text"].as_str().unwrap_or(""), out)?;
        }
        Ok(())
    }

    fn grow(
        &mut self,
        reasoning: bool,
        text: &str,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        if text.is_empty() {
            return Ok(());
        }
        let key = match &self.prose {
            Some(prose) if prose.reasoning == reasoning => prose.key,
            Some(_) | None => {
                self.end_prose(out);
                let kind = match reasoning {
                    true => BlockKind::Reasoning { summary: false },
                    false => BlockKind::Text,
                };
                let key = self.blocks.start(kind, out)?;
                self.prose = Some(ChatText { reasoning, key });
                key
            }
        };
        self.blocks.grow(key, text, out)
    }

    fn end_prose(&mut self, out: &mut Vec<Part>) {
        if let Some(prose) = self.prose.take() {
            let native = self.native.clone().filter(|_| prose.reasoning);
            self.blocks.end(prose.key, native, out);
        }
    }

    fn call(&mut self, told: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.end_prose(out);
        let at = match self.find(told) {
            Some(at) => at,
            None => self.new_call(told)?,
        };
        let function = &told["function"];
        let arguments = match &function["arguments"] {
            Value::String(piece) => Cow::Borrowed(piece.as_str()),
            Value::Null => Cow::Borrowed(""),
            whole => Cow::Owned(whole.to_string()),
        };
        let call = &mut self.calls[at];
        call.closing.feed(&arguments);
        if call.name.is_empty() {
            function["name"]
                .as_str()
                .unwrap_or("")
                .clone_into(&mut call.name);
        }
        if call.name.is_empty() {
            call.early.push_str(&arguments);
            return self.blocks.count(arguments.len());
        }
        let key = match call.key {
            Some(key) => key,
            None => {
                let kind = BlockKind::Call {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                };
                let key = self.blocks.start(kind, out)?;
                call.key = Some(key);
                let early = std::mem::take(&mut call.early);
                self.blocks.grow(key, &early, out)?;
                key
            }
        };
        self.blocks.grow(key, &arguments, out)
    }

    /// The call a piece belongs to: by its number, unless it brings an id that is another one's;
    /// without a number by its id, else the last.
    fn find(&self, told: &Value) -> Option<usize> {
        let id = text(told, "id");
        let same_id = |call: &ChatCall| id.is_none_or(|id| id == call.id);
        match told["index"].as_u64() {
            Some(index) => self
                .calls
                .iter()
                .rposition(|call| call.index == Some(index))
                .filter(|at| same_id(&self.calls[*at])),
            None if id.is_some() => self.calls.iter().rposition(same_id),
            // A name begins a call where nothing else tells them apart.
            None if text(&told["function"], "name").is_some() => None,
            None => self.calls.len().checked_sub(1),
        }
    }

    fn new_call(&mut self, told: &Value) -> Result<usize, ProviderError> {
        self.blocks.count(CALL_BYTES)?;
        let made = format!("{}_{}", self.seed, self.calls.len());
        self.calls.push(ChatCall {
            index: told["index"].as_u64(),
            id: text(told, "id").map_or(made, str::to_owned),
            name: String::new(),
            early: String::new(),
            key: None,
            closing: JsonClosing::default(),
        });
        Ok(self.calls.len() - 1)
    }

    fn stopped(&mut self, reason: &str, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if self.calls.iter().any(|call| call.key.is_none()) {
            let message = "the model made a tool call without a name";
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        }
        self.end_prose(out);
        self.blocks.end_all(out);
        self.stop = Some(match reason {
            "length" | "max_tokens" => StopCause::Length,
            "tool_calls" | "function_call" => StopCause::ToolUse,
            "content_filter" => return Err(failure::refused("its answer was filtered")),
            "error" => return Err(failure::told(&Value::Null)),
            _ => StopCause::Stop,
        });
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if !self.refusal.is_empty() {
            return Err(failure::refused(&self.refusal));
        }
        self.end_prose(out);
        self.blocks.finish(self.stop, self.usage, out);
        Ok(())
    }
}

impl Decode for ChatDecoder {
    fn push(&mut self, event: SseEvent<'_>, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.finished() || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.finish(out);
        }
        self.chunk(&parse(data)?, out)
    }

    fn end(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        match self.stop {
            _ if self.finished() => Ok(()),
            Some(_) => self.finish(out),
            None => Err(cut_off()),
        }
    }

    fn finished(&self) -> bool {
        self.blocks.finished()
    }

    fn stopped(&self) -> bool {
        self.stop.is_some()
    }
}

fn read_usage(usage: &Value) -> ModelUsage {
    let of = |pointer| count(usage, pointer);
    let input = of("/prompt_tokens").unwrap_or(0);
    let written = of("/completion_tokens").unwrap_or(0);
    // Some servers count thoughts apart, and only the total tells.
    let rest = of("/total_tokens").unwrap_or(0).saturating_sub(input);
    let cached = of("/prompt_tokens_details/cached_tokens");
    let thought = of("/completion_tokens_details/reasoning_tokens");
    ModelUsage {
        input_tokens: input,
        output_tokens: written.max(rest),
        cached_tokens: cached.or(of("/prompt_cache_hit_tokens")).unwrap_or(0),
        cache_write_tokens: of("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        reasoning_tokens: thought.or(of("/reasoning_tokens")).unwrap_or(0),
    }
}
