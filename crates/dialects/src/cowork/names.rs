//! How this protocol spells providers and models.
//!
//! `ProviderName` has four values. A model of any other catalog provider is spelled `openai` with
//! `provider/model`; a slash after anything else belongs to a plain model name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocabulary::ModelRef;

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

/// Who says a part of a stream: a provider, or somebody whose agent does not say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ChunkProvider {
    Known(ProviderName),
    Unknown(UnknownProvider),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownProvider {
    Unknown,
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

/// The model that speaks, where its agent says which it is.
pub fn spell_speaker(model: Option<&ModelRef>) -> (ChunkProvider, ModelName<'_>) {
    match model {
        Some(model) => {
            let (provider, model) = spell(model);
            (ChunkProvider::Known(provider), model)
        }
        None => (
            ChunkProvider::Unknown(UnknownProvider::Unknown),
            ModelName::Plain("unknown"),
        ),
    }
}

/// Whether a provider's thoughts are known to this protocol's clients as summaries.
pub fn summarises(model: Option<&ModelRef>) -> bool {
    match spell_speaker(model).0 {
        ChunkProvider::Known(ProviderName::Openai | ProviderName::CodexCli) => true,
        ChunkProvider::Known(ProviderName::Google | ProviderName::Anthropic)
        | ChunkProvider::Unknown(_) => false,
    }
}

pub fn spell_parts<'a>(provider: &'a str, model: &'a str) -> (ProviderName, ModelName<'a>) {
    match ProviderName::of(provider) {
        Some(name) => (name, ModelName::Plain(model)),
        None => (ProviderName::Openai, ModelName::Of { provider, model }),
    }
}

/// The protocol's two words as our model; `providers` are the catalog's ids.
pub fn parse(provider: ProviderName, model: &str, providers: &[String]) -> ModelRef {
    let (provider, model) =
        other_provider(provider, model, providers).unwrap_or((provider.as_str(), model));
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

/// A provider without a name of its own, and its model.
fn other_provider<'a>(
    provider: ProviderName,
    model: &'a str,
    providers: &[String],
) -> Option<(&'a str, &'a str)> {
    let (prefix, rest) = model.split_once('/')?;
    let spelled_so = provider == ProviderName::Openai
        && ProviderName::of(prefix).is_none()
        && providers.iter().any(|id| id == prefix)
        && !rest.is_empty();
    spelled_so.then_some((prefix, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn providers() -> Vec<String> {
        ["openai", "anthropic", "rehearsal", "openrouter"]
            .map(str::to_owned)
            .to_vec()
    }

    fn check(provider: &str, model: &str, name: ProviderName, spelled: &str) {
        let ours = ModelRef {
            provider: provider.to_owned(),
            model: model.to_owned(),
        };
        let (wire_provider, wire_model) = spell(&ours);
        assert_eq!(wire_provider, name);
        assert_eq!(wire_model.to_string(), spelled);
        assert_eq!(parse(wire_provider, spelled, &providers()), ours);
    }

    #[test]
    fn a_model_comes_back_as_it_went() {
        let openai = ProviderName::Openai;
        check("openai", "gpt-5.2", openai, "gpt-5.2");
        check("codex-cli", "gpt-5.2", ProviderName::CodexCli, "gpt-5.2");
        check("rehearsal", "echo", openai, "rehearsal/echo");
        let routed = "openrouter/vendor/model";
        check("openrouter", "vendor/model", openai, routed);
        // A provider that routes to one of the four names it too.
        let routed = "openrouter/anthropic/claude";
        check("openrouter", "anthropic/claude", openai, routed);
    }

    #[test]
    fn a_slash_after_anything_else_belongs_to_the_model() {
        let openai = ProviderName::Openai;
        check("openai", "vendor/model", openai, "vendor/model");
        check("openai", "anthropic/claude", openai, "anthropic/claude");
        check("google", "rehearsal/x", ProviderName::Google, "rehearsal/x");
        let nothing = parse(openai, "rehearsal/", &providers());
        assert_eq!(nothing.model, "rehearsal/");
        let unknown = parse(openai, "rehearsal/echo", &[]);
        assert_eq!(
            (unknown.provider.as_str(), unknown.model.as_str()),
            ("openai", "rehearsal/echo")
        );
    }
}
