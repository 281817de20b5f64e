//! Puts the parts together: store, models, tools, engine, listeners; and takes them apart again.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use engine::Engine;
use identity::jwt::AuthSettings;
use observability::TracingSettings;
use providers::Models;
use providers::models::ModelsOptions;
use providers::rehearsal::{Rehearsal, RehearsalScript};
use providers::remote::RequestLimits;
use secrecy::SecretString;
use store::SharedStore;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tools::Toolbox;
use tools::policy::Policy;

use crate::accept::Acceptor;
use crate::access::Access;
use crate::descriptors;
use crate::http::{self, Site};
use crate::identity::KnownPeople;
use crate::limits::{GOODBYE_MAX, STOP_GRACE, STOP_SLACK};
use crate::table::Listen;
use crate::token::{TOKEN_VARIABLE, Token};
use crate::{database, home, id_key, import};

/// What a server is started with. What the engine decides by lies in its own part, so that each
/// setting has one field.
#[derive(Clone, Debug)]
pub struct Settings {
    pub host: IpAddr,
    pub port: u16,
    /// Dialects with ports of their own.
    pub listen: Vec<Listen>,
    pub token: Option<Token>,
    /// Where it was read from; no tool may read it there.
    pub token_file: Option<PathBuf>,
    /// Where the secret key of Langfuse was read from, likewise.
    pub langfuse_key_file: Option<PathBuf>,
    /// Whose JWTs let clients in.
    pub auth: AuthSettings,
    pub allow_hosts: Vec<String>,
    pub allow_origins: Vec<String>,
    pub raw_parts: bool,
    /// Whether pioneer takes only request ids as the original's clients make them.
    pub pioneer_strict_ids: bool,
    /// A script for the rehearsal model.
    pub rehearsal: Option<PathBuf>,
    /// How patient requests to model services are.
    pub limits: RequestLimits,
    /// What the user says of external agents, by their names.
    pub agents: BTreeMap<String, engine::AgentSettings>,
    /// What is found out only at the start (ports, rules, where skills lie) is added then.
    pub engine: engine::Config,
}

impl Settings {
    /// A server on any free port of this machine, for this user alone, with nothing else decided.
    pub fn new(directory: PathBuf, home: PathBuf) -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            listen: Vec::new(),
            token: None,
            token_file: None,
            langfuse_key_file: None,
            auth: AuthSettings::default(),
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            raw_parts: false,
            pioneer_strict_ids: false,
            rehearsal: None,
            limits: RequestLimits::default(),
            agents: BTreeMap::new(),
            engine: engine::Config::new(directory, home),
        }
    }
}

/// Why a server stops, as clients are told. Whether it comes back, it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownReason {
    /// By SIGTERM: a service manager, or a new version that is put in its place.
    Terminated,
    /// By SIGINT: somebody pressed Ctrl-C.
    Interrupted,
    /// By SIGHUP: its terminal was closed.
    HungUp,
}

impl ShutdownReason {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            Self::Interrupted => "interrupted",
            Self::HungUp => "hung_up",
        }
    }
}

