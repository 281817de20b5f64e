//! Providers and their models. Here what is not known is written as null.

use schemars::JsonSchema;
use serde::Serialize;

/// provider/list
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProviderListResponse {
    pub providers: Vec<Provider>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Provider {
    pub name: String,
}

/// provider/models/list
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProviderModelsListResponse<'a> {
    pub provider: &'a str,
    pub models: Vec<ProviderModelInfo<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProviderModelInfo<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    pub description: Option<&'a str>,
    pub created: Option<i64>,
    pub provider: &'a str,
    pub owned_by: Option<&'a str>,
    pub limits: Limits,
    pub capabilities: Capabilities,
    pub pricing: Option<Pricing>,
    /// Whether it can be used right now.
    pub active: Option<bool>,
    pub family: Option<&'a str>,
    pub lifecycle_status: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Limits {
    pub max_input_tokens: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub context_window: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Capabilities {
    pub vision: Option<bool>,
    pub tool_calling: Option<bool>,
    pub json_output: Option<bool>,
    pub streaming: Option<bool>,
    pub thinking: Option<bool>,
    pub fine_tuning: Option<bool>,
    pub input_modalities: Option<&'static [&'static str]>,
    pub output_modalities: Option<&'static [&'static str]>,
}

/// In dollars for one of each.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Pricing {
    pub input_token: Option<f64>,
    pub output_token: Option<f64>,
    pub image: Option<f64>,
    pub request: Option<f64>,
}

/// provider/set_api_key
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProviderSetApiKeyResponse<'a> {
    pub provider: &'a str,
    pub updated: bool,
}

/// provider/delete_api_key
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProviderDeleteApiKeyResponse<'a> {
    pub provider: &'a str,
    pub deleted: bool,
}
