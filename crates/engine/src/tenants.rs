//! What each tenant has of its own: where its files lie, keys, MCP servers, skills, rules, budgets; and
//! what it may do here. A lone user (tenant `local`) has the server's.

mod erasing;
mod terms;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use providers::Models;
use secrecy::SecretString;
use tools::policy::Policy;
use vocabulary::{Approvals, Budgets, Refusal, TenantId, ThreadId, Why};

pub use erasing::{ErasedTenant, erase_tenant};
pub use terms::{TenantTerms, TermsError};

use crate::servers::McpTools;
use crate::turn::{Turn, meter};
use crate::{Config, Shared};
use terms::TermsStamp;

/// Makes what a tenant other than `local` has to itself. `home` is where its data lies.
pub trait TenantParts: Send + Sync + 'static {
    /// Its models, with its own keys; `shares`: with those of the server where it has none.
    fn models(&self, home: &Path, shares: bool) -> Models;
    /// Its MCP servers: none of the server's user.
    fn servers(&self, home: &Path) -> mcp::Servers;
}

/// What one tenant has.
pub struct TenantOwn {
    pub models: Arc<Models>,
    pub mcp: Arc<mcp::Servers>,
    pub mcp_tools: Arc<dyn McpTools>,
    pub web: Arc<tools::Web>,
    /// Where its data lies.
    pub home: PathBuf,
    /// Where skills lie that do not come with a workspace; the first of a name wins.
    pub skills: Vec<PathBuf>,
    pub policy: Arc<Policy>,
    /// What its turns and threads may spend that have no budgets of their own.
    pub budgets: Budgets,
    /// When its new threads ask that say nothing themselves.
    pub approvals: Option<Approvals>,
    /// Absent for the lone user, who may do everything.
    confined: Option<TenantBounds>,
}

/// What holds a tenant that shares the server with others.
struct TenantBounds {
    terms: TenantTerms,
    stamp: TermsStamp,
    /// Why nothing works for it, for people.
    trouble: Option<String>,
}

/// Everybody's.
pub(crate) struct Tenants {
    local: Arc<TenantOwn>,
    parts: Option<Arc<dyn TenantParts>>,
    others: Mutex<HashMap<TenantId, Arc<TenantOwn>>>,
    /// What their servers ask for the sandbox.
    engine: OnceLock<Weak<Shared>>,
}

impl TenantOwn {
    /// Whether others share the server with it, so that nothing but its own is open to it.
    pub fn is_confined(&self) -> bool {
        self.confined.is_some()
    }

    /// Whether its commands, and programs of the user's, may run where no sandbox holds them.
    pub fn may_leave_sandbox(&self) -> bool {
        let confined = self.confined.as_ref();
        confined.is_none_or(|confined| confined.terms.full_access)
    }

    /// The places that its directories lie in; absent where any will do.
    pub fn places(&self) -> Option<Vec<PathBuf>> {
        let confined = self.confined.as_ref()?;
        let workspaces = self.home.join(tools::path::WORKSPACES);
        let given = confined.terms.directory.clone();
        Some(given.into_iter().chain([workspaces]).collect())
    }

    /// Its own directory, where it has one.
    pub fn directory(&self) -> Option<&Path> {
        let confined = self.confined.as_ref()?;
        confined.terms.directory.as_deref()
    }

    /// What a tool sees outside of a workspace.
    pub fn outside(&self) -> tools::OutsideAccess {
        let own_places = self.places();
        tools::OutsideAccess {
            home: std::env::home_dir().filter(|_| own_places.is_none()),
            asked: None,
            own_places,
            held: !self.may_leave_sandbox(),
            no_more: false,
        }
    }

    /// A directory that a client names, as the file system knows it. One that is not there gets the same
    /// answer as one of somebody else.
    pub fn admit(&self, directory: PathBuf) -> Result<PathBuf, Refusal> {
        let Some(places) = self.places() else {
            return Ok(directory);
        };
        let canonical = directory.canonicalize().ok();
        let is_own = |path: &PathBuf| {
            let mut places = places.iter().filter_map(|place| place.canonicalize().ok());
            path.is_dir() && places.any(|place| path.starts_with(place))
        };
        canonical.filter(is_own).ok_or_else(|| {
            let message = match self.directory() {
                Some(own) => format!(
                    "{} is no directory of your tenant's; name one in {}, or none",
                    directory.display(),
                    own.display()
                ),
                None => format!(
                    "{} is no directory of your tenant's; name none, and the session gets one",
                    directory.display()
                ),
            };
            Refusal::invalid("directory", message)
        })
    }

    /// Where a workspace of ours lies, or would lie.
    pub fn workspace_path(&self, name: &str) -> PathBuf {
        self.home.join(tools::path::WORKSPACES).join(name)
    }

    /// The workspace of a thread whose tenant has no directory; made where it is not there yet.
    pub async fn make_workspace(&self, name: &str) -> Result<PathBuf, Refusal> {
        let path = self.workspace_path(name);
        let mut make = tokio::fs::DirBuilder::new();
        make.recursive(true).mode(0o700);
        make.create(&path).await.map_err(|error| {
            let message = format!("the workspace's directory cannot be made: {error}");
            Refusal::new(Why::Storage, message)
        })?;
        Ok(path)
    }

