//! Whatever the history is, every format is given a conversation it accepts.

use serde_json::json;

use super::*;
use crate::format::history::{CONTINUE, NOT_RUN, OPENING};
use crate::{Block, Message, ModelRequest, ResultBlock, ToolResult, UserMessage};

fn said(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
        native: None,
    }
}

fn called(call_id: &str) -> Block {
    Block::ToolCall {
        call_id: call_id.to_owned(),
        name: "ls".to_owned(),
        input: json!({}),
        native: None,
    }
}

fn result(call_id: &str, text: &str) -> ToolResult {
    ToolResult {
        call_id: call_id.to_owned(),
        name: "ls".to_owned(),
        content: vec![ResultBlock::Text(text.to_owned())],
        is_error: false,
    }
}

fn request(wire: Wire, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: model(wire).to_owned(),
        messages: messages.into_iter().map(std::sync::Arc::new).collect(),
        ..ModelRequest::default()
    }
}

/// The conversation in the plainest of the formats, a line for each message.
fn lines(wire: Wire, messages: Vec<Message>) -> Vec<String> {
    let body = encoded(wire, &request(wire, messages)).body;
    let messages = match wire {
        Wire::Chat | Wire::Messages => body["messages"].clone(),
        Wire::Gemini => body["contents"].clone(),
        Wire::Responses => body["input"].clone(),
    };
    messages
        .as_array()
        .unwrap()
        .iter()
        .map(|each| line(wire, each))
        .collect()
}

fn line(wire: Wire, message: &Value) -> String {
    let role = message["role"]
        .as_str()
        .unwrap_or(message["type"].as_str().unwrap_or(""));
    match wire {
        Wire::Chat => {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls: Vec<_> = calls.map(|call| call["id"].as_str().unwrap()).collect();
            let answers = message["tool_call_id"].as_str().unwrap_or("");
            format!(
                "{role} {}{}{answers}",
                message["content"].as_str().unwrap_or("-"),
                calls.join(",")
            )
        }
        Wire::Messages => {
            let blocks = message["content"].as_array().unwrap().iter();
            let blocks: Vec<_> = blocks
                .map(|block| {
                    let words = [
                        &block["text"],
                        &block["id"],
                        &block["tool_use_id"],
                        &block["data"],
                    ];
                    words
                        .iter()
                        .find_map(|word| word.as_str())
                        .unwrap_or("?")
                        .to_owned()
                })
                .collect();
            format!("{role} {}", blocks.join("|"))
        }
        Wire::Responses | Wire::Gemini => role.to_owned(),
    }
}

#[test]
fn a_result_without_a_call_is_dropped_and_a_call_without_a_result_gets_one() {
    let messages = vec![
        Message::user("go"),
        Message::ToolResults(vec![result("zero", "early")]),
        Message::Assistant(vec![called("a"), called("b")]),
        Message::user("wait"),
        Message::ToolResults(vec![
            result("a", "files"),
            result("c", "late"),
            result("a", "again"),
        ]),
    ];
    let expected = [
        "user go".to_owned(),
        "assistant -a,b".to_owned(),
        "tool filesa".to_owned(),
        format!("tool Error: {NOT_RUN}b"),
        "user wait".to_owned(),
    ];
    assert_eq!(lines(Wire::Chat, messages.clone()), expected);
    let expected = ["user go", "assistant a|b", "user a|b|wait"];
    assert_eq!(lines(Wire::Messages, messages), expected);
}

#[test]
fn what_is_empty_is_left_out_and_roles_alternate() {
    let messages = vec![
        Message::user("one"),
        Message::user("  \n"),
        Message::Assistant(vec![
            said(" "),
            Block::Reasoning {
                text: "hm".to_owned(),
                native: None,
            },
        ]),
        Message::user("two"),
        Message::Assistant(vec![said("three")]),
        Message::Assistant(vec![said(""), said("four"), called("a")]),
        Message::ToolResults(vec![result("a", "")]),
        Message::Assistant(vec![]),
        Message::User(UserMessage::default()),
    ];
    let expected = [
        "user one\n\ntwo",
        "assistant three\n\nfoura",
        "tool (no output)a",
    ];
    assert_eq!(lines(Wire::Chat, messages.clone()), expected);
    let expected = ["user one|two", "assistant three|four|a", "user a"];
    assert_eq!(lines(Wire::Messages, messages.clone()), expected);
    assert_eq!(lines(Wire::Gemini, messages), ["user", "model", "user"]);
}

