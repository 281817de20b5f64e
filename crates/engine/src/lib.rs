//! Runs threads: sessions, turns, asks; the only owner of state.
//!
//! [`Engine::call`] answers a [`Call`]; [`Engine::listen`] attaches a listener to a thread's events.
//! The engine knows no socket and no client protocol.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use observability::Metrics;
use observability::metrics::MetricsText;
use store::SharedStore;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;
use tools::ToolSource;
use vocabulary::{
    Attendance, Call, Caller, Refusal, TenantId, ThreadId, ThreadView, Timestamp, TracingState,
};

mod access;
mod agents;
mod ask_numbers;
mod clock;
mod codec;
mod config;
mod counts;
mod credits;
mod efforts;
mod elsewhere;
mod grants;
pub mod import;
mod library;
pub mod limits;
mod listener;
mod members;
mod notices;
mod prompts;
mod push;
mod registry;
mod router;
mod seen;
mod servers;
mod session;
mod telemetry;
mod tenants;
mod thread_ids;
mod titles;
mod traces;
pub mod transfer;
mod trust;
mod turn;
mod versions;

pub use acp::{AgentProgram, AgentSettings, AgentStreams};
pub use agents::external::{ExternalAgent, known_agents};
pub use agents::{Abilities, Agent, AgentMemory, Agents};
pub use clock::{Clock, SystemClock};
pub use config::{Config, Parts, SandboxSetting};
pub use grants::Grants;
pub use listener::{Delivered, Ended, Listener};
pub use notices::Watcher;
pub use servers::McpTools;
pub use session::outbox::{RingSize, Slot};
pub use session::state::{Folded, ThreadState, fold};
pub use session::{ListenFrom, Outcome, Replied};
pub use snapshots::{CheckpointSetting, VaultPlace};
pub use tenants::{ErasedTenant, TenantParts, TenantTerms, TermsError, erase_tenant};
pub use thread_ids::ThreadIdKey;
pub use trust::{ContentTrust, KeptTrust, TrustedWorkspace};
pub use turn::checks::{CheckChoice, CheckSettings};
pub use turn::{SessionGone, Turn, TurnEnd, TurnStart};

use ask_numbers::AskNumbers;
use library::sections::SectionedThreads;
use library::{Births, InactiveWorkspaces};
use notices::Notices;
use registry::Registry;
use session::Mail;
use snapshots::WorkspaceScanners;
use tenants::Tenants;
use traces::Traces;

/// What every part of the engine shares.
pub struct Shared {
    pub(crate) store: SharedStore,
    pub(crate) tools: Vec<Arc<dyn ToolSource>>,
    pub(crate) agents: Agents,
    pub(crate) tenants: Tenants,
    sandbox: tokio::sync::OnceCell<Arc<tools::Sandbox>>,
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) births: Births,
    pub(crate) inactive: InactiveWorkspaces,
    pub(crate) versions: versions::ListVersions,
    /// Tell of each tenant's MCP servers.
    pub(crate) server_followers: parking_lot::Mutex<HashMap<TenantId, AbortOnDropHandle<()>>>,
    pub(crate) scanners: WorkspaceScanners,
    pub(crate) ask_numbers: AskNumbers,
    pub(crate) grants: Grants,
    /// Read when it is first needed: a lone user has nobody to know.
    pub(crate) identity: Arc<identity::Directory>,
    pub(crate) balances: credits::KnownBalances,
    pub(crate) push: push::PushState,
    pub(crate) seen: seen::SeenByThreads,
    pub(crate) tool_specs: turn::specs::ToolSpecCache,
    pub(crate) workspace_facts: tools::surroundings::WorkspaceFactsCache,
    notices: Notices,
    pub(crate) traces: Traces,
    pub(crate) metrics: Metrics,
    /// Tells here what other processes change.
    follower: OnceLock<AbortOnDropHandle<()>>,
    /// One change of the library at a time, so that notices come in the order of the changes.
    pub(crate) library: tokio::sync::Mutex<()>,
    stopping: AtomicBool,
}

#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// How a listener wants to listen.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    pub attendance: Attendance,
    pub from: ListenFrom,
    /// Messages of the transcript to be shown to begin with.
    pub recent: u32,
    /// Whether files that others change are to be told as they do.
    pub watch_files: bool,
}

