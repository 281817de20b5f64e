//! The lists of models that servers give.

use super::*;
use crate::ErrorKind;
use crate::catalog::Price;
use crate::format::ListedModel;

fn check(wire: Wire, body: Value, expected: &[ListedModel]) {
    assert_eq!(
        wire.read_models(body.to_string().as_bytes()).unwrap(),
        expected
    );
}

fn bare(id: &str) -> ListedModel {
    ListedModel {
        id: id.to_owned(),
        ..ListedModel::default()
    }
}

#[test]
fn every_form_of_a_list_is_read() {
    use serde_json::json;
    check(
        Wire::Responses,
        json!({ "object": "list", "data": [{ "id": "gpt-5", "object": "model" }] }),
        &[bare("gpt-5")],
    );
    let named = ListedModel {
        name: Some("Claude 5".to_owned()),
        ..bare("claude-5")
    };
    check(
        Wire::Messages,
        json!({ "data": [{ "type": "model", "id": "claude-5", "display_name": "Claude 5" }] }),
        &[named],
    );
    let gemini = json!({ "models": [
        { "name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1000, "outputTokenLimit": 10,
          "supportedGenerationMethods": ["generateContent", "countTokens"] },
        { "name": "models/embedding", "supportedGenerationMethods": ["embedContent"] },
    ] });
    let listed = ListedModel {
        id: "gemini-x".to_owned(),
        name: Some("Gemini X".to_owned()),
        context: Some(1000),
        output: Some(10),
        price: None,
    };
    check(Wire::Gemini, gemini, &[listed]);
    let router = json!({ "data": [{
        "id": "a/b", "name": "B", "context_length": 128_000, "top_provider": { "max_completion_tokens": 4096 },
        "pricing": { "prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003" } },
        { "id": "auto", "pricing": { "prompt": "-1", "completion": "-1" } }] });
    let priced = ListedModel {
        id: "a/b".to_owned(),
        name: Some("B".to_owned()),
        context: Some(128_000),
        output: Some(4096),
        price: Some(Price {
            input: 3_000_000,
            output: 15_000_000,
            cached: Some(300_000),
            ..Price::default()
        }),
    };
    check(Wire::Chat, router, &[priced, bare("auto")]);
    let context = |id: &str| ListedModel {
        context: Some(8192),
        ..bare(id)
    };
    check(
        Wire::Chat,
        json!({ "data": [{ "id": "v", "max_model_len": 8192 }] }),
        &[context("v")],
    );
    check(
        Wire::Chat,
        json!({ "models": [], "data": [{ "id": "l", "meta": { "n_ctx_train": 8192 } }] }),
        &[context("l")],
    );
    check(
        Wire::Chat,
        json!([{ "id": "t" }, { "object": "model" }]),
        &[bare("t")],
    );
}

#[test]
fn what_is_no_list_is_an_error() {
    for body in ["", "<html>", "{}", "3"] {
        let error = Wire::Chat.read_models(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed);
    }
}
