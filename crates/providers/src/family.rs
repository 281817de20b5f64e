//! Families of models: those that were trained on the same tools and are told the same way.

/// What a model was trained on, as far as its name tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModelFamily {
    /// GPT-5 and newer, and the codex models.
    Gpt,
    Claude,
    Gemini,
    /// Served on this machine: small, and slow to read much.
    Local,
    #[default]
    Other,
}

/// Model servers that people run for themselves.
const LOCAL_PROVIDERS: &[&str] = &["ollama", "lmstudio", "llamacpp", "vllm"];
/// The first GPT that was trained on patches and plans as codex has them.
const GPT_FIRST: u32 = 5;

impl ModelFamily {
    pub const ALL: [ModelFamily; 5] = [
        ModelFamily::Gpt,
        ModelFamily::Claude,
        ModelFamily::Gemini,
        ModelFamily::Local,
        ModelFamily::Other,
    ];

    pub fn of(provider: &str, model: &str) -> Self {
        if LOCAL_PROVIDERS.contains(&provider) {
            return ModelFamily::Local;
        }
        let model = model.to_ascii_lowercase();
        // A service that has models of others puts the maker before the name.
        let name = model.rsplit('/').next().unwrap_or(&model);
        let named = |word: &str| {
            name.split(['-', '.', ':', '@', '_'])
                .any(|each| each == word)
        };
        if named("codex") || gpt_version(name).is_some_and(|version| version >= GPT_FIRST) {
            ModelFamily::Gpt
        } else if named("claude") {
            ModelFamily::Claude
        } else if named("gemini") {
            ModelFamily::Gemini
        } else {
            ModelFamily::Other
        }
    }
}

/// The 5 of `gpt-5.2-mini`.
fn gpt_version(name: &str) -> Option<u32> {
    let (_, version) = name.rsplit_once("gpt-")?;
    let digits = version.split(|each: char| !each.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_told_by_the_name_whoever_serves_the_model() {
        for (provider, model, family) in [
            ("openai", "gpt-5.2", ModelFamily::Gpt),
            ("openrouter", "openai/gpt-6-mini", ModelFamily::Gpt),
            ("codex-cli", "gpt-5.3-codex", ModelFamily::Gpt),
            ("openai", "codex-mini-latest", ModelFamily::Gpt),
            ("openai", "gpt-4.1", ModelFamily::Other),
            ("groq", "openai/gpt-oss-120b", ModelFamily::Other),
            ("anthropic", "claude-opus-4-6", ModelFamily::Claude),
            (
                "bedrock",
                "eu.anthropic.claude-sonnet-4-6-v1:0",
                ModelFamily::Claude,
            ),
            ("vertex", "claude-opus-4-6@20260101", ModelFamily::Claude),
            ("google", "gemini-3-pro", ModelFamily::Gemini),
            ("ollama", "gpt-5-like", ModelFamily::Local),
            ("moonshot", "kimi-k2", ModelFamily::Other),
            ("rehearsal", "rehearsal-1", ModelFamily::Other),
        ] {
            assert_eq!(
                ModelFamily::of(provider, model),
                family,
                "{provider}/{model}"
            );
        }
    }
}
