//! How hard a model is asked to think, where that depends on the model and on what was said before.

use serde_json::json;

use super::*;
use crate::{Block, Message, ResultBlock, ToolResult};

fn ask(model: &str, effort: Option<&str>) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages: vec![Message::user("hi").into()],
        effort: effort.map(str::to_owned),
        ..ModelRequest::default()
    }
}

fn claude(model: &str, effort: Option<&str>) -> Outgoing {
    encoded(Wire::Messages, &ask(model, effort))
}

fn betas(outgoing: &Outgoing) -> Option<&str> {
    let mut headers = outgoing.headers.iter();
    let beta = headers.find(|(name, _)| *name == "anthropic-beta");
    beta.map(|(_, value)| value.as_str())
}

#[test]
fn newer_models_of_messages_decide_themselves_and_show_it() {
    let adaptive = json!({ "type": "adaptive", "display": "summarized" });
    for model in [
        "claude-opus-4-6",
        "claude-opus-4-7",
        "claude-sonnet-4-6-20260201",
        "anthropic/claude-opus-4.8",
        "claude-sonnet-5",
        "claude-fable-5",
    ] {
        let wished = claude(model, Some("high"));
        assert_eq!(wished.body["thinking"], adaptive, "{model}");
        assert_eq!(wished.body["output_config"], json!({ "effort": "high" }));
        assert_eq!(betas(&wished), None, "{model}");
        // Left open they think all the same, some without showing it.
        let open = claude(model, None);
        assert_eq!(open.body["thinking"], adaptive, "{model}");
        assert_eq!(open.body["output_config"], Value::Null, "{model}");
    }
    let least = claude("claude-opus-4-7", Some("minimal")).body;
    assert_eq!(least["output_config"], json!({ "effort": "low" }));
}

/// A thought behind other words than those it was thought behind is dropped, not refused.
#[test]
fn thoughts_that_are_bound_to_what_was_before_may_be_dropped() {
    let bound = json!({
        "type": "adaptive",
        "display": "summarized",
        "block_binding": { "prefix_mismatch_behavior": "drop_block" },
    });
    for model in [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-opus-latest",
    ] {
        let asked = claude(model, Some("medium"));
        assert_eq!(asked.body["thinking"], bound, "{model}");
        let beta = "thinking-binding-controls-2026-08-01";
        assert_eq!(betas(&asked), Some(beta), "{model}");
    }
}

#[test]
fn thinking_is_switched_off_where_it_can_be() {
    for model in ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5"] {
        for off in ["none", "off"] {
            let asked = claude(model, Some(off));
            assert_eq!(asked.body["thinking"], json!({ "type": "disabled" }));
            assert_eq!(asked.body["output_config"], Value::Null, "{model}");
            assert_eq!(betas(&asked), None, "{model}");
        }
    }
    for model in [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-fable-5",
        "claude-fable-5-2",
        "claude-mythos-5",
    ] {
        let asked = claude(model, Some("none")).body;
        assert_eq!(asked["thinking"]["type"], "adaptive", "{model}");
        assert_eq!(asked["output_config"], json!({ "effort": "low" }));
    }
    // These think only when they are asked to.
    let older = claude("claude-sonnet-4-5", Some("none"));
    assert_eq!(older.body["thinking"], Value::Null);
}

#[test]
fn a_budget_is_below_the_limit() {
    let thinking = |effort: &str, limit| {
        let mut request = ask("claude-sonnet-4-5", Some(effort));
        request.max_output_tokens = limit;
        let body = encoded(Wire::Messages, &request).body;
        (
            body["thinking"]["budget_tokens"].as_u64(),
            body["max_tokens"].as_u64().unwrap(),
        )
    };
    assert_eq!(thinking("low", None), (Some(4_096), 64_000));
    assert_eq!(thinking("medium", None), (Some(8_192), 64_000));
    assert_eq!(thinking("high", None), (Some(16_384), 64_000));
    assert_eq!(thinking("max", None), (Some(23_552), 64_000));
    assert_eq!(thinking("high", Some(8_192)), (Some(6_144), 8_192));
    // Too little to think at all.
    assert_eq!(thinking("high", Some(1_000)), (None, 1_000));
    assert_eq!(thinking("none", Some(4_000)), (None, 4_000));
}

#[test]
fn a_budget_may_be_spent_between_calls_where_the_model_can() {
    for (model, beta) in [
        (
            "claude-opus-4-20250514",
            Some("interleaved-thinking-2025-05-14"),
        ),
        ("claude-haiku-4-5", Some("interleaved-thinking-2025-05-14")),
        ("claude-3-7-sonnet-latest", None),
        ("kimi-k2", None),
    ] {
        let asked = claude(model, Some("high"));
        assert_eq!(asked.body["thinking"]["type"], "enabled", "{model}");
        assert_eq!(betas(&asked), beta, "{model}");
    }
    assert_eq!(betas(&claude("claude-haiku-4-5", None)), None);
}

