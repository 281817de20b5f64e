//! Every captured stream, decoded to all it says or to the right error. What each must give was
//! written by reading the capture.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::ErrorKind;
use crate::format::ServiceFailure;

/// What one capture must give.
#[derive(Debug, PartialEq)]
enum Outcome {
    Answer(Vec<Part>),
    /// The stream broke after these parts.
    Broken(Vec<Part>, ErrorKind),
    /// The request was refused.
    Refused(u16, ErrorKind, String),
}
use Outcome::{Answer, Broken, Refused};

const HELLO: [&str; 7] = [
    "Hello from",
    " a mock mo",
    "del. The q",
    "uick brown",
    " fox jumps",
    " over the ",
    "lazy dog.",
];
const THOUGHT: [&str; 6] = [
    "First I co",
    "nsider the",
    " question.",
    " Then I de",
    "cide on th",
    "e answer.",
];
const ANSWER_42: [&str; 2] = ["The answer", " is 42."];
const LISTED: [&str; 2] = ["I listed t", "he files."];
const BOTH: [&str; 2] = ["I will do ", "both."];
const LS: [&str; 2] = ["{\"command\"", ":\"ls -la\"}"];
const LS_WHOLE: [&str; 1] = ["{\"command\":\"ls -la\"}"];
const PATH_A: [&str; 2] = ["{\"path\":\"a", ".txt\"}"];
const PATH_B: [&str; 2] = ["{\"path\":\"b", ".txt\"}"];
const MOCK: [&str; 3] = ["{\"command\": ", "\"mock-comman", "d\"}"];
const MOCK_WHOLE: [&str; 1] = ["{\"command\": \"mock-command\"}"];
const MOCK_TIGHT: [&str; 1] = ["{\"command\":\"mock-command\"}"];
const LLMOCK_HELLO: [&str; 5] = ["LLMock ", "says ", "hello ", "from ", "gpt-5."];
const GPT_REPLY: [&str; 12] = [
    "gpt-5 ",
    "mock ",
    "reply: ",
    "I ",
    "saw ",
    "'hello ",
    "there, ",
    "write ",
    "a ",
    "longer ",
    "sentence ",
    "please'.",
];
const SIMULATED: [&str; 8] = [
    "Hi ",
    "there. ",
    "This ",
    "is ",
    "a ",
    "simulated ",
    "reply ",
    "from ",
];

fn expected(name: &str) -> Outcome {
    match name.split_once('/') {
        Some(("aimock", name)) => aimock(name),
        Some(("llmock-pypi", name)) => llmock(name),
        Some(("llmock-pypi-faults", name)) => faults(name),
        _ => panic!("nobody has said what {name} must give"),
    }
}

