//! Threads that a service would refuse for ever, in the formats as they are: what it does not take
//! is left out, and they go on.

use vocabulary::Native;

use super::server::{Server, Step, reply};
use super::wires::{capture, speaking};
use super::*;
use crate::{Block, Message, MessageImage, UserMessage};

/// In every signature and picture that the services here do not take.
const POISON: &str = "UE9JU09O";

/// A service that refuses the poison with these words.
async fn service(name: &'static str, refusal: &'static str) -> Server {
    Server::hearing(move |_, body| {
        let said = match body.contains(POISON) {
            true => reply(400, &[], refusal),
            false => capture(&format!("aimock/{name}-text.http")),
        };
        vec![Step::Send(said), Step::Close]
    })
    .await
}

/// Two turns; in the first the model thought something that only its own account can read.
fn thought(wire: Wire, value: Value) -> Vec<Message> {
    let native = Native {
        origin: format!("{}//tiny", wire.name()),
        value,
    };
    let reasoning = Block::Reasoning {
        text: "hm".to_owned(),
        native: Some(Box::new(native)),
    };
    let text = Block::Text {
        text: "yes".to_owned(),
        native: None,
    };
    vec![
        Message::user("first"),
        Message::Assistant(vec![reasoning, text]),
        Message::user("second"),
    ]
}

fn shown(pictures: [&str; 2]) -> Vec<Message> {
    let show = |base64: &str| {
        Message::User(UserMessage {
            text: "look".to_owned(),
            images: vec![MessageImage::Data {
                media_type: "image/png".to_owned(),
                base64: base64.into(),
            }],
            ..UserMessage::default()
        })
    };
    let text = Block::Text {
        text: "yes".to_owned(),
        native: None,
    };
    let [first, second] = pictures;
    vec![show(first), Message::Assistant(vec![text]), show(second)]
}

/// How often it is asked for the first answer, and for the second.
async fn requests(wire: Wire, server: &mut Server, messages: Vec<Message>) -> (usize, usize) {
    let remote = speaking(wire, server);
    let request = ModelRequest {
        cache_key: Some("thread".to_owned()),
        messages: messages.into_iter().map(Arc::new).collect(),
        ..request()
    };
    let mut counts = Vec::new();
    for _ in 0..2 {
        let stream = remote.stream(request.clone()).await.expect("a stream");
        let (parts, error) = collect(stream).await;
        assert_eq!(error, None, "{wire:?}");
        assert!(matches!(parts.last(), Some(Part::Finish { .. })));
        let seen = server.rest();
        assert!(!seen[seen.len() - 1].body.contains(POISON), "{wire:?}");
        counts.push(seen.len());
    }
    (counts[0], counts[1])
}

#[tokio::test]
async fn a_thought_of_another_account() {
    let cases = [
        (
            Wire::Responses,
            "responses",
            json!({ "type": "reasoning", "encrypted_content": POISON, "summary": [] }),
            r#"{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}"#,
        ),
        (
            Wire::Messages,
            "anthropic",
            json!({ "type": "thinking", "thinking": "hm", "signature": POISON }),
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
        ),
        (
            Wire::Gemini,
            "gemini",
            json!({ "thought": true, "thoughtSignature": POISON }),
            r#"[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Thought signature is not valid."}}]"#,
        ),
    ];
    for (wire, name, native, refusal) in cases {
        let mut server = service(name, refusal).await;
        let asked = requests(wire, &mut server, thought(wire, native)).await;
        assert_eq!(asked, (2, 1), "{wire:?}");
    }
}

#[tokio::test]
async fn a_picture_that_is_too_large() {
    let refusal =
        r#"{"error":{"type":"invalid_request_error","message":"image exceeds 5 MB maximum"}}"#;
    for (wire, name) in [
        (Wire::Responses, "responses"),
        (Wire::Chat, "chat"),
        (Wire::Messages, "anthropic"),
        (Wire::Gemini, "gemini"),
    ] {
        let mut server = service(name, refusal).await;
        let asked = requests(wire, &mut server, shown([POISON, "ZmluZQ=="])).await;
        assert_eq!(asked, (2, 1), "{wire:?}: the old one");
        let mut server = service(name, refusal).await;
        let asked = requests(wire, &mut server, shown(["ZmluZQ==", POISON])).await;
        assert_eq!(asked, (3, 1), "{wire:?}: the new one");
    }
}
