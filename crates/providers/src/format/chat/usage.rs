//! What an answer used, by the many names it has, and what a router says it cost.

use serde_json::Value;

use crate::ModelUsage;
use crate::format::count;

pub(super) fn read(usage: &Value) -> ModelUsage {
    let of = |pointer| count(usage, pointer);
    let input = of("/prompt_tokens").unwrap_or(0);
    let written = of("/completion_tokens").unwrap_or(0);
    // Some servers count thoughts apart, and only the total tells.
    let rest = of("/total_tokens").unwrap_or(0).saturating_sub(input);
    let cached = of("/prompt_tokens_details/cached_tokens");
    let thought = of("/completion_tokens_details/reasoning_tokens");
    ModelUsage {
        input_tokens: input,
        output_tokens: written.max(rest),
        cached_tokens: cached.or(of("/prompt_cache_hit_tokens")).unwrap_or(0),
        cache_write_tokens: of("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        reasoning_tokens: thought.or(of("/reasoning_tokens")).unwrap_or(0),
        cost_micro_dollars: cost(usage),
    }
}

/// In dollars, where it is told. With a key of one's own behind a router, the router's part and the
/// other's.
fn cost(usage: &Value) -> Option<u64> {
    let cost = usage["cost"].as_f64()?;
    let upstream = &usage["cost_details"]["upstream_inference_cost"];
    let upstream = match usage["is_byok"] == true {
        true => upstream.as_f64().unwrap_or(0.0),
        false => 0.0,
    };
    let micro = ((cost + upstream) * 1e6).ceil();
    (0.0..1e15).contains(&micro).then_some(micro as u64)
}