#[test]
fn a_user_begins_and_speaks_last() {
    let expected = [
        format!("user {OPENING}"),
        "assistant hi".to_owned(),
        format!("user {CONTINUE}"),
    ];
    for wire in [Wire::Chat, Wire::Messages] {
        assert_eq!(
            lines(wire, vec![Message::Assistant(vec![said("hi")])]),
            expected
        );
        assert_eq!(lines(wire, Vec::new()), expected[2..]);
    }
    for wire in [Wire::Responses, Wire::Gemini] {
        assert_eq!(lines(wire, Vec::new()), ["user"]);
        assert_eq!(
            lines(wire, vec![Message::Assistant(vec![said("hi")])]).len(),
            3
        );
    }
}

#[test]
fn what_is_native_goes_back_only_where_it_came_from() {
    let values = [
        (
            Wire::Responses,
            json!({ "type": "reasoning", "encrypted_content": "secret" }),
        ),
        (
            Wire::Messages,
            json!({ "type": "redacted_thinking", "data": "secret" }),
        ),
        (Wire::Gemini, json!({ "thoughtSignature": "secret" })),
    ];
    for (from, value) in values {
        for to in Wire::ALL {
            for other_model in [false, true] {
                let origin = match other_model {
                    false => origin(from, model(from)),
                    true => origin(from, "another"),
                };
                let thought = Block::Reasoning {
                    text: "hm".to_owned(),
                    native: Some(crate::format::native(&origin, value.clone())),
                };
                let answer = Message::Assistant(vec![thought, said("hi")]);
                let body = encoded(to, &request(to, vec![Message::user("?"), answer]))
                    .body
                    .to_string();
                assert_eq!(
                    body.contains("secret"),
                    from == to && !other_model,
                    "{from:?} to {to:?}"
                );
                assert!(body.contains("\"hi\""));
            }
        }
    }
}

/// The provider would look for it among what it keeps, and it keeps nothing.
#[test]
fn a_thought_without_its_content_stays_behind() {
    let origin = origin(Wire::Responses, model(Wire::Responses));
    let thought = |value| Block::Reasoning {
        text: "hm".to_owned(),
        native: Some(crate::format::native(&origin, value)),
    };
    let bare = thought(json!({ "type": "reasoning", "id": "rs_1", "summary": [] }));
    let answer = Message::Assistant(vec![bare, said("hi")]);
    let body = encoded(
        Wire::Responses,
        &request(Wire::Responses, vec![Message::user("?"), answer]),
    )
    .body;
    assert_eq!(body["input"][1]["role"], "assistant");
    // Nor does one that led to nothing go back.
    let whole = thought(json!({ "type": "reasoning", "encrypted_content": "zz" }));
    let messages = vec![
        Message::user("?"),
        Message::Assistant(vec![said("hi"), whole]),
    ];
    let body = encoded(Wire::Responses, &request(Wire::Responses, messages)).body;
    assert_eq!(body["input"].as_array().unwrap().len(), 3);
}

#[test]
fn ids_are_accepted_and_never_repeat() {
    let messages = vec![
        Message::user("go"),
        Message::Assistant(vec![called("functions.ls:0"), called("a"), called("")]),
        Message::ToolResults(vec![
            result("functions.ls:0", "x"),
            result("a", "y"),
            result("", "z"),
        ]),
        Message::Assistant(vec![called("a"), called(&"l".repeat(65))]),
        Message::ToolResults(vec![result("a", "w")]),
    ];
    let expected = [
        "user go",
        "assistant call_1|a|call_2",
        "user call_1|a|call_2",
        "assistant call_3|call_4",
        "user call_3|call_4",
    ];
    assert_eq!(lines(Wire::Messages, messages.clone()), expected);
    // Servers that read meaning into their ids get them back.
    assert_eq!(
        lines(Wire::Chat, messages)[1],
        "assistant -functions.ls:0,a,call_1"
    );
}

#[test]
fn messages_without_tools_still_declares_those_that_were_called() {
    let messages = vec![
        Message::user("go"),
        Message::Assistant(vec![called("a"), called("b")]),
        Message::ToolResults(vec![result("a", "x"), result("b", "y")]),
    ];
    let body = encoded(Wire::Messages, &request(Wire::Messages, messages)).body;
    let declared = json!([{
        "name": "ls", "input_schema": { "type": "object" }, "cache_control": { "type": "ephemeral" },
    }]);
    assert_eq!(body["tools"], declared);
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
}
