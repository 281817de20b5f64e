//! What there is besides threads and models: skills, and the many lists that are empty here.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::results::Empty;

/// skills/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillsListParams {
    pub cwds: Vec<String>,
}

/// skills/list: the skills of one directory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SkillsListEntry {
    pub cwd: String,
    pub skills: Vec<SkillMetadata>,
    pub errors: [Empty; 0],
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillMetadata {
    pub name: String,
    pub description: String,
    pub short_description: Option<String>,
    pub path: String,
    pub scope: SkillScope,
    pub enabled: bool,
    pub interface: Option<SkillInterface>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SkillScope {
    User,
    Repo,
    System,
}

/// How a skill wants to be shown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillInterface {
    pub display_name: Option<String>,
    pub short_description: Option<String>,
    pub icon_small_url: Option<String>,
    pub icon_large_url: Option<String>,
    pub default_prompt: Option<String>,
}

/// skills/config/write: by its name, or by the path of its SKILL.md.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SkillsConfigWriteParams {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub path: Option<String>,
    pub enabled: bool,
}

/// skills/config/write
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsConfigWriteResponse {
    pub effective_enabled: bool,
}

/// hooks/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HooksListParams {
    pub cwds: Vec<String>,
    /// The directory of a thread that this client hears.
    pub thread_id: Option<String>,
}

/// hooks/list: the hooks of one directory; there are none here.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HooksListEntry<'a> {
    pub cwd: Cow<'a, str>,
    pub hooks: [Empty; 0],
    pub warnings: [Empty; 0],
    pub errors: [Empty; 0],
}

/// plugin/list, plugin/installed: there are none here.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginListResponse {
    pub marketplaces: [Empty; 0],
    pub marketplace_load_errors: [Empty; 0],
    pub featured_plugin_ids: [Empty; 0],
}

/// app/installed: there are none here.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct AppsInstalledResponse {
    pub apps: [Empty; 0],
}

/// thread/goal/get: there is none.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ThreadGoalGetResponse {
    pub goal: Option<Empty>,
}

/// thread/goal/clear: there was none.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ThreadGoalClearResponse {
    pub cleared: bool,
}

/// memory/status: nothing is remembered across threads.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatusResponse {
    pub v2_ready: bool,
    pub v2_consolidated_threads: u64,
}

/// modelProvider/capabilities/read: what providers do beside answering is not offered to clients.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelProviderCapabilitiesReadResponse {
    pub web_search: bool,
    pub image_generation: bool,
}

/// account/bedrock/checkGovCloudRequirements: nothing is asked of those who use it.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BedrockCheckGovCloudRequirementsResponse {
    pub is_gov_cloud: bool,
    pub should_warn: bool,
}

/// account/rateLimits/read: nothing is known of them.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsResponse {
    pub rate_limits: RateLimitSnapshot,
    pub rate_limits_by_limit_id: Option<Empty>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitSnapshot {
    pub primary: Option<Empty>,
    pub secondary: Option<Empty>,
    pub credits: Option<Empty>,
    pub plan_type: Option<Empty>,
}

/// account/usage/read: the provider counts, and is not asked.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountTokenUsageResponse {
    pub summary: AccountTokenUsageSummary,
    pub daily_usage_buckets: Option<Empty>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountTokenUsageSummary {
    pub lifetime_tokens: Option<u64>,
    pub peak_daily_tokens: Option<u64>,
}
