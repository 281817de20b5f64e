//! What a thread is set to, and what it can be set to.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::params::CollaborationMode;
use super::results::SandboxPolicy;

/// thread/settings/update
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettingsUpdateParams {
    pub thread_id: String,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub effort: Option<String>,
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    pub approval_policy: Option<Value>,
    #[serde(default)]
    pub approvals_reviewer: Option<String>,
    #[serde(default)]
    pub sandbox_policy: Option<Value>,
    /// The id of a profile.
    #[serde(default)]
    pub permissions: Option<String>,
    #[serde(default)]
    pub collaboration_mode: Option<CollaborationMode>,
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub service_tier: Option<String>,
}

/// thread/settings/updated
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettingsUpdated<'a> {
    pub thread_id: &'a str,
    pub thread_settings: CodexThreadSettings<'a>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodexThreadSettings<'a> {
    pub cwd: Cow<'a, str>,
    pub approval_policy: &'static str,
    pub approvals_reviewer: &'static str,
    pub sandbox_policy: SandboxPolicy,
    pub active_permission_profile: Option<ActivePermissionProfile>,
    pub model: &'a str,
    pub model_provider: &'a str,
    pub effort: Option<&'a str>,
    pub summary: Option<&'static str>,
    pub collaboration_mode: ActiveCollaborationMode<'a>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActiveCollaborationMode<'a> {
    pub mode: &'static str,
    pub settings: ActiveCollaborationSettings<'a>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActiveCollaborationSettings<'a> {
    pub model: &'a str,
    pub reasoning_effort: Option<&'a str>,
    pub developer_instructions: Option<&'a str>,
}

/// Named where one says just what is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActivePermissionProfile {
    pub id: &'static str,
    pub extends: Option<&'static str>,
}

/// permissionProfile/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct PermissionProfileListParams {
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PermissionProfileSummary {
    pub id: &'static str,
    pub description: &'static str,
    /// Whether choosing it would be kept.
    pub allowed: bool,
}
