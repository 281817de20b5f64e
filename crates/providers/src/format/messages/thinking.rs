//! How hard a model is asked to think, and how much it may write.

use serde_json::{Value, json};

use crate::ModelRequest;
use crate::format::family;
use crate::format::history::{AssistantPart, HistoryTurn};

/// What every model of the format can write.
const ANSWER_TOKENS: u64 = 8_192;
/// The least the format takes as a budget.
const BUDGET_TOKENS_MIN: u64 = 1_024;
/// With `ANSWER_TOKENS` it is less than what any model that thinks can write.
const BUDGET_TOKENS_MAX: u64 = 23_552;
/// From this version on, models decide themselves how much to think and refuse a budget.
const ADAPTIVE_SINCE: (u32, u32) = (4, 6);
/// What adaptive models know; anything else is the nearest of these.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

pub(super) struct ThinkingPlan {
    pub max_tokens: u64,
    pub thinking: Option<Value>,
    pub effort: Option<&'static str>,
}

pub(super) fn plan(request: &ModelRequest, turns: &[HistoryTurn<'_>]) -> ThinkingPlan {
    let plain = ThinkingPlan {
        max_tokens: request.max_output_tokens.unwrap_or(ANSWER_TOKENS),
        thinking: None,
        effort: None,
    };
    let wanted = request.effort.as_deref().and_then(budget);
    match wanted {
        Some(wanted) if may_think(turns) => {
            let adaptive = family::version(&request.model, "claude")
                .is_some_and(|version| version >= ADAPTIVE_SINCE);
            match adaptive {
                true => adaptive_plan(request, wanted),
                false => budget_plan(request, wanted).unwrap_or(plain),
            }
        }
        Some(_) | None => plain,
    }
}

fn budget(effort: &str) -> Option<u64> {
    Some(match effort {
        "none" | "off" => return None,
        "minimal" => BUDGET_TOKENS_MIN,
        "low" => 4_096,
        "high" => 16_384,
        "xhigh" | "max" => BUDGET_TOKENS_MAX,
        _ => 8_192,
    })
}

fn adaptive_plan(request: &ModelRequest, wanted: u64) -> ThinkingPlan {
    let effort = request.effort.as_deref().unwrap_or("medium");
    let known = EFFORTS.into_iter().find(|known| *known == effort);
    let nearest = if wanted < 8_192 { "low" } else { "medium" };
    ThinkingPlan {
        // Thoughts count among what is written.
        max_tokens: request
            .max_output_tokens
            .unwrap_or(ANSWER_TOKENS + BUDGET_TOKENS_MAX),
        thinking: Some(json!({ "type": "adaptive", "display": "summarized" })),
        effort: Some(known.unwrap_or(nearest)),
    }
}

/// A budget below the limit, with at least a quarter left for the answer; nothing where that is
/// less than the format takes.
fn budget_plan(request: &ModelRequest, wanted: u64) -> Option<ThinkingPlan> {
    let max_tokens = request.max_output_tokens.unwrap_or(ANSWER_TOKENS + wanted);
    let budget = wanted.min(max_tokens - max_tokens.div_ceil(4));
    (budget >= BUDGET_TOKENS_MIN).then(|| ThinkingPlan {
        max_tokens,
        thinking: Some(json!({ "type": "enabled", "budget_tokens": budget })),
        effort: None,
    })
}

/// A turn that is in the midst of its calls goes on as it began: where it began without a thought
/// (by another model, or before thinking was asked for), the format refuses to have one now.
fn may_think(turns: &[HistoryTurn<'_>]) -> bool {
    let last = turns.iter().rev().find_map(|turn| match turn {
        HistoryTurn::Assistant { said, results } => Some((said, results)),
        HistoryTurn::User(_) => None,
    });
    last.is_none_or(|(said, results)| {
        results.is_empty() || matches!(said.first(), Some(AssistantPart::Reasoning { .. }))
    })
}
