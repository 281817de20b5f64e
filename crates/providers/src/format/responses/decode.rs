//! OpenAI's Responses: how its stream is read. By the type of each event, and by whole items where
//! a server sends no deltas; numbers and ids are used where they are there.

use serde_json::{Value, json};
use vocabulary::PART_BREAK;

use super::items::OutputItems;
use crate::format::blocks::{BlockKey, BlockKind, Blocks, CallInput, MadeFile};
use crate::format::{Decode, SseEvent, count, cut_off, failure, native, parse_event, text};
use crate::{ErrorKind, ModelUsage, Part, ProviderError, StopCause};

/// What an item counts for, so that empty ones have a limit too.
const ITEM_BYTES: usize = 1024;

pub(in crate::format) struct ResponsesDecoder {
    origin: String,
    seed: String,
    blocks: Blocks,
    items: OutputItems,
    refusal: String,
}

impl ResponsesDecoder {
    pub fn new(origin: String, seed: &str) -> Self {
        Self {
            origin,
            seed: seed.to_owned(),
            blocks: Blocks::default(),
            items: OutputItems::default(),
            refusal: String::new(),
        }
    }

    fn event(
        &mut self,
        kind: &str,
        value: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let delta = value["delta"].as_str().unwrap_or("");
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => Ok(()),
            "response.output_item.added" => self.added(value, out),
            "response.output_item.done" => self.item_done(value, out),
            "response.content_part.added" => {
                self.part_added(value);
                Ok(())
            }
            "response.output_text.delta" => self.grow(value, BlockKind::Text, delta, out),
            "response.output_text.done" => self.text_done(value, out),
            "response.output_text.annotation.added" if is_link(&value["annotation"]) => {
                self.cite(&value["annotation"], out)
            }
            "response.refusal.delta" => {
                self.blocks.count(delta.len())?;
                self.refusal.push_str(delta);
                Ok(())
            }
            "response.refusal.done" => Err(self.refused(value["refusal"].as_str())),
            "response.reasoning_summary_part.added" => self.summary_part(value, out),
            "response.reasoning_summary_text.delta" => {
                self.grow(value, BlockKind::Reasoning { summary: true }, delta, out)
            }
            "response.reasoning_text.delta" => {
                self.grow(value, BlockKind::Reasoning { summary: false }, delta, out)
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.arguments(value, delta, out)
            }
            "response.function_call_arguments.done" => {
                self.arguments_done(value, &value["arguments"], out)
            }
            "response.custom_tool_call_input.done" => {
                self.arguments_done(value, &value["input"], out)
            }
            // What they say was said in pieces, and is said again with the whole item.
            "response.content_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_text.done" => Ok(()),
            "response.completed" | "response.done" => self.closed(&value["response"], out),
            "response.incomplete" => self.incomplete(&value["response"], out),
            "response.failed" => Err(failure::told_or(&value["response"], ErrorKind::Overloaded)),
            "error" | "response.error" => Err(failure::told(value)),
            _ => self.blocks.raw(value.clone(), out),
        }
    }

    fn added(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let item = &value["item"];
        let at = self.new_item(value)?;
        match item["type"].as_str() {
            // A message is told with its first text, a thought when it is known what is shown.
            Some("message" | "reasoning") => Ok(()),
            Some("function_call" | "custom_tool_call") => {
                self.start_call(at, item, out)?;
                self.arguments(value, written(item).unwrap_or(""), out)
            }
            _ => self.blocks.raw(value.clone(), out),
        }
    }

    fn item_done(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let at = self.found_or_new(value)?;
        self.whole(at, &value["item"], out)
    }

    /// An item as a whole: what was not told of it is told now, and it is ended.
    fn whole(&mut self, at: usize, item: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if std::mem::replace(&mut self.items[at].done, true) {
            return Ok(());
        }
        match item["type"].as_str() {
            Some("message") => self.whole_message(at, item, out),
            Some("reasoning") => self.whole_reasoning(at, item, out),
            Some("function_call" | "custom_tool_call") => self.whole_call(at, item, out),
            Some("image_generation_call") if item["result"].is_string() => self.made(item, out),
            _ => self.blocks.raw(item.clone(), out),
        }
    }

    fn cite(&mut self, annotation: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let url = annotation["url"].as_str().unwrap_or("");
        self.blocks.cite(url, annotation["title"].as_str(), out)
    }

    /// A picture that the service's own tool has made.
    fn made(&mut self, item: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let format = text(item, "output_format").unwrap_or("png");
        let file = MadeFile {
            media_type: format!("image/{format}"),
            base64: item["result"].as_str().unwrap_or("").into(),
            native: None,
        };
        self.blocks.file(file, out)
    }

    fn whole_message(
        &mut self,
        at: usize,
        item: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let key = self.start(at, BlockKind::Text, out)?;
        self.blocks
            .settle(key, &texts(&item["content"], "output_text", ""), out)?;
        let mut parts = item["content"].as_array().into_iter().flatten();
        if let Some(refusal) = parts.find(|part| part["type"] == "refusal") {
            return Err(self.refused(refusal["refusal"].as_str()));
        }
        let parts = item["content"].as_array().into_iter().flatten();
        let links = parts.flat_map(|part| part["annotations"].as_array().into_iter().flatten());
        for link in links.filter(|annotation| is_link(annotation)) {
            self.cite(link, out)?;
        }
        let phase = item.get("phase").filter(|phase| phase.is_string());
        let native = phase.map(|phase| native(&self.origin, json!({ "phase": phase })));
        self.blocks.end(key, native, out);
        Ok(())
    }

    fn whole_reasoning(
        &mut self,
        at: usize,
        item: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let full = texts(&item["content"], "reasoning_text", PART_BREAK);
        let kind = BlockKind::Reasoning {
            summary: full.is_empty(),
        };
        let key = self.start(at, kind, out)?;
        if !full.is_empty() {
            self.blocks.settle(key, &full, out)?;
        } else if self.blocks.text(key).is_some_and(str::is_empty) {
            let parts = item["summary"].as_array().into_iter().flatten();
            let parts = parts.filter(|part| part["type"] == "summary_text");
            for text in parts.filter_map(|part| part["text"].as_str()) {
                self.blocks.part(key, out)?;
                self.blocks.grow(key, text, out)?;
            }
        } else {
            let summary = texts(&item["summary"], "summary_text", PART_BREAK);
            self.blocks.settle(key, &summary, out)?;
        }
        let native = native(&self.origin, item.clone());
        self.blocks.end(key, Some(native), out);
        Ok(())
    }

    fn whole_call(
        &mut self,
        at: usize,
        item: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let key = self.start_call(at, item, out)?;
        if let Some(arguments) = written(item) {
            self.blocks.settle(key, arguments, out)?;
        }
        // One that was cut ends with the answer.
        if item["status"] != "incomplete" {
            self.blocks.end(key, None, out);
        }
        Ok(())
    }

    fn start(
        &mut self,
        at: usize,
        kind: BlockKind,
        out: &mut Vec<Part>,
    ) -> Result<BlockKey, ProviderError> {
        if let Some(key) = self.items[at].key {
            return Ok(key);
        }
        let key = self.blocks.start(kind, out)?;
        self.items[at].key = Some(key);
        Ok(key)
    }

    fn start_call(
        &mut self,
        at: usize,
        item: &Value,
        out: &mut Vec<Part>,
    ) -> Result<BlockKey, ProviderError> {
        let made = || format!("{}_{at}", self.seed);
        let call_id = text(item, "call_id").or_else(|| text(item, "id"));
        let kind = BlockKind::Call {
            call_id: call_id.map_or_else(made, str::to_owned),
            name: item["name"].as_str().unwrap_or("").to_owned(),
            input: match item["type"] == "custom_tool_call" {
                true => CallInput::FreeText,
                false => CallInput::Arguments,
            },
        };
        self.start(at, kind, out)
    }

    /// A piece of an item that may not have been announced.
    fn grow(
        &mut self,
        value: &Value,
        kind: BlockKind,
        delta: &str,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        let at = self.found_or_new(value)?;
        let key = self.start(at, kind, out)?;
        self.blocks.grow(key, delta, out)
    }

    fn part_added(&mut self, value: &Value) {
        if let Some(at) = self.items.find(value) {
            let text = self.items[at].key.and_then(|key| self.blocks.text(key));
            self.items[at].part_from = text.map_or(0, str::len);
        }
    }

    /// The whole text of one part: told when nothing of it was.
    fn text_done(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let told = self.items.find(value).is_some_and(|at| {
            let item = &self.items[at];
            let text = item.key.and_then(|key| self.blocks.text(key));
            text.map_or(0, str::len) > item.part_from
        });
        match value["text"].as_str() {
            Some(text) if !told => self.grow(value, BlockKind::Text, text, out),
            Some(_) | None => Ok(()),
        }
    }

    fn summary_part(&mut self, value: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let at = self.found_or_new(value)?;
        let key = self.start(at, BlockKind::Reasoning { summary: true }, out)?;
        self.blocks.part(key, out)
    }

    /// Of a call that was not announced the name is not known: it is told as a whole.
    fn arguments(
        &mut self,
        value: &Value,
        delta: &str,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        match self.items.find(value).and_then(|at| self.items[at].key) {
            Some(key) => self.blocks.grow(key, delta, out),
            None => Ok(()),
        }
    }

    fn arguments_done(
        &mut self,
        value: &Value,
        arguments: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let key = self.items.find(value).and_then(|at| self.items[at].key);
        match (key, arguments.as_str()) {
            (Some(key), Some(arguments)) => self.blocks.settle(key, arguments, out),
            (_, _) => Ok(()),
        }
    }

    fn new_item(&mut self, value: &Value) -> Result<usize, ProviderError> {
        self.blocks.count(ITEM_BYTES)?;
        Ok(self.items.add(value))
    }

    fn found_or_new(&mut self, value: &Value) -> Result<usize, ProviderError> {
        match self.items.find(value) {
            Some(at) => Ok(at),
            None => self.new_item(value),
        }
    }

    fn closed(&mut self, response: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        match response["status"].as_str() {
            Some("failed") => Err(failure::told_or(response, ErrorKind::Overloaded)),
            Some("incomplete") => self.incomplete(response, out),
            Some(_) | None => self.finish(None, response, out),
        }
    }

    fn incomplete(&mut self, response: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        match response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str)
        {
            Some("content_filter") => Err(self.refused(Some("its answer was filtered"))),
            Some("max_output_tokens" | "max_tokens" | "length") | None => {
                self.finish(Some(StopCause::Length), response, out)
            }
            Some("model_context_window_exceeded" | "context_length_exceeded") => {
                let message = "the conversation and its answer are longer than the model can hold";
                Err(ProviderError::new(ErrorKind::ContextTooLong, message))
            }
            Some(reason) => {
                let message = format!(
                    "the provider left the answer incomplete: {}",
                    failure::clean(reason)
                );
                Err(ProviderError::new(ErrorKind::CutOff, message))
            }
        }
    }

    fn finish(
        &mut self,
        stop: Option<StopCause>,
        response: &Value,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        for (place, item) in response["output"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let at = match self.items.listed(place, item) {
                Some(at) => at,
                None => {
                    self.new_item(&json!({ "output_index": place, "item": { "id": item["id"] } }))?
                }
            };
            self.whole(at, item, out)?;
        }
        if !self.refusal.is_empty() {
            return Err(self.refused(None));
        }
        self.blocks.finish(stop, usage(&response["usage"]), out);
        Ok(())
    }

    fn refused(&self, words: Option<&str>) -> ProviderError {
        failure::refused(words.unwrap_or(&self.refusal))
    }
}

