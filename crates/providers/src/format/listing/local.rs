//! What servers on this machine tell of their models beside the list: the context a model runs with,
//! which is often far less than it was made for, and what it can do.

use serde_json::Value;

use super::super::{count, parse, text};
use crate::ProviderError;

/// What is known of one model from its own server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalFacts {
    pub id: String,
    /// The context it runs with, or will.
    pub context: Option<u64>,
    pub vision: Option<bool>,
    pub tools: Option<bool>,
}

/// Ollama's `GET /api/ps`: the models that are loaded, each with its context.
pub fn loaded_at_ollama(body: &str) -> Result<Vec<LocalFacts>, ProviderError> {
    let answer = parse(body)?;
    let models = answer["models"].as_array().into_iter().flatten();
    let loaded = models.filter_map(|model| {
        Some(LocalFacts {
            id: text(model, "model").or(text(model, "name"))?.to_owned(),
            context: count(model, "/context_length").filter(|context| *context > 0),
            ..LocalFacts::default()
        })
    });
    Ok(loaded.collect())
}

/// Ollama's `POST /api/show`: what a model can do, and the context that its own file asks for. The
/// one it was made for (`model_info`) is not what it gets.
pub fn shown_by_ollama(id: &str, body: &str) -> Result<LocalFacts, ProviderError> {
    let answer = parse(body)?;
    let has = |ability: &str| {
        let list = answer["capabilities"].as_array()?;
        Some(list.iter().any(|each| each == ability))
    };
    let parameters = answer["parameters"].as_str().unwrap_or_default();
    let context = parameters.lines().find_map(|line| {
        let (name, value) = line.trim().split_once(char::is_whitespace)?;
        (name == "num_ctx").then(|| value.trim().parse().ok())?
    });
    Ok(LocalFacts {
        id: id.to_owned(),
        context,
        vision: has("vision"),
        tools: has("tools"),
    })
}

/// LM Studio's `GET /api/v0/models`. One that is not loaded gets a context when it is.
pub fn loaded_at_lm_studio(body: &str) -> Result<Vec<LocalFacts>, ProviderError> {
    let answer = parse(body)?;
    let models: &[Value] = answer["data"].as_array().map_or(&[], Vec::as_slice);
    let told = models.iter().filter_map(|model| {
        Some(LocalFacts {
            id: text(model, "id")?.to_owned(),
            context: count(model, "/loaded_context_length").filter(|context| *context > 0),
            vision: text(model, "type").map(|kind| kind == "vlm"),
            tools: None,
        })
    });
    Ok(told.collect())
}