/// A server whose sockets listen, but which answers "not yet".
pub struct ListeningServer {
    pub address: SocketAddr,
    /// Listeners of one dialect, by its name.
    pub others: Vec<(&'static str, SocketAddr)>,
    site: Arc<Site>,
    serving: JoinSet<()>,
}

/// A server that serves.
pub struct RunningServer {
    pub address: SocketAddr,
    pub others: Vec<(&'static str, SocketAddr)>,
    site: Arc<Site>,
    engine: Engine,
    models: Arc<Models>,
    serving: JoinSet<()>,
    /// What people should know of the data directory.
    pub home_notice: Option<home::HomeNotice>,
}

pub async fn start(settings: Settings) -> anyhow::Result<RunningServer> {
    listen(settings).await?.open().await
}

/// Listens. Nothing that can wait is done before.
pub async fn listen(settings: Settings) -> anyhow::Result<ListeningServer> {
    let jwt = settings.auth.jwt()?;
    check_exposure(&settings)?;
    let host = settings.host;
    let (main, address) = bind(host, settings.port, "--port").await?;
    let mut own = Vec::new();
    for wish in &settings.listen {
        let flag = format!("--listen {}", wish.tongue.name);
        own.push((wish.tongue, bind(host, wish.port, &flag).await?));
    }
    let people = Arc::new(KnownPeople::new(settings.token.clone(), jwt));
    let site = Arc::new(Site {
        engine: OnceLock::new(),
        people: Arc::clone(&people),
        provider_ids: OnceLock::new(),
        access: Access {
            hosts: settings.allow_hosts.clone(),
            origins: settings.allow_origins.clone(),
            ..Access::new(people)
        },
        refusals: Default::default(),
        settings,
        started: Instant::now(),
        closing: CancellationToken::new(),
        stop: CancellationToken::new(),
        stop_reason: OnceLock::new(),
        connections: TaskTracker::new(),
        connected: Default::default(),
        open: Default::default(),
        named: Default::default(),
        host: home::host_name(),
    });
    let acceptor = Arc::new(Acceptor::new(descriptors::raise()));
    let mut serving = JoinSet::new();
    serving.spawn(Arc::clone(&acceptor).run(main, http::main_router(&site)));
    let mut others = Vec::new();
    for (tongue, (listener, address)) in own {
        let router = http::own_router(&site, tongue, address.port());
        serving.spawn(Arc::clone(&acceptor).run(listener, router));
        others.push((tongue.name, address));
    }
    Ok(ListeningServer {
        address,
        others,
        site,
        serving,
    })
}

impl ListeningServer {
    /// Opens the store and lets clients in.
    pub async fn open(self) -> anyhow::Result<RunningServer> {
        let settings = self.site.settings.clone();
        let label = owner_label(self.address);
        let others = self.others.iter().map(|(_, address)| address);
        let addresses = others.chain([&self.address]);
        let ports = addresses.map(SocketAddr::port).collect();
        let assembling = tokio::task::spawn_blocking(move || {
            let home = &settings.engine.home;
            let notice = home::prepare(home)?;
            let store = database::open(home, &label)?;
            // Before any program can be run by what a killed server's command has left.
            tools::sandbox::recover(home);
            let (engine, models) = assemble(&settings, ports, Arc::clone(&store))?;
            anyhow::Ok((engine, models, store, notice))
        });
        let (engine, models, store, home_notice) =
            assembling.await.context("the start was cut off")??;
        self.site.people.open(engine.clone());
        let engine = self.site.engine.get_or_init(|| engine).clone();
        let (recovering, catalog) = (engine.clone(), Arc::clone(&models));
        let home = self.site.settings.engine.home.clone();
        tokio::spawn(async move {
            for warning in catalog.warnings() {
                tracing::warn!("{warning}");
            }
            match recovering.recover().await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "looked after turns that were cut off"),
                Err(refusal) => tracing::warn!(error = %refusal, "recovery failed"),
            }
            import::at_start(store, home).await;
        });
        let home = &self.site.settings.engine.home;
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            address = %self.address,
            home = %home.display(),
            "started"
        );
        Ok(RunningServer {
            address: self.address,
            others: self.others,
            site: self.site,
            engine,
            models,
            serving: self.serving,
            home_notice,
        })
    }
}

impl RunningServer {
    pub fn settings(&self) -> &Settings {
        &self.site.settings
    }

    /// What new threads use, and why, for people; and what stands in its way.
    pub async fn default_model(&self) -> (String, Option<String>) {
        if let Some(model) = &self.site.settings.engine.default_model {
            let name = format!("{}/{}", model.provider, model.model);
            if let Some(obstacle) = self.engine.external_obstacle(&model.provider) {
                return (name, obstacle);
            }
            let obstacle = self.models.obstacle(&model.provider).await;
            let obstacle = obstacle.map(|obstacle| obstacle.words().to_owned());
            let obstacle = match obstacle {
                Some(words) => Some(words),
                None => self.models.misnamed(&model.provider, &model.model).await,
            };
            return (name, obstacle);
        }
        let choice = self.models.default_model().await;
        let name = format!("{}/{}", choice.provider, choice.model);
        let words = match choice.provider == providers::rehearsal::ID {
            true => format!("{name}, which only plays a model. {}", choice.why),
            false => format!("{name} ({})", choice.why),
        };
        (words, None)
    }

