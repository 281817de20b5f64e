//! The account at OpenAI: reading it, signing in, signing out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::secret::SecretText;

/// account/read: nobody has to sign in to talk to us.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAccountResponse<'a> {
    pub account: Option<Account<'a>>,
    pub requires_openai_auth: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Account<'a> {
    ApiKey {},
    Chatgpt {
        email: Option<&'a str>,
        plan_type: &'static str,
    },
}

/// account/login/start
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum LoginAccountParams {
    ApiKey {
        api_key: SecretText,
    },
    Chatgpt {},
    /// Another way, which we do not have.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

/// account/login/start
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum LoginAccountResponse {
    ApiKey {},
    Chatgpt { login_id: String, auth_url: String },
}

/// account/login/cancel
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelLoginAccountParams {
    pub login_id: String,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CancelLoginAccountResponse {
    pub status: CancelLoginAccountStatus,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CancelLoginAccountStatus {
    Canceled,
    NotFound,
}

/// account/login/completed
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCompleted<'a> {
    /// Null for an API key.
    pub login_id: Option<String>,
    pub success: bool,
    pub error: Option<&'a str>,
}

/// account/updated
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdated {
    pub auth_mode: Option<&'static str>,
    pub plan_type: Option<&'static str>,
}
