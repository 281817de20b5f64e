//! What a model writes, as whole frames.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Fact, Growth, Item, ItemFact, ItemId, ModelRef, Opening, ReasoningKind, StepFact, StopReason,
    StreamTag,
};

use super::samples::{tag, told};
use super::telling::{check, chunk, usage, wire_usage};
use crate::cowork::tell::RawParts;

#[test]
fn a_step_is_two_parts_at_each_end() {
    let request = json!({ "model": "gpt-5.2", "provider": "openai" });
    check(
        Fact::Step {
            tag: tag(4),
            what: StepFact::Started,
        },
        &[
            chunk(
                4,
                "start_step",
                json!({ "stepNumber": 1, "request": request }),
            ),
            chunk(5, "start", json!({})),
        ],
    );
    for (reason, word) in [
        (StopReason::Stop, "stop"),
        (StopReason::ToolUse, "toolUse"),
        (StopReason::Length, "length"),
        (StopReason::Aborted, "aborted"),
        (StopReason::Error, "error"),
    ] {
        let finish = json!({ "finishReason": word, "totalUsage": wire_usage() });
        let fact = Fact::Step {
            tag: tag(6),
            what: StepFact::Finished {
                context_limit: None,
                thread_usage: Default::default(),
                reason,
                usage: usage(),
            },
        };
        check(
            fact,
            &[
                chunk(6, "finish", finish),
                chunk(7, "finish_step", finish_step(word, wire_usage())),
            ],
        );
    }
}

fn finish_step(word: &str, usage: Value) -> Value {
    json!({
        "stepNumber": 1,
        "response": { "stopReason": word },
        "usage": usage,
        "finishReason": word,
    })
}

#[test]
fn a_step_that_failed_says_whether_it_was_cancelled() {
    let none = json!({ "promptTokens": 0, "completionTokens": 0, "totalTokens": 0 });
    let failed = |reason| Fact::Step {
        tag: tag(6),
        what: StepFact::Failed {
            reason,
            error: "overloaded".to_owned(),
        },
    };
    check(
        failed(StopReason::Error),
        &[
            chunk(6, "error", json!({ "error": "overloaded" })),
            chunk(7, "finish_step", finish_step("error", none.clone())),
        ],
    );
    check(
        failed(StopReason::Aborted),
        &[
            chunk(6, "abort", json!({ "reason": "cancelled" })),
            chunk(7, "finish_step", finish_step("aborted", none)),
        ],
    );
}

#[test]
fn blocks_start_grow_and_end() {
    let item = || ItemId::new("i1");
    let started = |opening| Fact::Item {
        tag: tag(2),
        item: item(),
        content: 3,
        what: ItemFact::Started { opening },
    };
    let grew = |growth| Fact::Item {
        tag: tag(2),
        item: item(),
        content: 3,
        what: ItemFact::Grew {
            growth,
            delta: "a\"b\n".to_owned(),
        },
    };
    let ended = |body| Fact::Item {
        tag: tag(2),
        item: item(),
        content: 3,
        what: ItemFact::Finished { began: None, body },
    };
    let input = Opening::ToolInput {
        call_id: "call_1".to_owned(),
        name: "bash".to_owned(),
    };
    let call_id = Arc::from("call_1");
    let text = || "a\"b\n".to_owned();
    let summary = ReasoningKind::Summary;
    for (fact, part_type, part) in [
        (started(Opening::Text), "text_start", json!({ "id": "s3" })),
        (
            grew(Growth::Text),
            "text_delta",
            json!({ "id": "s3", "text": text() }),
        ),
        (
            ended(Item::AgentMessage {
                native: None,
                text: text(),
                partial: false,
            }),
            "text_end",
            json!({ "id": "s3" }),
        ),
        (
            started(Opening::Reasoning(summary)),
            "reasoning_start",
            json!({ "id": "s3", "mode": "summary" }),
        ),
        (
            grew(Growth::Reasoning {
                kind: summary,
                part: 0,
            }),
            "reasoning_delta",
            json!({ "id": "s3", "mode": "summary", "text": text() }),
        ),
        (
            ended(Item::Reasoning {
                native: None,
                kind: ReasoningKind::Reasoning,
                text: text(),
                partial: true,
                breaks: Vec::new(),
            }),
            "reasoning_end",
            json!({ "id": "s3", "mode": "reasoning" }),
        ),
        (
            started(input),
            "tool_input_start",
            json!({ "id": "call_1", "toolName": "bash" }),
        ),
        (
            grew(Growth::ToolInput { call_id }),
            "tool_input_delta",
            json!({ "id": "call_1", "delta": text() }),
        ),
    ] {
        check(fact, &[chunk(2, part_type, part)]);
    }
}