    /// Whether there are API tokens; none where that cannot be read.
    pub async fn knows_api_tokens(&self) -> Option<bool> {
        let people = self.engine.identity().people().await.ok()?;
        Some(people.has_tokens())
    }

    /// What fences commands in; found out by trying, once.
    pub async fn sandbox(&self) -> Arc<tools::Sandbox> {
        self.engine.sandbox().await
    }

    pub fn url(&self) -> String {
        format!("ws://{}/ws", self.address)
    }

    /// Lets running turns come to rest, says goodbye to every client, and ends.
    pub async fn stop(mut self, reason: ShutdownReason) {
        let since = Instant::now();
        let (clients, word) = (self.site.connections.len(), reason.word());
        tracing::info!(clients, reason = word, "stopping");
        self.site.stop_reason.get_or_init(|| reason);
        self.site.closing.cancel();
        let resting = self.engine.stop(STOP_GRACE);
        if tokio::time::timeout(STOP_GRACE + STOP_SLACK, resting)
            .await
            .is_err()
        {
            tracing::warn!("some turns did not come to rest");
        }
        self.site.stop.cancel();
        let connections = &self.site.connections;
        connections.close();
        if tokio::time::timeout(GOODBYE_MAX, connections.wait())
            .await
            .is_err()
        {
            tracing::warn!(left = connections.len(), "some clients did not say goodbye");
        }
        self.serving.abort_all();
        tracing::info!(took_ms = since.elapsed().as_millis() as u64, "stopped");
    }
}

/// Whoever reaches the port can run commands, so strangers must not reach it without a secret.
fn check_exposure(settings: &Settings) -> anyhow::Result<()> {
    let asks = settings.token.is_some() || settings.auth.issuer.is_some();
    if settings.host.is_loopback() || asks {
        return Ok(());
    }
    bail!(
        "{} can be reached from other machines, and no token is set. Set one with \
         --token-file FILE or {TOKEN_VARIABLE} (for example from `openssl rand -hex 32`), \
         name an OpenID provider with --auth-issuer, or leave --host away to serve this machine \
         only",
        settings.host
    )
}

/// `flag` chooses the port.
async fn bind(host: IpAddr, port: u16, flag: &str) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let address = SocketAddr::from((host, port));
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let advice = bind_advice(&error, address, flag);
        anyhow!("cannot listen on {address}: {advice} ({error})")
    })?;
    let address = listener.local_addr();
    Ok((listener, address.context("the listener has no address")?))
}

/// Why a port cannot be had, and what to do.
fn bind_advice(error: &io::Error, address: SocketAddr, flag: &str) -> String {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another program listens there, maybe a Dragoman that runs already. Choose another \
             port with {flag}, or 0 for any free one"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "you are not allowed to use port {port}; those below 1024 are for root. Choose a \
             higher one with {flag}, and let a proxy forward the low one to it"
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "this machine does not have the address {ip}. Choose one of its own with --host, or \
             leave --host away to serve this machine only"
        ),
        // tidy: wildcard, because the system has many more errors, and says them itself.
        _ => format!("choose another port with {flag}, or another address with --host"),
    }
}

fn owner_label(address: SocketAddr) -> String {
    format!("process {}, ws://{address}/ws", std::process::id())
}

/// The user's own rules. A file that cannot be read stops the start: going on without it would
/// allow what it forbids.
fn policy(home: &Path) -> anyhow::Result<Policy> {
    let path = home.join("config/policy.toml");
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)
            .with_context(|| format!("the policy {} cannot be used", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Policy::default()),
        Err(error) => {
            Err(error).with_context(|| format!("cannot read the policy {}", path.display()))
        }
    }
}

/// Where skills lie that do not come with a workspace, the strongest first.
pub fn skill_folders(home: &Path) -> Vec<PathBuf> {
    let user =
        std::env::home_dir().map(|user| user.join(tools::folders::OTHER_AGENTS).join("skills"));
    [home.join("skills")].into_iter().chain(user).collect()
}

/// What is the server's own: its data, and its secrets wherever they lie.
fn private(settings: &Settings) -> Vec<PathBuf> {
    let files = settings
        .token_file
        .iter()
        .chain(&settings.langfuse_key_file);
    let files = files.map(std::path::absolute);
    std::iter::once(settings.engine.home.clone())
        .chain(files.flatten())
        .collect()
}

