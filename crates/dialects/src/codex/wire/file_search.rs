//! Files by a few letters.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// fuzzyFileSearch
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchParams {
    pub query: String,
    /// On zane they may be absent.
    #[serde(default)]
    pub roots: Option<Vec<String>>,
    #[serde(default)]
    pub limit: Option<u32>,
    /// A newer search with the same one is all that its client still wants.
    #[serde(default)]
    pub cancellation_token: Option<String>,
}

/// fuzzyFileSearch/sessionStart
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionStartParams {
    pub session_id: String,
    pub roots: Vec<String>,
}

/// fuzzyFileSearch/sessionUpdate
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdateParams {
    pub session_id: String,
    pub query: String,
}

/// fuzzyFileSearch/sessionStop
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionStopParams {
    pub session_id: String,
}

/// fuzzyFileSearch: `files` for codex, `data` for Zane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FuzzyFileSearchResponse<'a> {
    pub files: Vec<FuzzyFileSearchResult<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<FuzzyFileSearchResult<'a>>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FuzzyFileSearchResult<'a> {
    pub root: Cow<'a, str>,
    pub path: &'a str,
    pub match_type: FuzzyFileSearchMatchType,
    pub file_name: &'a str,
    pub score: u32,
    pub indices: &'a [u32],
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FuzzyFileSearchMatchType {
    File,
    Directory,
}

/// fuzzyFileSearch/sessionUpdated
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionUpdated<'a> {
    pub session_id: &'a str,
    pub query: &'a str,
    pub files: Vec<FuzzyFileSearchResult<'a>>,
}

/// fuzzyFileSearch/sessionCompleted
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyFileSearchSessionCompleted<'a> {
    pub session_id: &'a str,
}
