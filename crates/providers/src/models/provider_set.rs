//! Every provider of the catalog, ready to be asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::account_authorizer::AccountAuthorizer;
use super::live::{self, ListedModels};
use crate::accounts::Accounts;
use crate::catalog::file::CATALOG_BYTES_MAX;
use crate::catalog::merged::{CatalogEntry, Environment, MergedCatalog};
use crate::catalog::{ApiEndpoint, ModelCatalog};
use crate::remote::{Authorizer, Remote, RequestLimits};

pub struct ProviderSet {
    pub entries: Vec<Arc<CatalogEntry>>,
    pub warnings: Vec<String>,
    remote_provider: BTreeMap<String, Arc<RemoteProvider>>,
    live: Mutex<BTreeMap<String, ListedModels>>,
    snapshot: Mutex<Option<Arc<ModelCatalog>>>,
    merged: MergedCatalog,
}

/// One provider over the network.
pub struct RemoteProvider {
    pub entry: Arc<CatalogEntry>,
    pub endpoint: ApiEndpoint,
    pub authorizer: Arc<AccountAuthorizer>,
    pub remote: Remote,
    /// What was found when it was last asked whether it accepts us.
    pub check: Mutex<Option<CredentialCheck>>,
    /// Asked once at a time.
    pub checking: tokio::sync::Mutex<()>,
    /// When its list is to be asked for again; never asked yet when absent.
    pub list_due: Mutex<Option<Instant>>,
}

/// What a provider said to the credential it was shown.
#[derive(Clone, Debug)]
pub struct CredentialCheck {
    /// Of the credential and the address: another one makes this worthless.
    pub fingerprint: u64,
    pub at: Instant,
    pub at_ms: i64,
    pub result: CheckResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// How many models it listed, where it was asked for them.
    Accepted {
        models: Option<usize>,
        /// What is not as it should be there, for people.
        warning: Option<String>,
    },
    /// In words for people.
    NotAccepted(String),
    Unknown(String),
}

impl ProviderSet {
    pub fn open(
        home: &Path,
        environment: &Environment,
        accounts: &Arc<Accounts>,
        limits: &RequestLimits,
    ) -> ProviderSet {
        let (own, unread) = own_file(home);
        let mut merged = MergedCatalog::open(own.as_deref(), environment);
        merged.warnings.extend(unread);
        let entries: Vec<_> = merged.entries.iter().cloned().map(Arc::new).collect();
        let remote_provider = entries.iter().filter_map(|entry| {
            let remote_provider = RemoteProvider::new(accounts, entry, limits)?;
            Some((entry.provider.id.clone(), Arc::new(remote_provider)))
        });
        ProviderSet {
            remote_provider: remote_provider.collect(),
            warnings: merged.warnings.clone(),
            live: Mutex::default(),
            snapshot: Mutex::default(),
            entries,
            merged,
        }
    }

    /// Whether it has to be opened to know that all is well with it.
    pub fn may_have_warnings(home: &Path, environment: &Environment) -> bool {
        MergedCatalog::heeds(environment) || own_path(home).symlink_metadata().is_ok()
    }

    pub fn entry(&self, id: &str) -> Option<&Arc<CatalogEntry>> {
        self.entries.iter().find(|each| each.provider.id == id)
    }

    pub fn remote_provider(&self, id: &str) -> Option<&Arc<RemoteProvider>> {
        self.remote_provider.get(id)
    }

    pub fn all_remote(&self) -> impl Iterator<Item = &Arc<RemoteProvider>> {
        self.entries
            .iter()
            .filter_map(|entry| self.remote_provider(&entry.provider.id))
    }

    /// The catalog with everything that providers have listed so far.
    pub fn catalog(&self) -> Arc<ModelCatalog> {
        let mut snapshot = self.snapshot.lock();
        let catalog = snapshot.get_or_insert_with(|| {
            let mut catalog = self.merged.catalog();
            let live = self.live.lock();
            for provider in &mut catalog.providers {
                let entry = self.entry(&provider.id);
                if let (Some(listed), Some(entry)) = (live.get(&provider.id), entry) {
                    live::lay_over(provider, listed, &entry.own);
                }
            }
            Arc::new(catalog)
        });
        Arc::clone(catalog)
    }

    /// Whether this provider's own list, where it is known, has a model of this name.
    pub fn lists(&self, provider: &str, model: &str) -> Option<bool> {
        let live = self.live.lock();
        let listed = live.get(provider).filter(|listed| !listed.is_empty())?;
        Some(listed.iter().any(|each| each.goes_by(model)))
    }

    pub fn learn(&self, provider: &str, listed: ListedModels) {
        let mut live = self.live.lock();
        if live.get(provider) == Some(&listed) {
            return;
        }
        live.insert(provider.to_owned(), listed);
        drop(live);
        *self.snapshot.lock() = None;
    }
}

pub(super) fn own_path(home: &Path) -> PathBuf {
    home.join("config").join("catalog.toml")
}

/// The person's own catalog, or why it could not be read.
fn own_file(home: &Path) -> (Option<String>, Option<String>) {
    use std::io::Read;

    let path = own_path(home);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (None, None),
        Err(error) => {
            return (
                None,
                Some(format!("{} is not used: {error}", path.display())),
            );
        }
    };
    let mut text = String::new();
    match file.take(CATALOG_BYTES_MAX + 1).read_to_string(&mut text) {
        Ok(bytes) if bytes as u64 <= CATALOG_BYTES_MAX => (Some(text), None),
        Ok(_) => (
            None,
            Some(format!("{} is not used: it is too long", path.display())),
        ),
        Err(error) => (
            None,
            Some(format!("{} is not used: {error}", path.display())),
        ),
    }
}

impl RemoteProvider {
    fn new(
        accounts: &Arc<Accounts>,
        entry: &Arc<CatalogEntry>,
        limits: &RequestLimits,
    ) -> Option<RemoteProvider> {
        let endpoint = entry.provider.endpoint.clone()?;
        let accounts = Arc::clone(accounts);
        let authorizer = Arc::new(AccountAuthorizer::new(
            accounts,
            Arc::clone(entry),
            endpoint.clone(),
        ));
        let access: Arc<dyn Authorizer> = Arc::clone(&authorizer) as _;
        let policy = limits.policy(endpoint.keyless);
        let remote = Remote::new(&entry.provider, access, policy)?;
        Some(RemoteProvider {
            entry: Arc::clone(entry),
            endpoint,
            authorizer,
            remote,
            check: Mutex::default(),
            checking: tokio::sync::Mutex::default(),
            list_due: Mutex::default(),
        })
    }
}
