//! How hard a model is asked to think.

use serde_json::{Value, json};
use vocabulary::SummaryDetail;

use crate::ModelRequest;
use crate::format::family;
use crate::format::history::{AssistantPart, HistoryTurn};

/// The least the format takes as a budget.
const BUDGET_TOKENS_MIN: u64 = 1_024;
const BUDGET_TOKENS_MAX: u64 = 23_552;
/// Since this version budgets may be spent between calls too, where a header asks for it.
const INTERLEAVES_SINCE: (u32, u32) = (4, 0);
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// Since this version models decide themselves how much to think; the later ones refuse a budget.
const ADAPTIVE_SINCE: (u32, u32) = (4, 6);
/// Since this version a thought is taken back only behind the very words it was thought behind.
const BOUND_SINCE: (u32, u32) = (5, 1);
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";
/// Since this version only the smallest models can be kept from thinking.
const ALWAYS_THINKS_SINCE: (u32, u32) = (5, 5);

#[derive(Default)]
pub(super) struct ThinkingPlan {
    pub thinking: Option<Value>,
    pub effort: Option<&'static str>,
    /// What of it the service takes only when it is named in a header.
    pub betas: Vec<&'static str>,
}

/// `max_tokens`: what may be written, thoughts included.
pub(super) fn plan(
    request: &ModelRequest,
    turns: &[HistoryTurn<'_>],
    max_tokens: u64,
) -> ThinkingPlan {
    let version = family::version_or_newest(&request.model, "claude");
    match version {
        Some(version) if version >= ADAPTIVE_SINCE => adaptive_plan(request, version),
        Some(_) | None if may_think(turns) => {
            let mut plan = budget_plan(request, max_tokens);
            if plan.thinking.is_some() && version.is_some_and(|each| each >= INTERLEAVES_SINCE) {
                plan.betas.push(INTERLEAVED);
            }
            plan
        }
        Some(_) | None => ThinkingPlan::default(),
    }
}

/// Always said, whatever the effort: some of these models think when nothing is said, and then do
/// not show it.
fn adaptive_plan(request: &ModelRequest, version: (u32, u32)) -> ThinkingPlan {
    let effort = request.effort.as_deref();
    if effort.is_some_and(is_off) && !always_thinks(&request.model, version) {
        return ThinkingPlan {
            thinking: Some(json!({ "type": "disabled" })),
            ..ThinkingPlan::default()
        };
    }
    let display = match request.summary {
        Some(SummaryDetail::None) => "omitted",
        Some(SummaryDetail::Auto | SummaryDetail::Concise | SummaryDetail::Detailed) | None => {
            "summarized"
        }
    };
    let mut thinking = json!({ "type": "adaptive", "display": display });
    let mut betas = Vec::new();
    if version >= BOUND_SINCE {
        // Otherwise a new release with another system prompt would end every older thread.
        thinking["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
        betas.push(BINDING_CONTROLS);
    }
    ThinkingPlan {
        thinking: Some(thinking),
        effort: effort.map(adaptive_effort),
        betas,
    }
}

fn is_off(effort: &str) -> bool {
    matches!(effort, "none" | "off")
}

fn always_thinks(model: &str, version: (u32, u32)) -> bool {
    let named = |name| model.contains(name);
    named("fable") || named("mythos") || (version >= ALWAYS_THINKS_SINCE && !named("haiku"))
}

/// The nearest of the words that the format knows.
fn adaptive_effort(effort: &str) -> &'static str {
    match effort {
        "none" | "off" | "minimal" | "low" => "low",
        "high" => "high",
        "xhigh" => "xhigh",
        "max" => "max",
        _ => "medium",
    }
}

/// A budget below the limit, with at least a quarter left for the answer; nothing where that is
/// less than the format takes.
fn budget_plan(request: &ModelRequest, max_tokens: u64) -> ThinkingPlan {
    let wanted = request.effort.as_deref().and_then(budget).unwrap_or(0);
    let budget = wanted.min(max_tokens - max_tokens.div_ceil(4));
    if budget < BUDGET_TOKENS_MIN {
        return ThinkingPlan::default();
    }
    ThinkingPlan {
        thinking: Some(json!({ "type": "enabled", "budget_tokens": budget })),
        ..ThinkingPlan::default()
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

/// What the model said first since the user's last words decides: where that began without a
/// thought (by another model, or before thinking was asked for), the format refuses to have one in
/// what follows. Later answers need not begin with one.
fn may_think(turns: &[HistoryTurn<'_>]) -> bool {
    let since = turns
        .iter()
        .rposition(|turn| matches!(turn, HistoryTurn::User(_)))
        .map_or(0, |at| at + 1);
    turns.get(since).is_none_or(|turn| match turn {
        HistoryTurn::Assistant { said, .. } => {
            matches!(said.first(), Some(AssistantPart::Reasoning { .. }))
        }
        HistoryTurn::User(_) => true,
    })
}
