//! The frames of the protocol as types (docs/protocols/diminuendo.md). Most of its field names are
//! lost: each that had to be inferred stands here and nowhere else.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Frame;
use crate::frame::frame;

pub mod client;
pub mod event;
pub mod parts;

pub use client::ClientMessage;
pub use event::ServerEvent;

/// An answer that says which message it answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Echoed<'a> {
    #[serde(flatten)]
    event: &'a ServerEvent<'a>,
    request_id: &'a str,
}

impl ServerEvent<'_> {
    pub fn frame(&self) -> Frame {
        frame(self, 0)
    }

    /// With the `requestId` of the message it answers, where that had one.
    pub fn answer(&self, request_id: Option<&str>) -> Frame {
        match request_id {
            Some(request_id) => frame(
                &Echoed {
                    event: self,
                    request_id,
                },
                0,
            ),
            None => self.frame(),
        }
    }
}