fn script(path: &Path) -> anyhow::Result<RehearsalScript> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the rehearsal script {}", path.display()))?;
    RehearsalScript::parse(&text).context("the rehearsal script cannot be used")
}

/// Where traces go, by what is configured or by the variables that all such programs read. No trace
/// has what the environment keeps secret.
fn tracing_settings(settings: &Settings) -> TracingSettings {
    let configured = settings.engine.tracing.clone();
    let mut tracing = configured.or_environment(&|name| std::env::var(name).ok());
    if tracing.is_configured() {
        let secrets = tools::secret_variables().map(SecretString::from);
        tracing.known_secrets.extend(secrets);
        tracing::info!(
            langfuse = tracing.langfuse.target().is_configured(),
            otlp = tracing.otlp.is_some(),
            "turns are traced"
        );
    }
    tracing
}

/// Makes what tenants have to themselves.
struct ModelsAndServers {
    /// What the server's own models were opened with.
    server: ModelsOptions,
}

impl engine::TenantParts for ModelsAndServers {
    fn models(&self, home: &Path, shares: bool) -> Models {
        Models::open(self.server.of_tenant(home, shares))
    }

    fn servers(&self, home: &Path) -> mcp::Servers {
        mcp::Servers::new(mcp::McpOptions::of_tenant(home))
    }
}

/// An engine without a server: for commands that change threads of a home beside its servers.
pub fn open_engine(home: &Path, store: SharedStore) -> anyhow::Result<Engine> {
    let settings = Settings::new(home.to_owned(), home.to_owned());
    let (engine, _) = assemble(&settings, Vec::new(), store)?;
    Ok(engine)
}

fn assemble(
    settings: &Settings,
    ports: Vec<u16>,
    store: SharedStore,
) -> anyhow::Result<(Engine, Arc<Models>)> {
    let (directory, home) = (&settings.engine.directory, &settings.engine.home);
    if !directory.is_dir() {
        bail!(
            "{} is not a directory; name one with --dir",
            directory.display()
        );
    }
    let script = settings.rehearsal.as_deref().map(script).transpose()?;
    let mut options = ModelsOptions::of_process(home);
    options.limits = settings.limits;
    options.scripted.push(Arc::new(Rehearsal::new(script)));
    let of_tenants = ModelsAndServers {
        server: options.clone(),
    };
    let models = Arc::new(Models::open(options));
    let policy = policy(home)?;
    let tracing = tracing_settings(settings);
    let config = engine::Config {
        tracing,
        thread_id_key: id_key::find(home),
        private: private(settings),
        ports,
        skills: skill_folders(home),
        searxng_url: std::env::var("SEARXNG_URL").ok(),
        ask_timeout: policy.ask_timeout(),
        policy: Arc::new(policy),
        parts: dialects::cowork::tell::chunks::count,
        push_message: dialects::codex::push::message,
        ..settings.engine.clone()
    };
    let mut agents = engine::Agents::default();
    for agent in engine::known_agents(&settings.agents) {
        agents.add_external(agent);
    }
    let mcp = Arc::new(mcp::Servers::new(mcp::McpOptions::of_process(home)));
    let parts = engine::Parts {
        store,
        models: Arc::clone(&models),
        tools: vec![Arc::new(Toolbox::builtin())],
        agents,
        mcp_tools: Arc::clone(&mcp) as _,
        mcp,
        tenants: Some(Arc::new(of_tenants)),
    };
    let engine = Engine::new(config, parts);
    Ok((engine, models))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_permission_is_not_called_occupied() {
        let advice = |kind: io::ErrorKind| {
            bind_advice(
                &kind.into(),
                SocketAddr::from(([127, 0, 0, 1], 80)),
                "--port",
            )
        };
        let denied = advice(io::ErrorKind::PermissionDenied);
        assert!(denied.contains("not allowed to use port 80"), "{denied}");
        assert!(!denied.contains("another program"), "{denied}");
        let taken = advice(io::ErrorKind::AddrInUse);
        assert!(taken.contains("another program listens there"), "{taken}");
    }
}
