//! OpenAI's Chat Completions: how its stream is read. `finish_reason` is the end of the answer;
//! its usage and `[DONE]` come after it, or do not.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use vocabulary::Native;

use super::calls::{ChatCall, ChatCalls};
use super::details::ReasoningDetails;
use super::messages::REASONING_CONTENT;
use super::think_tags::{ProseKind, ThinkTags};
use super::{stop, usage};
use crate::format::blocks::{BlockKey, BlockKind, Blocks, CallInput};
use crate::format::{Decode, RequestTarget, SseEvent, Wire};
use crate::format::{cut_off, failure, family, native, parse_event, text};
use crate::{ErrorKind, ModelUsage, Part, ProviderError, StopCause};

/// What a call and a detail count for, so that empty ones have a limit too.
const CALL_BYTES: usize = 1024;
const DETAIL_BYTES: usize = 64;

pub(in crate::format) struct ChatDecoder {
    origin: String,
    /// Makes the ids of calls that come without one. The answer's own id would not do: servers that
    /// name no calls name all answers alike.
    seed: String,
    blocks: Blocks,
    prose: Option<ChatText>,
    tags: ThinkTags,
    details: ReasoningDetails,
    /// Whether a thought came in the field that goes back.
    in_reasoning_content: bool,
    calls: ChatCalls,
    refusal: String,
    /// Set by `finish_reason`.
    stop: Option<StopCause>,
    usage: ModelUsage,
}

/// The text or the thought that is growing.
struct ChatText {
    kind: ProseKind,
    key: BlockKey,
}

