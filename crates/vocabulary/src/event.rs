//! Events: numbered facts about one thread, in the past tense.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Ask, AskId, AskKind, Cause, Changed, CheckpointNews, Checkpoints, Closing, FileVersion,
    GrantScope, Item, ItemId, ModelRef, OutputStream, PlanStep, Purpose, Question, ReasoningKind,
    Seq, Status, StatusReason, StopReason, Thread, ThreadSettings, Timestamp, Title, ToolCall,
    ToolOutcome, TurnId, TurnOutcome, Usage, UserInput,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub seq: Seq,
    pub at: Timestamp,
    pub fact: Fact,
}

/// Where a fact stands in its turn, so that a translator needs no memory of what went before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTag {
    pub turn: TurnId,
    pub model: Arc<ModelRef>,
    /// The model request within the turn, from 1.
    pub step: u32,
    /// The number of the first stream part this fact makes, contiguous within the turn, from 0.
    pub part: u32,
}

/// What begins to grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    Text,
    Reasoning(ReasoningKind),
    ToolInput { call_id: String, name: String },
}

/// In what an item grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    Text,
    Reasoning(ReasoningKind),
    ToolInput { call_id: Arc<str> },
    Output(OutputStream),
}

/// What happened. `durable` says which facts the log keeps; the others only take a number.
/// `content` is the position of a block within its step's answer, from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    ThreadCreated {
        thread: Box<Thread>,
    },
    TitleChanged {
        title: Title,
        /// What the thread uses at that moment: a title is shown beside it.
        model: ModelRef,
    },
    SettingsChanged {
        settings: ThreadSettings,
        /// Every setting the call named, even where it is equal to before: who set it is answered.
        changed: Vec<Changed>,
        /// The title at that moment: a model is shown beside it.
        title: Title,
    },
    ArchivedChanged {
        archived: bool,
    },
    /// The conversation starts anew; what was said before stays in the log only.
    ThreadReset,
    StatusChanged {
        status: Status,
        reason: StatusReason,
    },
    /// Its owner let it go: whoever listens in the closer's own protocol is to leave.
    ThreadClosed,

    TurnStarted {
        turn: TurnId,
        cause: Cause,
        input: UserInput,
        model: Arc<ModelRef>,
    },
    TurnFinished {
        turn: TurnId,
        outcome: TurnOutcome,
        /// All the agent's text of the turn, blocks joined by blank lines.
        text: String,
        /// For live listeners; the log has it in the items.
        #[serde(skip)]
        reasoning: Vec<(ReasoningKind, String)>,
        usage: Option<Usage>,
        model: Arc<ModelRef>,
    },

    /// The user said more while the turn ran; the model reads it at its next step.
    TurnSteered {
        turn: TurnId,
        input: UserInput,
        /// The step that was under way, or over: the model reads it after that one's results.
        #[serde(default)]
        after_step: u32,
    },
    /// What was said before is, for the model, replaced by this summary.
    Compacted {
        tag: StreamTag,
        item: ItemId,
        summary: String,
        /// Tokens of the context before, as far as they are known.
        tokens_before: u64,
    },
    /// Tokens were spent beside the steps of a turn.
    UsageAdded {
        turn: Option<TurnId>,
        model: Arc<ModelRef>,
        purpose: Purpose,
        usage: Usage,
    },

    StepStarted {
        tag: StreamTag,
    },
    /// The provider failed in a way that may pass; the request is made again.
    StepDelayed {
        tag: StreamTag,
        /// The attempt that failed, from 1.
        attempt: u32,
        delay_ms: u64,
        error: String,
        /// Whether a part of an answer had come: it is shown, but it counts no more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        discards: bool,
    },
    StepFinished {
        tag: StreamTag,
        reason: StopReason,
        usage: Usage,
        /// The most tokens the model's context can hold, where that is known. What it holds now is
        /// the usage of this step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_limit: Option<u64>,
        /// What the thread has spent so far, this step included.
        #[serde(default)]
        thread_usage: Usage,
    },
    StepFailed {
        tag: StreamTag,
        reason: StopReason,
        error: String,
    },

    ItemStarted {
        tag: StreamTag,
        item: ItemId,
        content: u32,
        opening: Opening,
    },
    ItemGrew {
        tag: StreamTag,
        item: ItemId,
        content: u32,
        growth: Growth,
        delta: String,
    },
    ItemFinished {
        tag: StreamTag,
        item: ItemId,
        content: u32,
        body: Item,
    },

    ToolPlanned {
        tag: StreamTag,
        content: u32,
        call: ToolCall,
    },
    /// The turn has come to this call; a person may still have to allow it.
    ToolReached {
        tag: StreamTag,
        call: ToolCall,
    },
    /// Committed before the call has any effect.
    ToolStarted {
        tag: StreamTag,
        item: ItemId,
    },
    /// A command's process has ended; its output follows.
    CommandExited {
        tag: StreamTag,
        item: ItemId,
        exit_code: i32,
    },
    ToolFinished {
        tag: StreamTag,
        call: ToolCallRef,
        outcome: ToolOutcome,
    },

    AskOpened {
        tag: StreamTag,
        ask: Ask,
    },
    /// One of several questions was answered.
    AskProgressed {
        tag: StreamTag,
        ask: AskId,
        answers: BTreeMap<String, Vec<String>>,
        /// What is asked now; nothing when that was being asked already.
        next: Option<Question>,
        /// The place among the ask's questions of the one that is asked now, from 0.
        position: u32,
    },
    AskClosed {
        tag: StreamTag,
        ask: Ask,
        closing: Closing,
    },

    /// A person took back what they had allowed for this thread. Only in the logs of older versions:
    /// grants have a home of their own.
    GrantRevoked {
        what: String,
        scope: GrantScope,
    },
    PlanChanged {
        turn: Option<TurnId>,
        steps: Vec<PlanStep>,
    },
    /// What is kept of the workspace's files is not what it was.
    CheckpointsChanged {
        news: CheckpointNews,
        /// All of them, as they are now.
        now: Arc<Checkpoints>,
    },
    /// Files of the workspace changed; each has a new version.
    FilesChanged {
        /// The turn that ran when it was seen.
        turn: Option<TurnId>,
        files: Vec<FileVersion>,
    },
    /// How the workspace differs now from what it was when the turn started.
    TurnDiffed {
        turn: TurnId,
        /// Unified diffs of all files one after the other.
        diff: String,
    },
    /// A line for people who watch.
    Logged {
        line: String,
    },
    /// Something the provider sent that has no meaning for us.
    RawReceived {
        tag: StreamTag,
        value: Value,
    },
}

