//! The facts of each group.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Ask, AskId, Cause, Changed, CheckpointNews, Checkpoints, Closing, FileVersion, Item, ItemId,
    ModelRef, OutputStream, PlanStep, Purpose, Question, ReasoningKind, RevertPoint, Seq, Status,
    StatusReason, StopReason, Thread, ThreadSettings, Timestamp, Title, ToolOutcome, TurnId,
    TurnOutcome, UploadedFile, Usage, UserInput,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadFact {
    Created {
        thread: Box<Thread>,
    },
    Titled {
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
    Archived {
        archived: bool,
    },
    /// Its labels are these now.
    Labelled {
        labels: BTreeMap<String, String>,
    },
    /// The conversation starts anew; what was said before stays in the log only.
    Reset,
    /// Turns were taken back: nobody reads them any more. The log keeps them.
    Reverted {
        point: Box<RevertPoint>,
    },
    StatusChanged {
        status: Status,
        reason: StatusReason,
    },
    /// Its owner let it go: whoever listens in the closer's own protocol is to leave.
    Closed,
}

impl ThreadFact {
    pub(crate) fn durable(&self) -> bool {
        match self {
            ThreadFact::Created { .. }
            | ThreadFact::Titled { .. }
            | ThreadFact::SettingsChanged { .. }
            | ThreadFact::Archived { .. }
            | ThreadFact::Labelled { .. }
            | ThreadFact::Reset
            | ThreadFact::Reverted { .. } => true,
            ThreadFact::StatusChanged { .. } | ThreadFact::Closed => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFact {
    Started {
        turn: TurnId,
        cause: Cause,
        input: UserInput,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<ModelRef>>,
    },
    /// The user said more while the turn ran; the model reads it at its next step.
    Steered {
        turn: TurnId,
        input: UserInput,
        /// The step that was under way, or over: the model reads it after that one's results.
        #[serde(default)]
        after_step: u32,
    },
    /// What was said while the turn ran has its place in the transcript: before the first thing of the
    /// step whose model reads it, or at the end of a turn that took no step more.
    SteerPlaced { turn: TurnId, input: UserInput },
    Finished {
        turn: TurnId,
        outcome: TurnOutcome,
        /// All the agent's text of the turn, blocks joined by blank lines.
        text: String,
        /// For live listeners; the log has it in the items.
        #[serde(skip)]
        reasoning: Vec<(ReasoningKind, String)>,
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<ModelRef>>,
        /// Not known of older logs, and not of imported turns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Timestamp>,
    },
    PlanChanged {
        turn: Option<TurnId>,
        steps: Vec<PlanStep>,
    },
    /// Tokens were spent beside the steps of a turn.
    UsageAdded {
        turn: Option<TurnId>,
        model: Arc<ModelRef>,
        purpose: Purpose,
        usage: Usage,
    },
}

impl TurnFact {
    pub(crate) fn durable(&self) -> bool {
        match self {
            TurnFact::Started { .. }
            | TurnFact::Steered { .. }
            | TurnFact::Finished { .. }
            | TurnFact::PlanChanged { .. }
            | TurnFact::UsageAdded { .. } => true,
            // Follows from the steps that the log has.
            TurnFact::SteerPlaced { .. } => false,
        }
    }
}

/// What happened to one request to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepFact {
    Started,
    /// The provider failed in a way that may pass; the request is made again.
    Delayed {
        /// The attempt that failed, from 1.
        attempt: u32,
        delay_ms: u64,
        error: String,
        /// The call whose sub-agent made the request; nothing for the thread's own agent, or of older logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<ItemId>,
        /// Whether a part of an answer had come: it is shown, but it counts no more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        discards: bool,
    },
    /// What became of a request that was made again.
    Retried {
        /// The attempt, from 2.
        attempt: u32,
        stage: RetryStage,
        /// As above.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<ItemId>,
    },
    /// A turn has come to a limit of its own.
    LimitReached {
        kind: TurnLimit,
        limit: u32,
        observed: u32,
    },
    Finished {
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
    Failed {
        reason: StopReason,
        error: String,
    },
    /// The model is asked for a summary of what was said before.
    CompactionStarted,
    /// What was said before is, for the model, replaced by this summary.
    Compacted {
        item: ItemId,
        /// As the model reads it.
        summary: String,
        /// Tokens of the context before, as far as they are known.
        tokens_before: u64,
        /// What the model reads beside it. Of an older log: nothing but the running turn's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Box<KeptContext>>,
    },
    /// The model is not shown the results of these calls any more; people are.
    Pruned {
        results: Vec<ItemId>,
    },
    /// What the server itself tells the model in its conversation: after the results of this step,
    /// or, before the first one, before what the user said.
    Informed {
        text: String,
    },
    /// The model named a page as the source of what it says.
    Cited {
        url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// Something the provider sent that has no meaning for us.
    RawReceived {
        value: Value,
    },
}

impl StepFact {
    pub(crate) fn durable(&self) -> bool {
        match self {
            StepFact::Finished { .. }
            | StepFact::Failed { .. }
            | StepFact::Compacted { .. }
            | StepFact::Pruned { .. }
            | StepFact::Informed { .. }
            | StepFact::Delayed { .. }
            | StepFact::Retried { .. }
            | StepFact::LimitReached { .. } => true,
            StepFact::Started
            | StepFact::CompactionStarted
            | StepFact::Cited { .. }
            | StepFact::RawReceived { .. } => false,
        }
    }
}

/// How far a request is that was made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryStage {
    Started,
    Succeeded,
    /// It failed, too, and no more is tried.
    GivenUp {
        error: String,
    },
    Cancelled,
}

/// What of a call took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimit {
    /// All of it.
    Whole,
    /// Nothing was heard of it.
    Silence,
}

/// What a turn may not do for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnLimit {
    /// It has taken all its steps; one more follows, in words alone.
    Steps,
    /// Its model called tools where only words were wanted; the turn fails.
    CallsInWrapUp,
}

/// What outlives a summary in the model's context, in the order in which it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptContext {
    /// What the server tells of the surroundings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub surroundings: String,
    /// What the user said in the thread, the oldest first, but for what is among the newest steps.
    #[serde(default)]
    pub said: Vec<String>,
    /// Files that were changed so far. The summary names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The newest steps stay as they were, after the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<KeptSteps>,
}

/// Where the steps begin that outlive a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSteps {
    /// The place in the transcript of the first one's first entry.
    pub entry: u64,
    /// The place of that turn's first entry: from there on the log must be read.
    pub turn_entry: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemFact {
    Started {
        opening: Opening,
    },
    Grew {
        growth: Growth,
        delta: String,
    },
    Finished {
        body: Item,
        /// Where it began: what was said meanwhile stands behind it. Not known of older logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began: Option<Seq>,
    },
}

impl ItemFact {
    pub(crate) fn durable(&self) -> bool {
        match self {
            ItemFact::Finished { .. } => true,
            // Where a thought begins is told by its own event, also to who comes later.
            ItemFact::Started { opening } => matches!(opening, Opening::Reasoning(_)),
            ItemFact::Grew { .. } => false,
        }
    }
}

/// What begins to grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    Text,
    Plan,
    Reasoning(ReasoningKind),
    ToolInput { call_id: String, name: String },
}

