//! A turn: from one user input to rest. It runs in its own task and only *tells* what happened;
//! the session records.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use snapshots::TurnWrites;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use vocabulary::{
    Ask, AskId, AskKind, Closing, Fact, ItemFact, ItemId, ModelRef, PlanStep, StreamTag,
    ThreadCard, ThreadSettings, ToolCall, ToolFact, TurnError, TurnId, UserInput,
};

use crate::Shared;
use crate::agents::model::sub::KeptSubAgents;
use crate::agents::{Agent, AgentMemory};
use crate::traces::TurnTrace;

pub mod checks;
pub mod fence;
pub mod gate;
pub mod meter;
pub mod offer;
pub mod servers;
pub mod specs;
pub mod tooling;
mod trusting;
pub mod user_commands;
pub mod writes;

use checks::{StepEdits, ThreadChecks};
use meter::Meter;
use servers::{ToldServerNotes, TurnTools};
use user_commands::{UserCommand, UserCommands};

/// What a turn says to its session.
pub enum FromTurn {
    Tell(Fact),
    /// Tell, and answer once it is on disk.
    Commit(Fact, oneshot::Sender<()>),
    /// Answer once everything told so far has its number.
    Heard(oneshot::Sender<()>),
    /// Answer once everything told so far is on disk.
    Sync(oneshot::Sender<()>),
    /// Put this before a person. An ask for the same item that is already open is joined.
    Ask {
        tag: StreamTag,
        ask: Ask,
        reply: oneshot::Sender<Closing>,
    },
    Ended(TurnEnd),
}

impl FromTurn {
    /// Whether it is a piece by which something grew.
    pub fn is_delta(&self) -> bool {
        match self {
            FromTurn::Tell(fact) => match fact {
                Fact::Item { what, .. } => matches!(what, ItemFact::Grew { .. }),
                Fact::Tool(tool) => matches!(tool.what, ToolFact::Wrote { .. }),
                Fact::Thread(_)
                | Fact::Turn(_)
                | Fact::Step { .. }
                | Fact::Ask { .. }
                | Fact::Files(_)
                | Fact::Note(_) => false,
            },
            FromTurn::Commit(..)
            | FromTurn::Heard(_)
            | FromTurn::Sync(_)
            | FromTurn::Ask { .. }
            | FromTurn::Ended(_) => false,
        }
    }
}

/// How a turn came to rest, as its agent sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Cancelled,
    Failed(TurnError),
}

/// What the session lets a turn do right now; settings may change while it runs.
#[derive(Clone, Debug)]
pub struct Permits {
    pub settings: ThreadSettings,
}

/// Where the turn's history lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct History {
    pub from_ordinal: u64,
    pub message_count: u64,
    /// Tokens the model's context held after its last answer; 0 when that is not known.
    pub context_tokens: u64,
}

/// What a turn hears from its user while it runs.
pub enum SteerInput {
    Said(UserInput),
    /// A command of their own has ended.
    Done {
        call: ItemId,
        note: String,
    },
}

impl SteerInput {
    /// By which it is known whether the log had it already.
    pub fn item(&self) -> &ItemId {
        match self {
            SteerInput::Said(input) => &input.item,
            SteerInput::Done { call, .. } => call,
        }
    }
}

/// What the user said to a turn while it ran, until its next step takes it.
pub struct Steers(Mutex<QueuedSteers>);

struct QueuedSteers {
    inputs: Vec<SteerInput>,
    /// Everything that was said so far, heard or not.
    said: String,
    /// The step that has listened last.
    step: u32,
}

impl Steers {
    /// For a turn that has come to this step.
    pub fn after(step: u32) -> Self {
        Self(Mutex::new(QueuedSteers {
            inputs: Vec::new(),
            said: String::new(),
            step,
        }))
    }

    /// Gives the step after which it will be heard.
    pub fn push(&self, input: UserInput) -> u32 {
        let mut waiting = self.0.lock();
        waiting.said.push_str(&input.text);
        waiting.said.push('\n');
        waiting.inputs.push(SteerInput::Said(input));
        waiting.step
    }