fn aimock(name: &str) -> Outcome {
    let two = |input, output, ids: [Option<Box<Native>>; 2]| {
        let [a, b] = ids;
        Answer(
            [
                text(0, &BOTH),
                call(1, "call_a", "read", &PATH_A, a),
                call(2, "call_b", "read", &PATH_B, b),
                finish(StopCause::ToolUse, input, output),
            ]
            .concat(),
        )
    };
    let ls = |pieces: &[&str], native, input, output| {
        let parts = call(0, "call_ls_1", "bash", pieces, native);
        Answer([parts, finish(StopCause::ToolUse, input, output)].concat())
    };
    let says = |pieces: &[&str], input, output| {
        Answer([text(0, pieces), finish(StopCause::Stop, input, output)].concat())
    };
    let thinks = |thought: Vec<Part>| {
        Answer(
            [
                thought,
                text(1, &ANSWER_42),
                finish(StopCause::Stop, 11, 22),
            ]
            .concat(),
        )
    };
    let gemini_id = |id: &str| native(Wire::Gemini, json!({ "id": id }));
    match name {
        "anthropic-text.http" | "gemini-text.http" | "responses-text.http" => says(&HELLO, 0, 0),
        "chat-text.http" => says(&HELLO, 8, 18),
        "anthropic-toolresult.http"
        | "chat-toolresult.http"
        | "gemini-toolresult.http"
        | "responses-toolresult.http" => says(&LISTED, 0, 0),
        "anthropic-think.http" => thinks(thought(
            0,
            false,
            &THOUGHT,
            native(
                Wire::Messages,
                json!({
                    "type": "thinking",
                    "thinking": "First I consider the question. Then I decide on the answer.",
                    "signature": "aimock-placeholder-signature",
                }),
            ),
        )),
        "chat-think.http" => thinks(thought(
            0,
            false,
            &THOUGHT,
            native(Wire::Chat, json!({ "field": "reasoning_content" })),
        )),
        "gemini-think.http" => thinks(thought(0, true, &THOUGHT, None)),
        "responses-think.http" => thinks(thought(
            0,
            true,
            &THOUGHT,
            native(
                Wire::Responses,
                json!({
                    "type": "reasoning",
                    "id": "rs-nYkq9pfgjWkEMaw7",
                    "summary": [{
                        "type": "summary_text",
                        "text": "First I consider the question. Then I decide on the answer.",
                    }],
                }),
            ),
        )),
        "anthropic-tool.http" | "responses-tool.http" => ls(&LS, None, 0, 0),
        "anthropic-nonstream.http" | "responses-nonstream.http" => ls(&LS_WHOLE, None, 0, 0),
        "chat-tool.http" => ls(&LS, None, 10, 6),
        "chat-nonstream.http" => ls(&LS_WHOLE, None, 4, 6),
        "gemini-tool.http" | "gemini-nonstream.http" => ls(&LS_WHOLE, gemini_id("call_ls_1"), 0, 0),
        "anthropic-twotools.http" | "responses-twotools.http" => two(0, 0, [None, None]),
        "chat-twotools.http" => two(10, 14, [None, None]),
        "gemini-twotools.http" => Answer(
            [
                text(0, &BOTH),
                call(
                    1,
                    "call_a",
                    "read",
                    &[&PATH_A.concat()],
                    gemini_id("call_a"),
                ),
                call(
                    2,
                    "call_b",
                    "read",
                    &[&PATH_B.concat()],
                    gemini_id("call_b"),
                ),
                finish(StopCause::ToolUse, 0, 0),
            ]
            .concat(),
        ),
        "anthropic-cut.http" => broken(&["This str", "eam is c"], ErrorKind::CutOff),
        "chat-cut.http" => broken(&["This str", "eam is c", "ut off i"], ErrorKind::CutOff),
        "gemini-cut.http" => broken(
            &["This str", "eam is c", "ut off i", "n the mi"],
            ErrorKind::CutOff,
        ),
        // Cut after the announcement of a text, before the text.
        "responses-cut.http" => Broken(Vec::new(), ErrorKind::CutOff),
        "anthropic-err.http" | "chat-err.http" | "gemini-err.http" | "responses-err.http" => {
            refused(429, ErrorKind::RateLimited, "Rate limit exceeded")
        }
        _ => panic!("nobody has said what aimock/{name} must give"),
    }
}

