//! What a server's tool gives back, as content that models and clients can be shown.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};
use tools::{Failure, Scope, cut_to_fit, pictures};
use vocabulary::{ContentBlock, ToolOutput};

use crate::limits::{BLOCKS_MAX, PICTURES_BYTES_MAX, RESULT_CHARS_MAX};

/// The result of a call, however well it is made. Blocks: it scales pictures and keeps long texts.
pub(super) fn output(scope: &Scope, name: &str, result: Value) -> Result<ToolOutput, Failure> {
    let Value::Object(mut result) = result else {
        return Err(Failure::Error(format!("{name}: the answer is no result")));
    };
    let structured = result.remove("structuredContent");
    let mut room = ContentRoom::new(scope, name);
    if let Some(Value::Array(blocks)) = result.remove("content") {
        room.take_all(blocks);
    }
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let words = room.blocks.iter().map(|block| block.words().into_owned());
        let words: Vec<String> = words.collect();
        let words = words.join("\n");
        return Err(Failure::Error(match words.trim() {
            "" => format!("{name}: it failed and does not say why"),
            words => words.to_owned(),
        }));
    }
    if let Some(structured) = structured.filter(|value| !value.is_null()) {
        room.take_structured(structured);
    }
    Ok(match <[ContentBlock; 1]>::try_from(room.blocks) {
        Ok([ContentBlock::Text(text)]) => ToolOutput::Text(text),
        Ok([block]) => ToolOutput::Content(vec![block]),
        Err(blocks) if blocks.is_empty() => ToolOutput::Text("(no output)".to_owned()),
        Err(blocks) => ToolOutput::Content(blocks),
    })
}

/// The contents of a resource. Blocks as well.
pub(super) fn contents(scope: &Scope, name: &str, result: Value) -> Result<ToolOutput, Failure> {
    let mut result = result;
    let contents = match result.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => contents,
        _ => return Err(Failure::Error(format!("{name}: the answer is no resource"))),
    };
    let mut room = ContentRoom::new(scope, name);
    for content in contents.into_iter().take(BLOCKS_MAX) {
        if let Value::Object(content) = content {
            room.take_resource(content);
        }
    }
    Ok(ToolOutput::Content(room.blocks))
}

/// Blocks as far as there is room for them.
struct ContentRoom<'a> {
    scope: &'a Scope,
    name: &'a str,
    blocks: Vec<ContentBlock>,
    /// Characters of text that are left.
    chars: usize,
    /// Bytes of pictures that are left.
    picture_bytes: usize,
}

impl<'a> ContentRoom<'a> {
    fn new(scope: &'a Scope, name: &'a str) -> Self {
        Self {
            scope,
            name,
            blocks: Vec::new(),
            chars: RESULT_CHARS_MAX,
            picture_bytes: PICTURES_BYTES_MAX,
        }
    }

    fn take_all(&mut self, blocks: Vec<Value>) {
        let more = blocks.len().saturating_sub(BLOCKS_MAX);
        for block in blocks.into_iter().take(BLOCKS_MAX) {
            self.take(block);
        }
        if more > 0 {
            self.note(format!("[{more} more pieces were left out]"));
        }
    }

    fn take(&mut self, block: Value) {
        let Value::Object(mut block) = block else {
            return;
        };
        let kind = taken_text(&mut block, "type").unwrap_or_default();
        match kind.as_str() {
            "text" => {
                let text = taken_text(&mut block, "text").unwrap_or_default();
                let text = self.fitted(text);
                self.blocks.push(ContentBlock::Text(text));
            }
            "image" => self.take_image(&mut block),
            "audio" => {
                let media_type = taken_text(&mut block, "mimeType").unwrap_or_default();
                let bytes = block
                    .get("data")
                    .and_then(Value::as_str)
                    .map_or(0, str::len)
                    / 4
                    * 3;
                self.note(format!(
                    "[audio, {media_type}, {bytes} bytes; it cannot be shown]"
                ));
            }
            "resource" => {
                if let Some(Value::Object(resource)) = block.remove("resource") {
                    self.take_resource(resource);
                }
            }
            "resource_link" => {
                let uri = taken_text(&mut block, "uri").unwrap_or_default();
                let media_type = taken_text(&mut block, "mimeType");
                let text = None;
                self.blocks.push(ContentBlock::Resource {
                    uri,
                    media_type,
                    text,
                });
            }
            other => self.note(format!("[a piece of the kind {other:.40} cannot be shown]")),
        }
    }

