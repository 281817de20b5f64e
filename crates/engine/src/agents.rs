//! What drives a turn, chosen by a thread's settings: the built-in loop over a model, and whatever else
//! is registered under a name.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tools::{Failure, SpawnRequest};
use vocabulary::{
    Changes, NamedModel, Refusal, StreamTag, ThreadSettings, ToolCall, TurnError, TurnErrorKind,
};

use crate::tenants::TenantOwn;
use crate::turn::{Turn, TurnEnd, TurnStart};

mod echo;
pub mod external;
pub mod model;

use external::ExternalAgent;

/// What clients call the built-in loop over a model.
const BUILT_IN: &str = "coding-agent";
/// The one that says what it was told.
const ECHO: &str = "echo";

/// Drives one turn to its end. Everything that happens is told through the turn.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    fn abilities(&self) -> Abilities;

    async fn run(&self, turn: Arc<Turn>, start: TurnStart) -> TurnEnd;

    /// Runs a sub-agent for a call of its turn; gives what the caller is told of it.
    async fn spawn(
        &self,
        _turn: &Arc<Turn>,
        _tag: &StreamTag,
        _call: &Arc<ToolCall>,
        _request: SpawnRequest,
    ) -> Result<String, Failure> {
        let message = "this agent has no sub-agents; do it yourself";
        Err(Failure::Error(message.to_owned()))
    }
}

/// What an agent can do beside running a turn from its beginning to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It uses the thread's model, so what it tells names that.
    pub uses_model: bool,
    /// It hears what is said to it while it runs.
    pub hears_steers: bool,
    /// It goes on with a turn that waited when the process died.
    pub picks_up: bool,
    /// What it reads is made from the log, so that the server can summarise it.
    pub reads_log: bool,
}

/// What an agent keeps of a thread between its turns; let go of when the thread is at rest.
pub type AgentMemory = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

/// Lets go of what can be read again. A program that runs for the thread stays as long as the thread is
/// awake: what it knows may be nowhere else.
pub(crate) fn shrink(memory: &AgentMemory) {
    let is_running = |kept: &mut Box<dyn Any + Send>| !external::is_kept(kept.as_ref());
    drop(memory.lock().take_if(is_running));
}

/// The agents that threads can choose from.
#[derive(Clone)]
pub struct Agents {
    built_in: Arc<dyn Agent>,
    named: BTreeMap<String, Arc<dyn Agent>>,
    /// Programs of the user's, which are chosen like a provider of models, too.
    external: Vec<Arc<ExternalAgent>>,
}

impl Default for Agents {
    /// Those that need no program of the user's.
    fn default() -> Self {
        let echo: Arc<dyn Agent> = Arc::new(echo::EchoAgent);
        Self {
            built_in: Arc::new(model::ModelAgent),
            named: BTreeMap::from([(ECHO.to_owned(), echo)]),
            external: Vec::new(),
        }
    }
}

impl Agents {
    /// Adds an agent; one of the same name is replaced.
    pub fn add(&mut self, name: impl Into<String>, agent: Arc<dyn Agent>) {
        self.named.insert(name.into(), agent);
    }

    /// Adds a program of the user's: for threads that choose it by its name, and for those that choose
    /// a model of it.
    pub fn add_external(&mut self, agent: Arc<ExternalAgent>) {
        self.add(agent.name(), Arc::new(agent.by_name()));
        self.external.retain(|other| other.name() != agent.name());
        self.external.push(agent);
    }

    pub(crate) fn external(&self) -> &[Arc<ExternalAgent>] {
        &self.external
    }

    /// The program that goes by the name of this provider.
    pub(crate) fn external_named(&self, provider: &str) -> Option<&Arc<ExternalAgent>> {
        self.external.iter().find(|agent| agent.name() == provider)
    }

    /// Whether turns with these settings are driven by a program of the user's, which our sandbox does
    /// not hold.
    pub(crate) fn is_external(&self, settings: &ThreadSettings) -> bool {
        let name = settings.agent.as_deref();
        let name = name.unwrap_or(&settings.model.provider);
        self.external_named(name).is_some()
    }

    /// The agent of a thread with these settings. One that is not here any more fails its turns, in
    /// words.
    pub(crate) fn of(&self, own: &TenantOwn, settings: &ThreadSettings) -> Arc<dyn Agent> {
        if self.is_external(settings) && !own.may_leave_sandbox() {
            return Arc::new(MissingAgent(OUTSIDE.to_owned()));
        }
        let Some(name) = &settings.agent else {
            return match self.external_named(&settings.model.provider) {
                Some(agent) => Arc::clone(agent) as _,
                None => Arc::clone(&self.built_in),
            };
        };
        match self.named.get(name) {
            Some(agent) => Arc::clone(agent),
            None => Arc::new(MissingAgent(self.unknown(name))),
        }
    }

    /// What a choice of an agent by its name comes to. A program of the user's is chosen by its model,
    /// too, so that clients that show a thread's model show the truth.
    pub(crate) fn settle(&self, own: &TenantOwn, changes: &mut Changes) -> Result<(), Refusal> {
        self.check(own, changes.agent.as_deref())?;
        let names_model = changes.model.is_some() || changes.named_model.is_some();
        let Some(name) = &mut changes.agent else {
            return Ok(());
        };
        if name == BUILT_IN {
            name.clear();
        } else if !names_model && self.external_named(name).is_some() {
            changes.named_model = Some(NamedModel::DefaultOf(std::mem::take(name)));
        }
        Ok(())
    }

    /// Refuses a name that no agent has; the empty one is the built-in agent's.
    pub(crate) fn check(&self, own: &TenantOwn, name: Option<&str>) -> Result<(), Refusal> {
        match name {
            Some(name) if self.external_named(name).is_some() && !own.may_leave_sandbox() => {
                Err(Refusal::invalid("agent", OUTSIDE))
            }
            Some(name)
                if !name.is_empty() && name != BUILT_IN && !self.named.contains_key(name) =>
            {
                Err(Refusal::invalid("agent", self.unknown(name)))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let named = self.named.keys().map(String::as_str);
        let known: Vec<&str> = std::iter::once(BUILT_IN).chain(named).collect();
        format!(
            "there is no agent {name:?}; there are: {}",
            known.join(", ")
        )
    }
}

/// Why a program of the server's user is not for everybody.
const OUTSIDE: &str = "this agent runs outside of the sandbox, which your tenant may not";

/// Stands for an agent that is not here.
struct MissingAgent(String);

#[async_trait]
impl Agent for MissingAgent {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn run(&self, _turn: Arc<Turn>, _start: TurnStart) -> TurnEnd {
        TurnEnd::Failed(TurnError {
            kind: TurnErrorKind::Internal,
            message: format!("{}; choose another agent", self.0),
        })
    }
}
