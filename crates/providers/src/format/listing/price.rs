//! What a list says a model costs, in the three ways it is said.

use serde_json::Value;

use crate::catalog::Price;

const PER_TOKEN: f64 = 1e12;
const PER_MILLION: f64 = 1e6;

/// Dollars for one token (`prompt`; `input` as a text), or for a million (`input` as a number).
pub(super) fn price(pricing: &Value) -> Option<Price> {
    let of = |names: [&str; 4], unit| {
        let [input, output, cached, written] =
            names.map(|name| micro_dollars(&pricing[name], unit));
        let mut price = Price {
            input: input?,
            output: output?,
            ..Price::default()
        };
        (price.cached, price.cache_write) = (cached, written);
        Some(price)
    };
    let cache = ["input_cache_read", "input_cache_write"];
    match &pricing["input"] {
        Value::Number(_) => of(["input", "output", "cached_input", ""], PER_MILLION),
        Value::String(_) => of(["input", "output", cache[0], cache[1]], PER_TOKEN),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            of(["prompt", "completion", cache[0], cache[1]], PER_TOKEN)
        }
    }
}

/// For a million tokens.
fn micro_dollars(value: &Value, unit: f64) -> Option<u64> {
    let dollars: f64 = match value {
        Value::String(text) => text.parse().ok()?,
        Value::Number(number) => number.as_f64()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let micro = (dollars * unit).round();
    // A router says -1 where the price depends on what it chooses: unknown, not free.
    (0.0..1e18).contains(&micro).then_some(micro as u64)
}
