//! Google's `streamGenerateContent`: how its stream is read. Each chunk holds whole parts; the one
//! with a `finishReason` is the last that says something.

use serde_json::{Value, json};
use vocabulary::Native;

use crate::format::blocks::{BlockKey, BlockKind, Blocks, CallInput, MadeFile};
use crate::format::{Decode, SseEvent, count, cut_off, failure, native, parse, text};
use crate::{ErrorKind, ModelUsage, Part, ProviderError, StopCause};

/// What a chunk may hold besides its candidates.
const KNOWN: [&str; 5] = [
    "candidates",
    "promptFeedback",
    "usageMetadata",
    "modelVersion",
    "responseId",
];

pub(in crate::format) struct GeminiDecoder {
    origin: String,
    /// Makes the ids of calls that come without one; the answer's own id where it has one.
    seed: String,
    blocks: Blocks,
    prose: Option<GeminiText>,
    calls: usize,
    /// Set by `finishReason`.
    stop: Option<StopCause>,
    usage: ModelUsage,
}

/// The text or the thought that is growing.
struct GeminiText {
    thought: bool,
    key: BlockKey,
}

impl GeminiDecoder {
    pub fn new(origin: String, seed: &str) -> Self {
        Self {
            origin,
            seed: seed.to_owned(),
            blocks: Blocks::default(),
            prose: None,
            calls: 0,
            stop: None,
            usage: ModelUsage::default(),
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if !chunk["error"].is_null() {
            return Err(failure::told(chunk));
        }
        if !KNOWN.iter().any(|field| !chunk[field].is_null()) {
            return self.blocks.raw(chunk.clone(), out);
        }
        if let Some(id) = text(chunk, "responseId") {
            id.clone_into(&mut self.seed);
        }
        if let Some(reason) = chunk.pointer("/promptFeedback/blockReason") {
            let reason = reason.as_str().unwrap_or("blocked");
            let words = text(&chunk["promptFeedback"], "blockReasonMessage");
            return Err(failure::refused(&format!(
                "the prompt was blocked ({})",
                explained(reason, words)
            )));
        }
        if chunk["usageMetadata"].is_object() {
            self.usage = usage(&chunk["usageMetadata"]);
        }
        for candidate in chunk["candidates"].as_array().into_iter().flatten() {
            // One answer was asked for.
            match candidate["index"].as_u64() {
                Some(0) | None => self.candidate(candidate, out)?,
                Some(_) => self.blocks.raw(candidate.clone(), out)?,
            }
        }
        if self.stop.is_some() && chunk["usageMetadata"].is_object() {
            self.finish(out);
        }
        Ok(())
    }

    fn candidate(&mut self, candidate: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let parts = candidate
            .pointer("/content/parts")
            .and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.part(part, out)?;
        }
        self.grounded(&candidate["groundingMetadata"], out)?;
        match candidate["finishReason"].as_str() {
            Some(reason) => self.stopped(reason, candidate["finishMessage"].as_str(), out),
            None => Ok(()),
        }
    }

    /// What a search found that the answer rests on.
    fn grounded(&mut self, grounding: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let chunks = grounding["groundingChunks"].as_array();
        for chunk in chunks.into_iter().flatten() {
            let found = match &chunk["web"] {
                Value::Null => &chunk["retrievedContext"],
                web => web,
            };
            let url = found["uri"].as_str().unwrap_or("");
            self.blocks.cite(url, found["title"].as_str(), out)?;
        }
        Ok(())
    }

    fn made(&mut self, part: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.end_prose(None, out);
        let data = &part["inlineData"];
        let file = MadeFile {
            media_type: text(data, "mimeType").unwrap_or("image/png").to_owned(),
            base64: data["data"].as_str().unwrap_or("").into(),
            native: self.native(part, &["thoughtSignature"]),
        };
        self.blocks.file(file, out)
    }

    fn part(&mut self, part: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if part["functionCall"].is_object() {
            return self.call(part, out);
        }
        // A picture among its thoughts is a draft of the one that it shows.
        if part["inlineData"]["data"].is_string() && part["thought"] != true {
            return self.made(part, out);
        }
        let Some(said) = part["text"].as_str() else {
            self.end_prose(None, out);
            return self.blocks.raw(part.clone(), out);
        };
        let thought = part["thought"] == true;
        let signature = self.native(part, &["thought", "thoughtSignature"]);
        self.say(thought, said, out)?;
        let Some(signature) = signature else {
            return Ok(());
        };
        // A signature belongs to its part, so the block ends with it. Where it stands alone it says
        // no more than that there was a thought.
        if self
            .prose
            .as_ref()
            .is_none_or(|prose| prose.thought != thought)
        {
            self.end_prose(None, out);
            let key = self
                .blocks
                .start(BlockKind::Reasoning { summary: true }, out)?;
            self.prose = Some(GeminiText { thought, key });
        }
        self.end_prose(Some(signature), out);
        Ok(())
    }