#[test]
fn a_delta_is_one_piece_of_memory() {
    let fact = Fact::Item {
        tag: tag(2),
        item: ItemId::new("i1"),
        content: 0,
        what: ItemFact::Grew {
            growth: Growth::Text,
            delta: "word ".repeat(400),
        },
    };
    let card = super::samples::card();
    let frames = crate::cowork::tell::tell(&card, &super::samples::event(fact), RawParts::Leave);
    // Memory that was taken once is as large as first asked for.
    assert_eq!(frames[0].capacity(), 320 + 2000);
}

#[test]
fn a_raw_part_repeats_the_part_with_its_hyphenated_type() {
    let fact = || Fact::Step {
        tag: tag(6),
        what: StepFact::Finished {
            context_limit: None,
            thread_usage: Default::default(),
            reason: StopReason::Stop,
            usage: usage(),
        },
    };
    for frame in told(fact(), RawParts::Sanitized) {
        let part_type = frame["partType"].as_str().expect("a type");
        let mut expected = frame["part"].clone();
        expected["type"] = json!(part_type.replace('_', "-"));
        assert_eq!(frame["rawPart"], expected);
    }
    for frame in told(fact(), RawParts::Leave) {
        assert_eq!(frame.get("rawPart"), None);
    }
    let value = json!({ "type": "response.in_progress" });
    let fact = Fact::Step {
        tag: tag(2),
        what: StepFact::RawReceived { value },
    };
    let frames = told(fact, RawParts::Sanitized);
    let raw = json!({ "type": "response.in_progress" });
    assert_eq!(frames[0]["part"], json!({ "raw": raw }));
    assert_eq!(frames[0]["rawPart"], json!({ "type": "raw", "raw": raw }));
}

#[test]
fn a_model_of_another_provider_is_spelled_with_it() {
    let model = ModelRef {
        provider: "rehearsal".to_owned(),
        model: "echo".to_owned(),
    };
    let tag = StreamTag {
        model: Some(Arc::new(model)),
        ..tag(0)
    };
    let frames = told(
        Fact::Step {
            tag,
            what: StepFact::Started,
        },
        RawParts::Leave,
    );
    assert_eq!(frames[0]["provider"], "openai");
    assert_eq!(frames[0]["model"], "rehearsal/echo");
    assert_eq!(frames[0]["part"]["request"]["model"], "rehearsal/echo");
}

#[test]
fn an_answer_that_is_asked_for_again_begins_its_step_anew() {
    let none = json!({ "promptTokens": 0, "completionTokens": 0, "totalTokens": 0 });
    let delayed = |discards| Fact::Step {
        tag: tag(6),
        what: StepFact::Delayed {
            agent: None,
            attempt: 1,
            delay_ms: 500,
            error: "cut off".to_owned(),
            discards,
        },
    };
    let line = "[retry] cut off; trying again in 0.5 s (attempt 2)";
    let log = super::telling::frame("log", json!({ "line": line }));
    let request = json!({ "model": "gpt-5.2", "provider": "openai" });
    let begun = json!({ "stepNumber": 1, "request": request });
    check(
        delayed(true),
        &[
            log.clone(),
            chunk(6, "finish_step", finish_step("error", none)),
            chunk(7, "start_step", begun),
            chunk(8, "start", json!({})),
        ],
    );
    assert_eq!(crate::cowork::tell::chunks::count(&delayed(true)), 3);
    // Nothing had come: nothing is to be thrown away.
    check(delayed(false), &[log]);
    assert_eq!(crate::cowork::tell::chunks::count(&delayed(false)), 0);
}