impl Engine {
    pub fn new(config: Config, parts: Parts) -> Self {
        let own = tenants::of_server(&config, &parts);
        let Parts {
            store,
            models: _,
            tools,
            agents,
            mcp: _,
            mcp_tools: _,
            tenants,
        } = parts;
        let clock = Arc::clone(&config.clock);
        let scanners = WorkspaceScanners::new(snapshots::SnapshotSettings {
            home: config.home.clone(),
            workspace_data: tools::folders::OWN.into(),
            checkpoints: config.checkpoints,
            clock: Arc::new(move || clock.now()),
        });
        let shared = Shared {
            ask_numbers: AskNumbers::new(Arc::clone(&store)),
            grants: Grants::new(Arc::clone(&store)),
            identity: Arc::new(identity::Directory::new(Arc::clone(&store))),
            balances: Default::default(),
            push: Default::default(),
            traces: Traces::new(&config.tracing),
            metrics: Metrics::default(),
            store,
            tools,
            agents,
            tenants: Tenants::new(own, tenants),
            sandbox: tokio::sync::OnceCell::new(),
            config,
            registry: Registry::default(),
            seen: Default::default(),
            tool_specs: Default::default(),
            workspace_facts: Default::default(),
            births: Births::default(),
            inactive: InactiveWorkspaces::default(),
            versions: Default::default(),
            server_followers: Default::default(),
            scanners,
            notices: Notices::default(),
            follower: OnceLock::new(),
            library: tokio::sync::Mutex::default(),
            stopping: AtomicBool::new(false),
        };
        let shared = Arc::new(shared);
        shared.tenants.belong_to(&shared);
        Self { shared }
    }

    /// Answers a call, or refuses it and changes nothing.
    pub async fn call(&self, caller: &Caller, call: Call) -> Outcome {
        access::check(caller, &call)?;
        self.shared.usable_own(&caller.tenant)?;
        if self.shared.stopping.load(Ordering::Relaxed) {
            return Err(Refusal::shutting_down());
        }
        // Before it: what a call tells of its effects must not come before its reply.
        let places = match SectionedThreads::are_shown_by(&call) {
            true => SectionedThreads::read(&self.shared, caller).await?,
            false => SectionedThreads::default(),
        };
        let mut replied = router::dispatch(&self.shared, caller, call).await?;
        places.show(&mut replied.reply);
        Ok(replied)
    }

    /// Attaches to a thread: a picture of it and everything that comes after.
    pub async fn listen(
        &self,
        caller: &Caller,
        thread: ThreadId,
        wish: ListenOptions,
    ) -> Result<(ThreadView, Listener), Refusal> {
        if self.shared.stopping.load(Ordering::Relaxed) {
            return Err(Refusal::shutting_down());
        }
        access::check_hearing(caller)?;
        self.shared.usable_own(&caller.tenant)?;
        let places = SectionedThreads::read(&self.shared, caller).await?;
        let (mut view, listener) =
            library::joining::attach(&self.shared, caller, thread, wish).await?;
        places.show_in([&mut view.thread]);
        Ok((view, listener))
    }

    /// Hears the notices of the caller's tenant.
    pub fn watch(&self, caller: &Caller) -> Result<Watcher, Refusal> {
        access::check_hearing(caller)?;
        self.shared.follow_others();
        self.shared.follow_servers(&caller.tenant);
        Ok(self.shared.notices.watch(&caller.tenant))
    }

    /// Hears of changes that concern every client of this server, the newest state first.
    pub fn watch_server(&self) -> Watcher {
        Watcher::of_server(self.shared.traces.watch())
    }

    /// Who is who, followed from now on: what other processes change of it is heard here.
    pub fn identity(&self) -> &Arc<identity::Directory> {
        self.shared.follow_others();
        &self.shared.identity
    }

    /// How the tracing of turns fares.
    pub fn tracing(&self) -> Arc<TracingState> {
        self.shared.traces.state()
    }

    /// The public key that browsers subscribe to push messages with, base64url; made when it is first asked for.
    pub async fn push_key(&self) -> Result<String, Refusal> {
        let key = self.shared.push.key(&self.shared).await?;
        Ok(key.public())
    }

    /// Everything that is counted, as it is now.
    pub fn write_metrics(&self, out: &mut MetricsText) {
        counts::write(&self.shared, out);
    }

    /// Closes the turns that a dead process left running, and picks up those that wait.
    /// Threads are woken one after the other; each could also be woken by its first client.
    pub async fn recover(&self) -> Result<usize, Refusal> {
        let left = self
            .shared
            .store
            .unfinished()
            .await
            .map_err(session::storage)?;
        let mut recovered = 0;
        for thread in left {
            match library::ephemeral::recover(&self.shared, thread).await {
                Ok(()) => recovered += 1,
                Err(refusal) => tracing::warn!(%thread, error = %refusal, "not recovered"),
            }
        }
        Ok(recovered)
    }

    /// The ids of all providers that the catalog of the lone user knows.
    pub fn provider_ids(&self) -> Arc<[String]> {
        self.provider_ids_of(&TenantId::new(TenantId::LOCAL))
    }

    /// The ids of all providers that a tenant's catalog knows.
    pub fn provider_ids_of(&self, tenant: &TenantId) -> Arc<[String]> {
        let own = self.shared.own(tenant);
        let catalog = own.models.catalog();
        let providers = catalog.providers.iter().map(|each| each.id.as_str());
        let external = self.shared.agents.external().iter();
        let external = external.filter(|_| own.may_leave_sandbox());
        let external = external.map(|agent| agent.name());
        providers.chain(external).map(str::to_owned).collect()
    }

