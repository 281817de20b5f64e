//! A provider's live list of models, in whichever of its forms it comes.

use serde_json::Value;

use super::{count, text};
use crate::catalog::Price;
use crate::{ErrorKind, ProviderError};

/// The most models that are read of one list; what comes after is left out.
pub const MODELS_MAX: usize = 5_000;

/// What a provider tells of one of its models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    pub name: Option<String>,
    pub context: Option<u64>,
    pub output: Option<u64>,
    pub price: Option<Price>,
}

pub(super) fn read(body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
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
    Ok(list.iter().filter_map(model).take(MODELS_MAX).collect())
}

/// One that cannot hold a conversation is left out where the provider says so.
fn model(value: &Value) -> Option<ListedModel> {
    if let Some(methods) = value["supportedGenerationMethods"].as_array()
        && !methods.iter().any(|method| method == "generateContent")
    {
        return None;
    }
    let id = text(value, "id").or_else(|| text(value, "name"))?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let first = |places: &[&str]| places.iter().find_map(|place| count(value, place));
    Some(ListedModel {
        id: id.to_owned(),
        name: ["display_name", "displayName", "name"]
            .iter()
            .find_map(|field| text(value, field))
            .filter(|name| name.strip_prefix("models/").unwrap_or(name) != id)
            .map(str::to_owned),
        context: first(&[
            "/inputTokenLimit",
            "/context_length",
            "/context_window",
            "/max_context_length",
            "/max_model_len",
            "/max_input_tokens",
            "/meta/n_ctx",
            "/meta/n_ctx_train",
        ]),
        output: first(&[
            "/outputTokenLimit",
            "/top_provider/max_completion_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
        ]),
        price: price(&value["pricing"]),
    })
}

/// Dollars for one token, as a text or a number.
fn price(pricing: &Value) -> Option<Price> {
    let field = |name| micro_dollars_per_million(&pricing[name]);
    Some(Price {
        input: field("prompt")?,
        output: field("completion")?,
        cached: field("input_cache_read"),
        cache_write: field("input_cache_write"),
        ..Price::default()
    })
}

fn micro_dollars_per_million(value: &Value) -> Option<u64> {
    let dollars: f64 = match value {
        Value::String(text) => text.parse().ok()?,
        Value::Number(number) => number.as_f64()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let micro = (dollars * 1e12).round();
    // A router says -1 where the price depends on what it chooses: unknown, not free.
    (0.0..1e18).contains(&micro).then_some(micro as u64)
}
