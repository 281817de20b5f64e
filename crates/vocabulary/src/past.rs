//! What is done with a thread's past: another thread begins with it, or a part of it is taken back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Changes, PlanStep, Seq, ThreadId, TurnId};

/// A new thread that begins with the past of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkThread {
    pub thread: ThreadId,
    pub upto: ForkPlace,
    /// Where its commands run; where the other's do when absent.
    pub directory: Option<PathBuf>,
    /// Whether it gets the files as they were when its past ends, in a directory of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files: bool,
    /// On top of the other's settings.
    pub changes: Changes,
    /// How the client wants work done in it; as in the other when absent.
    pub instructions: Option<Box<str>>,
    pub ephemeral: bool,
}

/// How much of a past goes along. What runs right now never does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForkPlace {
    /// All that is at rest.
    #[default]
    Rest,
    /// Up to this turn, and with it.
    After(TurnId),
    /// Up to this turn, without it.
    Before(TurnId),
}

/// Where the past of a thread came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    pub thread: ThreadId,
    /// The last event of that thread which is in this one, too.
    pub upto: Seq,
}

/// Takes turns back: they are hidden from everyone from then on, the model included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertThread {
    pub thread: ThreadId,
    pub to: RevertTo,
    /// Whether the files go back to what they were before the first of these turns, too.
    pub files: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RevertTo {
    /// This turn and all after it are hidden.
    Before(TurnId),
    /// The newest turns are hidden, this many.
    Newest(u32),
}

/// How a thread stood before the first turn that was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertPoint {
    /// The first turn that is hidden, its number among the thread's turns, and where it begins in the
    /// log and in the transcript.
    pub turn: TurnId,
    pub number: u64,
    pub seq: Seq,
    pub entry: u64,
    pub message_count: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preview: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_turn: Option<TurnId>,
    /// Tokens of the model's context then; 0 when that is not known.
    #[serde(default)]
    pub context_tokens: u64,
    /// Where the model's context started to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<u64>,
}
