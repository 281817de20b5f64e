//! A request made again without what the service refused in it, in all four formats.

use serde_json::json;

use super::*;
use crate::format::history::PICTURE_OMITTED;
use crate::format::{Omitted, OmittedPictures};
use crate::{Block, Message, MessageImage, ResultBlock, ToolResult, UserMessage};

fn model(wire: Wire) -> &'static str {
    match wire {
        Wire::Responses | Wire::Chat => "gpt-5",
        Wire::Messages => "claude-opus-5-5",
        Wire::Gemini => "gemini-3-flash-preview",
    }
}

fn picture(data: &str) -> MessageImage {
    MessageImage::Data {
        media_type: "image/png".to_owned(),
        base64: data.into(),
    }
}

fn user(text: &str, data: &str) -> Message {
    Message::User(UserMessage {
        text: text.to_owned(),
        images: vec![picture(data)],
        ..UserMessage::default()
    })
}

/// One call, its native value, and a result that is words and a picture.
fn call(id: &str, native: Option<Box<Native>>, data: &str) -> [Message; 2] {
    let call = Block::ToolCall {
        call_id: id.to_owned(),
        name: "look".to_owned(),
        input: json!({}),
        native,
    };
    let result = ToolResult {
        call_id: id.to_owned(),
        name: "look".to_owned(),
        content: vec![
            ResultBlock::Text("before".to_owned()),
            ResultBlock::Image(picture(data)),
        ],
        is_error: false,
    };
    [
        Message::Assistant(vec![call]),
        Message::ToolResults(vec![result]),
    ]
}

fn body(wire: Wire, messages: Vec<Message>, omitted: Omitted) -> Value {
    let request = ModelRequest {
        model: model(wire).to_owned(),
        messages: messages.into_iter().map(std::sync::Arc::new).collect(),
        ..ModelRequest::default()
    };
    let target = RequestTarget {
        omitted,
        ..RequestTarget::unknown(model(wire))
    };
    wire.encode(&request, &target).body
}

#[test]
fn without_pictures() {
    let mut messages = vec![user("first", "AAAA")];
    messages.extend(call("call_a", None, "BBBB"));
    messages.push(user("last", "CCCC"));
    messages.extend(call("call_b", None, "DDDD"));
    for wire in Wire::ALL {
        for (pictures, shown) in [
            (OmittedPictures::None, "AAAA BBBB CCCC DDDD"),
            (OmittedPictures::Old, "CCCC DDDD"),
            (OmittedPictures::All, ""),
        ] {
            let omitted = Omitted {
                pictures,
                ..Omitted::default()
            };
            let body = body(wire, messages.clone(), omitted).to_string();
            let found = ["AAAA", "BBBB", "CCCC", "DDDD"].into_iter();
            let found: Vec<_> = found.filter(|data| body.contains(data)).collect();
            assert_eq!(found.join(" "), shown, "{wire:?} {pictures:?}");
            let notes = body.matches(PICTURE_OMITTED).count();
            assert_eq!(notes + found.len(), 4, "{wire:?} {pictures:?}");
            for words in ["first", "last", "before"] {
                assert!(body.contains(words), "{wire:?} {words}");
            }
        }
    }
}

/// A result that was nothing but a picture says so.
#[test]
fn a_result_of_pictures_alone_keeps_its_place() {
    let [called, _] = call("call_a", None, "AAAA");
    let result = ToolResult {
        call_id: "call_a".to_owned(),
        name: "look".to_owned(),
        content: vec![ResultBlock::Image(picture("AAAA"))],
        is_error: false,
    };
    let messages = vec![
        Message::user("look"),
        called,
        Message::ToolResults(vec![result]),
    ];
    let omitted = Omitted {
        pictures: OmittedPictures::All,
        ..Omitted::default()
    };
    let body = body(Wire::Messages, messages, omitted);
    assert_eq!(
        body["messages"][2]["content"][0]["content"],
        PICTURE_OMITTED
    );
}

#[test]
fn without_what_is_native() {
    let values = [
        (
            Wire::Responses,
            json!({ "type": "reasoning", "summary": [], "encrypted_content": "secret" }),
        ),
        (
            Wire::Messages,
            json!({ "type": "thinking", "thinking": "Hm.", "signature": "secret" }),
        ),
        (Wire::Gemini, json!({ "thoughtSignature": "secret" })),
    ];
    for (wire, value) in values {
        let native = || {
            Some(crate::format::native(
                &origin(wire, model(wire)),
                value.clone(),
            ))
        };
        let thought = Block::Reasoning {
            text: "Hm.".to_owned(),
            native: native(),
        };
        let of_call = native().filter(|_| wire == Wire::Gemini);
        let [called, result] = call("call_a", of_call, "AAAA");
        let Message::Assistant(mut blocks) = called else {
            unreachable!()
        };
        blocks.insert(0, thought);
        let messages = vec![Message::user("look"), Message::Assistant(blocks), result];
        let whole = body(wire, messages.clone(), Omitted::default());
        assert!(whole.to_string().contains("secret"), "{wire:?}");
        let omitted = Omitted {
            natives_before: usize::MAX,
            ..Omitted::default()
        };
        let without = body(wire, messages, omitted);
        let text = without.to_string();
        assert!(!text.contains("secret"), "{wire:?}: {text}");
        assert!(text.contains("\"look\""), "{wire:?}: {text}");
        if wire == Wire::Gemini {
            assert_eq!(
                without["contents"][1]["parts"][0]["thoughtSignature"],
                "skip_thought_signature_validator"
            );
        }
    }
}