/// A turn of two steps: what the model said in each before it called.
fn steps(model: &str, first: Option<Block>, second: Option<Block>) -> ModelRequest {
    let step = |number: u32, thought: Option<Block>| {
        let call_id = format!("call_{number}");
        let call = Block::ToolCall {
            call_id: call_id.clone(),
            name: "ls".to_owned(),
            input: json!({}),
            native: None,
        };
        let result = ToolResult {
            call_id,
            name: "ls".to_owned(),
            content: vec![ResultBlock::Text("a.txt".to_owned())],
            is_error: false,
        };
        [
            Message::Assistant(thought.into_iter().chain([call]).collect()),
            Message::ToolResults(vec![result]),
        ]
    };
    let mut request = ask(model, Some("high"));
    let said = step(1, first).into_iter().chain(step(2, second));
    request.messages.extend(said.map(std::sync::Arc::new));
    request
}

fn thought(model: &str) -> Option<Block> {
    let value = json!({ "type": "thinking", "thinking": "Hm.", "signature": "s" });
    Some(Block::Reasoning {
        text: "Hm.".to_owned(),
        native: Some(crate::format::native(&origin(Wire::Messages, model), value)),
    })
}

/// The format refuses a budget in the midst of a turn that began without a thought.
#[test]
fn the_first_answer_of_a_turn_decides_whether_a_budget_is_given() {
    let model = "claude-sonnet-4-5";
    let kind =
        |request: &ModelRequest| encoded(Wire::Messages, request).body["thinking"]["type"].clone();
    // Later steps need no thought of their own.
    assert_eq!(kind(&steps(model, thought(model), None)), "enabled");
    let mut without = steps(model, None, thought(model));
    let body = encoded(Wire::Messages, &without);
    assert_eq!(body.body["thinking"], Value::Null);
    assert_eq!(body.body["max_tokens"], 64_000);
    assert_eq!(betas(&body), None);
    // The user's next words begin anew.
    without.messages.push(Message::user("More.").into());
    assert_eq!(kind(&without), "enabled");
}

#[test]
fn adaptive_models_think_on_whatever_was_before() {
    let model = "claude-opus-4-6";
    for (first, second) in [(None, None), (thought(model), None), (None, thought(model))] {
        let body = encoded(Wire::Messages, &steps(model, first, second)).body;
        assert_eq!(body["thinking"]["type"], "adaptive");
        assert_eq!(body["output_config"]["effort"], "high");
    }
}

fn gemini(model: &str, effort: Option<&str>) -> Value {
    let body = encoded(Wire::Gemini, &ask(model, effort)).body;
    body["generationConfig"]["thinkingConfig"].clone()
}

#[test]
fn gemini_thinks_by_budget_or_by_level() {
    let shown = json!({ "includeThoughts": true });
    assert_eq!(gemini("gemini-2.5-flash", None), shown);
    assert_eq!(gemini("gemini-2.0-flash", None), Value::Null);
    let budget = |model| gemini(model, Some("none"))["thinkingBudget"].clone();
    assert_eq!(budget("gemini-2.5-flash"), 0);
    assert_eq!(budget("gemini-2.5-pro"), 512);
    let high = gemini("gemini-3-flash-preview", Some("high"));
    assert_eq!(
        high,
        json!({ "includeThoughts": true, "thinkingLevel": "high" })
    );
}

/// `gemini-flash-latest` is whatever is newest.
#[test]
fn gemini_without_a_number_is_the_newest() {
    let shown = json!({ "includeThoughts": true });
    for model in ["gemini-flash-latest", "gemini-pro-latest"] {
        assert_eq!(gemini(model, None), shown, "{model}");
        let low = gemini(model, Some("low"));
        assert_eq!(low["thinkingLevel"], "low", "{model}");
        let mut request = steps(model, None, None);
        request.effort = None;
        let contents = encoded(Wire::Gemini, &request).body["contents"].clone();
        for at in [1, 3] {
            assert_eq!(
                contents[at]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator",
                "{model}"
            );
        }
    }
}

#[test]
fn the_smallest_level_goes_only_to_models_that_take_it() {
    for (model, level) in [
        ("gemini-3-flash-preview", "minimal"),
        ("gemini-3.6-flash", "minimal"),
        ("gemini-3.7-flash", "low"),
        ("gemini-3.8-flash", "low"),
        ("gemini-3.9-flash-lite", "minimal"),
        ("gemini-flash-latest", "low"),
        ("gemini-flash-lite-latest", "minimal"),
        ("gemini-3-pro-preview", "low"),
        ("gemini-pro-latest", "low"),
        ("gemini-4-argon", "low"),
    ] {
        for effort in ["none", "minimal"] {
            assert_eq!(
                gemini(model, Some(effort))["thinkingLevel"],
                level,
                "{model} {effort}"
            );
        }
    }
}