    fn take_image(&mut self, block: &mut Map<String, Value>) {
        let data = taken_text(block, "data").unwrap_or_default();
        let media_type = taken_text(block, "mimeType").unwrap_or_default();
        match self.picture(&data) {
            Ok((media_type, base64)) => {
                self.picture_bytes = self.picture_bytes.saturating_sub(base64.len());
                self.blocks.push(ContentBlock::Image {
                    media_type: media_type.to_owned(),
                    base64,
                });
            }
            Err(why) => self.note(format!(
                "[a picture ({media_type:.40}) cannot be shown: {why}]"
            )),
        }
    }

    /// A picture as models take it. One that they refuse would spoil every request after it.
    fn picture(&self, data: &str) -> Result<(&'static str, Arc<str>), String> {
        let base64_max = self.picture_bytes.min(pictures::BASE64_BYTES_MAX);
        let bytes = BASE64_STANDARD
            .decode(data.trim())
            .map_err(|_| "it is not base64".to_owned())?;
        let media_type = pictures::media_type(&bytes).ok_or("it is no PNG, JPEG, GIF or WebP")?;
        let scaled = pictures::scaled(&bytes, base64_max).map_err(|why| why.to_string())?;
        Ok(match scaled {
            Some(scaled) => (
                scaled.media_type,
                BASE64_STANDARD.encode(scaled.bytes).into(),
            ),
            None => (media_type, BASE64_STANDARD.encode(bytes).into()),
        })
    }

    fn take_resource(&mut self, mut resource: Map<String, Value>) {
        let uri = taken_text(&mut resource, "uri").unwrap_or_default();
        let media_type = taken_text(&mut resource, "mimeType");
        if let Some(text) = taken_text(&mut resource, "text") {
            let text = Some(self.fitted(text));
            self.blocks.push(ContentBlock::Resource {
                uri,
                media_type,
                text,
            });
            return;
        }
        let Some(blob) = taken_text(&mut resource, "blob") else {
            return;
        };
        match media_type {
            Some(media_type) if media_type.starts_with("image/") => {
                let mut image = Map::new();
                image.insert("data".to_owned(), blob.into());
                image.insert("mimeType".to_owned(), media_type.into());
                self.take_image(&mut image);
            }
            media_type => {
                let bytes = blob.len() / 4 * 3;
                let text = Some(format!("[{bytes} bytes that are no text]"));
                self.blocks.push(ContentBlock::Resource {
                    uri,
                    media_type,
                    text,
                });
            }
        }
    }

    /// What is for programs. A text that says the same is there for those who do not read it.
    fn take_structured(&mut self, structured: Value) {
        let is_said = self.blocks.iter().any(|block| match block {
            ContentBlock::Text(text) => {
                serde_json::from_str::<Value>(text).is_ok_and(|said| said == structured)
            }
            ContentBlock::Image { .. }
            | ContentBlock::Document { .. }
            | ContentBlock::Resource { .. }
            | ContentBlock::Structured(_) => false,
        });
        let written = structured.to_string();
        if is_said && self.blocks.len() == 1 {
            // The model would read it twice.
            self.blocks.clear();
        }
        match written.len() <= self.chars {
            true => self.blocks.push(ContentBlock::Structured(structured)),
            false => {
                let text = self.fitted(written);
                self.blocks.push(ContentBlock::Text(text));
            }
        }
    }

    fn note(&mut self, text: String) {
        self.blocks.push(ContentBlock::Text(text));
    }

    fn fitted(&mut self, text: String) -> String {
        let text = cut_to_fit(self.scope, self.name, text, self.chars);
        self.chars = self.chars.saturating_sub(text.chars().count());
        text
    }
}

fn taken_text(map: &mut Map<String, Value>, field: &str) -> Option<String> {
    match map.remove(field) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