/// Which call a result belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallRef {
    pub item: ItemId,
    pub call_id: String,
    pub name: String,
    pub class: crate::ToolClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<crate::SubAgent>>,
}

impl From<&ToolCall> for ToolCallRef {
    fn from(call: &ToolCall) -> Self {
        Self {
            item: call.item.clone(),
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            class: call.class,
            agent: call.agent.clone(),
        }
    }
}

impl Fact {
    /// Whether the log keeps it. This is the one place where that is decided.
    pub fn durable(&self) -> bool {
        match self {
            Fact::ThreadCreated { .. }
            | Fact::TitleChanged { .. }
            | Fact::SettingsChanged { .. }
            | Fact::ArchivedChanged { .. }
            | Fact::ThreadReset
            | Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::TurnSteered { .. }
            | Fact::Compacted { .. }
            | Fact::UsageAdded { .. }
            | Fact::StepFinished { .. }
            | Fact::StepFailed { .. }
            | Fact::ItemFinished { .. }
            | Fact::ToolPlanned { .. }
            | Fact::ToolStarted { .. }
            | Fact::CommandExited { .. }
            | Fact::ToolFinished { .. }
            | Fact::AskOpened { .. }
            | Fact::AskProgressed { .. }
            | Fact::AskClosed { .. }
            | Fact::GrantRevoked { .. }
            | Fact::PlanChanged { .. } => true,
            Fact::StatusChanged { .. }
            | Fact::ThreadClosed
            | Fact::StepStarted { .. }
            | Fact::ItemStarted { .. }
            | Fact::ItemGrew { .. }
            | Fact::ToolReached { .. }
            | Fact::CheckpointsChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::Logged { .. }
            | Fact::RawReceived { .. } => false,
            Fact::StepDelayed { discards, .. } => *discards,
        }
    }

