//! Tools whose input is one text: how they are offered, called and answered.

use serde_json::json;

use super::*;
use crate::format::Quirks;
use crate::{Block, Message, ResultBlock, ToolResult, ToolSpec};

const GRAMMAR: &str = "start: /.+/";
const PATCH: &str = "*** Begin Patch\n+\"é\"\n*** End Patch";

fn request() -> ModelRequest {
    let schema = json!({ "type": "object", "properties": { "input": { "type": "string" } } });
    let patch = ToolSpec {
        grammar: Some(GRAMMAR),
        ..ToolSpec::new("apply_patch", "Patches.", schema.clone())
    };
    let call = |call_id: &str, name: &str, input: Value| Block::ToolCall {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        input,
        native: None,
    };
    let result = |call_id: &str, name: &str| ToolResult {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        content: vec![ResultBlock::Text("done".to_owned())],
        is_error: false,
    };
    let messages = [
        Message::user("go"),
        Message::Assistant(vec![
            call("c1", "apply_patch", json!({ "input": PATCH })),
            call("c2", "read", json!({ "input": "a" })),
            call("c3", "apply_patch", json!({ "arguments": 7 })),
        ]),
        Message::ToolResults(vec![
            result("c1", "apply_patch"),
            result("c2", "read"),
            result("c3", "apply_patch"),
        ]),
    ];
    ModelRequest {
        model: "gpt-5".to_owned(),
        messages: messages.map(std::sync::Arc::new).into(),
        tools: [patch, ToolSpec::new("read", "Reads.", schema)].into(),
        ..ModelRequest::default()
    }
}

fn body(custom_tools: Option<bool>) -> Value {
    let target = RequestTarget {
        quirks: Quirks {
            custom_tools,
            ..Quirks::default()
        },
        ..RequestTarget::unknown("gpt-5")
    };
    Wire::Responses.encode(&request(), &target).body
}

#[test]
fn a_service_that_takes_free_text_is_offered_the_grammar_and_shown_the_text() {
    let body = body(Some(true));
    let format = json!({ "type": "grammar", "syntax": "lark", "definition": GRAMMAR });
    assert_eq!(
        body["tools"][0],
        json!({ "type": "custom", "name": "apply_patch", "description": "Patches.", "format": format })
    );
    assert_eq!(body["tools"][1]["type"], "function");
    let items = body["input"].as_array().unwrap();
    assert_eq!(
        items[1],
        json!({ "type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": PATCH })
    );
    assert_eq!(items[2]["type"], "function_call");
    // A call that went wrong is shown as it was.
    assert_eq!(items[3]["input"], "{\"arguments\":7}");
    let outputs: Vec<_> = items[4..].iter().map(|item| item["type"].clone()).collect();
    let custom = "custom_tool_call_output";
    assert_eq!(outputs, [custom, "function_call_output", custom]);
    assert_eq!(items[4]["output"], "done");
}

#[test]
fn everyone_else_is_offered_a_function() {
    for custom_tools in [Some(false), None] {
        let body = body(custom_tools);
        assert_eq!(body["tools"][0]["type"], "function");
        assert_eq!(body["tools"][0]["parameters"]["type"], "object");
        let written = body["input"].to_string();
        assert!(!written.contains("custom_tool"), "{written}");
        assert_eq!(
            body["input"][1]["arguments"],
            json!({ "input": PATCH }).to_string()
        );
    }
    for wire in [Wire::Chat, Wire::Messages, Wire::Gemini] {
        let body = encoded(wire, &request()).body.to_string();
        assert!(!body.contains("lark") && !body.contains("custom"), "{body}");
    }
}

/// The events of a call with a text that comes in pieces.
fn stream(status: &str, last: Value) -> Vec<Value> {
    let item = |input: &str, status: &str| {
        json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "apply_patch",
            "input": input, "status": status })
    };
    let delta = |delta: &str| {
        json!({ "type": "response.custom_tool_call_input.delta", "item_id": "ctc_1",
            "output_index": 0, "delta": delta })
    };
    let mut stream = vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("", "in_progress") }),
        delta("*** Begin Patch\n+\""),
        delta("é\"\n*** End Patch"),
    ];
    if status == "completed" {
        stream.push(
            json!({ "type": "response.custom_tool_call_input.done", "item_id": "ctc_1",
            "output_index": 0, "input": PATCH }),
        );
        stream.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item(PATCH, status) }));
    }
    stream.push(last);
    stream
}

fn told(stream: &[Value]) -> (String, Value, Option<String>, StopCause) {
    let (parts, end) = decode_data(Wire::Responses, stream);
    end.unwrap();
    let (mut streamed, mut call, mut stopped) = (String::new(), None, None);
    for part in parts {
        match part {
            Part::ToolInputDelta { json, .. } => streamed.push_str(&json),
            Part::ToolCall { input, problem, .. } => call = Some((input, problem)),
            Part::Finish { stop, .. } => stopped = Some(stop),
            _ => {}
        }
    }
    let (input, problem) = call.unwrap();
    (streamed, input, problem, stopped.unwrap())
}

#[test]
fn a_text_is_told_as_the_json_of_its_call() {
    let last = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let (streamed, input, problem, stop) = told(&stream("completed", last));
    assert_eq!(input, json!({ "input": PATCH }));
    assert_eq!(serde_json::from_str::<Value>(&streamed).unwrap(), input);
    assert_eq!((problem, stop), (None, StopCause::ToolUse));
    // Without any piece, as a server that does not stream sends it.
    let whole = json!({ "type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": PATCH });
    let last = json!({ "type": "response.completed", "response": { "output": [whole] } });
    assert_eq!(told(&[last]).1, json!({ "input": PATCH }));
}

#[test]
fn a_text_that_was_cut_is_not_run() {
    let reason = json!({ "reason": "max_output_tokens" });
    let item = json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "c1",
        "name": "apply_patch", "input": PATCH, "status": "incomplete" });
    for output in [json!([]), json!([item])] {
        let last = json!({ "type": "response.incomplete", "response": {
            "status": "incomplete", "incomplete_details": reason, "output": output } });
        let (_, input, problem, stop) = told(&stream("incomplete", last));
        assert_eq!(input, json!({ "input": PATCH }));
        assert!(problem.unwrap().contains("was cut"));
        assert_eq!(stop, StopCause::Length);
    }
}