    /// Whether the server's directory wants its clients to be sent what providers sent, beside what it means.
    pub async fn includes_raw_chunks(&self) -> bool {
        let directory = &self.shared.config.directory;
        let own = self.shared.own(&TenantId::new(TenantId::LOCAL));
        let defaults = library::defaults::read(&self.shared, &own, directory).await;
        defaults.raw_chunks.unwrap_or(false)
    }

    /// What stands in the way of an external agent, for people; nothing if none has this name.
    pub fn external_obstacle(&self, name: &str) -> Option<Option<String>> {
        let agent = self.shared.agents.external_named(name)?;
        Some(agent.obstacle())
    }

    /// Whether calls are answered.
    pub async fn ready(&self) -> Result<(), Refusal> {
        if self.shared.stopping.load(Ordering::Relaxed) {
            return Err(Refusal::shutting_down());
        }
        self.shared.store.ready().await.map_err(session::storage)
    }

    /// What fences commands in; found out once, by trying. Whoever asks tells people of it.
    pub async fn sandbox(&self) -> Arc<tools::Sandbox> {
        self.shared.find_sandbox(false).await
    }

    /// No new turns; running ones get `grace`, then end as failed. Waiting ones stay as they are.
    pub async fn stop(&self, grace: Duration) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let mut waits = Vec::new();
        for handle in self.shared.registry.awake() {
            let (done, stopped) = oneshot::channel();
            if handle
                .mail
                .send(Box::new(Mail::Stop { grace, done }))
                .await
                .is_ok()
            {
                waits.push(stopped);
            }
        }
        for stopped in waits {
            // Ends by itself: every session has the deadline, and a closed channel is an end too.
            let _ = stopped.await;
        }
        // Whoever does not end by then ends with the process.
        let own = self.shared.tenants.known();
        let stopping = own.iter().map(|own| own.mcp.stop());
        let stopping = futures_util::future::join_all(stopping);
        let _ = tokio::time::timeout(limits::MCP_STOP_MAX, stopping).await;
        if let Some(exporter) = self.shared.traces.exporter() {
            exporter.close().await;
        }
        let forgotten = self.shared.scanners.forgotten();
        let _ = tokio::time::timeout(limits::FORGET_MAX, forgotten).await;
        self.shared.scanners.cancel();
        if let Some(sandbox) = self.shared.sandbox.get() {
            sandbox.remove_temporary();
        }
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Timestamp {
        self.config.clock.now()
    }

    /// Hears from now on what other processes change and want: as soon as somebody here wants to know, or has
    /// what another may want.
    pub(crate) fn follow_others(self: &Arc<Self>) {
        self.follower.get_or_init(|| {
            let (store, engine) = (Arc::clone(&self.store), Arc::downgrade(self));
            AbortOnDropHandle::new(tokio::spawn(elsewhere::follow(store, engine)))
        });
    }

    pub(crate) fn new_id(&self) -> uuid::Uuid {
        self.config.clock.new_id()
    }

    pub(crate) fn new_thread_id(&self) -> ThreadId {
        let (id, key) = (self.new_id(), self.config.thread_id_key.as_ref());
        key.map_or(ThreadId(id), |key| key.seal(id))
    }

    /// Whether an id was given to a thread on this home.
    pub(crate) fn gave_out(&self, id: ThreadId) -> bool {
        let key = self.config.thread_id_key.as_ref();
        key.is_some_and(|key| key.has_sealed(id))
    }

    /// What fences commands in; found out once, by trying, away from whoever serves others.
    pub(crate) async fn sandbox(&self) -> Arc<tools::Sandbox> {
        self.find_sandbox(true).await
    }

    async fn find_sandbox(&self, tell: bool) -> Arc<tools::Sandbox> {
        let (fence, home) = (self.config.sandbox, self.config.home.clone());
        let ports = self.config.ports.clone();
        let find = || async move {
            let detect = move || {
                let (sandbox, network) = match fence {
                    SandboxSetting::Nothing => return tools::Sandbox::nothing(),
                    SandboxSetting::Best { network } => (tools::Sandbox::detect(), network),
                    SandboxSetting::Only { mode, network } => (tools::Sandbox::only(mode), network),
                };
                sandbox
                    .with_home(&home)
                    .with_network(network)
                    .with_ports(ports)
            };
            let found = tokio::task::spawn_blocking(detect).await;
            let sandbox = found.unwrap_or_else(|_| tools::Sandbox::nothing());
            for notice in sandbox.notices().into_iter().filter(|_| tell) {
                tracing::warn!("{notice}");
            }
            Arc::new(sandbox)
        };
        Arc::clone(self.sandbox.get_or_init(find).await)
    }
}