/// It answers most things with a call.
fn llmock(name: &str) -> Outcome {
    let bash = |id: &str, pieces: &[&str], input| {
        let parts = call(0, id, "bash", pieces, None);
        Answer([parts, finish(StopCause::ToolUse, input, 6)].concat())
    };
    let says = |pieces: &[&str], input, output| {
        Answer([text(0, pieces), finish(StopCause::Stop, input, output)].concat())
    };
    match name {
        "anthropic-text.http" => bash("toolu_21dd825f414947759f176ab0", &MOCK, 7),
        "anthropic-tool.http" => bash("toolu_ea809341ec844eda8be77ae4", &MOCK, 8),
        "anthropic-nonstream.http" => bash("toolu_b485208901444899abe87259", &MOCK_TIGHT, 3),
        "chat-text.http" => bash("call_e8a8c723f2264ceb90f558d9", &MOCK, 7),
        "chat-tool.http" => bash("call_833fdf4f5cb6459f916957b3", &MOCK, 8),
        "chat-nonstream.http" => bash("call_4f95afe78c334941966e26f1", &MOCK_WHOLE, 3),
        // Neither call nor response has an id.
        "gemini-text.http" => bash("seed_0", &MOCK_TIGHT, 7),
        "gemini-tool.http" => bash("seed_0", &MOCK_TIGHT, 8),
        "gemini-nonstream.http" => bash("seed_0", &MOCK_TIGHT, 3),
        "responses-text.http" => bash("call_262cd6b60d914571bf69e3ce", &MOCK, 7),
        "responses-tool.http" => bash("call_494b0e7d8d4e41aca59ac1c1", &MOCK, 8),
        "responses-nonstream.http" => bash("call_0a5043793f184f279d1bed98", &MOCK_WHOLE, 3),
        "anthropic-toolresult.http" => says(
            &[
                "Mock ",
                "response ",
                "from ",
                "claude-sonnet-4-5: ",
                "everything ",
                "is ",
                "working ",
                "as ",
                "expected.",
            ],
            4,
            18,
        ),
        "chat-toolresult.http" => says(&LLMOCK_HELLO, 0, 0),
        "gemini-toolresult.http" => says(
            &["Simulated ", "success ", "from ", "gemini-2.5-pro."],
            3,
            9,
        ),
        "responses-toolresult.http" => says(&LLMOCK_HELLO, 4, 7),
        _ => panic!("nobody has said what llmock-pypi/{name} must give"),
    }
}

fn faults(name: &str) -> Outcome {
    let says = |pieces: &[&str], input, output| {
        Answer([text(0, pieces), finish(StopCause::Stop, input, output)].concat())
    };
    let simulated = |model| [&SIMULATED[..], &[model]].concat();
    match name {
        // That there was a pause is not in the file.
        "anthropic-stall.http" => says(&simulated("claude-sonnet-4-5."), 10, 14),
        "gemini-stall.http" => says(&simulated("gemini-2.5-pro."), 10, 14),
        "chat-stall.http" => says(&GPT_REPLY, 0, 0),
        "responses-stall.http" => says(&GPT_REPLY, 10, 17),
        // They end before the first text.
        "anthropic-truncate.http"
        | "anthropic-disconnect.http"
        | "responses-truncate.http"
        | "responses-disconnect.http" => Broken(Vec::new(), ErrorKind::CutOff),
        "chat-truncate.http" | "chat-disconnect.http" => broken(&GPT_REPLY[..2], ErrorKind::CutOff),
        "gemini-truncate.http" | "gemini-disconnect.http" => {
            broken(&SIMULATED[..3], ErrorKind::CutOff)
        }
        "anthropic-malformed.http" | "responses-malformed.http" => {
            Broken(Vec::new(), ErrorKind::Malformed)
        }
        "chat-malformed.http" => broken(&GPT_REPLY[..2], ErrorKind::Malformed),
        "gemini-malformed.http" => broken(&SIMULATED[..3], ErrorKind::Malformed),
        _ if name.ends_with("-e401.http") => refused(401, ErrorKind::Auth, "Unauthorized."),
        _ if name.ends_with("-e429.http") => {
            refused(429, ErrorKind::RateLimited, "Rate limit exceeded.")
        }
        _ if name.ends_with("-e529.http") => {
            refused(529, ErrorKind::Overloaded, "Service overloaded.")
        }
        _ => panic!("nobody has said what llmock-pypi-faults/{name} must give"),
    }
}

fn broken(pieces: &[&str], kind: ErrorKind) -> Outcome {
    Broken(open_text(0, pieces), kind)
}

fn refused(status: u16, kind: ErrorKind, message: &str) -> Outcome {
    Refused(status, kind, message.to_owned())
}

/// A captured response: its status, whether it is a stream, and its body.
pub struct Capture {
    pub wire: Wire,
    status: u16,
    streams: bool,
    pub body: String,
}

