//! What `Models` is opened with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::provider_set::own_path;
use crate::Provider;
use crate::remote::RequestLimits;

/// Where things lie and what the process was given. Nothing is read from anywhere else: never from
/// a workspace, and the environment only as it is handed in.
#[derive(Clone)]
pub struct ModelsOptions {
    /// Holds `config/catalog.toml` and `auth/`.
    pub home: PathBuf,
    /// The home of the Codex CLI, whose sign-in is used when there is no other.
    pub codex_home: Option<PathBuf>,
    pub environment: BTreeMap<String, String>,
    /// The home of somebody else whose saved keys are used where there are none of one's own, and whose
    /// catalog where there is none.
    pub shared: Option<PathBuf>,
    /// Providers that are not reached over the network, by their ids.
    pub scripted: Vec<Arc<dyn Provider>>,
    /// Whether model servers on this machine are looked for.
    pub probe_local: bool,
    /// Whether providers that are used are asked for their lists of models, once a day.
    pub keep_lists: bool,
    pub limits: RequestLimits,
    /// How long a second of an authorisation server's interval lasts; tests shorten it.
    pub(crate) second: Duration,
}

impl ModelsOptions {
    /// Without an environment, and alone: no Codex CLI, no local servers.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            codex_home: None,
            environment: BTreeMap::new(),
            shared: None,
            scripted: Vec::new(),
            probe_local: false,
            keep_lists: false,
            limits: RequestLimits::default(),
            second: Duration::from_secs(1),
        }
    }

    /// For a tenant whose data lies in `home`: with nothing of what the process was started with, or of
    /// what its user has, unless the operator shares it.
    pub fn of_tenant(&self, home: impl Into<PathBuf>, shares: bool) -> Self {
        let own = Self {
            scripted: self.scripted.clone(),
            keep_lists: self.keep_lists,
            limits: self.limits,
            ..Self::new(home)
        };
        match shares {
            true => Self {
                environment: self.environment.clone(),
                probe_local: self.probe_local,
                shared: Some(self.home.clone()),
                ..own
            },
            false => own,
        }
    }

    /// Whose catalog counts.
    pub(super) fn catalog_home(&self) -> &Path {
        match &self.shared {
            Some(shared) if !own_path(&self.home).exists() => shared,
            Some(_) | None => &self.home,
        }
    }

    /// With all that this process was started with.
    pub fn of_process(home: impl Into<PathBuf>) -> Self {
        let environment: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let codex_home = match environment
            .get("CODEX_HOME")
            .filter(|home| !home.is_empty())
        {
            Some(home) => Some(PathBuf::from(home)),
            None => std::env::home_dir().map(|home| home.join(".codex")),
        };
        Self {
            codex_home,
            environment,
            probe_local: true,
            keep_lists: true,
            ..Self::new(home)
        }
    }
}
