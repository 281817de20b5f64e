//! The configuration, as far as it has a meaning here: what new threads of a directory begin with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::results::Empty;

/// config/read: what is configured here is not this protocol's configuration.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ConfigReadResponse {
    pub config: Empty,
    pub origins: Empty,
    pub layers: Option<Empty>,
}

/// config/value/write
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigValueWriteParams {
    #[serde(flatten)]
    pub edit: ConfigEdit,
    #[serde(default)]
    pub file_path: Option<String>,
    #[serde(default)]
    pub expected_version: Option<String>,
}

/// config/batchWrite
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigBatchWriteParams {
    pub edits: Vec<ConfigEdit>,
    #[serde(default)]
    pub file_path: Option<String>,
    #[serde(default)]
    pub expected_version: Option<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigEdit {
    pub key_path: String,
    pub value: Value,
}

/// config/value/write, config/batchWrite
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteResponse {
    pub status: &'static str,
    pub version: &'static str,
    pub file_path: String,
}
