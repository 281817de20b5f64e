//! MCP servers: which are configured, how one signs in to them, and their tools.
//!
//! This crate decides nothing about trust: who calls says which servers may be run.

pub mod auth_state;
mod cache;
mod checking;
pub mod config;
pub mod conformance;
mod connection;
pub mod credentials;
mod editing;
mod fence;
mod files;
mod limits;
pub mod oauth;
mod pool;
mod prompts;
mod snapshot;
mod tool;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::{ConfigurationCache, McpConfiguration};
use credentials::CredentialStore;
use futures_util::future::BoxFuture;
use oauth::known_credentials::KnownCredentials;
use oauth::sign_ins::McpSignIns;
use tokio::sync::broadcast;
use tools::Tool;
use vocabulary::{
    Challenge, McpAuthMode, McpCheck, McpLayer, McpReply, McpRunning, McpScope, McpServer,
    McpSnapshot, Refusal, Secret, SignedIn, TenantId, Why,
};

pub use config::portable::parse_portable;
pub use fence::Fence;
pub(crate) use fence::FenceSource;
use pool::{ConnectionPool, PoolParts};
pub use transport::{HttpAuthorizer, HttpCredential, HttpRefused};

/// What the servers are kept with.
#[derive(Clone, Debug)]
pub struct McpOptions {
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
pub struct McpPlace {
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

/// A server started, ended, or has other tools.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerChange {
    pub place: McpPlace,
    pub server: ConfiguredServer,
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
    options: McpOptions,
    configurations: Arc<ConfigurationCache>,
    credentials: CredentialStore,
    sign_ins: Arc<McpSignIns>,
    fence: FenceSource,
    pool: ConnectionPool,
}

impl Servers {
    pub fn new(options: McpOptions) -> Self {
        let credentials = CredentialStore::new(options.home.clone());
        let sign_ins = Arc::new(McpSignIns::new(credentials.clone()));
        let authorizer = KnownCredentials {
            credentials: credentials.clone(),
            sign_ins: Arc::clone(&sign_ins),
        };
        Self::made(options, credentials, sign_ins, Arc::new(authorizer))
    }

    /// With somebody else who knows what to show to servers.
    pub fn with_authorizer(options: McpOptions, authorizer: Arc<dyn HttpAuthorizer>) -> Self {
        let credentials = CredentialStore::new(options.home.clone());
        let sign_ins = Arc::new(McpSignIns::new(credentials.clone()));
        Self::made(options, credentials, sign_ins, authorizer)
    }

    fn made(
        options: McpOptions,
        credentials: CredentialStore,
        sign_ins: Arc<McpSignIns>,
        authorizer: Arc<dyn HttpAuthorizer>,
    ) -> Self {
        let fence = FenceSource::new(options.home.clone());
        let pool = ConnectionPool::new(PoolParts {
            options: options.clone(),
            authorizer,
            fence: fence.clone(),
        });
        Self {
            configurations: Arc::default(),
            sign_ins,
            credentials,
            options,
            fence,
            pool,
        }
    }

    /// Says what servers that are child processes run behind; otherwise it is found out here.
    pub fn fence_with(&self, find: impl Fn() -> BoxFuture<'static, Fence> + Send + Sync + 'static) {
        self.fence.set(Box::new(find));
    }

    /// The servers that count in a place, by name. Starts nothing.
    pub async fn configured(&self, place: &McpPlace) -> Arc<[ConfiguredServer]> {
        Arc::clone(&self.configuration(place).await.servers)
    }

    async fn configuration(&self, place: &McpPlace) -> Arc<McpConfiguration> {
        let (options, directory) = (&self.options, &place.directory);
        self.configurations.get(options, directory).await
    }

    /// The files, what counts of them, and how it runs. Starts nothing.
    pub async fn snapshot(&self, place: &McpPlace) -> McpSnapshot {
        snapshot::take(self, place).await
    }

    /// Begins to connect to these, without waiting for any.
    pub fn warm(&self, place: &McpPlace, servers: &[ConfiguredServer]) {
        self.pool.warm(place, servers);
    }

    /// What these servers have now. Those that are not connected are connected; who has not answered
    /// after `wait` is left out, and told of.
    pub async fn offer(
        &self,
        place: &McpPlace,
        servers: &[ConfiguredServer],
        wait: Duration,
    ) -> Offer {
        self.pool.offer(place, servers, wait).await
    }

