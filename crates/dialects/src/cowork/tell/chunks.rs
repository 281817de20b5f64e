//! `model_stream_chunk` frames of one fact.

use std::borrow::Cow;

use serde_json::Value;
use vocabulary::{
    Ask, AskFact, AskKind, Closing, Fact, Item, ItemFact, StepFact, StreamTag, ToolEvent, ToolFact,
    ToolOutcome,
};

use super::RawParts;
use crate::Frame;
use crate::cowork::names::spell_speaker;
use crate::cowork::sanitize::{PartLimits, sanitized};
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::conversation::ModelStreamChunk;
use crate::cowork::wire::part::{Part, PartType, RawPart};
use crate::frame::{AsText, frame};

/// What the chunks of a fact have in common.
#[derive(Clone, Copy)]
pub struct Chunks<'a> {
    pub session: &'a str,
    pub tag: &'a StreamTag,
    raw: RawParts,
}

impl<'a> Chunks<'a> {
    pub fn new(session: &'a str, tag: &'a StreamTag, raw: RawParts) -> Self {
        Self { session, tag, raw }
    }

    /// The fact's only or first part.
    pub fn first(self, part: Part<'_>) -> Frame {
        self.numbered(self.tag.part, part, 0)
    }

    /// The second of a fact that makes two.
    pub fn second(self, part: Part<'_>) -> Frame {
        self.numbered(self.tag.part.saturating_add(1), part, 0)
    }

    /// The third of a fact that makes three.
    pub fn third(self, part: Part<'_>) -> Frame {
        self.numbered(self.tag.part.saturating_add(2), part, 0)
    }

    /// A part with a text of some size: written into memory taken once.
    pub fn delta(self, part: Part<'_>, text_bytes: usize) -> Frame {
        let payload_bytes = match self.raw {
            RawParts::Leave => text_bytes,
            RawParts::Sanitized | RawParts::Full => 2 * text_bytes,
        };
        self.numbered(self.tag.part, part, payload_bytes)
    }

    fn numbered(self, index: u32, part: Part<'_>, payload_bytes: usize) -> Frame {
        let (provider, model) = spell_speaker(self.tag.model.as_deref());
        let part_type = part.part_type();
        let raw_part = self.raw.limits().map(|limits| RawPart {
            part_type,
            part: sanitized(part.clone(), limits),
        });
        let event = ServerEvent::ModelStreamChunk(ModelStreamChunk {
            session_id: self.session,
            turn_id: self.tag.turn.as_str(),
            index: index.into(),
            provider,
            model: AsText(model),
            part_type,
            part: sanitized(part, PartLimits::USUAL),
            raw_part,
        });
        frame(&event, payload_bytes)
    }
}

impl RawParts {
    fn limits(self) -> Option<PartLimits> {
        match self {
            RawParts::Leave => None,
            RawParts::Sanitized => Some(PartLimits::USUAL),
            RawParts::Full => Some(PartLimits::FULL),
        }
    }
}

/// Something that this version does not know: neither whose it is nor what.
pub fn unknown(session: &str) -> Frame {
    let (provider, model) = spell_speaker(None);
    let value = Cow::Owned(Value::Null);
    let event = ServerEvent::ModelStreamChunk(ModelStreamChunk {
        session_id: session,
        turn_id: "unknown-turn",
        index: -1,
        provider,
        model: AsText(model),
        part_type: PartType::Unknown,
        part: Part::Unknown { value },
        raw_part: None,
    });
    frame(&event, 0)
}

/// How many chunks a fact makes, so that they can be counted within their turn by whoever is there
/// from its start.
pub fn count(fact: &Fact) -> u32 {
    match fact {
        Fact::Step { what, .. } => match what {
            StepFact::Started | StepFact::Finished { .. } | StepFact::Failed { .. } => 2,
            StepFact::Cited { .. } | StepFact::RawReceived { .. } => 1,
            StepFact::Delayed { discards: true, .. } => 3,
            StepFact::Delayed { .. }
            | StepFact::Compacted { .. }
            | StepFact::Pruned { .. }
            | StepFact::Retried { .. }
            | StepFact::LimitReached { .. }
            | StepFact::CompactionStarted
            | StepFact::Informed { .. } => 0,
        },
        Fact::Item {
            what:
                ItemFact::Finished {
                    body: Item::ReviewEntered { .. } | Item::ReviewExited { .. },
                    ..
                },
            ..
        } => 0,
        Fact::Item { .. } => 1,
        Fact::Tool(ToolEvent { call, what, .. }) if call.agent.is_none() => match what {
            ToolFact::Planned { .. } => 2,
            ToolFact::Finished { outcome, .. } => match outcome {
                ToolOutcome::NotRun { .. } => 0,
                ToolOutcome::Succeeded(_)
                | ToolOutcome::Failed { .. }
                | ToolOutcome::Denied(_)
                | ToolOutcome::Interrupted(_) => 1,
            },
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => 0,
        },
        Fact::Ask { what, .. } => match what {
            AskFact::Opened { ask } => u32::from(is_part(ask)),
            AskFact::Closed { ask, closing } => {
                let denied = matches!(closing, Closing::Answered(_)) && !closing.approved();
                u32::from(is_part(ask) && denied)
            }
            AskFact::Progressed { .. } => 0,
        },
        Fact::Tool(_) | Fact::Thread(_) | Fact::Turn(_) | Fact::Files(_) | Fact::Note(_) => 0,
    }
}

fn is_part(ask: &Ask) -> bool {
    matches!(ask.kind, AskKind::Approval(_)) && ask.call.agent.is_none()
}