    fn say(&mut self, thought: bool, said: &str, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if said.is_empty() {
            return Ok(());
        }
        let key = match &self.prose {
            Some(prose) if prose.thought == thought => prose.key,
            Some(_) | None => {
                self.end_prose(None, out);
                let kind = match thought {
                    true => BlockKind::Reasoning { summary: true },
                    false => BlockKind::Text,
                };
                let key = self.blocks.start(kind, out)?;
                self.prose = Some(GeminiText { thought, key });
                key
            }
        };
        self.blocks.grow(key, said, out)
    }

    fn end_prose(&mut self, native: Option<Box<Native>>, out: &mut Vec<Part>) {
        if let Some(prose) = self.prose.take() {
            self.blocks.end(prose.key, native, out);
        }
    }

    fn call(&mut self, part: &Value, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        self.end_prose(None, out);
        let function = &part["functionCall"];
        let made = format!("{}_{}", self.seed, self.calls);
        self.calls += 1;
        let kind = BlockKind::Call {
            call_id: text(function, "id").map_or(made, str::to_owned),
            name: function["name"].as_str().unwrap_or("").to_owned(),
            input: CallInput::Arguments,
        };
        let mut kept = json!({});
        if let Some(signature) = part.get("thoughtSignature") {
            kept["thoughtSignature"] = signature.clone();
        }
        if let Some(id) = text(function, "id") {
            kept["id"] = json!(id);
        }
        let native = (kept != json!({})).then(|| native(&self.origin, kept));
        let key = self.blocks.start(kind, out)?;
        match &function["args"] {
            Value::Null => {}
            Value::String(written) => self.blocks.grow(key, written, out)?,
            args => self.blocks.grow(key, &args.to_string(), out)?,
        }
        self.blocks.end(key, native, out);
        Ok(())
    }

    /// The part without what it says, where it is signed.
    fn native(&self, part: &Value, fields: &[&str]) -> Option<Box<Native>> {
        part["thoughtSignature"].as_str()?;
        let mut kept = json!({});
        for field in fields {
            if let Some(value) = part.get(*field) {
                kept[*field] = value.clone();
            }
        }
        Some(native(&self.origin, kept))
    }

    fn stopped(
        &mut self,
        reason: &str,
        words: Option<&str>,
        out: &mut Vec<Part>,
    ) -> Result<(), ProviderError> {
        let why = explained(reason, words);
        let failed = |kind, what: &str| Err(ProviderError::new(kind, format!("{what} ({why})")));
        self.stop = Some(match reason {
            // The last one: what one request may write is less than what the model may, and the
            // rest is for another.
            "MAX_TOKENS" | "CONTINUATION" => StopCause::Length,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => return Err(failure::refused(&why)),
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE" => {
                let what = "the model wrote what its service cannot read";
                return failed(ErrorKind::Malformed, what);
            }
            // It misses it in what it was sent, so asking the same again is in vain.
            "MISSING_THOUGHT_SIGNATURE" => {
                let what = "a call of the history lacks its thought signature";
                return failed(ErrorKind::BadRequest, what);
            }
            // Said without a reason, it is not said of the next answer to the same request.
            "OTHER" => return failed(ErrorKind::Malformed, "the provider ended the answer"),
            "NO_IMAGE" | "IMAGE_OTHER" => {
                return failed(ErrorKind::Other, "the provider ended the answer");
            }
            _ => StopCause::Stop,
        });
        self.end_prose(None, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Part>) {
        self.prose = None;
        self.blocks.finish(self.stop, self.usage, out);
    }
}

impl Decode for GeminiDecoder {
    fn push(&mut self, event: SseEvent<'_>, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.finished() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        self.chunk(&parse(data)?, out)
    }

    fn end(&mut self, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        match self.stop {
            _ if self.finished() => Ok(()),
            Some(_) => {
                self.finish(out);
                Ok(())
            }
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

fn explained(reason: &str, words: Option<&str>) -> String {
    let words = failure::clean(words.unwrap_or(""));
    match words.is_empty() {
        true => reason.to_owned(),
        false => format!("{reason}: {words}"),
    }
}

/// Thoughts are counted apart from the rest of the output.
fn usage(usage: &Value) -> ModelUsage {
    let of = |pointer| count(usage, pointer).unwrap_or(0);
    let thoughts = of("/thoughtsTokenCount");
    ModelUsage {
        input_tokens: of("/promptTokenCount").saturating_add(of("/toolUsePromptTokenCount")),
        output_tokens: of("/candidatesTokenCount").saturating_add(thoughts),
        cached_tokens: of("/cachedContentTokenCount"),
        cache_write_tokens: 0,
        reasoning_tokens: thoughts,
        cost_micro_dollars: None,
    }
}
