//! The catalog: providers and their models, as data.

/// One provider. The first model is its default.
pub struct Entry {
    pub id: &'static str,
    pub name: &'static str,
    pub models: &'static [&'static str],
    pub auth: &'static [Auth],
}

/// How one signs in to a provider.
pub enum Auth {
    ApiKey {
        id: &'static str,
        label: &'static str,
    },
    OAuth {
        id: &'static str,
        label: &'static str,
    },
}

const API_KEY: Auth = Auth::ApiKey {
    id: "api_key",
    label: "API key",
};

pub const PROVIDERS: &[Entry] = &[
    Entry {
        id: "google",
        name: "Google",
        models: &[
            "gemini-3.1-pro-preview-customtools",
            "gemini-3-flash-preview",
            "gemini-3-pro-preview",
            "gemini-3.1-pro-preview",
        ],
        auth: &[
            API_KEY,
            Auth::ApiKey {
                id: "exa_api_key",
                label: "Exa API key (web search)",
            },
        ],
    },
    Entry {
        id: "openai",
        name: "OpenAI",
        models: &[
            "gpt-5.2",
            "gpt-5.2-codex",
            "gpt-5.1",
            "gpt-5-mini",
            "gpt-5.2-pro",
        ],
        auth: &[API_KEY],
    },
    Entry {
        id: "anthropic",
        name: "Anthropic",
        models: &[
            "claude-opus-4-6",
            "claude-sonnet-4-6",
            "claude-sonnet-4-5",
            "claude-haiku-4-5",
        ],
        auth: &[API_KEY],
    },
    Entry {
        id: "codex-cli",
        name: "Codex CLI",
        models: &["gpt-5.3-codex", "gpt-5.2-codex", "gpt-5.2"],
        auth: &[
            Auth::OAuth {
                id: "oauth_cli",
                label: "Sign in with ChatGPT (browser)",
            },
            Auth::OAuth {
                id: "oauth_device",
                label: "Sign in with ChatGPT (device code)",
            },
            API_KEY,
        ],
    },
    Entry {
        id: "rehearsal",
        name: "Rehearsal",
        models: &["rehearsal-1"],
        auth: &[],
    },
];
