//! Threads: conversations that are kept, as lists and joiners see them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::carried;
use crate::{
    Approvals, Ask, Assignment, Budgets, CallRef, Entry, Event, Fact, ForkedFrom, GitInfo, Growth,
    InSection, ItemFact, ItemId, ModelRef, Opening, OutputStream, PART_BREAK, PlanStep,
    ReasoningKind, SandboxInForce, SandboxMode, Seq, Status, StepFact, StreamTag, SummaryDetail,
    TenantId, ThreadId, Timestamp, ToolCall, ToolFact, TurnId, UserInput, Verbosity, WorkFolders,
    WorkspaceId,
};

/// What never changes about a thread: enough to spell any of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCard {
    pub id: ThreadId,
    pub tenant: TenantId,
    pub workspace: WorkspaceId,
    /// Where its commands run.
    pub directory: PathBuf,
    /// The id a client made up for it, kept as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    pub created_at: Timestamp,
    /// Beside `directory`; nothing where nobody decided on any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Box<WorkFolders>>,
    /// The thread that its past came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// In no list, and gone with its last listener.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
}

/// A thread as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub card: ThreadCard,
    pub title: Title,
    pub settings: ThreadSettings,
    pub status: Status,
    pub archived: bool,
    pub updated_at: Timestamp,
    /// When a turn last started or ended; never, for a thread without turns.
    pub active_at: Option<Timestamp>,
    pub message_count: u64,
    /// The first words the user said.
    pub preview: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Where its tenant's list has it. The library knows; filled in where a thread is answered with, and
    /// never kept with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<Box<InSection>>,
}

/// The label of a thread that lists leave out, and what it says then: one that works for another.
pub const VISIBILITY_LABEL: &str = "sidebar_visibility";
const HIDDEN: &str = "hidden";

