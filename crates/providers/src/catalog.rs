//! The catalog: providers and their models, as data.

pub(crate) mod address;
pub(crate) mod built_in;
mod efforts;
pub(crate) mod file;
mod layers;
pub(crate) mod merged;
mod own;
mod price;
mod retirement;
mod template;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use vocabulary::AuthMethod;

use crate::format::{Quirks, Wire};
pub use efforts::EFFORTS;
pub use price::{Price, PriceTier};
pub use retirement::{Day, Lifetime, day};

/// Everything that can be named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCatalog {
    /// In the order in which they are shown.
    pub providers: Vec<ProviderInfo>,
}

impl ModelCatalog {
    pub fn model(&self, provider: &str, model: &str) -> Option<&Model> {
        let provider = self.providers.iter().find(|each| each.id == provider)?;
        provider.models.iter().find(|each| each.id == model)
    }

    /// What takes the place of a model that is gone, or will be.
    pub fn successor(&self, provider: &str, model: &str) -> Option<String> {
        let provider = self.providers.iter().find(|each| each.id == provider)?;
        let listed = provider.models.iter().find(|each| each.id == model);
        let known = listed.and_then(|model| model.successor.as_ref());
        known.or_else(|| provider.retired.get(model)).cloned()
    }
}

/// One provider. Its first model is its default, unless that is gone or its own list lacks it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderInfo {
    pub id: String,
    pub name: String,
    pub auth: Vec<AuthMethod>,
    /// How it is reached; the scripted model is not.
    pub endpoint: Option<ApiEndpoint>,
    pub models: Vec<Model>,
    /// The model for small work, such as titles.
    pub small_model: Option<String>,
    /// Models that are gone, and what takes their place.
    pub retired: BTreeMap<String, String>,
}

/// How a provider is reached over the network.
#[derive(Clone, PartialEq)]
pub struct ApiEndpoint {
    pub wire: Wire,
    pub base_url: String,
    /// Variables that hold its key, the strongest first.
    pub key_env: Vec<String>,
    /// Variables that name a credential file of Google's.
    pub google_file_env: Vec<String>,
    /// What it is called in the signatures of AWS, where the keys of such an account may be used.
    pub aws_service: Option<String>,
    /// Variables that hold a bearer token, which a gateway in front of the service takes in place of
    /// a key.
    pub bearer_env: Vec<String>,
    /// Variables that override the base URL.
    pub base_url_env: Vec<String>,
    pub headers: Vec<(String, String)>,
    /// Whether it answers without a key (a server on this machine).
    pub keyless: bool,
    /// Where its list of models is, below the base URL, when it is not where its wire format has it.
    pub models_path: Option<String>,
    /// Whether its list has every model that it takes, so that another name is a mistake.
    pub lists_all: bool,
    /// What it tells of its models beside the list.
    pub local_api: Option<LocalApi>,
    /// The header that carries a key, where it is not the one of the wire format.
    pub key_header: Option<String>,
    pub quirks: Quirks,
}

/// How a server on this machine tells the context that its models run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalApi {
    /// `/api/ps` and `/api/show`, beside the base URL's version.
    Ollama,
    /// `/api/v0/models`
    LmStudio,
}

impl ApiEndpoint {
    /// The header a key is sent in.
    pub fn auth_header(&self, key: &str) -> (String, String) {
        match self.key_header.as_deref() {
            Some(name) if name.eq_ignore_ascii_case("authorization") => {
                (name.to_owned(), format!("Bearer {key}"))
            }
            Some(name) => (name.to_owned(), key.to_owned()),
            None => {
                let (name, value) = self.wire.auth_header(key);
                (name.to_owned(), value)
            }
        }
    }
}

/// A header may be a secret, and so may a part of an address.
impl fmt::Debug for ApiEndpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        out.debug_struct("ApiEndpoint")
            .field("wire", &self.wire)
            .field("base_url", &address::shown(&self.base_url))
            .field("key_env", &self.key_env)
            .field("google_file_env", &self.google_file_env)
            .field("aws_service", &self.aws_service)
            .field("bearer_env", &self.bearer_env)
            .field("base_url_env", &self.base_url_env)
            .field("headers", &names)
            .field("keyless", &self.keyless)
            .field("models_path", &self.models_path)
            .field("lists_all", &self.lists_all)
            .field("local_api", &self.local_api)
            .field("key_header", &self.key_header)
            .field("quirks", &self.quirks)
            .finish()
    }
}

/// One model, as far as it is known. Models that no catalog lists are used with what is known of
/// their provider: nothing.
/// A client is shown less of its price (`vocabulary::CatalogModel`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub id: String,
    pub name: String,
    /// Tokens it can read and write together.
    pub context: Option<u64>,
    /// Tokens it can read, where that is less than `context`.
    pub input: Option<u64>,
    /// Tokens it can write in one answer.
    pub output: Option<u64>,
    pub price: Option<Price>,
    /// From the least to the most.
    pub efforts: Vec<String>,
    pub default_effort: Option<String>,
    pub vision: Option<bool>,
    /// The day from which on its provider does not offer it any more, as `2026-11-30`.
    pub retires: Option<String>,
    /// The model of the same provider that takes its place.
    pub successor: Option<String>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
    /// Whether its provider's own list has it, where that list is known.
    pub offered: Option<bool>,
    /// Where it differs from the other models of its provider.
    pub quirks: Quirks,
}