    /// How many numbered stream parts this fact makes: see `StreamTag::part`.
    pub fn parts(&self) -> u32 {
        match self {
            // A sub-agent's calls are no parts of the answer.
            Fact::ToolPlanned { call, .. } if call.agent.is_some() => 0,
            Fact::ToolFinished { call, .. } if call.agent.is_some() => 0,
            Fact::AskOpened { ask, .. } | Fact::AskClosed { ask, .. } if ask.agent.is_some() => 0,
            Fact::StepStarted { .. }
            | Fact::StepFinished { .. }
            | Fact::StepFailed { .. }
            | Fact::ToolPlanned { .. } => 2,
            Fact::ItemStarted { .. } | Fact::ItemFinished { .. } | Fact::RawReceived { .. } => 1,
            Fact::ItemGrew { growth, .. } => match growth {
                Growth::Text | Growth::Reasoning(_) | Growth::ToolInput { .. } => 1,
                Growth::Output(_) => 0,
            },
            Fact::AskOpened { ask, .. } => u32::from(matches!(ask.kind, AskKind::Approval(_))),
            Fact::AskClosed { ask, closing, .. } => match (&ask.kind, closing) {
                (AskKind::Approval(_), Closing::Answered(_)) => u32::from(!closing.approved()),
                (AskKind::Approval(_), Closing::Cancelled | Closing::Lost { .. })
                | (AskKind::Questions(_), _) => 0,
            },
            Fact::ToolFinished { outcome, .. } => match outcome {
                ToolOutcome::NotRun { .. } => 0,
                ToolOutcome::Succeeded(_)
                | ToolOutcome::Failed { .. }
                | ToolOutcome::Denied(_)
                | ToolOutcome::Interrupted(_) => 1,
            },
            Fact::ThreadCreated { .. }
            | Fact::TitleChanged { .. }
            | Fact::SettingsChanged { .. }
            | Fact::ArchivedChanged { .. }
            | Fact::ThreadReset
            | Fact::StatusChanged { .. }
            | Fact::ThreadClosed
            | Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::TurnSteered { .. }
            | Fact::Compacted { .. }
            | Fact::UsageAdded { .. }
            | Fact::StepDelayed { .. }
            | Fact::ToolReached { .. }
            | Fact::ToolStarted { .. }
            | Fact::CommandExited { .. }
            | Fact::AskProgressed { .. }
            | Fact::GrantRevoked { .. }
            | Fact::PlanChanged { .. }
            | Fact::CheckpointsChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::Logged { .. } => 0,
        }
    }

    /// The tag to number, where the fact has one.
    pub fn tag_mut(&mut self) -> Option<&mut StreamTag> {
        match self {
            Fact::StepStarted { tag }
            | Fact::StepDelayed { tag, .. }
            | Fact::Compacted { tag, .. }
            | Fact::StepFinished { tag, .. }
            | Fact::StepFailed { tag, .. }
            | Fact::ItemStarted { tag, .. }
            | Fact::ItemGrew { tag, .. }
            | Fact::ItemFinished { tag, .. }
            | Fact::ToolPlanned { tag, .. }
            | Fact::ToolReached { tag, .. }
            | Fact::ToolStarted { tag, .. }
            | Fact::CommandExited { tag, .. }
            | Fact::ToolFinished { tag, .. }
            | Fact::AskOpened { tag, .. }
            | Fact::AskProgressed { tag, .. }
            | Fact::AskClosed { tag, .. }
            | Fact::RawReceived { tag, .. } => Some(tag),
            Fact::ThreadCreated { .. }
            | Fact::TitleChanged { .. }
            | Fact::SettingsChanged { .. }
            | Fact::ArchivedChanged { .. }
            | Fact::ThreadReset
            | Fact::StatusChanged { .. }
            | Fact::ThreadClosed
            | Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::TurnSteered { .. }
            | Fact::UsageAdded { .. }
            | Fact::GrantRevoked { .. }
            | Fact::PlanChanged { .. }
            | Fact::CheckpointsChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::Logged { .. } => None,
        }
    }

    /// Whether the fact is an entry of the transcript, and so of its paged projection.
    pub fn is_entry(&self) -> bool {
        match self {
            Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::TurnSteered { .. }
            | Fact::Compacted { .. }
            | Fact::ItemFinished { .. } => true,
            // What a sub-agent does is its own conversation.
            Fact::ToolPlanned { call, .. } => call.agent.is_none(),
            Fact::ToolFinished { call, .. } => call.agent.is_none(),
            Fact::StepDelayed { discards, .. } => *discards,
            // tidy: wildcard, because everything else is no entry.
            _ => false,
        }
    }
}
