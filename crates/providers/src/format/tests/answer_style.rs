//! How much a model says and what it shows of its thoughts.

use serde_json::{Value, json};
use vocabulary::{SummaryDetail, Verbosity};

use super::encoded;
use crate::catalog::Model;
use crate::format::{Quirks, RequestTarget, Wire};
use crate::{Message, ModelRequest, RequestPurpose};

fn ask(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages: vec![Message::user("hi").into()],
        verbosity: Some(Verbosity::Low),
        ..ModelRequest::default()
    }
}

#[test]
fn verbosity_goes_to_the_models_that_take_it() {
    for (model, takes) in [
        ("gpt-5.5", true),
        ("gpt-6.1-sol", true),
        ("openai/gpt-6-luna", true),
        ("gpt-5.2-codex", false),
        ("gpt-5-chat-latest", false),
        ("gpt-4.1", false),
        ("o4-mini", false),
        ("gpt-oss-120b", false),
        ("mistral-large-4", false),
    ] {
        let expected = match takes {
            true => json!("low"),
            false => Value::Null,
        };
        let responses = encoded(Wire::Responses, &ask(model)).body;
        assert_eq!(responses["text"]["verbosity"], expected, "{model}");
        let chat = encoded(Wire::Chat, &ask(model)).body;
        assert_eq!(chat["verbosity"], expected, "{model}");
    }
    for (wire, model) in [
        (Wire::Messages, "claude-opus-5-5"),
        (Wire::Gemini, "gemini-4-argon"),
    ] {
        let body = encoded(wire, &ask(model)).body.to_string();
        assert!(!body.contains("verbosity"), "{body}");
    }
}

#[test]
fn where_nobody_says_how_much_to_say_it_is_little() {
    let sent = |wire, model: &str, verbosity| {
        let request = ModelRequest {
            verbosity,
            ..ask(model)
        };
        let body = encoded(wire, &request).body;
        match wire {
            Wire::Responses => body["text"]["verbosity"].clone(),
            Wire::Chat | Wire::Messages | Wire::Gemini => body["verbosity"].clone(),
        }
    };
    assert_eq!(sent(Wire::Responses, "gpt-5.5", None), "low");
    let high = Some(Verbosity::High);
    assert_eq!(sent(Wire::Responses, "gpt-5.5", high), "high");
    for model in ["gpt-5.2-codex", "gpt-4.1", "grok-4.7"] {
        assert_eq!(sent(Wire::Responses, model, None), Value::Null, "{model}");
    }
    // Services that only speak the format may not know the field.
    assert_eq!(sent(Wire::Chat, "openai/gpt-5.5", None), Value::Null);
}

#[test]
fn summaries_are_asked_for_in_the_wished_detail() {
    let summary = |detail: Option<SummaryDetail>| {
        let request = ModelRequest {
            effort: Some("low".to_owned()),
            summary: detail,
            ..ask("gpt-5.5")
        };
        encoded(Wire::Responses, &request).body["reasoning"]["summary"].clone()
    };
    assert_eq!(summary(None), "auto");
    assert_eq!(summary(Some(SummaryDetail::Concise)), "concise");
    assert_eq!(summary(Some(SummaryDetail::Detailed)), "detailed");
    assert_eq!(summary(Some(SummaryDetail::None)), Value::Null);
}

#[test]
fn claude_and_gemini_keep_their_thoughts_to_themselves_where_that_is_wished() {
    let config = |wire, model: &str, summary| {
        let request = ModelRequest {
            effort: Some("high".to_owned()),
            summary,
            ..ask(model)
        };
        encoded(wire, &request).body
    };
    for (summary, display, thoughts) in [
        (None, "summarized", true),
        (Some(SummaryDetail::Detailed), "summarized", true),
        (Some(SummaryDetail::None), "omitted", false),
    ] {
        let claude = config(Wire::Messages, "claude-opus-5-5", summary);
        assert_eq!(claude["thinking"]["display"], display, "{summary:?}");
        let gemini = config(Wire::Gemini, "gemini-4-argon", summary);
        let thinking = &gemini["generationConfig"]["thinkingConfig"];
        assert_eq!(thinking["includeThoughts"], thoughts, "{summary:?}");
    }
}

#[test]
fn a_title_is_thought_about_as_little_as_the_model_can() {
    let mut target = RequestTarget::unknown("m");
    target.model = Model {
        efforts: ["none", "low", "high"].map(str::to_owned).to_vec(),
        default_effort: Some("high".to_owned()),
        ..target.model
    };
    let settled = |purpose| {
        let request = ModelRequest {
            purpose,
            max_output_tokens: Some(100),
            ..ask("m")
        };
        let settled = target.settle(request);
        (settled.effort, settled.max_output_tokens)
    };
    let effort = |word: &str| Some(word.to_owned());
    assert_eq!(settled(RequestPurpose::Title), (effort("none"), Some(100)));
    assert_eq!(
        settled(RequestPurpose::Summary),
        (effort("high"), Some(100))
    );
}

#[test]
fn a_service_that_refuses_a_limit_gets_none() {
    let target = RequestTarget {
        quirks: Quirks {
            output_limit: Some(false),
            ..Quirks::default()
        },
        ..RequestTarget::unknown("m")
    };
    let request = ModelRequest {
        max_output_tokens: Some(100),
        ..ask("m")
    };
    assert_eq!(target.settle(request).max_output_tokens, None);
}