    /// Where a thread runs that names no directory; absent where the server's directory is meant.
    pub async fn usual_directory(&self, thread: ThreadId) -> Result<Option<PathBuf>, Refusal> {
        match (self.is_confined(), self.directory()) {
            (false, _) => Ok(None),
            (true, Some(own)) => self.admit(own.to_owned()).map(Some),
            (true, None) => self.make_workspace(&thread.to_string()).await.map(Some),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let trouble = self.confined.as_ref().and_then(|each| each.trouble.clone());
        trouble.map_or(Ok(()), |words| Err(Refusal::new(Why::Storage, words)))
    }
}

impl Tenants {
    pub fn new(local: TenantOwn, parts: Option<Arc<dyn TenantParts>>) -> Self {
        Self {
            local: Arc::new(local),
            parts,
            others: Mutex::default(),
            engine: OnceLock::new(),
        }
    }

    /// To be called once the engine is there.
    pub fn belong_to(&self, engine: &Arc<Shared>) {
        let engine = self.engine.get_or_init(|| Arc::downgrade(engine));
        crate::servers::fence(engine.clone(), &self.local.mcp, None);
    }

    /// Those that have been asked for, and the lone user's.
    pub fn known(&self) -> Vec<Arc<TenantOwn>> {
        let others = self.others.lock();
        let local = std::iter::once(&self.local);
        local.chain(others.values()).map(Arc::clone).collect()
    }
}

/// What a lone user has: the server's own.
pub(crate) fn of_server(config: &Config, parts: &crate::Parts) -> TenantOwn {
    let models = Arc::clone(&parts.models);
    TenantOwn {
        web: web(config, &models, true),
        mcp: Arc::clone(&parts.mcp),
        mcp_tools: Arc::clone(&parts.mcp_tools),
        models,
        home: config.home.clone(),
        skills: config.skills.clone(),
        policy: Arc::clone(&config.policy),
        budgets: config.budgets,
        approvals: config.approvals,
        confined: None,
    }
}

fn web(config: &Config, models: &Arc<Models>, shares: bool) -> Arc<tools::Web> {
    let searxng = config.searxng_url.clone().filter(|_| shares);
    let keys = Arc::clone(models);
    let key = move |key: tools::web::SearchService| match key {
        tools::web::SearchService::Exa | tools::web::SearchService::Brave => {
            keys.tool_key(key.tool())
        }
        tools::web::SearchService::Searxng => searxng.clone().map(SecretString::from),
    };
    Arc::new(tools::Web::new(config.web.clone(), Arc::new(key)))
}

impl Shared {
    /// What a tenant has. What the operator has changed of its terms counts from now on.
    pub(crate) fn own(&self, tenant: &TenantId) -> Arc<TenantOwn> {
        if tenant.is_local() {
            return Arc::clone(&self.tenants.local);
        }
        let home = TenantTerms::home(&self.config.home, tenant);
        let stamp = TermsStamp::of(&home);
        let mut others = self.tenants.others.lock();
        let known = others.get(tenant);
        if let Some(known) = known.filter(|known| known.is_of(&stamp)) {
            return Arc::clone(known);
        }
        let own = Arc::new(self.read_own(tenant, home, stamp, known));
        if known.is_none() {
            let engine = self.tenants.engine.get().cloned().unwrap_or_default();
            crate::servers::fence(engine, &own.mcp, Some(tenant.clone()));
        }
        others.insert(tenant.clone(), Arc::clone(&own));
        own
    }

    /// The same, if anything works for the tenant at all.
    pub(crate) fn usable_own(&self, tenant: &TenantId) -> Result<Arc<TenantOwn>, Refusal> {
        let own = self.own(tenant);
        own.check().map(|()| own)
    }

    /// Connections and lists that are there stay, as long as the same keys are meant.
    fn read_own(
        &self,
        tenant: &TenantId,
        home: PathBuf,
        stamp: TermsStamp,
        before: Option<&Arc<TenantOwn>>,
    ) -> TenantOwn {
        let local = &self.tenants.local;
        let (terms, policy, trouble) = terms::read(&home, tenant, &self.config.policy);
        let shares = terms.shared_keys;
        let same = before.filter(|before| before.shares_keys() == shares);
        let parts = self.tenants.parts.as_deref();
        let models = match (same, parts) {
            (Some(same), _) => Arc::clone(&same.models),
            (None, Some(parts)) => Arc::new(parts.models(&home, shares)),
            (None, None) => Arc::clone(&local.models),
        };
        let (mcp, mcp_tools) = match (before, parts) {
            (Some(before), _) => (Arc::clone(&before.mcp), Arc::clone(&before.mcp_tools)),
            (None, Some(parts)) => {
                let mcp = Arc::new(parts.servers(&home));
                (Arc::clone(&mcp), mcp as Arc<dyn McpTools>)
            }
            (None, None) => (Arc::clone(&local.mcp), Arc::clone(&local.mcp_tools)),
        };
        TenantOwn {
            web: match same {
                Some(same) => Arc::clone(&same.web),
                None => web(&self.config, &models, shares),
            },
            models,
            mcp,
            mcp_tools,
            skills: vec![home.join("skills")],
            policy: Arc::new(policy),
            budgets: meter::effective(&terms.budgets, &self.config.budgets),
            approvals: terms.approvals.or(self.config.approvals),
            confined: Some(TenantBounds {
                terms,
                stamp,
                trouble,
            }),
            home,
        }
    }
}

impl Turn {
    /// What the thread's tenant has.
    pub fn own(&self) -> Arc<TenantOwn> {
        self.shared.own(&self.card.tenant)
    }
}

impl TenantOwn {
    fn is_of(&self, stamp: &TermsStamp) -> bool {
        let confined = self.confined.as_ref();
        confined.is_some_and(|confined| confined.stamp == *stamp)
    }

    fn shares_keys(&self) -> bool {
        let confined = self.confined.as_ref();
        confined.is_some_and(|confined| confined.terms.shared_keys)
    }
}
