//! The four wire formats over the socket: captured responses said again by the scripted server.

use std::path::PathBuf;

use super::server::{Server, Step, reply};
use super::*;

/// The bytes of a captured response, so that the connection ends where the capture does.
pub(super) fn capture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/sse")
        .join(name);
    let text = std::fs::read_to_string(path).expect("a capture");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let body = body.split("[curl rc=").next().expect("a body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    let header = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case(wanted).then_some(value)
        })
    };
    let kept = ["content-type", "x-request-id"];
    let headers: Vec<(&str, &str)> = kept
        .into_iter()
        .filter_map(|name| Some((name, header(name)?)))
        .collect();
    reply(status, &headers, body)
}

/// One request in this format to a server that says this.
async fn ask(wire: Wire, said: Vec<u8>) -> (Server, Vec<Part>, Option<ProviderError>) {
    let server = Server::start(move |_| vec![Step::Send(said.clone()), Step::Close]).await;
    let (parts, error) = run(&speaking(wire, &server)).await;
    (server, parts, error)
}

/// A provider of this format at that server.
pub(super) fn speaking(wire: Wire, server: &Server) -> Remote {
    install_tls();
    let (name, key) = wire.auth_header(KEY);
    let access = Fixed(Authorization {
        base_url: server.url(),
        account: String::new(),
        headers: vec![(name.to_owned(), key.into())],
        renewable: false,
    });
    let provider = catalog::ProviderInfo {
        endpoint: Some(ApiEndpoint { wire, ..endpoint() }),
        ..provider()
    };
    Remote::new(&provider, Arc::new(access), quick()).expect("it has a reach")
}

struct Fixed(Authorization);

#[async_trait]
impl Authorizer for Fixed {
    async fn access(&self, _renew: bool) -> Result<Authorization, ProviderError> {
        Ok(self.0.clone())
    }
}

const FORMATS: [(Wire, &str, &str); 4] = [
    (Wire::Responses, "responses", "POST /v1/responses HTTP/1.1"),
    (Wire::Chat, "chat", "POST /v1/chat/completions HTTP/1.1"),
    (Wire::Messages, "anthropic", "POST /v1/messages HTTP/1.1"),
    (
        Wire::Gemini,
        "gemini",
        "POST /v1/models/tiny:streamGenerateContent?alt=sse HTTP/1.1",
    ),
];

