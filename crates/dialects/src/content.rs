//! What a tool gave back, as clients of the Model Context Protocol know it: shared by the dialects that show
//! more of it than words.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vocabulary::{ContentBlock, ToolOutput};

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum McpContent<'a> {
    Text {
        text: Cow<'a, str>,
    },
    /// `data` is base64.
    Image {
        data: &'a str,
        mime_type: &'a str,
    },
    Resource {
        resource: McpResource<'a>,
    },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResource<'a> {
    pub uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
}

impl<'a> McpContent<'a> {
    /// The same with other words. A picture has none.
    pub fn map_text(self, change: impl Fn(Cow<'a, str>) -> Cow<'a, str>) -> Self {
        match self {
            McpContent::Text { text } => McpContent::Text { text: change(text) },
            McpContent::Image { .. } => self,
            McpContent::Resource { resource } => McpContent::Resource {
                resource: McpResource {
                    text: resource.text.map(change),
                    ..resource
                },
            },
        }
    }
}

pub fn mcp_content(output: &ToolOutput) -> Vec<McpContent<'_>> {
    match output {
        ToolOutput::Content(blocks) => blocks.iter().map(block).collect(),
        ToolOutput::Text(_)
        | ToolOutput::Command { .. }
        | ToolOutput::Files { .. }
        | ToolOutput::Json(_) => vec![McpContent::Text {
            text: output.words(),
        }],
    }
}

/// What of it is for programs.
pub fn structured(output: &ToolOutput) -> Option<&Value> {
    match output {
        ToolOutput::Json(value) => Some(value),
        ToolOutput::Content(blocks) => blocks.iter().find_map(|block| match block {
            ContentBlock::Structured(value) => Some(value),
            ContentBlock::Text(_)
            | ContentBlock::Image { .. }
            | ContentBlock::Document { .. }
            | ContentBlock::Resource { .. } => None,
        }),
        ToolOutput::Text(_) | ToolOutput::Command { .. } | ToolOutput::Files { .. } => None,
    }
}

fn block(block: &ContentBlock) -> McpContent<'_> {
    match block {
        ContentBlock::Text(_) | ContentBlock::Document { .. } | ContentBlock::Structured(_) => {
            McpContent::Text {
                text: block.words(),
            }
        }
        ContentBlock::Image { media_type, base64 } => McpContent::Image {
            data: base64,
            mime_type: media_type,
        },
        ContentBlock::Resource {
            uri,
            media_type,
            text,
        } => McpContent::Resource {
            resource: McpResource {
                uri,
                mime_type: media_type.as_deref(),
                text: text.as_deref().map(Cow::Borrowed),
            },
        },
    }
}
