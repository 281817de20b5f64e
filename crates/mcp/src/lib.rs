//! MCP servers: which are configured, how one signs in to them, and their tools.
//!
//! This crate decides nothing about trust: who calls says which servers may be run.

pub mod auth_state;
pub mod config;
pub mod credentials;
mod editing;
mod files;
mod snapshot;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::{Configuration, ConfigurationCache};
use credentials::CredentialStore;
use tools::Tool;
use vocabulary::{
    Challenge, McpAuthMode, McpCheck, McpLayer, McpReply, McpRunning, McpScope, McpServer,
    McpSnapshot, Refusal, Secret, SignedIn, TenantId, Why,
};

/// What the servers are kept with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's own data: the user's file and credentials lie there.
    pub home: PathBuf,
    /// The user's home directory, where other agents keep their file.
    pub user: Option<PathBuf>,
    /// The file for everyone on this machine.
    pub system: PathBuf,
    /// Whether stdio servers of a workspace run in the sandbox.
    pub fenced: bool,
}

/// Whose servers: connections are shared by all threads of one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub tenant: TenantId,
    /// The workspace.
    pub directory: PathBuf,
}

/// A server that counts in a place.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredServer {
    pub server: McpServer,
    pub layer: McpLayer,
}

impl ConfiguredServer {
    /// Of all that decides what is run: whoever trusts a server trusts exactly this.
    pub fn fingerprint(&self) -> blake3::Hash {
        let written = serde_json::to_vec(&self.server).unwrap_or_default();
        blake3::hash(&written)
    }
}

/// What the servers of a place have for a turn, as far as they are there.
#[derive(Clone, Default)]
pub struct Offer {
    /// By name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What people and the model are to know: which server is not there, or not yet, and why; how
    /// many tools are left out.
    pub notes: Vec<String>,
    /// Servers that a turn is not to begin without, and that are not there: their name and why.
    pub missing: Vec<(String, String)>,
}

/// A prompt of a server, which a person can give as a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInfo {
    pub server: String,
    pub name: String,
    pub description: Option<String>,
    pub arguments: Vec<String>,
}

/// All MCP servers of this process.
pub struct Servers {
    options: Options,
    configurations: Arc<ConfigurationCache>,
    credentials: CredentialStore,
}

impl Servers {
    pub fn new(options: Options) -> Self {
        Self {
            configurations: Arc::default(),
            credentials: CredentialStore::new(options.home.clone()),
            options,
        }
    }

    /// The servers that count in a place, by name. Starts nothing.
    pub async fn configured(&self, place: &Place) -> Arc<[ConfiguredServer]> {
        Arc::clone(&self.configuration(place).await.servers)
    }

    async fn configuration(&self, place: &Place) -> Arc<Configuration> {
        let (options, directory) = (&self.options, &place.directory);
        self.configurations.get(options, directory).await
    }

    /// The files, what counts of them, and how it runs. Starts nothing.
    pub async fn snapshot(&self, place: &Place) -> McpSnapshot {
        snapshot::take(self, place).await
    }

    /// How a server runs. Starts nothing.
    fn running(&self, _place: &Place, _server: &ConfiguredServer) -> McpRunning {
        McpRunning::NotStarted
    }

    /// Begins to connect to these, without waiting for any.
    pub fn warm(&self, _place: &Place, _servers: &[ConfiguredServer]) {}

    /// What these servers have now. Those that are not connected are connected; who has not answered
    /// after `wait` is left out, and told of.
    pub async fn offer(
        &self,
        _place: &Place,
        _servers: &[ConfiguredServer],
        _wait: Duration,
    ) -> Offer {
        Offer::default()
    }

    /// Of those that run. Starts nothing.
    pub fn prompts(&self, _place: &Place) -> Vec<PromptInfo> {
        Vec::new()
    }

    /// A prompt in words, ready to be said.
    pub async fn prompt(
        &self,
        _place: &Place,
        _prompt: &PromptInfo,
        _arguments: Vec<(String, String)>,
    ) -> Result<String, Refusal> {
        Err(not_yet())
    }

    /// Writes a server into the workspace's own file, in the place of `previous_name`. Who calls says
    /// whether it is trusted.
    pub async fn save(
        &self,
        place: &Place,
        server: McpServer,
        previous_name: Option<&str>,
    ) -> Result<(), Refusal> {
        let scope = McpScope::Workspace;
        editing::save(self, place, scope, server, previous_name).await
    }

    /// As [`Servers::save`], into the user's own file.
    pub async fn save_for_user(&self, place: &Place, server: McpServer) -> Result<(), Refusal> {
        editing::save(self, place, McpScope::User, server, None).await
    }

    /// Takes a server out of the workspace's own file, and what was saved for it.
    pub async fn delete(&self, place: &Place, name: &str) -> Result<(), Refusal> {
        editing::delete(self, place, McpScope::Workspace, name).await
    }

    /// As [`Servers::delete`], out of the user's own file.
    pub async fn delete_of_user(&self, place: &Place, name: &str) -> Result<(), Refusal> {
        editing::delete(self, place, McpScope::User, name).await
    }

    /// Connects, lists the tools, and lets go of it again where nobody else uses it.
    pub async fn check(&self, _place: &Place, _server: &ConfiguredServer) -> McpCheck {
        McpCheck {
            ok: false,
            mode: McpAuthMode::None,
            message: not_yet().message,
            tool_count: None,
            latency_ms: None,
        }
    }

    pub async fn authorize(
        &self,
        _place: &Place,
        _server: &ConfiguredServer,
    ) -> Result<Challenge, Refusal> {
        Err(not_yet())
    }

    pub async fn finish_sign_in(
        &self,
        _place: &Place,
        _server: &ConfiguredServer,
        _code: Option<Secret>,
    ) -> Result<(SignedIn, McpAuthMode), Refusal> {
        Err(not_yet())
    }

    pub async fn set_key(
        &self,
        place: &Place,
        server: &ConfiguredServer,
        key: Secret,
    ) -> Result<(SignedIn, McpAuthMode), Refusal> {
        editing::set_key(self, place, server, key).await
    }

    /// Takes what another agent's file has over into ours.
    pub async fn migrate(&self, place: &Place, scope: McpScope) -> Result<McpReply, Refusal> {
        editing::migrate(self, place, scope).await
    }

    /// Lets go of all connections; every process ends.
    pub async fn stop(&self) {}
}

fn not_yet() -> Refusal {
    Refusal::new(Why::Internal, "not available in this build yet")
}