#[test]
fn only_openai_is_known_to_summarise_its_thoughts() {
    for (provider, mode) in [
        ("openai", "summary"),
        ("codex-cli", "summary"),
        ("google", "reasoning"),
        ("anthropic", "reasoning"),
    ] {
        let model = ModelRef {
            provider: provider.to_owned(),
            model: "m".to_owned(),
        };
        let started = Fact::Item {
            tag: StreamTag {
                model: Some(Arc::new(model.clone())),
                ..tag(0)
            },
            item: ItemId::new("i1"),
            content: 0,
            what: ItemFact::Started {
                opening: Opening::Reasoning(ReasoningKind::Summary),
            },
        };
        assert_eq!(told(started, RawParts::Leave)[0]["part"]["mode"], mode);
        let finished = Fact::Turn(vocabulary::TurnFact::Finished {
            turn: tag(0).turn,
            outcome: vocabulary::TurnOutcome::Completed,
            text: String::new(),
            reasoning: vec![(ReasoningKind::Summary, "hm".to_owned())],
            usage: None,
            model: Some(Arc::new(model)),
            started_at: None,
        });
        assert_eq!(told(finished, RawParts::Leave)[0]["kind"], mode);
    }
}

#[test]
fn what_nobody_knows_is_told_with_the_fallbacks() {
    let speechless = StreamTag {
        model: None,
        ..tag(2)
    };
    let received = |value| Fact::Step {
        tag: speechless.clone(),
        what: StepFact::RawReceived { value },
    };
    let frames = told(received(json!([1])), RawParts::Leave);
    assert_eq!(frames[0]["partType"], "unknown");
    assert_eq!(frames[0]["part"], json!({ "value": [1] }));
    let names = (&frames[0]["provider"], &frames[0]["model"]);
    assert_eq!(names, (&json!("unknown"), &json!("unknown")));
    let frames = told(Fact::Note(vocabulary::NoteFact::Unknown), RawParts::Leave);
    let whole = json!({
        "type": "model_stream_chunk",
        "sessionId": super::samples::SESSION,
        "turnId": "unknown-turn",
        "index": -1,
        "provider": "unknown",
        "model": "unknown",
        "partType": "unknown",
        "part": { "value": null },
    });
    assert_eq!(frames, [whole]);
}

#[test]
fn sources_and_files_are_parts() {
    let cited = |title: Option<&str>| Fact::Step {
        tag: tag(3),
        what: StepFact::Cited {
            url: "https://a.example/".to_owned(),
            title: title.map(str::to_owned),
        },
    };
    let mut source = json!({
        "id": "https://a.example/",
        "sourceType": "url",
        "url": "https://a.example/",
    });
    check(cited(None), &[chunk(3, "source", source.clone())]);
    source["title"] = json!("A");
    check(cited(Some("A")), &[chunk(3, "source", source)]);
    let base64 = "A".repeat(5000);
    let made = Fact::Item {
        tag: tag(4),
        item: ItemId::new("i1"),
        content: 1,
        what: ItemFact::Finished {
            began: None,
            body: Item::File {
                media_type: "image/png".to_owned(),
                base64: base64.as_str().into(),
                native: None,
            },
        },
    };
    let part = json!({ "mediaType": "image/png", "base64": base64 });
    check(made, &[chunk(4, "file", part)]);
}
