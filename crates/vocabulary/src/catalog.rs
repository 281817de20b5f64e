//! The catalog: which providers and models there are, and which of them can be used.

use crate::{ModelRef, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    pub providers: Vec<CatalogProvider>,
    /// What a thread uses that names nothing else.
    pub default: ModelRef,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogProvider {
    pub id: String,
    pub name: String,
    pub models: Vec<String>,
    pub default_model: String,
    pub auth_methods: Vec<AuthMethod>,
    /// Whether it can be used right now.
    pub connected: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    ApiKey { id: String, label: String },
    OAuth { id: String, label: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderStatus {
    pub provider: String,
    pub authorized: bool,
    pub verified: bool,
    pub message: String,
    pub checked_at: Timestamp,
}

/// Where MCP servers are configured, and what stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpSnapshot {
    pub files: Vec<McpFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpFile {
    pub layer: McpLayer,
    pub path: std::path::PathBuf,
    pub exists: bool,
}

/// From the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpLayer {
    Workspace,
    User,
    System,
    WorkspaceLegacy,
    UserLegacy,
}