/// In what an item grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    Text,
    Plan,
    /// In which of its parts, from 0.
    Reasoning {
        kind: ReasoningKind,
        part: u32,
    },
    /// A new part begins; it grows by the blank line that parts it from the one before.
    ReasoningPart {
        kind: ReasoningKind,
        part: u32,
    },
    ToolInput {
        call_id: Arc<str>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFact {
    Planned {
        /// The position of the block within its step's answer, from 0.
        content: u32,
    },
    /// The turn has come to this call; a person may still have to allow it.
    Reached,
    /// Committed before the call has any effect.
    Started,
    Wrote {
        stream: OutputStream,
        delta: String,
    },
    /// Somebody typed to a command that runs in the background; nothing: its output is waited for.
    Interacted {
        process: u32,
        stdin: String,
    },
    /// How far it is, in the tool's own words.
    Progressed {
        message: String,
    },
    /// It took longer than it may. What becomes of it is told by its end.
    TimedOut {
        limit_ms: u64,
        by: TimeLimit,
    },
    /// A command's process has ended; its output follows.
    Exited {
        exit_code: i32,
    },
    Finished {
        outcome: ToolOutcome,
        /// How long it ran; nothing where it did not, or an older version wrote this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A command that the call had left running in the background has ended. In history the call stands as
    /// it ended itself.
    JobEnded {
        outcome: ToolOutcome,
    },
}

impl ToolFact {
    pub(crate) fn durable(&self) -> bool {
        match self {
            ToolFact::Planned { .. }
            | ToolFact::Started
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. }
            | ToolFact::Finished { .. } => true,
            ToolFact::Reached
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. } => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskFact {
    Opened {
        ask: Ask,
    },
    /// One of several questions was answered.
    Progressed {
        ask: AskId,
        answers: BTreeMap<String, Vec<String>>,
        /// What is asked now; nothing when that was being asked already.
        next: Option<Question>,
        /// The place among the ask's questions of the one that is asked now, from 0.
        position: u32,
    },
    Closed {
        ask: Ask,
        closing: Closing,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesFact {
    /// What is kept of the workspace's files is not what it was.
    CheckpointsChanged {
        news: CheckpointNews,
        /// All of them, as they are now.
        now: Arc<Checkpoints>,
    },
    /// Files of the workspace changed; each has a new version.
    Changed {
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
    /// A client put a file where uploads lie; the model reads of it before the next words of the user.
    Uploaded { file: UploadedFile },
}

impl FilesFact {
    pub(crate) fn durable(&self) -> bool {
        match self {
            FilesFact::Uploaded { .. } => true,
            FilesFact::CheckpointsChanged { .. }
            | FilesFact::Changed { .. }
            | FilesFact::TurnDiffed { .. } => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteFact {
    /// A line for people who watch.
    Logged { line: String },
    /// What the workspace told the agent of a turn before it began.
    Instructed {
        /// Relative to the workspace where they lie inside.
        files: Vec<String>,
        skills: usize,
        /// Whether a person trusts what came with the workspace.
        #[serde(default)]
        trusted: bool,
    },
    /// The log has something here that this version does not know: it is kept there, and passed over.
    Unknown,
}
