//! Client messages that set or read what a session has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cowork::names::ProviderName;

/// Client -> Server Messages: set_model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetModel {
    pub session_id: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
}

/// Client -> Server Messages: set_enable_mcp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetEnableMcp {
    pub session_id: String,
    pub enable_mcp: bool,
}

/// Client -> Server Messages: get_messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetMessages {
    pub session_id: String,
    /// A number of any kind; fractions are cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// Client -> Server Messages: set_session_title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetSessionTitle {
    pub session_id: String,
    pub title: String,
}

/// Client -> Server Messages: delete_session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSession {
    pub session_id: String,
    pub target_session_id: String,
}

/// Client -> Server Messages: set_config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetConfig {
    pub session_id: String,
    pub config: ConfigPatch,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yolo: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observability_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agent_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<f64>,
}

/// Client -> Server Messages: upload_file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadFile {
    pub session_id: String,
    pub filename: String,
    pub content_base64: String,
}
