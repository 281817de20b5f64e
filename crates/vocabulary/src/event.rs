//! Events: numbered facts about one thread, in the past tense.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::facts::{
    AskFact, FilesFact, ItemFact, NoteFact, StepFact, ThreadFact, ToolFact, TurnFact,
};
use crate::{ItemId, ModelRef, Person, Seq, Timestamp, ToolCall, TurnId};

/// Written whole, for another process; the log writes facts, and less of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "crate::carried::CarriedEvent")]
pub struct Event {
    pub seq: Seq,
    pub at: Timestamp,
    /// Who caused it, where a person did.
    pub by: Option<Arc<Person>>,
    pub fact: Fact,
}

/// Where a fact stands in its turn, so that a translator needs no memory of what went before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTag {
    pub turn: TurnId,
    /// The model that speaks; absent where an agent does not say which it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<ModelRef>>,
    /// The model request within the turn, from 1.
    pub step: u32,
    /// The number of the first stream part this fact makes, contiguous within the turn, from 0.
    /// Given while the turn runs, by whoever counts parts; the log does not keep it, so that it is
    /// carried beside the fact.
    #[serde(skip)]
    pub part: u32,
}

/// What happened, by what it is about. Who has nothing to do with a group says so in one line.
///
/// `durable` says which facts the log keeps; the others only take a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Thread(ThreadFact),
    Turn(TurnFact),
    Step {
        tag: StreamTag,
        what: StepFact,
    },
    /// Something that the model writes.
    Item {
        tag: StreamTag,
        item: ItemId,
        /// The position of the block within its step's answer, from 0.
        content: u32,
        what: ItemFact,
    },
    Tool(ToolEvent),
    Ask {
        tag: StreamTag,
        what: AskFact,
    },
    Files(FilesFact),
    Note(NoteFact),
}

/// What happened to a call. It carries the whole call; the log keeps that once, when it is planned.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ToolEvent {
    pub tag: StreamTag,
    pub call: Arc<ToolCall>,
    pub what: ToolFact,
}

impl Serialize for ToolEvent {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WholeCall<'a> {
            tag: &'a StreamTag,
            call: &'a ToolCall,
            what: &'a ToolFact,
        }
        #[derive(Serialize)]
        struct ReferringCall<'a> {
            tag: &'a StreamTag,
            call: crate::CallRef,
            what: &'a ToolFact,
        }
        let (tag, what) = (&self.tag, &self.what);
        match what {
            ToolFact::Planned { .. } | ToolFact::JobEnded { .. } => {
                let call = &*self.call.without_previews();
                WholeCall { tag, call, what }.serialize(out)
            }
            ToolFact::Reached
            | ToolFact::Started
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. }
            | ToolFact::Finished { .. } => {
                let call = crate::CallRef::from(&*self.call);
                ReferringCall { tag, call, what }.serialize(out)
            }
        }
    }
}

impl Fact {
    /// Whether the log keeps it. This is the one place where that is decided.
    pub fn durable(&self) -> bool {
        match self {
            Fact::Thread(what) => what.durable(),
            Fact::Turn(what) => what.durable(),
            Fact::Step { what, .. } => what.durable(),
            Fact::Item { what, .. } => what.durable(),
            Fact::Tool(event) => event.what.durable(),
            Fact::Ask { .. } => true,
            Fact::Files(what) => what.durable(),
            Fact::Note(_) => false,
        }
    }

    /// Its place in its turn, where it has one.
    pub fn tag(&self) -> Option<&StreamTag> {
        match self {
            Fact::Step { tag, .. }
            | Fact::Item { tag, .. }
            | Fact::Tool(ToolEvent { tag, .. })
            | Fact::Ask { tag, .. } => Some(tag),
            Fact::Thread(_) | Fact::Turn(_) | Fact::Files(_) | Fact::Note(_) => None,
        }
    }

    /// The tag to number, where the fact has one.
    pub fn tag_mut(&mut self) -> Option<&mut StreamTag> {
        match self {
            Fact::Step { tag, .. }
            | Fact::Item { tag, .. }
            | Fact::Tool(ToolEvent { tag, .. })
            | Fact::Ask { tag, .. } => Some(tag),
            Fact::Thread(_) | Fact::Turn(_) | Fact::Files(_) | Fact::Note(_) => None,
        }
    }

    pub fn tool(tag: StreamTag, call: Arc<ToolCall>, what: ToolFact) -> Self {
        Fact::Tool(ToolEvent { tag, call, what })
    }
}