#[tokio::test]
async fn an_answer_in_every_format() {
    for (wire, name, first_line) in FORMATS {
        let (mut server, parts, error) =
            ask(wire, capture(&format!("aimock/{name}-text.http"))).await;
        assert_eq!(error, None, "{name}");
        let text: String = parts
            .iter()
            .filter_map(|part| match part {
                Part::TextDelta { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(
            text,
            "Hello from a mock model. The quick brown fox jumps over the lazy dog."
        );
        assert!(
            matches!(
                parts.last(),
                Some(Part::Finish {
                    stop: StopCause::Stop,
                    ..
                })
            ),
            "{name}"
        );
        let seen = server.next().await;
        assert_eq!(seen.head.lines().next(), Some(first_line));
        let (header, value) = wire.auth_header(KEY);
        assert_eq!(seen.header(header), Some(value.as_str()), "{name}");
        let body: Value = serde_json::from_str(&seen.body).expect("JSON");
        assert!(body.is_object(), "{name}");
    }
}

/// A server that does not stream answers all at once.
#[tokio::test]
async fn a_whole_answer_in_every_format() {
    for (wire, name, _) in FORMATS {
        let (mut server, parts, error) =
            ask(wire, capture(&format!("aimock/{name}-nonstream.http"))).await;
        assert_eq!(error, None, "{name}");
        let called = parts.iter().any(|part| {
            matches!(part, Part::ToolCall { name, input, .. }
                if name == "bash" && input["command"] == "ls -la")
        });
        assert!(called, "{name}: {parts:?}");
        let stop = StopCause::ToolUse;
        assert!(matches!(parts.last(), Some(Part::Finish { stop: found, .. }) if *found == stop));
        assert_eq!(server.rest().len(), 1);
    }
}

/// Of Gemini's, without `alt=sse`, a list of what would have been events.
#[tokio::test]
async fn a_list_is_a_whole_answer_too() {
    let body = r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
        {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]"#;
    let said = reply(200, &[("content-type", "application/json")], body);
    let (_, parts, error) = ask(Wire::Gemini, said).await;
    assert_eq!(error, None);
    assert!(
        matches!(parts.last(), Some(Part::Finish { .. })),
        "{parts:?}"
    );
}

/// One object a line, without the name of the field.
#[tokio::test]
async fn lines_of_objects_are_as_good_as_events() {
    let lines = "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n";
    for kind in ["application/x-ndjson", "text/event-stream", "text/plain"] {
        let said = reply(200, &[("content-type", kind)], lines);
        let (_, parts, error) = ask(Wire::Chat, said).await;
        assert_eq!(error, None, "{kind}");
        assert!(
            matches!(parts.last(), Some(Part::Finish { .. })),
            "{parts:?}"
        );
    }
    let error = r#"{"error":{"message":"no such voice","code":"invalid_api_key"}}"#;
    let said = reply(200, &[("content-type", "text/event-stream")], error);
    let (mut server, _, error) = ask(Wire::Chat, said).await;
    let error = error.expect("its own words");
    assert_eq!(error.kind, ErrorKind::Auth, "{error}");
    assert!(error.message.contains("no such voice"), "{error}");
    assert_eq!(server.rest().len(), 1);
}

/// What only these say, and what it must be taken for.
#[tokio::test]
async fn an_error_with_a_good_status_is_one() {
    let json = [("content-type", "application/json")];
    for (body, kind, requests) in [
        (
            r#"{"error":{"message":"The model is overloaded"}}"#,
            ErrorKind::Overloaded,
            3,
        ),
        (
            r#"{"error":{"message":"no","code":"insufficient_quota"}}"#,
            ErrorKind::Quota,
            1,
        ),
        (
            r#"{"object":"error","message":"what?"}"#,
            ErrorKind::Malformed,
            1,
        ),
    ] {
        let (mut server, _, error) = ask(Wire::Chat, reply(200, &json, body)).await;
        assert_eq!(error.expect("an error").kind, kind, "{body}");
        assert_eq!(server.rest().len(), requests, "{body}");
    }
}

#[tokio::test]
async fn a_fault_in_every_format() {
    // The fault, its kind, and how often it is asked; 0: that depends.
    let cases = [
        ("aimock", "cut", ErrorKind::CutOff, 0),
        ("llmock-pypi-faults", "truncate", ErrorKind::CutOff, 0),
        ("llmock-pypi-faults", "malformed", ErrorKind::Malformed, 0),
        ("llmock-pypi-faults", "e401", ErrorKind::Auth, 1),
        ("llmock-pypi-faults", "e529", ErrorKind::Overloaded, 3),
    ];
    for (wire, name, _) in FORMATS {
        for (source, fault, kind, requests) in cases {
            let what = format!("{source}/{name}-{fault}.http");
            let (mut server, parts, error) = ask(wire, capture(&what)).await;
            let error = error.unwrap_or_else(|| panic!("{what}: no error"));
            assert_eq!(error.kind, kind, "{what}: {error}");
            // What broke is asked for again only where nothing had come.
            let nothing = retries(parts).1.is_empty();
            let requests = match (requests, nothing) {
                (0, true) => 3,
                (0, false) => 1,
                (requests, _) => requests,
            };
            assert_eq!(server.rest().len(), requests, "{what}: {error}");
            assert!(error.message.starts_with("Acme (tiny): "), "{error}");
        }
    }
}