    /// Ends the connection of a server; who needs it next makes a new one.
    pub fn forget(&self, place: &McpPlace, name: &str) {
        self.pool.forget(place, name);
    }

    /// Hears of servers that start, end, or have other tools.
    pub fn changes(&self) -> broadcast::Receiver<ServerChange> {
        self.pool.changes()
    }

    /// How a server runs. Starts nothing.
    pub fn running(&self, place: &McpPlace, server: &ConfiguredServer) -> McpRunning {
        self.pool.running(place, server)
    }

    /// Of those that run. Starts nothing.
    pub fn prompts(&self, place: &McpPlace) -> Vec<PromptInfo> {
        self.pool.prompts(place)
    }

    /// A prompt in words, ready to be said.
    pub async fn prompt(
        &self,
        place: &McpPlace,
        prompt: &PromptInfo,
        arguments: Vec<(String, String)>,
    ) -> Result<String, Refusal> {
        let slot = self.pool.used(place, &prompt.server);
        match slot.and_then(|slot| slot.ready()) {
            Some(connection) => connection.prompt(&prompt.name, arguments).await,
            None => Err(Refusal::new(
                Why::NotAvailable,
                format!("MCP server {} is not connected", prompt.server),
            )),
        }
    }

    /// Writes a server into the workspace's own file, in the place of `previous_name`. Who calls says
    /// whether it is trusted.
    pub async fn save(
        &self,
        place: &McpPlace,
        server: McpServer,
        previous_name: Option<&str>,
    ) -> Result<(), Refusal> {
        let scope = McpScope::Workspace;
        editing::save(self, place, scope, server, previous_name).await?;
        if let Some(previous) = previous_name {
            self.forget(place, previous);
        }
        Ok(())
    }

    /// As [`Servers::save`], into the user's own file.
    pub async fn save_for_user(&self, place: &McpPlace, server: McpServer) -> Result<(), Refusal> {
        editing::save(self, place, McpScope::User, server, None).await
    }

    /// Writes a server into the file of this scope, in the place of the one of its name.
    pub async fn install(
        &self,
        place: &McpPlace,
        scope: McpScope,
        server: McpServer,
    ) -> Result<(), Refusal> {
        let name = server.name.clone();
        editing::save(self, place, scope, server, None).await?;
        self.forget(place, &name);
        Ok(())
    }

    /// Takes a server out of the workspace's own file, and what was saved for it.
    pub async fn delete(&self, place: &McpPlace, name: &str) -> Result<(), Refusal> {
        editing::delete(self, place, McpScope::Workspace, name).await?;
        self.forget(place, name);
        Ok(())
    }

    /// As [`Servers::delete`], out of the user's own file.
    pub async fn delete_of_user(&self, place: &McpPlace, name: &str) -> Result<(), Refusal> {
        editing::delete(self, place, McpScope::User, name).await
    }

    /// Connects, lists the tools, and lets go of it again where nobody else uses it.
    pub async fn check(&self, place: &McpPlace, server: &ConfiguredServer) -> McpCheck {
        checking::check(&self.pool, place, server).await
    }

    /// Begins a sign-in, which a person completes with a browser.
    pub async fn authorize(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
    ) -> Result<Challenge, Refusal> {
        self.sign_ins.authorize(place, server).await
    }

    /// Waits for the browser, or completes it with what a person pasted.
    pub async fn finish_sign_in(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
        code: Option<Secret>,
    ) -> Result<(SignedIn, McpAuthMode), Refusal> {
        let (result, mode) = self.sign_ins.finish(place, server, code).await?;
        self.forget_refused(place, server, &result);
        Ok((result, mode))
    }

    pub async fn set_key(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
        key: Secret,
    ) -> Result<(SignedIn, McpAuthMode), Refusal> {
        let (result, mode) = editing::set_key(self, place, server, key).await?;
        self.forget_refused(place, server, &result);
        Ok((result, mode))
    }

    /// A connection that was made, or refused, before somebody signed in is of no use any more.
    fn forget_refused(&self, place: &McpPlace, server: &ConfiguredServer, result: &SignedIn) {
        if result.ok {
            self.forget(place, &server.server.name);
        }
    }

    /// Takes what another agent's file has over into ours.
    pub async fn migrate(&self, place: &McpPlace, scope: McpScope) -> Result<McpReply, Refusal> {
        editing::migrate(self, place, scope).await
    }

    /// Lets go of all connections; every process ends.
    pub async fn stop(&self) {
        self.sign_ins.stop();
        self.pool.stop().await;
    }
}
