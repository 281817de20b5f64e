//! The lists of models that services give, each in the form that its SDK's types have.

use serde_json::json;

use super::*;
use crate::ErrorKind;
use crate::catalog::Price;
use crate::format::{
    ListPage, ListedModel, LocalFacts, loaded_at_lm_studio, loaded_at_ollama, shown_by_ollama,
};

fn read(wire: Wire, body: &Value) -> ListPage {
    wire.read_models(body.to_string().as_bytes()).unwrap()
}

fn check(wire: Wire, body: Value, expected: &[ListedModel]) {
    assert_eq!(read(wire, &body).models, expected);
}

fn bare(id: &str) -> ListedModel {
    ListedModel {
        id: id.to_owned(),
        ..ListedModel::default()
    }
}

fn hidden(id: &str) -> ListedModel {
    ListedModel {
        hidden: true,
        ..bare(id)
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn some(word: &str) -> Option<String> {
    Some(word.to_owned())
}

#[test]
fn a_bare_list_is_read_in_each_of_its_frames() {
    check(
        Wire::Responses,
        json!({ "object": "list", "data": [{ "id": "gpt-5", "object": "model" }] }),
        &[bare("gpt-5")],
    );
    check(
        Wire::Chat,
        json!([{ "id": "t" }, { "object": "model" }]),
        &[bare("t")],
    );
}

#[test]
fn anthropic_tells_limits_efforts_sight_and_the_end() {
    let can = |supported: bool| json!({ "supported": supported });
    let body = json!({ "data": [
        { "type": "model", "id": "claude-opus-5-5", "display_name": "Claude Opus 5.5",
          "max_input_tokens": 1_000_000, "max_tokens": 128_000, "lifecycle": "active", "retires_at": null,
          "capabilities": {
            "effort": { "supported": true, "max": can(true), "low": can(true), "high": can(true),
                        "medium": can(true), "xhigh": null },
            "thinking": { "supported": true, "types": {} }, "image_input": can(true) } },
        { "type": "model", "id": "claude-haiku-4-5-20251001", "display_name": "Claude Haiku 4.5",
          "lifecycle": "deprecated", "retires_at": "2026-12-01T00:00:00Z",
          "capabilities": { "effort": { "supported": false, "low": can(false) },
                            "thinking": can(true), "image_input": can(false) } },
        { "type": "model", "id": "claude-2", "lifecycle": "retired" },
    ], "has_more": true, "first_id": "claude-opus-5-5", "last_id": "claude-haiku-4-5-20251001" });
    let page = read(Wire::Messages, &body);
    let opus = ListedModel {
        name: some("Claude Opus 5.5"),
        context: Some(1_000_000),
        output: Some(128_000),
        efforts: Some(words(&["low", "medium", "high", "max"])),
        vision: Some(true),
        ..bare("claude-opus-5-5")
    };
    let haiku = ListedModel {
        name: some("Claude Haiku 4.5"),
        vision: Some(false),
        retires: some("2026-12-01"),
        ..bare("claude-haiku-4-5-20251001")
    };
    assert_eq!(page.models, [opus, haiku]);
    assert_eq!(page.next.as_deref(), Some("claude-haiku-4-5-20251001"));
}

#[test]
fn gemini_tells_whether_a_model_thinks_and_where_its_list_goes_on() {
    let body = json!({ "models": [
        { "name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1000, "outputTokenLimit": 10,
          "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": true },
        { "name": "models/embedding", "supportedGenerationMethods": ["embedContent"] },
    ], "nextPageToken": "more" });
    let page = read(Wire::Gemini, &body);
    let listed = ListedModel {
        name: some("Gemini X"),
        context: Some(1000),
        output: Some(10),
        efforts: Some(words(&["low", "high"])),
        ..bare("gemini-x")
    };
    assert_eq!(page.models, [listed, hidden("embedding")]);
    assert_eq!(page.next.as_deref(), Some("more"));
}

#[test]
fn chatgpt_tells_its_models_by_their_slugs_the_best_first() {
    let level = |effort: &str| json!({ "effort": effort, "description": "" });
    let body = json!({ "models": [
        { "slug": "gpt-6-luna", "display_name": "gpt-6-luna", "visibility": "list", "priority": 5,
          "context_window": 272_000, "supported_reasoning_levels": [], "default_reasoning_level": null },
        { "slug": "gpt-6-review", "display_name": "Review", "visibility": "hide", "priority": 2 },
        { "slug": "gpt-6.1-sol", "display_name": "GPT-6.1 Sol", "visibility": "list", "priority": 1,
          "context_window": 500_000, "default_reasoning_level": "medium", "input_modalities": ["text", "image"],
          "supported_reasoning_levels": [level("high"), level("low"), level("medium"), level("xhigh")] },
    ] });
    let sol = ListedModel {
        name: some("GPT-6.1 Sol"),
        context: Some(500_000),
        efforts: Some(words(&["low", "medium", "high", "xhigh"])),
        default_effort: some("medium"),
        vision: Some(true),
        ..bare("gpt-6.1-sol")
    };
    let review = ListedModel {
        name: some("Review"),
        ..hidden("gpt-6-review")
    };
    let luna = ListedModel {
        context: Some(272_000),
        efforts: Some(Vec::new()),
        ..bare("gpt-6-luna")
    };
    check(Wire::Responses, body, &[sol, review, luna]);
}

#[test]
fn a_router_tells_prices_abilities_and_efforts() {
    let body = json!({ "data": [
        { "id": "a/b", "name": "B", "context_length": 1_000_000, "expiration_date": "2027-01-31",
          "architecture": { "input_modalities": ["text", "image"], "output_modalities": ["text"] },
          "top_provider": { "context_length": 128_000, "max_completion_tokens": 4096 },
          "supported_parameters": ["tools", "reasoning"],
          "reasoning": { "mandatory": false, "default_effort": "high", "supported_efforts": ["high", "low"] },
          "pricing": { "prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003" } },
        { "id": "a/plain", "supported_parameters": ["temperature"] },
        { "id": "a/thinks", "supported_parameters": ["reasoning"] },
        { "id": "a/draws", "architecture": { "output_modalities": ["image"] } },
        { "id": "auto", "pricing": { "prompt": "-1", "completion": "-1" } },
    ] });
    let priced = ListedModel {
        name: some("B"),
        context: Some(128_000),
        output: Some(4096),
        price: Some(Price {
            input: 3_000_000,
            output: 15_000_000,
            cached: Some(300_000),
            ..Price::default()
        }),
        efforts: Some(words(&["low", "high"])),
        default_effort: some("high"),
        vision: Some(true),
        tools: Some(true),
        retires: some("2027-01-31"),
        ..bare("a/b")
    };
    let plain = ListedModel {
        efforts: Some(Vec::new()),
        tools: Some(false),
        ..bare("a/plain")
    };
    let thinks = ListedModel {
        efforts: Some(words(&["low", "medium", "high"])),
        tools: Some(false),
        ..bare("a/thinks")
    };
    let expected = [priced, plain, thinks, hidden("a/draws"), bare("auto")];
    check(Wire::Chat, body, &expected);
}

#[test]
fn mistral_tells_what_a_model_can_and_what_comes_after_it() {
    let body = json!({ "object": "list", "data": [
        { "id": "mistral-large-2411", "type": "base", "max_context_length": 131_072,
          "aliases": ["mistral-large-old"], "deprecation": "2026-12-31T12:00:00Z",
          "deprecation_replacement_model": "mistral-large-4",
          "capabilities": { "completion_chat": true, "function_calling": true, "vision": false } },
        { "id": "mistral-embed", "type": "base", "capabilities": { "completion_chat": false } },
    ] });
    let large = ListedModel {
        aliases: words(&["mistral-large-old"]),
        context: Some(131_072),
        vision: Some(false),
        tools: Some(true),
        retires: some("2026-12-31"),
        successor: some("mistral-large-4"),
        ..bare("mistral-large-2411")
    };
    check(Wire::Chat, body, &[large, hidden("mistral-embed")]);
}

#[test]
fn other_services_tell_their_limits_in_their_own_words() {
    let context = |id: &str| ListedModel {
        context: Some(8192),
        ..bare(id)
    };
    // Groq, vLLM, llama.cpp, xAI, Moonshot, Fireworks.
    let groq = ListedModel {
        output: Some(2048),
        ..context("g")
    };
    check(
        Wire::Chat,
        json!({ "data": [
            { "id": "g", "active": true, "context_window": 8192, "max_completion_tokens": 2048 },
            { "id": "off", "active": false, "context_window": 8192 },
            { "id": "v", "max_model_len": 8192 },
            { "id": "x", "context_length": 8192 },
        ] }),
        &[groq, context("v"), context("x")],
    );
    check(
        Wire::Chat,
        json!({ "models": [], "data": [{ "id": "l", "meta": { "n_ctx": 8192, "n_ctx_train": 32_768 } }] }),
        &[context("l")],
    );
    let sees = ListedModel {
        vision: Some(true),
        ..context("k")
    };
    let fireworks = ListedModel {
        vision: Some(false),
        tools: Some(true),
        ..context("f")
    };
    check(
        Wire::Chat,
        json!({ "data": [
            { "id": "k", "context_length": 8192, "supports_image_in": true },
            { "id": "f", "context_length": 8192, "supports_chat": true, "supports_image_input": false,
              "supports_tools": true },
        ] }),
        &[sees, fireworks],
    );
    // Together, GitHub Models.
    let together = ListedModel {
        name: some("T"),
        price: Some(Price {
            input: 150_000,
            output: 600_000,
            cached: Some(75_000),
            ..Price::default()
        }),
        ..context("t")
    };
    check(
        Wire::Chat,
        json!([
            { "id": "t", "type": "chat", "display_name": "T", "context_length": 8192,
              "pricing": { "input": 0.15, "output": 0.6, "cached_input": 0.075, "hourly": 0, "base": 0 } },
            { "id": "flux", "type": "image" },
        ]),
        &[together, hidden("flux")],
    );
    let github = ListedModel {
        name: some("OpenAI GPT"),
        input: Some(1000),
        output: Some(500),
        vision: Some(true),
        tools: Some(true),
        ..bare("openai/gpt")
    };
    check(
        Wire::Chat,
        json!([{ "id": "openai/gpt", "name": "OpenAI GPT", "capabilities": ["streaming", "tool-calling"],
                 "supported_input_modalities": ["text", "image"], "supported_output_modalities": ["text"],
                 "limits": { "max_input_tokens": 1000, "max_output_tokens": 500 } }]),
        &[github],
    );
}

#[test]
fn servers_on_this_machine_tell_what_their_models_run_with() {
    let ps = json!({ "models": [
        { "name": "qwen3:8b", "model": "qwen3:8b", "size": 1, "context_length": 4096 },
        { "name": "old:latest", "model": "old:latest" },
    ] });
    let facts = |id: &str, context| LocalFacts {
        id: id.to_owned(),
        context,
        ..LocalFacts::default()
    };
    assert_eq!(
        loaded_at_ollama(&ps.to_string()).unwrap(),
        [facts("qwen3:8b", Some(4096)), facts("old:latest", None)]
    );
    let show = json!({
        "parameters": "stop \"<|im_end|>\"\nnum_ctx                        32768",
        "model_info": { "general.architecture": "qwen3", "qwen3.context_length": 131_072 },
        "capabilities": ["completion", "tools", "thinking"],
    });
    let qwen = LocalFacts {
        vision: Some(false),
        tools: Some(true),
        ..facts("qwen3:8b", Some(32_768))
    };
    assert_eq!(
        shown_by_ollama("qwen3:8b", &show.to_string()).unwrap(),
        qwen
    );
    assert_eq!(
        shown_by_ollama("x", "{}").unwrap(),
        facts("x", None),
        "an older server says nothing of it"
    );
    let studio = json!({ "object": "list", "data": [
        { "id": "m", "type": "llm", "state": "loaded", "max_context_length": 131_072,
          "loaded_context_length": 4096 },
        { "id": "n", "type": "vlm", "state": "not-loaded", "max_context_length": 32_768 },
    ] });
    let sees = |vision, facts| LocalFacts { vision, ..facts };
    assert_eq!(
        loaded_at_lm_studio(&studio.to_string()).unwrap(),
        [
            sees(Some(false), facts("m", Some(4096))),
            sees(Some(true), facts("n", None))
        ]
    );
}

#[test]
fn what_is_no_list_is_an_error() {
    for body in ["", "<html>", "{}", "3"] {
        let error = Wire::Chat.read_models(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed);
    }
}
