//! Writing frames as JSON.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::Frame;

/// Enough for most frames, so that the usual one is a single allocation.
const FRAME_BYTES_USUAL: usize = 320;

/// Writes a frame.
pub(crate) fn frame(event: &impl Serialize, payload_bytes: usize) -> Frame {
    let mut bytes = Vec::with_capacity(FRAME_BYTES_USUAL + payload_bytes);
    // Neither can fail: every map has text keys, and JSON is UTF-8.
    if serde_json::to_writer(&mut bytes, event).is_err() {
        bytes.clear();
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Anything that can be displayed, written as a JSON string without making a `String` first.
#[derive(Clone, Copy, Debug)]
pub struct AsText<T>(pub T);

impl<T: fmt::Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<T> JsonSchema for AsText<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}
