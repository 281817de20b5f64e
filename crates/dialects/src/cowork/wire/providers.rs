//! Events about providers: catalog, sign-in, status.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cowork::names::ProviderName;

/// Server -> Client Events: provider_catalog.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCatalog<'a> {
    pub session_id: &'a str,
    pub all: Vec<ProviderCatalogEntry<'a>>,
    pub default: BTreeMap<ProviderName, Cow<'a, str>>,
    pub connected: Vec<ProviderName>,
}

/// Shared Types: ProviderCatalogEntry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCatalogEntry<'a> {
    pub id: ProviderName,
    pub name: &'a str,
    pub models: Vec<Cow<'a, str>>,
    pub default_model: Cow<'a, str>,
}

/// Server -> Client Events: provider_auth_methods.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthMethods<'a> {
    pub session_id: &'a str,
    pub methods: BTreeMap<ProviderName, Vec<ProviderAuthMethod<'a>>>,
}

/// Shared Types: ProviderAuthMethod.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthMethod<'a> {
    pub id: &'a str,
    #[serde(rename = "type")]
    pub kind: AuthType,
    pub label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth_mode: Option<OauthMode>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthType {
    Api,
    Oauth,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OauthMode {
    Auto,
    Code,
}

/// Server -> Client Events: provider_auth_challenge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthChallengeEvent<'a> {
    pub session_id: &'a str,
    pub provider: ProviderName,
    pub method_id: &'a str,
    pub challenge: ProviderAuthChallenge<'a>,
}

/// Shared Types: ProviderAuthChallenge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthChallenge<'a> {
    pub method: OauthMode,
    pub instructions: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
}

/// Server -> Client Events: provider_auth_result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderAuthResult<'a> {
    pub session_id: &'a str,
    pub provider: ProviderName,
    pub method_id: &'a str,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SignInMode>,
    pub message: &'a str,
}

/// What a sign-in that succeeded left.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignInMode {
    ApiKey,
    Oauth,
    OauthPending,
}

/// How a provider is signed in to.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    Missing,
    Error,
    ApiKey,
    Oauth,
    OauthPending,
}

/// Server -> Client Events: provider_status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderStatusEvent<'a> {
    pub session_id: &'a str,
    pub providers: Vec<ProviderStatus<'a>>,
}

/// Shared Types: ProviderStatus.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderStatus<'a> {
    pub provider: ProviderName,
    pub authorized: bool,
    pub verified: bool,
    pub mode: AuthMode,
    pub account: Option<Account<'a>>,
    pub message: &'a str,
    pub checked_at: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub saved_api_key_masks: BTreeMap<&'a str, &'a str>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Account<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
}