impl Thread {
    /// Whether lists leave it out that do not ask for such threads.
    pub fn is_hidden(&self) -> bool {
        self.labels
            .get(VISIBILITY_LABEL)
            .is_some_and(|word| word == HIDDEN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Title {
    /// Empty while nobody has named the thread; each dialect has its own word for that.
    pub text: String,
    pub source: TitleSource,
    /// The model that made it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Default for Title {
    fn default() -> Self {
        Self {
            text: String::new(),
            source: TitleSource::Default,
            model: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TitleSource {
    Default,
    Heuristic,
    Model,
    Manual,
}

/// What a thread's owner may set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSettings {
    pub model: ModelRef,
    /// Run everything without asking, within the sandbox.
    pub auto_approve: bool,
    /// When a person is asked, where `auto_approve` does not say yes to everything.
    #[serde(default)]
    pub approvals: Approvals,
    #[serde(default)]
    pub sandbox: SandboxMode,
    /// Whether its commands reach the network where the server's own setting would not let them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// What the agent may do at all. Older logs have `tools: false` for a chat.
    #[serde(alias = "tools", deserialize_with = "mode_or_flag", default)]
    pub mode: AgentMode,
    /// What drives its turns; the built-in agent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub max_steps: u32,
    /// Empty: the thread's own model.
    pub sub_agent_model: String,
    pub observability: bool,
    pub mcp: bool,
    /// How hard the model thinks; its own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How much the model says; as it thinks best when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
    /// What is shown of its thoughts; as its service thinks best when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryDetail>,
    /// What may be spent; the server's own limits where absent.
    #[serde(default)]
    pub budgets: Box<Budgets>,
    /// How the client that made the thread wants work done in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Box<str>>,
    /// What the work in it is for, where a harness said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Box<Assignment>>,
    /// The repository that it works in, as it was found or said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Box<GitInfo>>,
}

/// What an agent may do at all; the engine holds it to that, call by call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    /// Talks, and has no tools.
    Chat,
    /// Looks and asks, and changes nothing.
    Plan,
    #[default]
    Code,
}

pub(crate) fn mode_or_flag<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<AgentMode, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ModeOrFlag {
        Mode(AgentMode),
        HasTools(bool),
    }
    Ok(match ModeOrFlag::deserialize(deserializer)? {
        ModeOrFlag::Mode(mode) => mode,
        ModeOrFlag::HasTools(true) => AgentMode::Code,
        ModeOrFlag::HasTools(false) => AgentMode::Chat,
    })
}

/// One of the `ThreadSettings`, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    Model,
    AutoApprove,
    Approvals,
    Sandbox,
    Network,
    #[serde(alias = "tools")]
    Mode,
    Agent,
    MaxSteps,
    SubAgentModel,
    Observability,
    Mcp,
    Effort,
    Verbosity,
    Summary,
    Budgets,
    Assignment,
    Instructions,
    Git,
}

/// Everything someone who joins needs to draw the thread, taken at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadView {
    pub thread: Thread,
    /// Everything up to here is in this view; the listener hears what comes after.
    pub head: Seq,
    pub turn: Option<RunningTurn>,
    #[serde(with = "carried::asks")]
    pub asks: Vec<OpenAsk>,
    pub plan: Vec<PlanStep>,
    /// The turn that made the plan what it is.
    pub plan_turn: Option<TurnId>,
    /// The newest entries of the transcript, as many messages as were asked for.
    pub recent: Vec<Entry>,
    /// Whether it was woken from the store for this.
    pub woken: bool,
    /// Whether anything of it is in the store yet.
    pub kept: bool,
    /// Who listens, this listener not counted.
    pub listeners: usize,
    pub sandbox: SandboxInForce,
    /// How hard its model is really asked to think: the wish of its settings or of the server, as
    /// far as the model can. None where the model has no efforts.
    #[serde(default)]
    pub effort: Option<String>,
}

/// A turn that has not come to rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningTurn {
    pub turn: TurnId,
    pub started_at: Timestamp,
    pub input: UserInput,
    /// The text of the agent's finished messages of this turn, in order.
    pub text: Vec<String>,
    pub reasoning: Vec<(ReasoningKind, String)>,
    pub calls: Vec<PlannedCall>,
    /// The step under way: the model is being asked.
    #[serde(with = "carried::some_tag")]
    pub step: Option<StreamTag>,
    /// What is being written right now.
    pub live: Vec<Growing>,
    /// The durable events of this turn so far, oldest first.
    pub events: Vec<Event>,
    /// What was said to it and has no place in the transcript yet.
    #[serde(default)]
    pub unplaced: Vec<ItemId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    pub call: CallRef,
    pub started: bool,
    pub finished: bool,
}

impl RunningTurn {
    /// What is under way and in no log, told anew: for each item its beginning, and all that it
    /// grew by as if it had come at once. Whoever hears this, and then what follows, has heard the
    /// same as one who was there from the start.
    pub fn so_far(&self) -> Vec<Fact> {
        let step = self.step.clone().map(|tag| Fact::Step {
            tag,
            what: StepFact::Started,
        });
        let items = self.live.iter().flat_map(Growing::so_far);
        step.into_iter().chain(items).collect()
    }
}

/// An item that is still growing, and its place among the parts of its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// Where it began.
    #[serde(with = "carried::tag")]
    pub tag: StreamTag,
    /// The number of its first event, where that is known.
    pub began: Option<Seq>,
    /// The number of the part by which it grew last; that of its beginning if it has not.
    pub part: u32,
    pub item: LiveItem,
}