impl ChatDecoder {
    pub fn new(target: &RequestTarget, seed: &str) -> Self {
        Self {
            origin: target.origin(Wire::Chat),
            seed: seed.to_owned(),
            blocks: Blocks::default(),
            prose: None,
            tags: ThinkTags::new(family::opens_thought(&target.model.id)),
            details: ReasoningDetails::default(),
            in_reasoning_content: false,
            calls: ChatCalls::default(),
            refusal: String::new(),
            stop: None,
            usage: ModelUsage::default(),
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let told = [&chunk["usage"], &chunk["x_groq"]["usage"]];
        let told = told.into_iter().find(|usage| usage.is_object());
        if let Some(usage) = told {
            self.usage = usage::read(usage);
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
        self.thought(delta, out)?;
        self.content(&delta["content"], out)?;
        if let Some(refusal) = text(delta, "refusal") {
            self.blocks.count(refusal.len())?;
            self.refusal.push_str(refusal);
        }
        for annotation in delta["annotations"].as_array().into_iter().flatten() {
            let link = &annotation["url_citation"];
            let url = link["url"].as_str().unwrap_or("");
            self.blocks.cite(url, link["title"].as_str(), out)?;
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, out)?;
        }
        // A call whose object has closed is done: what waits for it may go on.
        if self.blocks.holding() {
            self.end_calls(|call| call.closing.closed(), out);
        }
        match text(choice, "finish_reason") {
            Some(reason) => self.stopped(reason, choice, out),
            None => Ok(()),
        }
    }

    /// A thought by any of its names. Details repeat what another field shows; they are kept to go
    /// back, and shown where nothing else is.
    fn thought(&mut self, delta: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let content = text(delta, REASONING_CONTENT);
        let named = content.or_else(|| text(delta, "reasoning"));
        let named = named.or_else(|| text(delta, "reasoning_text"));
        let details = delta["reasoning_details"].as_array();
        if let Some(thought) = named {
            self.tags.disregard();
            self.grow(ProseKind::Thought, thought, out)?;
            self.in_reasoning_content |= content.is_some();
        }
        for detail in details.into_iter().flatten() {
            let shown = ReasoningDetails::shown(detail);
            self.tags.disregard();
            if named.is_none() {
                self.grow(ProseKind::Thought, shown, out)?;
            }
            let hidden = text(detail, "data").or_else(|| text(detail, "signature"));
            self.blocks
                .count(shown.len() + hidden.map_or(DETAIL_BYTES, str::len))?;
            self.details.add(detail);
        }
        Ok(())
    }

    /// A text, or a list of texts and thoughts.
    fn content(&mut self, content: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if let Some(text) = content.as_str() {
            return self.text(text, out);
        }
        for part in content.as_array().into_iter().flatten() {
            let thoughts = part["thinking"].as_array().into_iter().flatten();
            for thought in thoughts.filter_map(|thought| thought["text"].as_str()) {
                self.tags.disregard();
                self.grow(ProseKind::Thought, thought, out)?;
            }
            self.text(part["text"].as_str().unwrap_or(""), out)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if self.tags.passed() {
            return self.grow(ProseKind::Text, text, out);
        }
        let pieces = self.tags.feed(text);
        self.grow_all(pieces, out)
    }

    fn grow_all(
        &mut self,
        pieces: Vec<(ProseKind, String)>,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        for (kind, text) in pieces {
            self.grow(kind, &text, out)?;
        }
        Ok(())
    }

    fn grow(
        &mut self,
        kind: ProseKind,
        text: &str,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        if text.is_empty() {
            return Ok(());
        }
        let key = match &self.prose {
            Some(prose) if prose.kind == kind => prose.key,
            Some(_) | None => {
                self.end_prose(out);
                let block = match kind {
                    ProseKind::Thought => BlockKind::Reasoning { summary: false },
                    ProseKind::Text => BlockKind::Text,
                };
                let key = self.blocks.start(block, out)?;
                self.prose = Some(ChatText { kind, key });
                key
            }
        };
        self.blocks.grow(key, text, out)
    }

    fn end_prose(&mut self, out: &mut Vec<Part>) {
        if let Some(prose) = self.prose.take() {
            let native = match prose.kind {
                ProseKind::Thought => self.thought_native(),
                ProseKind::Text => None,
            };
            self.blocks.end(prose.key, native, out);
        }
    }

    /// How the thought goes back, as far as it came in a form that does.
    fn thought_native(&mut self) -> Option<Box<Native>> {
        let mut value = Map::new();
        if let Some(details) = self.details.take() {
            value.insert("reasoning_details".to_owned(), details);
        }
        if std::mem::take(&mut self.in_reasoning_content) {
            value.insert("field".to_owned(), json!(REASONING_CONTENT));
        }
        (!value.is_empty()).then(|| native(&self.origin, Value::Object(value)))
    }

    /// No more content comes before what follows.
    fn end_content(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let rest = self.tags.end();
        self.grow_all(rest, out)?;
        self.end_prose(out);
        Ok(())
    }

    /// What came of a thought that has no words, or after it was told: some services sign it only
    /// with the calls.
    fn untold_details(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if let Some(native) = self.thought_native() {
            let kind = BlockKind::Reasoning { summary: false };
            let key = self.blocks.start(kind, out)?;
            self.blocks.end(key, Some(native), out);
        }
        Ok(())
    }

    fn end_calls(&mut self, ended: impl Fn(&ChatCall) -> bool, out: &mut Vec<Part>) {
        for call in self.calls.list.iter().filter(|call| ended(call)) {
            if let Some(key) = call.key {
                self.blocks.end(key, call.native(&self.origin), out);
            }
        }
    }

    fn call(&mut self, told: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.end_content(out)?;
        if self.calls.list.is_empty() {
            self.untold_details(out)?;
        }
        let arguments = match &told["function"]["arguments"] {
            Value::String(piece) => Cow::Borrowed(piece.as_str()),
            Value::Null => Cow::Borrowed(""),
            whole => Cow::Owned(whole.to_string()),
        };
        let at = match self.calls.find(told) {
            Some(at) => at,
            None => {
                self.blocks.count(CALL_BYTES)?;
                self.calls.add(told, &self.seed)
            }
        };
        let call = &mut self.calls.list[at];
        call.read(told, &arguments);
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
                    input: CallInput::Arguments,
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

    fn stopped(
        &mut self,
        reason: &str,
        choice: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let cause = stop::cause(reason, choice)?;
        if self.calls.list.iter().any(|call| call.key.is_none()) {
            let message = "the model made a tool call without a name";
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        }
        self.end_content(out)?;
        self.end_calls(|_| true, out);
        self.blocks.end_all(out);
        self.stop = Some(cause);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if !self.refusal.is_empty() {
            return Err(failure::refused(&self.refusal));
        }
        self.end_content(out)?;
        self.end_calls(|_| true, out);
        self.untold_details(out)?;
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
        let chunk = parse_event(event)?;
        if event.event == Some("error") || is_error(&chunk) {
            return Err(failure::told(&chunk));
        }
        self.chunk(&chunk, out)
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

/// Servers put an error in `error`, or send one that is nothing else.
fn is_error(chunk: &Value) -> bool {
    let error = &chunk["error"];
    let bare =
        chunk["choices"].is_null() && (chunk["message"].is_string() || chunk["detail"].is_string());
    error.is_object() || error.is_string() || chunk["object"] == "error" || bare
}
