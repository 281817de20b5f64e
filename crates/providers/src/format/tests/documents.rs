//! PDF files in the results of calls, in all four formats.

use serde_json::json;

use super::*;
use crate::format::{Omitted, OmittedPictures, Quirks};
use crate::{Block, DocumentFile, Message, ModelRequest, ResultBlock, ToolResult};

const TEXT: &str = "[page 1] the text of it";

fn request() -> ModelRequest {
    let document = DocumentFile {
        name: "a.pdf".to_owned(),
        media_type: "application/pdf".to_owned(),
        base64: "aGk=".into(),
        text: TEXT.to_owned(),
    };
    let messages = [
        Message::user("Look."),
        Message::Assistant(vec![Block::ToolCall {
            call_id: "call_a".to_owned(),
            name: "read".to_owned(),
            input: json!({}),
            native: None,
        }]),
        Message::ToolResults(vec![ToolResult {
            call_id: "call_a".to_owned(),
            name: "read".to_owned(),
            content: vec![
                ResultBlock::Text("a.pdf:".to_owned()),
                ResultBlock::Document(document),
            ],
            is_error: false,
        }]),
    ];
    ModelRequest {
        model: "m".to_owned(),
        messages: messages.map(std::sync::Arc::new).into(),
        ..ModelRequest::default()
    }
}

fn body(wire: Wire, documents: Option<bool>, pictures: OmittedPictures) -> Value {
    let target = RequestTarget {
        quirks: Quirks {
            documents,
            ..Quirks::default()
        },
        omitted: Omitted {
            pictures,
            ..Omitted::default()
        },
        ..RequestTarget::unknown("m")
    };
    wire.encode(&request(), &target).body
}

#[test]
fn a_document_is_sent_where_the_service_takes_it() {
    let sent = |wire| body(wire, Some(true), OmittedPictures::None);
    assert_eq!(
        sent(Wire::Responses)["input"][2]["output"],
        json!([
            { "type": "input_text", "text": "a.pdf:" },
            { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk=" },
        ])
    );
    let mut result = sent(Wire::Messages)["messages"][2]["content"][0].clone();
    assert_eq!(
        result["content"].take(),
        json!([
            { "type": "text", "text": "a.pdf:" },
            {
                "type": "document",
                "source": { "type": "base64", "media_type": "application/pdf", "data": "aGk=" },
                "title": "a.pdf",
            },
        ])
    );
    let parts = sent(Wire::Gemini)["contents"][2]["parts"].clone();
    assert!(parts[0]["functionResponse"].to_string().contains("a.pdf:"));
    let data = json!({ "inlineData": { "mimeType": "application/pdf", "data": "aGk=" } });
    assert_eq!(parts[1], data);
    for wire in [Wire::Responses, Wire::Messages, Wire::Gemini] {
        assert!(
            !sent(wire).to_string().contains(TEXT),
            "{wire:?}: not twice"
        );
    }
}

/// Chat Completions has no place for it; a service may not take it, or have refused it.
#[test]
fn elsewhere_its_text_is_sent() {
    let mut bodies = vec![body(Wire::Chat, Some(true), OmittedPictures::None)];
    for wire in Wire::ALL {
        bodies.push(body(wire, None, OmittedPictures::None));
        bodies.push(body(wire, Some(false), OmittedPictures::None));
        bodies.push(body(wire, Some(true), OmittedPictures::All));
    }
    for body in bodies {
        let body = body.to_string();
        assert!(body.contains("a.pdf:") && body.contains(TEXT), "{body}");
        assert!(!body.contains("aGk="), "{body}");
    }
}