impl Growing {
    fn so_far(&self) -> Vec<Fact> {
        let (item, content, opening, growth, text) = match &self.item {
            LiveItem::Text {
                item,
                content,
                text,
            } => (item, *content, Opening::Text, Growth::Text, text),
            LiveItem::Plan {
                item,
                content,
                text,
            } => (item, *content, Opening::Plan, Growth::Plan, text),
            LiveItem::Reasoning {
                item,
                content,
                kind,
                text,
                breaks,
            } => return self.thought_so_far((item, *content), *kind, text, breaks),
            LiveItem::ToolInput {
                item,
                content,
                call_id,
                name,
                json,
            } => {
                let growth = Growth::ToolInput {
                    call_id: Arc::from(call_id.as_str()),
                };
                let (call_id, name) = (call_id.clone(), name.clone());
                let opening = Opening::ToolInput { call_id, name };
                (item, *content, opening, growth, json)
            }
            // Its call is in the log. Which of its words went where is not known any more.
            LiveItem::Output { call, text } => {
                let stream = OutputStream::Stdout;
                let delta = text.clone();
                let what = ToolFact::Wrote { stream, delta };
                return vec![Fact::tool(self.grown(), Arc::clone(call), what)];
            }
        };
        let fact = |tag: StreamTag, what: ItemFact| Fact::Item {
            tag,
            item: item.clone(),
            content,
            what,
        };
        let started = fact(self.tag.clone(), ItemFact::Started { opening });
        let grew = (!text.is_empty()).then(|| {
            let delta = text.clone();
            fact(self.grown(), ItemFact::Grew { growth, delta })
        });
        std::iter::once(started).chain(grew).collect()
    }

    /// A thought, part by part.
    fn thought_so_far(
        &self,
        (item, content): (&ItemId, u32),
        kind: ReasoningKind,
        text: &str,
        breaks: &[usize],
    ) -> Vec<Fact> {
        let fact = |tag: StreamTag, what: ItemFact| Fact::Item {
            tag,
            item: item.clone(),
            content,
            what,
        };
        let opening = Opening::Reasoning(kind);
        let mut facts = vec![fact(self.tag.clone(), ItemFact::Started { opening })];
        let mut grow = |growth: Growth, delta: &str| {
            if !delta.is_empty() {
                let delta = delta.to_owned();
                facts.push(fact(self.grown(), ItemFact::Grew { growth, delta }));
            }
        };
        let (mut from, mut part) = (0, 0);
        for end in breaks.iter().copied() {
            let parted = text.get(from..end).unwrap_or_default();
            let (words, blank) = match parted.strip_suffix(PART_BREAK) {
                Some(words) => (words, PART_BREAK),
                None => (parted, ""),
            };
            grow(Growth::Reasoning { kind, part }, words);
            part += 1;
            grow(Growth::ReasoningPart { kind, part }, blank);
            from = end;
        }
        let rest = text.get(from..).unwrap_or_default();
        grow(Growth::Reasoning { kind, part }, rest);
        // Each has a number of its own among the parts of the turn; there were as many, or more.
        for (back, fact) in (0..).zip(facts.iter_mut().skip(1).rev()) {
            if let Some(tag) = fact.tag_mut() {
                tag.part = self.part.saturating_sub(back);
            }
        }
        facts
    }

    /// The tag of the last growth.
    fn grown(&self) -> StreamTag {
        StreamTag {
            part: self.part,
            ..self.tag.clone()
        }
    }
}

/// What it is that grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveItem {
    Text {
        item: ItemId,
        content: u32,
        text: String,
    },
    Plan {
        item: ItemId,
        content: u32,
        text: String,
    },
    Reasoning {
        item: ItemId,
        content: u32,
        kind: ReasoningKind,
        text: String,
        /// As in the item that it becomes.
        #[serde(default)]
        breaks: Vec<usize>,
    },
    ToolInput {
        item: ItemId,
        content: u32,
        call_id: String,
        name: String,
        json: String,
    },
    Output {
        call: Arc<ToolCall>,
        text: String,
    },
}

/// An ask that waits, with the place it has in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    pub ask: Ask,
    pub seq: Seq,
    pub at: Timestamp,
    pub tag: StreamTag,
    /// Answers that came one by one.
    #[serde(default)]
    pub answers: BTreeMap<String, Vec<String>>,
}
