//! What stream chunks leave out, and what they never do.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use vocabulary::{
    ContentBlock, Fact, Growth, ItemFact, ItemId, ReasoningKind, StepFact, StopReason, ToolEvent,
    ToolFact, ToolOutcome, ToolOutput,
};

use super::samples::{bash, tag, told};
use crate::cowork::sanitize::PartLimits;
use crate::cowork::tell::RawParts;

fn planned(input: Value) -> Fact {
    Fact::Tool(ToolEvent {
        tag: tag(5),
        call: bash(input).into(),
        what: ToolFact::Planned { content: 0 },
    })
}

fn finished(output: ToolOutput) -> Fact {
    Fact::Tool(ToolEvent {
        tag: tag(5),
        call: bash(json!({})).into(),
        what: ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(output),
            duration_ms: None,
        },
    })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("deep"), |inner, _| json!([inner]))
}

#[test]
fn long_texts_of_a_call_and_its_result_are_cut_and_say_by_how_much() {
    let frames = told(
        planned(json!({ "content": "é".repeat(4003) })),
        RawParts::Leave,
    );
    let expected = format!("{}...[truncated 3 chars]", "é".repeat(4000));
    assert_eq!(frames[1]["part"]["input"]["content"], expected);
    let text = || "x".repeat(5000);
    let cut = format!("{}...[truncated 1000 chars]", "x".repeat(4000));
    let frames = told(finished(ToolOutput::Text(text())), RawParts::Leave);
    assert_eq!(frames[1]["part"]["output"], cut);
    let command = ToolOutput::Command {
        stdout: text(),
        stderr: text(),
        exit_code: 0,
        duration_ms: 1,
        model_text: None,
    };
    let frames = told(finished(command), RawParts::Leave);
    let output = &frames[1]["part"]["output"];
    assert_eq!(
        (&output["stdout"], &output["stderr"]),
        (&json!(cut), &json!(cut))
    );
    let failed = Fact::Step {
        tag: tag(1),
        what: StepFact::Failed {
            reason: StopReason::Error,
            error: text(),
        },
    };
    assert_eq!(told(failed, RawParts::Leave)[0]["part"]["error"], cut);
}

#[test]
fn depth_and_width_are_cut() {
    // The part and its input are the first two levels.
    let fits = json!({ "a": nested(6) });
    let frames = told(planned(fits.clone()), RawParts::Leave);
    assert_eq!(frames[1]["part"]["input"], fits);
    let frames = told(planned(json!({ "a": nested(7) })), RawParts::Leave);
    let deepest = (0..6).fold(&frames[1]["part"]["input"]["a"], |value, _| &value[0]);
    assert_eq!(*deepest, "[truncated]");
    let wide: Vec<u32> = (0..130).collect();
    let frames = told(planned(json!({ "a": wide })), RawParts::Leave);
    let items = frames[1]["part"]["input"]["a"].as_array().expect("a list");
    assert_eq!(
        (items.len(), &items[128]),
        (129, &json!("...[truncated 2 items]"))
    );
    let keys: serde_json::Map<String, Value> =
        (0..140).map(|n| (format!("k{n}"), json!(n))).collect();
    let frames = told(planned(Value::Object(keys)), RawParts::Leave);
    assert_eq!(frames[1]["part"]["input"]["..."], "[truncated 12 keys]");
}

#[test]
fn a_raw_part_in_full_shows_more() {
    let input = || json!({ "content": "x".repeat(30_000), "a": nested(12) });
    let frames = told(planned(input()), RawParts::Full);
    let raw = &frames[1]["rawPart"];
    assert_eq!(raw["type"], "tool-call");
    let content = raw["input"]["content"].as_str().expect("a text");
    assert!(content.ends_with("x...[truncated 10000 chars]"));
    assert_eq!(raw["input"]["a"], nested(12));
    assert_ne!(frames[1]["part"]["input"]["a"], nested(12));
    let frames = told(planned(input()), RawParts::Sanitized);
    assert_eq!(frames[1]["rawPart"]["input"], frames[1]["part"]["input"]);
}

#[test]
fn a_picture_is_whole_and_the_words_beside_it_are_cut() {
    let base64: Arc<str> = "A".repeat(6000).into();
    let output = ToolOutput::Content(vec![
        ContentBlock::Text("x".repeat(4001)),
        ContentBlock::Image {
            media_type: "image/png".to_owned(),
            base64: Arc::clone(&base64),
        },
    ]);
    let frames = told(finished(output), RawParts::Leave);
    let pieces = &frames[1]["part"]["output"];
    let cut = format!("{}...[truncated 1 chars]", "x".repeat(4000));
    assert_eq!(pieces[0], json!({ "type": "text", "text": cut }));
    let picture = json!({ "type": "image", "data": &*base64, "mimeType": "image/png" });
    assert_eq!(pieces[1], picture);
}

/// Values that are wider, deeper and longer than what is shown.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        (3990_usize..4020).prop_map(|chars| "é".repeat(chars).into()),
        (120_usize..140).prop_map(|items| json!(vec![7; items])),
    ];
    leaf.prop_recursive(12, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn holds(value: &Value, depth_max: usize, limits: PartLimits) -> bool {
    let marker = 40;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.chars().count() <= limits.chars_max + marker,
        Value::Array(items) => {
            depth_max > 0
                && items.len() <= limits.entries_max + 1
                && items.iter().all(|item| holds(item, depth_max - 1, limits))
        }
        Value::Object(fields) => {
            depth_max > 0
                && fields.len() <= limits.entries_max + 1
                && fields
                    .values()
                    .all(|item| holds(item, depth_max - 1, limits))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_shown_is_json_within_its_limits(value in values()) {
        let input = json!({ "a": value });
        for raw in [RawParts::Leave, RawParts::Full] {
            let frames = told(planned(input.clone()), raw);
            let shown = &frames[1]["part"]["input"];
            let limits = PartLimits::USUAL;
            prop_assert!(holds(shown, limits.depth_max - 1, limits), "{shown}");
            // What is within the limits is not touched.
            if holds(&input, limits.depth_max - 1, PartLimits { chars_max: limits.chars_max - 40, entries_max: limits.entries_max - 1, ..limits }) {
                prop_assert_eq!(shown, &input);
            }
        }
    }

    #[test]
    fn no_delta_ever_loses_a_character(text in "\\PC{0,40}", times in 1_usize..400) {
        let text = text.repeat(times);
        let growths = [
            (Growth::Text, "text"),
            (Growth::Reasoning {
                kind: ReasoningKind::Reasoning,
                part: 0,
            }, "text"),
            (Growth::ToolInput { call_id: Arc::from("call_1") }, "delta"),
        ];
        for (growth, field) in growths {
            let fact = Fact::Item {
                tag: tag(2),
                item: ItemId::new("i1"),
                content: 0,
                what: ItemFact::Grew { growth, delta: text.clone() },
            };
            let frames = told(fact, RawParts::Sanitized);
            prop_assert_eq!(&frames[0]["part"][field], &json!(text));
            prop_assert_eq!(&frames[0]["rawPart"][field], &json!(text));
        }
    }
}
