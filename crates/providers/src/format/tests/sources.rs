//! What an answer rests on, and files that the model makes, as the services tell them.

use serde_json::json;

use super::*;
use crate::{Block, Message, UserMessage};

fn source(url: &str, title: Option<&str>) -> Part {
    Part::Source {
        url: url.to_owned(),
        title: title.map(str::to_owned),
    }
}

fn answer(wire: Wire, data: &[Value]) -> Vec<Part> {
    let (parts, end) = decode_data(wire, data);
    assert_eq!(end, Ok(()), "{parts:?}");
    parts
}

#[test]
fn claude_names_what_its_search_found_and_what_a_text_cites() {
    let found = |url: &str, title: &str| json!({ "type": "web_search_result", "url": url, "title": title, "encrypted_content": "x", "page_age": null });
    let cited = |url: &str| {
        let citation = json!({ "type": "web_search_result_location", "url": url, "title": "C", "cited_text": "…", "encrypted_index": "x" });
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "citations_delta", "citation": citation } })
    };
    let in_document = json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "citations_delta", "citation": { "type": "char_location", "cited_text": "…", "document_index": 0 } } });
    let data = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found("https://a.example/", "A"), found("https://b.example/", " ")] } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "", "citations": [] } }),
        cited("https://a.example/"),
        cited("https://c.example/"),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "It is." } }),
        in_document.clone(),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_stop" }),
    ];
    let expected = [
        vec![
            source("https://a.example/", Some("A")),
            source("https://b.example/", None),
        ],
        text(0, &["It is."]),
        vec![
            source("https://c.example/", Some("C")),
            Part::Raw(in_document),
        ],
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Messages, &data), expected.concat());
    let failed = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "web_search_tool_result", "content": { "type": "web_search_tool_result_error", "error_code": "max_uses_exceeded" } } });
    let data = [failed.clone(), json!({ "type": "message_stop" })];
    let expected = [vec![Part::Raw(failed)], finish(StopCause::Stop, 0, 0)];
    assert_eq!(answer(Wire::Messages, &data), expected.concat());
}

#[test]
fn openai_annotates_its_texts_with_pages_and_makes_pictures() {
    let link = json!({ "type": "url_citation", "url": "https://a.example/", "title": "A", "start_index": 0, "end_index": 2 });
    let file = json!({ "type": "file_citation", "file_id": "f", "index": 0 });
    let annotated = |annotation: &Value| json!({ "type": "response.output_text.annotation.added", "output_index": 0, "annotation": annotation });
    let message = json!({ "type": "message", "id": "m", "content": [{ "type": "output_text", "text": "Hi", "annotations": [link, file] }] });
    let picture = json!({ "type": "image_generation_call", "id": "ig", "status": "completed", "output_format": "webp", "result": "aGk=" });
    let data = [
        json!({ "type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "Hi" }),
        annotated(&link),
        annotated(&file),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": message }),
        json!({ "type": "response.output_item.done", "output_index": 1, "item": picture }),
        json!({ "type": "response.completed", "response": { "output": [message, picture] } }),
    ];
    let made = Part::File {
        block: 1,
        media_type: "image/webp".to_owned(),
        base64: "aGk=".into(),
        native: None,
    };
    let expected = [
        text(0, &["Hi"]),
        vec![
            source("https://a.example/", Some("A")),
            Part::Raw(annotated(&file)),
            made,
        ],
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Responses, &data), expected.concat());
}

#[test]
fn chat_annotates_with_pages_too() {
    let link = json!({ "type": "url_citation", "url_citation": { "url": "https://a.example/", "title": "A", "start_index": 0, "end_index": 2 } });
    let data = [
        json!({ "choices": [{ "index": 0, "delta": { "content": "Hi", "annotations": [link, { "type": "url_citation", "url_citation": { "url": "javascript:x" } }] } }] }),
        json!({ "choices": [{ "index": 0, "delta": { "annotations": [link] }, "finish_reason": "stop" }] }),
    ];
    let expected = [
        text(0, &["Hi"]),
        vec![source("https://a.example/", Some("A"))],
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Chat, &data), expected.concat());
}

#[test]
fn google_grounds_its_answers_and_makes_pictures_between_its_words() {
    let chunks = json!([
        { "web": { "uri": "https://a.example/", "title": "a.example" } },
        { "retrievedContext": { "uri": "https://b.example/", "title": "B" } },
        { "maps": { "uri": "https://c.example/" } },
    ]);
    let picture = json!({ "inlineData": { "mimeType": "image/jpeg", "data": "aGk=" }, "thoughtSignature": "s" });
    let draft =
        json!({ "inlineData": { "mimeType": "image/jpeg", "data": "aGk=" }, "thought": true });
    let parts = json!([{ "text": "Here:" }, draft, picture, { "text": "Done." }]);
    let data = [
        json!({ "candidates": [{ "content": { "parts": parts }, "groundingMetadata": { "groundingChunks": chunks } }] }),
        json!({ "candidates": [{ "finishReason": "STOP", "groundingMetadata": { "groundingChunks": chunks } }], "usageMetadata": {} }),
    ];
    let made = Part::File {
        block: 1,
        media_type: "image/jpeg".to_owned(),
        base64: "aGk=".into(),
        native: native(Wire::Gemini, json!({ "thoughtSignature": "s" })),
    };
    let expected = [
        text(0, &["Here:"]),
        vec![Part::Raw(draft), made],
        text(2, &["Done."]),
        vec![
            source("https://a.example/", Some("a.example")),
            source("https://b.example/", Some("B")),
        ],
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(answer(Wire::Gemini, &data), expected.concat());
}

#[test]
fn a_picture_goes_back_to_who_made_it_and_is_a_word_to_all_others() {
    let file = |wire| Block::File {
        media_type: "image/jpeg".to_owned(),
        base64: "aGk=".into(),
        native: native(wire, json!({ "thoughtSignature": "s" })),
    };
    let request = |wire| ModelRequest {
        model: model(wire).to_owned(),
        messages: [
            Message::user("Draw."),
            Message::Assistant(vec![file(wire)]),
            Message::User(UserMessage {
                text: "Larger.".to_owned(),
                ..UserMessage::default()
            }),
        ]
        .map(std::sync::Arc::new)
        .into(),
        ..ModelRequest::default()
    };
    let body = encoded(Wire::Gemini, &request(Wire::Gemini)).body;
    assert_eq!(
        body["contents"][1]["parts"],
        json!([{ "inlineData": { "mimeType": "image/jpeg", "data": "aGk=" }, "thoughtSignature": "s" }])
    );
    for (wire, field) in [
        (Wire::Messages, "messages"),
        (Wire::Responses, "input"),
        (Wire::Chat, "messages"),
    ] {
        let body = encoded(wire, &request(wire)).body;
        let said = body[field].to_string();
        assert!(said.contains("(a file that you made is here)"), "{said}");
        assert!(!said.contains("aGk="), "{said}");
    }
}
