//! The catalog: providers and their models, as data.

pub(crate) mod address;
mod efforts;
pub(crate) mod file;
pub(crate) mod merged;

use std::fmt;

use serde::Deserialize;
use vocabulary::AuthMethod;

use crate::format::{Quirks, Wire};
pub use efforts::EFFORTS;

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
}

/// One provider. The first model is its default.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderInfo {
    pub id: String,
    pub name: String,
    pub auth: Vec<AuthMethod>,
    /// How it is reached; the scripted model is not.
    pub endpoint: Option<ApiEndpoint>,
    pub models: Vec<Model>,
    /// The model for small work, such as titles.
    pub small_model: Option<String>,
}

/// How a provider is reached over the network.
#[derive(Clone, PartialEq)]
pub struct ApiEndpoint {
    pub wire: Wire,
    pub base_url: String,
    /// Variables that hold its key, the strongest first.
    pub key_env: Vec<String>,
    /// Variables that hold a bearer token, which a gateway in front of the service takes in place of
    /// a key.
    pub bearer_env: Vec<String>,
    /// Variables that override the base URL.
    pub base_url_env: Vec<String>,
    pub headers: Vec<(String, String)>,
    /// Whether it answers without a key (a server on this machine).
    pub keyless: bool,
    pub quirks: Quirks,
}

/// A header may be a secret, and so may a part of an address.
impl fmt::Debug for ApiEndpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        out.debug_struct("ApiEndpoint")
            .field("wire", &self.wire)
            .field("base_url", &address::shown(&self.base_url))
            .field("key_env", &self.key_env)
            .field("bearer_env", &self.bearer_env)
            .field("base_url_env", &self.base_url_env)
            .field("headers", &names)
            .field("keyless", &self.keyless)
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
    /// Where it differs from the other models of its provider.
    pub quirks: Quirks,
}

/// Micro-dollars for a million tokens: one dollar is 1,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    /// Input that was read from the cache; as any other when absent.
    #[serde(default)]
    pub cached: Option<u64>,
    /// Input that was written to the cache; as any other when absent.
    #[serde(default)]
    pub cache_write: Option<u64>,
}

impl Price {
    /// What this usage costs in micro-dollars, rounded up.
    pub fn of(&self, usage: crate::ModelUsage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let plain = usage.input_tokens - cached - written;
        let parts = [
            (plain, self.input),
            (cached, self.cached.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        let total: u128 = parts
            .into_iter()
            .map(|(tokens, price)| u128::from(tokens) * u128::from(price))
            .sum();
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelUsage;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price = Price {
            input: 3_000_000,
            output: 15_000_000,
            cached: Some(300_000),
            cache_write: Some(3_750_000),
        };
        let usage = ModelUsage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cached_tokens: 600_000,
            cache_write_tokens: 100_000,
            reasoning_tokens: 50_000,
            cost_micro_dollars: None,
        };
        // 0.3 M plain, 0.6 M cached, 0.1 M written, 0.1 M out; thoughts are part of what is written.
        assert_eq!(price.of(usage), 900_000 + 180_000 + 375_000 + 1_500_000);
        let plain = Price {
            cached: None,
            cache_write: None,
            ..price
        };
        assert_eq!(plain.of(usage), 3_000_000 + 1_500_000);
    }

    #[test]
    fn a_price_is_rounded_up_and_never_overflows() {
        let price = Price {
            input: 1,
            output: u64::MAX,
            ..Price::default()
        };
        let usage = |input_tokens, output_tokens| ModelUsage {
            input_tokens,
            output_tokens,
            ..ModelUsage::default()
        };
        assert_eq!(price.of(usage(0, 0)), 0);
        assert_eq!(price.of(usage(1, 0)), 1);
        assert_eq!(price.of(usage(1_000_001, 0)), 2);
        assert_eq!(price.of(usage(0, u64::MAX)), u64::MAX);
        // A provider that counts more cached tokens than it read is not believed.
        let odd = ModelUsage {
            input_tokens: 10,
            cached_tokens: 50,
            cache_write_tokens: 50,
            ..ModelUsage::default()
        };
        assert_eq!(price.of(odd), 1);
    }
}
