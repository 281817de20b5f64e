//! What a model writes: thinking, text, arguments.

use vocabulary::{Growth, Item, Opening, StreamTag};

use super::{At, Spelled};
use crate::diminuendo::wire::ServerEvent;

impl<'a> At<'a> {
    pub fn started(self, tag: &'a StreamTag, opening: &'a Opening) -> Option<Spelled<'a>> {
        let At {
            session_id,
            seq,
            ts,
            ..
        } = self;
        let turn_id = tag.turn.as_str();
        Some(Spelled::Numbered(match opening {
            Opening::Text | Opening::Plan => return None,
            Opening::Reasoning(_) => ServerEvent::ThinkingStart {
                session_id,
                turn_id,
                seq,
                ts,
            },
            Opening::ToolInput { call_id, name } => ServerEvent::ToolCallStart {
                session_id,
                turn_id,
                tool_call_id: call_id,
                tool_name: name,
                seq,
                ts,
            },
        }))
    }

    /// The hot path: written from what the event holds.
    pub fn grew(self, tag: &'a StreamTag, growth: &'a Growth, delta: &'a str) -> Spelled<'a> {
        let At {
            session_id,
            seq,
            ts,
            ..
        } = self;
        let turn_id = tag.turn.as_str();
        Spelled::Numbered(match growth {
            Growth::Text | Growth::Plan => ServerEvent::TextDelta {
                session_id,
                turn_id,
                text: delta,
                seq,
                ts,
            },
            Growth::Reasoning { .. } | Growth::ReasoningPart { .. } => {
                ServerEvent::ThinkingProgress {
                    session_id,
                    turn_id,
                    text: delta,
                    seq,
                    ts,
                }
            }
            Growth::ToolInput { call_id } => ServerEvent::ToolCallDelta {
                session_id,
                turn_id,
                tool_call_id: call_id,
                delta,
                seq,
                ts,
            },
        })
    }

    pub fn finished(self, tag: &'a StreamTag, body: &'a Item) -> Option<Spelled<'a>> {
        match body {
            Item::AgentMessage { .. }
            | Item::Plan { .. }
            | Item::File { .. }
            | Item::ReviewEntered { .. }
            | Item::ReviewExited { .. } => None,
            Item::Reasoning { .. } => Some(Spelled::Numbered(ServerEvent::ThinkingComplete {
                session_id: self.session_id,
                turn_id: tag.turn.as_str(),
                seq: self.seq,
                ts: self.ts,
            })),
        }
    }
}
