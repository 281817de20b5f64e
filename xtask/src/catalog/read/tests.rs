//! Small copies of the forms that the sources have.

use serde_json::json;

use super::*;

fn rates(input: u64, output: u64, cached: Option<u64>, cache_write: Option<u64>) -> RateFacts {
    RateFacts {
        input,
        output,
        cached,
        cache_write,
    }
}

#[test]
fn litellm_has_dollars_for_a_token() {
    let facts = litellm(&json!({
        "max_input_tokens": 922_000, "max_output_tokens": 128_000.0,
        "input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5,
        "cache_read_input_token_cost": 1e-7, "cache_creation_input_token_cost": 0.0,
        "input_cost_per_token_above_272k_tokens": 4e-6,
        "output_cost_per_token_above_272k_tokens": 1.5e-5,
        "input_cost_per_token_above_272k_tokens_flex": 1e-6,
        "supports_reasoning": true, "supports_none_reasoning_effort": false,
        "supports_xhigh_reasoning_effort": true, "supports_vision": true,
        "deprecation_date": "2027-04-01",
    }));
    assert_eq!((facts.window, facts.output), (Some(922_000), Some(128_000)));
    let price = facts.price.expect("a price");
    assert_eq!(
        price.base,
        rates(2_000_000, 10_000_000, Some(100_000), None)
    );
    let tier = rates(4_000_000, 15_000_000, None, None);
    assert_eq!(price.tiers, [(272_000, tier)]);
    let efforts = facts.efforts.expect("efforts");
    assert_eq!(efforts, ["low", "medium", "high", "xhigh"]);
    assert_eq!(facts.retires.as_deref(), Some("2027-04-01"));
    // A model that is free at the moment has no price that could be relied on.
    let free = json!({ "input_cost_per_token": 0.0, "output_cost_per_token": 0.0 });
    assert_eq!(litellm(&free).price, None);
}

#[test]
fn litellm_says_of_claude_whether_it_can_be_switched_off() {
    let claude = |always: bool| {
        let entry = json!({ "supports_reasoning": true, "supports_adaptive_thinking": true,
            "thinking_always_on": always, "supports_max_reasoning_effort": true });
        litellm(&entry).efforts.expect("efforts")
    };
    assert_eq!(claude(true), ["low", "medium", "high", "max"]);
    assert_eq!(claude(false), ["none", "low", "medium", "high", "max"]);
}

#[track_caller]
fn check_efforts(provider: &str, map: Value, format: Value, expected: Option<&[&str]>) {
    let entry = json!({ "provider": provider, "reasoning": true, "thinkingLevelMap": map,
        "compat": { "thinkingFormat": format } });
    let list = json!({ "some-api": { "chat:m": entry } });
    let facts = pi(&list, "m").expect("the model");
    assert_eq!(pi_ids(&list), ["m"]);
    let expected = expected.map(|efforts| owned(efforts.iter().copied()));
    assert_eq!(facts.efforts, expected, "{provider} {map}");
}

#[test]
fn pi_has_a_map_of_efforts() {
    let all = json!({ "off": "none", "minimal": null, "low": "low", "medium": "medium",
        "high": "high", "xhigh": "xhigh", "max": "max" });
    let expected = ["none", "low", "medium", "high", "xhigh", "max"];
    check_efforts("openai", all, Value::Null, Some(&expected));
    let few = json!({ "off": null, "low": null, "medium": null, "high": "high" });
    check_efforts("mistral", few, Value::Null, Some(&["high"]));
    // Under another name it is not the same effort.
    let renamed = json!({ "off": null, "minimal": "low", "low": null, "medium": null,
        "high": "default" });
    check_efforts("groq", renamed, Value::Null, Some(&[]));
    let claude = json!({ "max": "max" });
    let expected = ["none", "low", "medium", "high", "max"];
    check_efforts("anthropic", claude, Value::Null, Some(&expected));
    let switch = json!({ "minimal": null, "low": null, "medium": null });
    check_efforts(
        "together",
        switch,
        json!("together"),
        Some(&["none", "high"]),
    );
    check_efforts("moonshotai", Value::Null, json!("deepseek"), None);
    let always = json!({ "reasoning": true, "thinkingLevelMap": { "off": null },
        "compat": { "thinkingFormat": "deepseek", "supportsReasoningEffort": false } });
    assert_eq!(pi_efforts(&always), None);
}

#[test]
fn pi_has_dollars_for_a_million_tokens() {
    let cost = json!({ "input": 0.1, "output": 0.5, "cacheRead": 0.01, "cacheWrite": 0.041667,
        "tiers": [{ "inputTokensAbove": 100_000, "input": 0.5, "output": 2.5, "cacheRead": 0,
        "cacheWrite": 0.625 }] });
    let price = pi_price(&cost).expect("a price");
    assert_eq!(price.base, rates(100_000, 500_000, Some(10_000), None));
    let tier = rates(500_000, 2_500_000, None, Some(625_000));
    assert_eq!(price.tiers, [(100_000, tier)]);
}

#[test]
fn codex_has_an_effort_to_begin_with_and_a_successor() {
    let list = json!({ "models": [{ "slug": "m", "context_window": 272_000,
        "default_reasoning_level": "low", "upgrade": { "model": "next" },
        "supported_reasoning_levels": [{ "effort": "low" }, { "effort": "ultra" }] }] });
    let facts = codex(&list, "m").expect("the model");
    assert_eq!(facts.window, Some(272_000));
    assert_eq!(facts.efforts, Some(vec!["low".to_owned()]));
    assert_eq!(facts.default_effort.as_deref(), Some("low"));
    assert_eq!(facts.successor.as_deref(), Some("next"));
    assert_eq!(codex(&list, "other"), None);
}

#[test]
fn sdks_announce_ends() {
    let comment = "/**\n * Deprecated values:\n *\n * - \"gpt-a\", \"gpt-b\",\n *   \"gpt-c\": Announced \
        shutdown date:\n *   2026-12-11. See there.\n * - \"gpt-d\": Not a model.\n * - \"gpt-e\": \
        Announced shutdown\n *   date: 2027-04-01. See\n *   there.\n */\nexport type M = 'gpt-a';";
    let ends = openai_ends(comment);
    let expected = ["gpt-a", "gpt-b", "gpt-c"].map(|id| (id.to_owned(), "2026-12-11".to_owned()));
    let mut expected = BTreeMap::from(expected);
    expected.insert("gpt-e".to_owned(), "2027-04-01".to_owned());
    assert_eq!(ends, expected);
    let code = "const DEPRECATED_MODELS = {\n    'claude-a': 'November 30th, 2026',\n    'claude-b': \
        'May 1st, 2027',\n};\n";
    let ends = anthropic_ends(code);
    let expected = [("claude-a", "2026-11-30"), ("claude-b", "2027-05-01")];
    let expected = expected.map(|(id, end)| (id.to_owned(), end.to_owned()));
    assert_eq!(ends, BTreeMap::from(expected));
}
