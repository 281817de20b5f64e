//! What is kept of a thread's repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sections::given;

/// thread/metadata/update
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMetadataUpdateParams {
    pub thread_id: String,
    #[serde(default)]
    pub git_info: Option<ThreadMetadataGitInfoUpdateParams>,
    /// An empty text takes it out of its project, and all are in none.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Must be left out or null: there is no such thing here.
    #[serde(default)]
    pub daybreak_enabled: Option<bool>,
}

/// Each is left out to stay, null to be forgotten, or a text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMetadataGitInfoUpdateParams {
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub branch: Option<Option<String>>,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub sha: Option<Option<String>>,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub origin_url: Option<Option<String>>,
}

/// Shared Types: GitInfo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitInfo<'a> {
    pub sha: Option<&'a str>,
    pub branch: Option<&'a str>,
    pub origin_url: Option<&'a str>,
}