    /// The same for what the user did; a turn does not go on for it.
    pub fn push_done(&self, call: ItemId, note: String) -> u32 {
        let mut waiting = self.0.lock();
        waiting.inputs.push(SteerInput::Done { call, note });
        waiting.step
    }

    /// The step that has listened last.
    pub fn step(&self) -> u32 {
        self.0.lock().step
    }

    /// Everything that `step` is the first to hear.
    pub fn take(&self, step: u32) -> Vec<SteerInput> {
        let mut waiting = self.0.lock();
        waiting.step = step;
        std::mem::take(&mut waiting.inputs)
    }

    /// Whether what was said names this host.
    fn name(&self, host: &str) -> bool {
        names(&self.0.lock().said, host)
    }

    /// How much was said that was not heard yet.
    pub fn len(&self) -> usize {
        let is_said = |input: &&SteerInput| matches!(input, SteerInput::Said(_));
        self.0.lock().inputs.iter().filter(is_said).count()
    }
}

/// Where an agent takes a turn up.
pub enum TurnStart {
    Fresh,
    /// The process died while this turn waited: these calls of step `step` are still to be made.
    PickUp {
        step: u32,
        calls: Vec<DueCall>,
    },
    /// It is made for a command of the user's own.
    UserCommand(Box<UserCommand>),
}

impl TurnStart {
    /// Whether no step was taken yet: the process may have died while a person was asked before that.
    pub fn is_first(&self) -> bool {
        match self {
            TurnStart::Fresh | TurnStart::UserCommand(_) => true,
            TurnStart::PickUp { step, calls } => *step == 0 && calls.is_empty(),
        }
    }
}

/// A call that is still to be made.
pub struct DueCall {
    pub tag: StreamTag,
    pub call: Arc<ToolCall>,
    /// What the model calls it.
    pub model_call_id: String,
    /// Whether the turn had come to it before, and said so.
    pub reached: bool,
}

/// One running turn, as its agent sees it.
pub struct Turn {
    pub shared: Arc<Shared>,
    pub card: Arc<ThreadCard>,
    pub id: TurnId,
    pub agent: Arc<dyn Agent>,
    /// The thread's model.
    pub model: Arc<ModelRef>,
    pub tools: TurnTools,
    /// What people were told of the thread's MCP servers.
    pub told_servers: ToldServerNotes,
    /// Whether it is a review, in which nothing may be changed.
    pub reviews: bool,
    /// Whether questions reached somebody when it began: else it is not offered to ask any. The same for all
    /// its steps, so that each request begins with the one before.
    pub can_ask: bool,
    /// Calls that asked in vain, and what their model is told of that.
    pub unheard: Mutex<HashMap<ItemId, String>>,
    /// What the user said to start it.
    pub input: String,
    pub history: History,
    /// The thread's plan when it started.
    pub plan: Vec<PlanStep>,
    pub meter: Arc<Meter>,
    pub steers: Arc<Steers>,
    /// What its agent kept from the turn before.
    pub memory: AgentMemory,
    /// Sub-agents of its thread that can go on.
    pub sub_agents: Arc<KeptSubAgents>,
    /// The tools of those of its sub-agents that have a list of their own, by the calls they work
    /// for.
    pub sub_agent_tools: Mutex<HashMap<ItemId, Vec<String>>>,
    /// The files its thread has read.
    pub seen: Arc<tools::SeenFiles>,
    /// What runs in the background of its thread.
    pub jobs: Arc<tools::Jobs>,
    /// The files it changes.
    pub writes: Arc<TurnWrites>,
    /// Those that its step has edited so far.
    pub edits: StepEdits,
    /// How its thread's checks ended before.
    pub checks: Arc<ThreadChecks>,
    /// The commands of the user's own that run beside it.
    pub user_commands: Arc<UserCommands>,
    pub permits: watch::Receiver<Permits>,
    /// Calls that run at the same time ask people one after the other: not every client shows two
    /// asks, and an answer for longer than once may make the next one needless.
    pub asks_in_turn: tokio::sync::Mutex<()>,
    pub cancel: CancellationToken,
    /// Where the operator wants traces, and the thread, too.
    pub trace: Option<Arc<TurnTrace>>,
    pub to_session: mpsc::Sender<FromTurn>,
}

