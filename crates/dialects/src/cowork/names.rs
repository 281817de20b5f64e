//! How this protocol spells providers and models.
//!
//! `ProviderName` has four values. A model of any other catalog provider is spelled `openai` with
//! `provider/model`; a slash after anything else belongs to a plain model name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocabulary::ModelRef;

/// Catalog providers that have no `ProviderName` of their own.
pub const OTHER_PROVIDERS: &[&str] = &["rehearsal"];

/// Shared Types: ProviderName.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderName {
    Google,
    Openai,
    Anthropic,
    CodexCli,
}

impl ProviderName {
    pub const ALL: [ProviderName; 4] = [
        ProviderName::Google,
        ProviderName::Openai,
        ProviderName::Anthropic,
        ProviderName::CodexCli,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ProviderName::Google => "google",
            ProviderName::Openai => "openai",
            ProviderName::Anthropic => "anthropic",
            ProviderName::CodexCli => "codex-cli",
        }
    }

    /// The catalog's id as a name, where it is one of the four.
    pub fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == id)
    }
}

/// A model as a frame names it; written without making a string first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelName<'a> {
    Plain(&'a str),
    Of { provider: &'a str, model: &'a str },
}

impl fmt::Display for ModelName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelName::Plain(model) => f.write_str(model),
            ModelName::Of { provider, model } => write!(f, "{provider}/{model}"),
        }
    }
}

/// Our model in the protocol's two words.
pub fn spell(model: &ModelRef) -> (ProviderName, ModelName<'_>) {
    spell_parts(&model.provider, &model.model)
}

pub fn spell_parts<'a>(provider: &'a str, model: &'a str) -> (ProviderName, ModelName<'a>) {
    match ProviderName::of(provider) {
        Some(name) => (name, ModelName::Plain(model)),
        None => (ProviderName::Openai, ModelName::Of { provider, model }),
    }
}

/// The protocol's two words as our model.
pub fn parse(provider: ProviderName, model: &str) -> ModelRef {
    let other = match (provider, model.split_once('/')) {
        (ProviderName::Openai, Some((prefix, rest)))
            if OTHER_PROVIDERS.contains(&prefix) && !rest.is_empty() =>
        {
            Some((prefix, rest))
        }
        _ => None,
    };
    let (provider, model) = other.unwrap_or((provider.as_str(), model));
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(provider: &str, model: &str, name: ProviderName, spelled: &str) {
        let ours = ModelRef {
            provider: provider.to_owned(),
            model: model.to_owned(),
        };
        let (wire_provider, wire_model) = spell(&ours);
        assert_eq!(wire_provider, name);
        assert_eq!(wire_model.to_string(), spelled);
        assert_eq!(parse(wire_provider, spelled), ours);
    }

    #[test]
    fn a_model_comes_back_as_it_went() {
        check("openai", "gpt-5.2", ProviderName::Openai, "gpt-5.2");
        check("codex-cli", "gpt-5.2", ProviderName::CodexCli, "gpt-5.2");
        check("rehearsal", "echo", ProviderName::Openai, "rehearsal/echo");
    }

    #[test]
    fn a_slash_after_anything_else_belongs_to_the_model() {
        check(
            "openai",
            "vendor/model",
            ProviderName::Openai,
            "vendor/model",
        );
        check("google", "rehearsal/x", ProviderName::Google, "rehearsal/x");
        assert_eq!(
            parse(ProviderName::Openai, "rehearsal/").model,
            "rehearsal/"
        );
    }
}
