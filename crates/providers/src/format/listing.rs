//! A provider's live list of models, in whichever of its forms it comes.

mod abilities;
mod local;
mod price;

use serde_json::Value;

use super::{count, text};
use crate::catalog::Price;
use crate::{ErrorKind, ProviderError};

pub use local::{LocalFacts, loaded_at_lm_studio, loaded_at_ollama, shown_by_ollama};

/// The most models that are read of one list; what comes after is left out.
pub const MODELS_MAX: usize = 5_000;

/// What a provider tells of one of its models. What is absent it does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    /// Other ids of the same model.
    pub aliases: Vec<String>,
    pub name: Option<String>,
    /// It may be there for who names it, but is not one to choose for a conversation.
    pub hidden: bool,
    pub context: Option<u64>,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub price: Option<Price>,
    /// From the least to the most.
    pub efforts: Option<Vec<String>>,
    pub default_effort: Option<String>,
    pub vision: Option<bool>,
    pub tools: Option<bool>,
    /// The day from which it is gone: `2026-11-30`.
    pub retires: Option<String>,
    pub successor: Option<String>,
}

impl ListedModel {
    /// Whether it goes by this id. A name without its date or its tag means the model that the
    /// service takes it for (`claude-haiku-4-5`, `qwen3` of Ollama), and a router takes a variant
    /// of each (`vendor/model:nitro`).
    pub fn goes_by(&self, id: &str) -> bool {
        let dated = |rest: &str| {
            let date = rest.strip_prefix('-').unwrap_or_default();
            date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())
        };
        let shorter = self.id.strip_prefix(id);
        let longer = id.strip_prefix(self.id.as_str());
        self.aliases.iter().any(|alias| alias == id)
            || shorter.is_some_and(|rest| matches!(rest, "" | ":latest") || dated(rest))
            || longer.is_some_and(|rest| rest.starts_with(':'))
    }
}

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    pub models: Vec<ListedModel>,
    /// What the next page is asked for with, where there is one.
    pub next: Option<String>,
}

pub(super) fn read(body: &[u8]) -> Result<ListPage, ProviderError> {
    let unreadable = |what: String| {
        let message = format!("the list of models could not be read: {what}");
        ProviderError::new(ErrorKind::Malformed, message)
    };
    let value: Value =
        serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))?;
    let list = [&value["data"], &value["models"], &value]
        .into_iter()
        .find_map(Value::as_array)
        .ok_or_else(|| unreadable("it holds no list".to_owned()))?;
    let mut list: Vec<&Value> = list.iter().take(MODELS_MAX).collect();
    // ChatGPT says which of its models it would have chosen; others list them as they like.
    list.sort_by_key(|model| model["priority"].as_i64().unwrap_or_default());
    Ok(ListPage {
        models: list.into_iter().filter_map(model).collect(),
        next: next_page(&value),
    })
}

/// Anthropic continues after an id, Gemini with a token.
fn next_page(value: &Value) -> Option<String> {
    let after = || (value["has_more"] == true).then(|| text(value, "last_id"))?;
    text(value, "nextPageToken")
        .or_else(after)
        .map(str::to_owned)
}

fn model(value: &Value) -> Option<ListedModel> {
    let id = ["slug", "id", "name"]
        .iter()
        .find_map(|field| text(value, field))?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let first = |places: &[&str]| {
        let told = places.iter().filter_map(|place| count(value, place));
        // A zero is how some say that they do not know.
        told.into_iter().find(|count| *count > 0)
    };
    if value["lifecycle"] == "retired" || value["active"] == false {
        return None;
    }
    Some(ListedModel {
        id: id.to_owned(),
        aliases: texts(&value["aliases"]),
        name: ["display_name", "displayName", "name"]
            .iter()
            .find_map(|field| text(value, field))
            .filter(|name| name.strip_prefix("models/").unwrap_or(name) != id)
            .map(str::to_owned),
        hidden: !abilities::converses(value),
        context: first(&[
            "/inputTokenLimit",
            // What this provider's best server takes, which may be less than the model can.
            "/top_provider/context_length",
            "/context_length",
            "/context_window",
            "/max_context_length",
            "/max_model_len",
            "/max_input_tokens",
            "/meta/n_ctx",
            "/meta/n_ctx_train",
        ]),
        input: first(&["/limits/max_input_tokens"]),
        output: first(&[
            "/outputTokenLimit",
            "/top_provider/max_completion_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
            "/max_tokens",
            "/limits/max_output_tokens",
        ]),
        price: price::price(&value["pricing"]),
        efforts: abilities::efforts(value),
        default_effort: abilities::default_effort(value),
        vision: abilities::vision(value),
        tools: abilities::tools(value),
        retires: ["retires_at", "deprecation", "expiration_date"]
            .iter()
            .find_map(|field| day(text(value, field)?)),
        successor: text(value, "deprecation_replacement_model").map(str::to_owned),
    })
}

/// The day of a time, as all of them write it first.
fn day(time: &str) -> Option<String> {
    let day = time.get(..10)?;
    let written = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    day.bytes().enumerate().all(written).then(|| day.to_owned())
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