impl Capture {
    /// Chunks were put together when it was captured; what the capturing program said of the
    /// connection stands at the end.
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let body = body.split("[curl rc=").next().unwrap();
        let body = body.split("curl: (").next().unwrap();
        let file = path.file_name().unwrap().to_str().unwrap();
        let wire = match file.split('-').next().unwrap() {
            "responses" => Wire::Responses,
            "chat" => Wire::Chat,
            "anthropic" => Wire::Messages,
            "gemini" => Wire::Gemini,
            other => panic!("{other} is no format"),
        };
        Self {
            wire,
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            streams: head.to_lowercase().contains("text/event-stream"),
            body: body.to_owned(),
        }
    }

    /// A body that is no stream is one event.
    pub fn events(&self) -> Vec<(Option<String>, String)> {
        match self.streams {
            true => events(&self.body),
            false => vec![(None, self.body.clone())],
        }
    }
}

/// All captures, by `folder/name.http`.
pub fn all() -> Vec<(String, Capture)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sse");
    let mut paths: Vec<PathBuf> = fs::read_dir(&root)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "http"))
        .collect();
    paths.sort();
    let name = |path: &Path| {
        path.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    paths
        .iter()
        .map(|path| (name(path), Capture::read(path)))
        .collect()
}

#[test]
fn every_capture_gives_what_it_says() {
    let captures = all();
    assert_eq!(captures.len(), 76);
    for (name, capture) in captures {
        let outcome = match capture.status {
            200 => stream_outcome(&name, &capture),
            status => {
                let ServiceFailure { kind, message, .. } =
                    capture.wire.failure(status, capture.body.as_bytes());
                Refused(status, kind, message)
            }
        };
        assert_eq!(outcome, expected(&name), "{name}");
    }
}

fn stream_outcome(name: &str, capture: &Capture) -> Outcome {
    let (parts, end) = decode(capture.wire, &capture.events());
    match end {
        Ok(()) => Answer(parts),
        Err(error) => {
            let words = if error.kind == ErrorKind::CutOff {
                "the connection ended before the answer did"
            } else {
                "the stream holds data that is not JSON (EOF while parsing a string at line 1 column"
            };
            assert!(
                error.message.starts_with(words),
                "{name}: {}",
                error.message
            );
            assert!(error.message.len() < 300, "{name}: {}", error.message);
            Broken(parts, error.kind)
        }
    }
}

/// The type of an event stands in its data too: servers leave the `event:` line out.
#[test]
fn event_lines_are_not_needed() {
    for (name, capture) in all() {
        let named = capture.events();
        let bare: Vec<_> = named.iter().map(|(_, data)| (None, data.clone())).collect();
        assert_eq!(
            decode(capture.wire, &named),
            decode(capture.wire, &bare),
            "{name}"
        );
    }
}

/// Deltas are passed on with the event that brings them.
#[test]
fn deltas_are_not_held_back() {
    let kinds: BTreeSet<_> = ["aimock/anthropic-text.http", "aimock/chat-text.http"]
        .into_iter()
        .chain(["aimock/gemini-text.http", "aimock/responses-text.http"])
        .collect();
    for (name, capture) in all()
        .into_iter()
        .filter(|(name, _)| kinds.contains(name.as_str()))
    {
        let mut decoder = capture
            .wire
            .decoder(&RequestTarget::unknown(model(capture.wire)), SEED);
        for (event, data) in capture.events() {
            let mut parts = Vec::new();
            let event = SseEvent {
                event: event.as_deref(),
                data: &data,
            };
            decoder.push(event, &mut parts).unwrap();
            let carried = HELLO
                .iter()
                .filter(|piece| data.contains(&format!("\"{piece}\"")))
                .count();
            let told = parts
                .iter()
                .filter(|part| matches!(part, Part::TextDelta { .. }))
                .count();
            assert_eq!(told, carried, "{name}: {data}");
        }
    }
}
