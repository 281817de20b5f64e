//! What is trusted, for people: which workspaces, whether it still is what they trusted, and how to take
//! that back. Its only home is the store, so what is revoked is asked for again at once, in every process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use store::SharedStore;
use vocabulary::{Refusal, TenantId, Why};

use super::{TrustScan, read};
use crate::session::storage;

/// Settings are named by one of these and the directory.
const CONTENT: &str = "trust ";
const SERVERS: &str = "mcp trust ";

/// All trust of a store.
#[derive(Clone)]
pub struct KeptTrust {
    store: SharedStore,
}

/// What is trusted in one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedWorkspace {
    pub directory: PathBuf,
    pub content: ContentTrust,
    /// MCP servers that a person said yes and no to, one by one.
    pub servers_trusted: usize,
    pub servers_refused: usize,
}

/// How it stands with the skills, commands and settings of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentTrust {
    /// Never trusted.
    No,
    Yes,
    /// It was trusted as it was; since then it was changed, so it is asked for again.
    Changed,
}

impl KeptTrust {
    pub fn new(store: SharedStore) -> Self {
        Self { store }
    }

    /// By directory.
    pub async fn all(&self, tenant: &TenantId) -> Result<Vec<TrustedWorkspace>, Refusal> {
        let contents = self.store.settings_of(tenant, CONTENT).await;
        let servers = self.store.settings_of(tenant, SERVERS).await;
        let (contents, servers) = (contents.map_err(storage)?, servers.map_err(storage)?);
        let looking = tokio::task::spawn_blocking(move || listed(&contents, &servers));
        let cut_off = |_| Refusal::new(Why::Internal, "the workspaces could not be looked at");
        looking.await.map_err(cut_off)
    }

    /// Takes back all trust in a workspace and its servers; tells whether there was any.
    pub async fn revoke(&self, tenant: &TenantId, directory: &Path) -> Result<bool, Refusal> {
        let mut was_there = false;
        for prefix in [CONTENT, SERVERS] {
            let name = setting_name(prefix, directory);
            let kept = self.store.setting(tenant, &name).await.map_err(storage)?;
            was_there |= kept.is_some();
            let removed = self.store.remove_setting(tenant, &name).await;
            removed.map_err(storage)?;
        }
        Ok(was_there)
    }

    /// Trusts what came with a workspace as it is now; gives the files.
    pub async fn add(&self, tenant: &TenantId, directory: &Path) -> Result<Vec<PathBuf>, Refusal> {
        let place = directory.to_owned();
        let looked = tokio::task::spawn_blocking(move || read(&place)).await;
        let content = match looked.unwrap_or(TrustScan::Unreadable) {
            TrustScan::Content(content) => content,
            TrustScan::Nothing => return Ok(Vec::new()),
            TrustScan::Unreadable => {
                let message = "it is too much to look at, or cannot all be read";
                return Err(Refusal::invalid("directory", message));
            }
        };
        let name = setting_name(CONTENT, directory);
        let kept = self.store.set_setting(tenant, &name, &content.hash).await;
        kept.map_err(storage)?;
        Ok(content.files.into_keys().collect())
    }
}

fn setting_name(prefix: &str, directory: &Path) -> String {
    format!("{prefix}{}", directory.display())
}

pub(super) fn content_setting(directory: &Path) -> String {
    setting_name(CONTENT, directory)
}

fn listed(contents: &[(String, String)], servers: &[(String, String)]) -> Vec<TrustedWorkspace> {
    let mut all: BTreeMap<PathBuf, TrustedWorkspace> = BTreeMap::new();
    for (name, hash) in contents {
        let workspace = entry(&mut all, name, CONTENT);
        workspace.content = match read(&workspace.directory) {
            TrustScan::Content(content) if content.hash == *hash => ContentTrust::Yes,
            TrustScan::Content(_) | TrustScan::Nothing | TrustScan::Unreadable => {
                ContentTrust::Changed
            }
        };
    }
    for (name, value) in servers {
        let said: Value = serde_json::from_str(value).unwrap_or_default();
        let count = |list: &str| said[list].as_array().map_or(0, Vec::len);
        let workspace = entry(&mut all, name, SERVERS);
        workspace.servers_trusted = count("trusted");
        workspace.servers_refused = count("refused");
    }
    all.into_values().collect()
}

fn entry<'a>(
    all: &'a mut BTreeMap<PathBuf, TrustedWorkspace>,
    name: &str,
    prefix: &str,
) -> &'a mut TrustedWorkspace {
    let directory = PathBuf::from(name.strip_prefix(prefix).unwrap_or(name));
    all.entry(directory.clone())
        .or_insert_with(|| TrustedWorkspace {
            directory,
            content: ContentTrust::No,
            servers_trusted: 0,
            servers_refused: 0,
        })
}
