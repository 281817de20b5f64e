//! What an engine is started with and made of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use observability::TracingSettings;
use providers::Models;
use snapshots::CheckpointSetting;
use store::SharedStore;
use tools::ToolSource;
use tools::policy::Policy;
use vocabulary::{Approvals, Budgets, ModelRef, Verbosity};

use crate::agents::Agents;
use crate::clock::{Clock, SystemClock};
use crate::servers::McpTools;
use crate::tenants::TenantParts;
use crate::thread_ids::ThreadIdKey;
use crate::turn::checks::CheckSettings;

/// What an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where threads run that name no directory.
    pub directory: PathBuf,
    /// Where our data lies.
    pub home: PathBuf,
    /// What no tool may read or write: our data, and a file with the server's token.
    pub private: Vec<PathBuf>,
    /// The ports that the server listens on, which no command may reach.
    pub ports: Vec<u16>,
    /// New threads run everything without asking.
    pub auto_approve: bool,
    /// When new threads ask that say nothing themselves; as their clients expect when absent.
    pub approvals: Option<Approvals>,
    /// What new threads use; what the models themselves offer first when absent.
    pub default_model: Option<ModelRef>,
    /// What new threads use where neither their project nor `default_model` says.
    pub fallback_model: Option<ModelRef>,
    /// Stronger than what the files of projects say.
    pub defaults: tools::ProjectDefaults,
    /// How hard the models of threads think that say nothing themselves; as each model does by
    /// itself when absent.
    pub effort: Option<String>,
    /// How much they say, likewise.
    pub verbosity: Option<Verbosity>,
    /// How commands are fenced in.
    pub sandbox: SandboxSetting,
    /// Whether a thread of the lone user's may do without a sandbox where its client wants that.
    pub allow_full_access: bool,
    /// Where skills lie that do not come with a workspace; the first of a name wins.
    pub skills: Vec<PathBuf>,
    /// How the web is reached.
    pub web: tools::web::Options,
    /// A SearXNG server to search with.
    pub searxng_url: Option<String>,
    /// What may run without asking, what never; over what the tools themselves think.
    pub policy: Arc<Policy>,
    /// After this time an ask that nobody is there to see is answered with no; never when absent.
    pub ask_timeout: Option<Duration>,
    /// What turns and threads may spend that have no budgets of their own.
    pub budgets: Budgets,
    /// Whether the files of workspaces are kept.
    pub checkpoints: CheckpointSetting,
    /// What runs after edits.
    pub checks: CheckSettings,
    /// Where traces of turns go.
    pub tracing: TracingSettings,
    /// What the message to a browser is, for what it tells.
    pub push_message: fn(&vocabulary::PushNews) -> String,
    /// Whom push services may turn to about our messages: a `mailto:` or `https:` address.
    pub push_contact: Option<String>,
    /// How many numbered parts a fact makes for clients that count them within a turn.
    pub parts: fn(&vocabulary::Fact) -> u32,
    /// Where time and new ids come from.
    pub clock: Arc<dyn Clock>,
    /// The key by which ids of threads are known again. Without one they are not.
    pub thread_id_key: Option<ThreadIdKey>,
}

impl Config {
    /// Threads in this directory, data in that one, and nothing else decided.
    pub fn new(directory: PathBuf, home: PathBuf) -> Self {
        Self {
            directory,
            private: vec![home.clone()],
            home,
            ports: Vec::new(),
            auto_approve: false,
            approvals: None,
            default_model: None,
            fallback_model: None,
            defaults: tools::ProjectDefaults::default(),
            effort: None,
            verbosity: None,
            sandbox: SandboxSetting::Best { network: false },
            allow_full_access: false,
            skills: Vec::new(),
            web: tools::web::Options::default(),
            searxng_url: None,
            policy: Arc::default(),
            ask_timeout: None,
            budgets: Budgets::default(),
            checkpoints: CheckpointSetting::default(),
            checks: CheckSettings::default(),
            tracing: TracingSettings::default(),
            push_message: |_| String::new(),
            push_contact: None,
            parts: |_| 0,
            clock: Arc::new(SystemClock),
            thread_id_key: None,
        }
    }
}

/// What an engine is made of.
pub struct Parts {
    pub store: SharedStore,
    pub models: Arc<Models>,
    /// Where threads get their tools from; of two tools with one name the first source's is there.
    pub tools: Vec<Arc<dyn ToolSource>>,
    pub agents: Agents,
    pub mcp: Arc<mcp::Servers>,
    /// Where turns get the tools of MCP servers from: the same, but in tests.
    pub mcp_tools: Arc<dyn McpTools>,
    /// What makes keys and MCP servers for tenants other than `local`; without it they have the same,
    /// as in tests.
    pub tenants: Option<Arc<dyn TenantParts>>,
}

/// How commands are fenced in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxSetting {
    /// By the best that this machine has, found out when it is first needed.
    Best {
        network: bool,
    },
    /// By this and no other; where it does not work, by nothing.
    Only {
        mode: tools::sandbox::Mode,
        network: bool,
    },
    Nothing,
}
