//! Which source speaks of which of our providers, and under which name.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde_json::Value;

use super::facts::Facts;
use super::fetch::{self, Package};
use super::read;

/// Where a provider of ours is found.
struct Origin {
    provider: &'static str,
    /// In litellm's list, as the beginning of the ids.
    litellm: Option<&'static str>,
    /// In pi's lists, as the name of one.
    pi: Option<&'static str>,
    /// Whether requests are paid one by one; with a subscription they are not.
    priced: bool,
}

const fn origin(
    provider: &'static str,
    litellm: Option<&'static str>,
    pi: Option<&'static str>,
) -> Origin {
    Origin {
        provider,
        litellm,
        pi,
        priced: true,
    }
}

const fn subscription(
    provider: &'static str,
    litellm: Option<&'static str>,
    pi: Option<&'static str>,
) -> Origin {
    Origin {
        provider,
        litellm,
        pi,
        priced: false,
    }
}

const ORIGINS: [Origin; 26] = [
    origin("google", Some("gemini/"), Some("google")),
    origin("openai", Some(""), Some("openai")),
    origin("anthropic", Some(""), Some("anthropic")),
    subscription("codex-cli", Some("chatgpt/"), Some("openai-codex")),
    origin("azure", Some("azure/"), Some("azure")),
    origin("bedrock", Some("bedrock_mantle/"), None),
    origin("bedrock-claude", Some("bedrock_mantle/"), None),
    origin("vertex", Some("vertex_ai/"), Some("google-vertex")),
    origin("vertex-express", Some("vertex_ai/"), Some("google-vertex")),
    origin("openrouter", None, Some("openrouter")),
    origin(
        "vercel",
        Some("vercel_ai_gateway/"),
        Some("vercel-ai-gateway"),
    ),
    origin("huggingface", None, Some("huggingface")),
    origin("deepseek", Some("deepseek/"), Some("deepseek")),
    origin("xai", Some("xai/"), Some("xai")),
    origin("mistral", Some("mistral/"), Some("mistral")),
    origin("moonshot", Some("moonshot/"), Some("moonshotai")),
    subscription("kimi-code", None, Some("kimi-coding")),
    origin("zai", Some("zai/"), Some("zai")),
    subscription("zai-coding", None, Some("zai")),
    origin("minimax", Some("minimax/"), Some("minimax")),
    origin("qwen", Some("dashscope/"), None),
    origin("groq", Some("groq/"), Some("groq")),
    origin("cerebras", Some("cerebras/"), Some("cerebras")),
    origin("together", Some("together_ai/"), Some("together")),
    origin("fireworks", Some("fireworks_ai/"), Some("fireworks")),
    origin("nvidia", None, Some("nvidia")),
];

/// Who makes the models it offers.
const MAKERS: [&str; 8] = [
    "google",
    "openai",
    "anthropic",
    "codex-cli",
    "deepseek",
    "xai",
    "moonshot",
    "zai",
];

/// What was read of all packages.
pub struct Library {
    pub versions: Vec<String>,
    litellm: Value,
    pi: BTreeMap<&'static str, Value>,
    /// What the Codex CLI offers with a ChatGPT account; litellm brings a copy.
    codex: Value,
    /// Ends that OpenAI and Anthropic announce in their own packages.
    ends: BTreeMap<&'static str, BTreeMap<String, String>>,
}

impl Library {
    pub fn read(packages: &[Package]) -> anyhow::Result<Self> {
        let [litellm, pi, anthropic, openai] = packages else {
            bail!("four packages are wanted");
        };
        let inside = litellm.folder.join("litellm");
        let list = inside.join("model_prices_and_context_window_backup.json");
        let mut lists = BTreeMap::new();
        for name in ORIGINS.iter().filter_map(|origin| origin.pi) {
            let path = pi.folder.join(format!("dist/providers/data/{name}.json"));
            lists.insert(name, json(&fetch::read(&path)?)?);
        }
        let shared = fetch::read(&openai.folder.join("resources/shared.d.ts"))?;
        let messages = fetch::read(&anthropic.folder.join("resources/messages/messages.js"))?;
        let ends = BTreeMap::from([
            ("openai", read::openai_ends(&shared)),
            ("anthropic", read::anthropic_ends(&messages)),
        ]);
        if ends.values().any(BTreeMap::is_empty) {
            bail!("an SDK does not announce ends where it did; see read::openai_ends");
        }
        let versions = packages.iter();
        Ok(Self {
            versions: versions
                .map(|package| format!("{} {}", package.name, package.version))
                .collect(),
            litellm: json(&fetch::read(&list)?)?,
            pi: lists,
            codex: json(&codex_list(&inside.join("proxy/common_utils"))?)?,
            ends,
        })
    }

    /// Whether any source has models of this provider: one on this machine has its own.
    pub fn knows(provider: &str) -> bool {
        ORIGINS.iter().any(|each| each.provider == provider)
    }

    /// What the maker of models has besides those that are offered; a service with the models of
    /// many makers has too many to name.
    pub fn others(&self, provider: &str, offered: &[String]) -> Vec<String> {
        let own = MAKERS.contains(&provider);
        let origin = ORIGINS.iter().find(|each| own && each.provider == provider);
        let list = origin.and_then(|origin| self.pi.get(origin.pi?));
        let mut others = list.map(read::pi_ids).unwrap_or_default();
        others.retain(|id| !offered.contains(id));
        others
    }

    /// What each source says of a model of ours, the strongest first.
    pub fn look_up(&self, provider: &str, model: &str) -> Vec<(&'static str, Facts)> {
        let Some(origin) = ORIGINS.iter().find(|each| each.provider == provider) else {
            return Vec::new();
        };
        let announced = self.ends.get(provider).and_then(|ends| ends.get(model));
        let announced = announced.map(|end| Facts {
            retires: Some(end.clone()),
            ..Facts::default()
        });
        let codex = (provider == "codex-cli").then(|| read::codex(&self.codex, model));
        let pi = origin.pi.and_then(|name| self.pi.get(name));
        let pi = pi.and_then(|list| read::pi(list, model));
        let litellm = origin.litellm.and_then(|prefix| {
            let entry = self.litellm.get(format!("{prefix}{model}"))?;
            Some(read::litellm(entry))
        });
        let known = [
            ("the SDK", announced),
            ("codex", codex.flatten()),
            ("pi", pi),
            ("litellm", litellm),
        ];
        let mut known: Vec<_> = known
            .into_iter()
            .filter_map(|(source, facts)| Some((source, facts?)))
            .collect();
        if !origin.priced {
            known.iter_mut().for_each(|(_, facts)| facts.price = None);
        }
        known
    }
}

fn codex_list(folder: &std::path::Path) -> anyhow::Result<String> {
    for entry in std::fs::read_dir(folder).context("litellm has another layout")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("codex_bundled_models") {
            return fetch::read(&path);
        }
    }
    bail!("litellm does not bring the models of the Codex CLI any more")
}

fn json(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).context("a list is not JSON")
}