/// The session is gone: nothing a turn does counts any more.
#[derive(Debug)]
pub struct SessionGone;

impl Turn {
    pub fn tag(&self, step: u32) -> StreamTag {
        // The session numbers the parts.
        StreamTag {
            turn: self.id.clone(),
            model: self
                .agent
                .abilities()
                .uses_model
                .then(|| Arc::clone(&self.model)),
            step,
            part: 0,
        }
    }

    pub async fn tell(&self, fact: Fact) -> Result<(), SessionGone> {
        self.to_session
            .send(FromTurn::Tell(fact))
            .await
            .map_err(|_| SessionGone)
    }

    /// Returns when the fact is on disk.
    pub async fn commit(&self, fact: Fact) -> Result<(), SessionGone> {
        let (done, committed) = oneshot::channel();
        self.to_session
            .send(FromTurn::Commit(fact, done))
            .await
            .map_err(|_| SessionGone)?;
        committed.await.map_err(|_| SessionGone)
    }

    /// Returns when everything told so far has its number: what others tell from now on comes later.
    pub async fn heard(&self) -> Result<(), SessionGone> {
        let (done, heard) = oneshot::channel();
        self.to_session
            .send(FromTurn::Heard(done))
            .await
            .map_err(|_| SessionGone)?;
        heard.await.map_err(|_| SessionGone)
    }

    /// Returns when everything recorded so far is on disk, so that the log can be read.
    pub async fn sync(&self) -> Result<(), SessionGone> {
        let (done, committed) = oneshot::channel();
        self.to_session
            .send(FromTurn::Sync(done))
            .await
            .map_err(|_| SessionGone)?;
        committed.await.map_err(|_| SessionGone)
    }

    /// Opens an ask, or joins the one that is open for this call, and waits for its end. Whoever
    /// calls this holds `asks_in_turn`.
    pub async fn ask(
        &self,
        tag: StreamTag,
        call: &ToolCall,
        kind: AskKind,
    ) -> Result<Closing, SessionGone> {
        let id: AskId = self
            .shared
            .ask_numbers
            .next()
            .await
            .map_err(|_| SessionGone)?;
        let ask = Ask {
            id,
            turn: self.id.clone(),
            call: Box::new(call.into()),
            kind,
        };
        let (reply, closing) = oneshot::channel();
        self.to_session
            .send(FromTurn::Ask { tag, ask, reply })
            .await
            .map_err(|_| SessionGone)?;
        closing.await.map_err(|_| SessionGone)
    }

    /// Whether the user named this host in this turn, so that nobody need be asked about it.
    pub fn user_named(&self, host: &str) -> bool {
        names(&self.input, host) || self.steers.name(host)
    }

    pub fn new_item(&self) -> ItemId {
        ItemId::new(self.shared.new_id().to_string())
    }
}

/// Whether a text names a host as a whole: not as a part of another name.
fn names(text: &str, host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let text = text.to_ascii_lowercase();
    let bytes = text.as_bytes();
    !host.is_empty()
        && text.match_indices(host).any(|(at, _)| {
            let before = at.checked_sub(1).map(|before| bytes[before]);
            // A dot may end the sentence as well.
            let rest = text[at + host.len()..].trim_start_matches('.');
            let after = rest.bytes().next();
            let part = |byte: Option<u8>| byte.is_some_and(|byte| is_part(byte) || byte == b'@');
            !part(before) && !part(after)
        })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn only_a_whole_host_is_named() {
        for text in [
            "read https://docs.example/a?b=c",
            "see docs.example.",
            "DOCS.EXAMPLE:8080, please",
        ] {
            assert!(names(text, "docs.example"), "{text}");
        }
        for text in [
            "https://evil-docs.example/",
            "https://docs.example.evil.test/",
            "https://docs.example@evil.test/",
            "https://a.docs.example/",
            "docs.examples",
            "",
        ] {
            assert!(!names(text, "docs.example"), "{text}");
        }
    }
}
