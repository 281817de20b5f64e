//! Agents that are programs of the user's own, over the Agent Client Protocol: what they say, do and ask
//! becomes our items, calls and asks.
//!
//! Such a program has its own login, its own tools and its own memory. It runs outside of our sandbox, so
//! nothing here says otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;

use acp::{AcpError, AcpErrorKind, AgentProgram, AgentSettings, AgentStreams};
use async_trait::async_trait;
use parking_lot::Mutex;
use vocabulary::{AuthMethod, CatalogModel, CatalogProvider, TurnError, TurnErrorKind};

use super::{Abilities, Agent};
use crate::turn::{Turn, TurnEnd, TurnStart, writes};

mod conversation;
mod cost;
mod files;
mod opening;
mod permission;
mod preface;
mod telling;
mod tool_calls;

pub use opening::is_kept_agent as is_kept;

use conversation::Conversation;

/// The model of an agent that nobody has chosen one for.
pub const DEFAULT_MODEL: &str = "default";

/// Starts an agent otherwise than as a process; for tests.
pub type StartStreams = dyn Fn() -> AgentStreams + Send + Sync;

/// A program that drives turns.
pub struct ExternalAgent {
    program: AgentProgram,
    streams: Option<Arc<StartStreams>>,
    /// Whether it was chosen by the thread's model, so that what it tells names that.
    by_model: bool,
    /// The models that it told the last time.
    models: Arc<Mutex<Vec<acp::AgentModelChoice>>>,
}

impl ExternalAgent {
    pub fn new(program: AgentProgram) -> Self {
        Self {
            program,
            streams: None,
            by_model: true,
            models: Arc::default(),
        }
    }

    /// The same over streams that somebody else makes.
    pub fn over(program: AgentProgram, streams: Arc<StartStreams>) -> Self {
        Self {
            streams: Some(streams),
            ..Self::new(program)
        }
    }

    /// The same for threads that choose it by its name, and a model for others.
    pub(super) fn by_name(&self) -> Self {
        Self {
            program: self.program.clone(),
            streams: self.streams.clone(),
            by_model: false,
            models: Arc::clone(&self.models),
        }
    }

    pub fn name(&self) -> &str {
        &self.program.name
    }

    fn is_there(&self) -> bool {
        self.streams.is_some() || self.program.find().is_some()
    }

    /// What stands in its way, for people.
    pub(crate) fn obstacle(&self) -> Option<String> {
        (!self.is_there()).then(|| self.program.missing().message)
    }

    /// What there is to know before it runs: whether it is installed, and how one signs in.
    pub(crate) fn standing(&self) -> Result<String, String> {
        match self.obstacle() {
            Some(why) => Err(why),
            None => Ok(format!(
                "{} is installed. It signs in by itself: {}.",
                self.program.name, self.program.sign_in
            )),
        }
    }

    /// As the catalog lists it.
    pub(crate) fn catalog_entry(&self) -> CatalogProvider {
        let model = |id: &str, name: &str| CatalogModel {
            id: id.to_owned(),
            name: name.to_owned(),
            ..CatalogModel::default()
        };
        let own = format!("{} (its own choice)", self.program.name);
        let told = self.models.lock();
        let others = told.iter().filter(|each| each.id != DEFAULT_MODEL);
        let told = others.map(|each| model(&each.id, &each.name));
        CatalogProvider {
            id: self.program.name.clone(),
            name: self.program.name.clone(),
            models: std::iter::once(model(DEFAULT_MODEL, &own))
                .chain(told)
                .collect(),
            default_model: DEFAULT_MODEL.to_owned(),
            auth_methods: vec![AuthMethod::OAuth {
                id: "own_program".to_owned(),
                label: "Sign in with its own program".to_owned(),
            }],
            connected: self.is_there(),
        }
    }
}

/// All external agents. None of them is looked for before a turn needs it.
pub fn known_agents(settings: &BTreeMap<String, AgentSettings>) -> Vec<Arc<ExternalAgent>> {
    let programs = acp::known_programs(settings).into_iter();
    programs.map(ExternalAgent::new).map(Arc::new).collect()
}

/// By what a message says which agent's session it belongs to.
fn origin(agent: &str) -> String {
    format!("acp:{agent}")
}

#[async_trait]
impl Agent for ExternalAgent {
    fn abilities(&self) -> Abilities {
        Abilities {
            uses_model: self.by_model,
            ..Abilities::default()
        }
    }

    async fn run(&self, turn: Arc<Turn>, _start: TurnStart) -> TurnEnd {
        let work = async {
            let look = writes::before_anything(&turn);
            let (opened, looked) = tokio::join!(opening::open(self, &turn), look);
            looked?;
            let opened = match opened? {
                Ok(opened) => opened,
                Err(end) => return Ok(end),
            };
            // Only now: what the agent changes must be seen to change.
            match Conversation::begin(&turn, &self.program.name, opened) {
                Ok(conversation) => conversation.run().await,
                Err(error) => Ok(failed_with(error)),
            }
        };
        // Nobody is left to tell; the session has ended this turn already.
        work.await.unwrap_or(TurnEnd::Cancelled)
    }
}

fn failed(message: String) -> TurnEnd {
    TurnEnd::Failed(TurnError {
        kind: TurnErrorKind::Provider,
        message,
    })
}

/// A program that is gone, or of no use any more, is something else than one that says no.
fn failed_with(error: AcpError) -> TurnEnd {
    let kind = match error.kind {
        AcpErrorKind::Lost => TurnErrorKind::AgentLost,
        AcpErrorKind::NotInstalled | AcpErrorKind::SignIn | AcpErrorKind::Refused => {
            TurnErrorKind::Provider
        }
    };
    let message = error.message;
    TurnEnd::Failed(TurnError { kind, message })
}