impl Decode for ResponsesDecoder {
    fn push(&mut self, event: SseEvent<'_>, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if self.finished() || event.data.trim().is_empty() || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let value = parse_event(event)?;
        let kind = value["type"]
            .as_str()
            .or(event.event)
            .unwrap_or("")
            .to_owned();
        if value["object"] == "error" || (kind.is_empty() && !value["error"].is_null()) {
            return Err(failure::told(&value));
        }
        // The answer of a server that does not stream.
        if kind.is_empty() && value["object"] == "response" {
            return self.closed(&value, out);
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

/// Whether an annotation names a page; others name files of the account.
fn is_link(annotation: &Value) -> bool {
    annotation["type"] == "url_citation"
}

/// What the model wrote as the input of a call.
fn written(item: &Value) -> Option<&str> {
    let field = match item["type"] == "custom_tool_call" {
        true => "input",
        false => "arguments",
    };
    item[field].as_str()
}

fn texts(parts: &Value, kind: &str, between: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    let texts = parts
        .filter(|part| part["type"] == kind)
        .filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join(between)
}

fn usage(usage: &Value) -> ModelUsage {
    let of = |pointer| count(usage, pointer).unwrap_or(0);
    ModelUsage {
        input_tokens: of("/input_tokens"),
        output_tokens: of("/output_tokens"),
        cached_tokens: of("/input_tokens_details/cached_tokens"),
        cache_write_tokens: of("/input_tokens_details/cache_write_tokens"),
        reasoning_tokens: of("/output_tokens_details/reasoning_tokens"),
        cost_micro_dollars: None,
    }
}
