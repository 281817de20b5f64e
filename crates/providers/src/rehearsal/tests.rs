//! Tests of the rehearsal model: the format, the interactive answers, and the shape of every stream.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use vocabulary::PART_BREAK;

use super::*;
use crate::{Block, ModelUsage, Part, ResultBlock, StopCause, ToolSpec};

mod properties;

const ALL_TOOLS: [&str; 5] = ["ask", "bash", "edit", "todoWrite", "write"];

fn request(messages: Vec<Message>) -> ModelRequest {
    let tools = ALL_TOOLS.map(|name| ToolSpec::new(name, "", json!({})));
    ModelRequest {
        model: MODELS[0].to_owned(),
        messages: messages.into_iter().map(std::sync::Arc::new).collect(),
        tools: tools.into(),
        ..ModelRequest::default()
    }
}

fn user(text: &str) -> Message {
    Message::user(text)
}

fn result(text: &str, is_error: bool) -> Message {
    Message::ToolResults(vec![ToolResult {
        call_id: "call".to_owned(),
        name: "tool".to_owned(),
        content: vec![ResultBlock::Text(text.to_owned())],
        is_error,
    }])
}

fn answered() -> Message {
    Message::Assistant(vec![Block::Text {
        text: "…".to_owned(),
        native: None,
    }])
}

fn scripted(script: &str) -> Rehearsal {
    Rehearsal::new(Some(RehearsalScript::parse(script).unwrap()))
}

/// All parts of an answer, and the error that ended it.
async fn play(model: &Rehearsal, messages: Vec<Message>) -> (Vec<Part>, Option<ProviderError>) {
    let mut stream = match model.stream(request(messages)).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut parts = Vec::new();
    while let Some(part) = stream.next().await {
        match part {
            Ok(part) => parts.push(part),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (parts, Some(error));
            }
        }
    }
    (parts, None)
}

fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::TextDelta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn calls_of(parts: &[Part]) -> Vec<(String, String, Value)> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall {
            call_id,
            name,
            input,
            ..
        } => Some((call_id.clone(), name.clone(), input.clone())),
        _ => None,
    });
    calls.collect()
}

fn finish_of(parts: &[Part]) -> (StopCause, ModelUsage) {
    match parts.last() {
        Some(Part::Finish { stop, usage }) => (*stop, *usage),
        other => panic!("the last part is {other:?}"),
    }
}

/// Blocks are numbered from 0, start, grow and end one after the other, and `Finish` is last.
fn assert_well_formed(parts: &[Part], error: Option<&ProviderError>) {
    let mut open: Option<(u32, &str, String)> = None;
    let mut blocks = 0;
    let mut finished = false;
    for part in parts {
        assert!(!finished, "{part:?} after Finish");
        let mut start = |block: &u32, kind| {
            assert!(open.is_none(), "{part:?} within a block");
            assert_eq!(*block, blocks);
            blocks += 1;
            open = Some((*block, kind, String::new()));
        };
        match part {
            Part::TextStart { block } => start(block, "text"),
            Part::ReasoningStart { block, .. } => start(block, "reasoning"),
            Part::ToolInputStart { block, .. } => start(block, "call"),
            Part::TextDelta { block, text } => grow(&mut open, *block, "text", text),
            Part::ReasoningDelta { block, text } => grow(&mut open, *block, "reasoning", text),
            Part::ReasoningPart { block } => grow(&mut open, *block, "reasoning", PART_BREAK),
            Part::ToolInputDelta { block, json } => grow(&mut open, *block, "call", json),
            Part::TextEnd { block, .. } => drop(end(&mut open, *block, "text")),
            Part::ReasoningEnd { block, .. } => drop(end(&mut open, *block, "reasoning")),
            Part::ToolCall { block, input, .. } => {
                let json = end(&mut open, *block, "call");
                assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), *input);
            }
            Part::Raw(_) | Part::Source { .. } | Part::File { .. } | Part::Retrying { .. } => {
                assert!(open.is_none());
            }
            Part::Finish { .. } => finished = true,
        }
    }
    assert_eq!(finished, error.is_none());
    assert!(open.is_none());
}

fn grow(open: &mut Option<(u32, &str, String)>, block: u32, kind: &str, delta: &str) {
    let (number, of_kind, text) = open.as_mut().expect("a delta grows an open block");
    assert_eq!((*number, *of_kind), (block, kind));
    assert!(!delta.is_empty());
    text.push_str(delta);
}

fn end(open: &mut Option<(u32, &str, String)>, block: u32, kind: &str) -> String {
    let (number, of_kind, text) = open.take().expect("only an open block ends");
    assert_eq!((number, of_kind), (block, kind));
    text
}

#[tokio::test]
async fn a_step_with_every_kind_of_block_is_told_in_order() {
    let model = scripted(
        "# a comment\n\nturn greeting\n  think hm\n  summary so\n  say Hello  there\\nfriend\n  \
         call bash {\"command\": \"ls\"}\n  call read {}\n  repeat 2 ab\n  raw {\"x\":1}\n  \
         cite https://a.example/ A page\n  file image/png aGk=\n",
    );
    let (parts, error) = play(&model, vec![user("hi you")]).await;
    assert_well_formed(&parts, error.as_ref());
    let deltas: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::TextDelta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["Hello  ", "there\n", "friend", "ab ", "ab "]);
    assert!(parts.contains(&Part::ReasoningStart {
        block: 0,
        summary: false
    }));
    assert!(parts.contains(&Part::ReasoningStart {
        block: 1,
        summary: true
    }));
    assert!(parts.contains(&Part::Raw(json!({"x": 1}))));
    assert!(parts.contains(&Part::Source {
        url: "https://a.example/".to_owned(),
        title: Some("A page".to_owned()),
    }));
    let is_file = |part: &Part| matches!(part, Part::File { media_type, base64, .. } if media_type == "image/png" && &**base64 == "aGk=");
    assert!(parts.iter().any(is_file));
    assert_eq!(
        calls_of(&parts),
        [
            (
                "call_1_1_1".to_owned(),
                "bash".to_owned(),
                json!({"command": "ls"})
            ),
            ("call_1_1_2".to_owned(), "read".to_owned(), json!({})),
        ]
    );
    let (stop, usage) = finish_of(&parts);
    assert_eq!(stop, StopCause::ToolUse);
    // hm, so, Hello there friend, two inputs of one word each, ab ab.
    assert_eq!((usage.input_tokens, usage.output_tokens), (2, 9));
}

#[tokio::test]
async fn the_place_in_a_script_is_found_from_the_request_alone() {
    let model = scripted(
        "turn\n say one\n call x {}\nnext\n say got {result} for {user}\nturn\n say two\n usage 7 8 90\n",
    );
    let (parts, _) = play(&model, vec![user("a")]).await;
    assert_eq!(text_of(&parts), "one");
    let first = vec![user("{result}"), answered(), result("R", false)];
    let (parts, _) = play(&model, first.clone()).await;
    assert_eq!(text_of(&parts), "got R for {result}");
    assert_eq!(finish_of(&parts).0, StopCause::Stop);
    let second = [first, vec![answered(), user("b")]].concat();
    let (parts, _) = play(&model, second.clone()).await;
    assert_eq!(text_of(&parts), "two");
    let usage = finish_of(&parts).1;
    assert_eq!((usage.input_tokens, usage.output_tokens), (7, 8));
    assert_eq!(usage.cost_micro_dollars, Some(90));
    let (parts, _) = play(&model, [second, vec![answered(), user("c")]].concat()).await;
    assert!(text_of(&parts).contains("script has ended: it has no answer for turn 3, step 1"));
}

#[tokio::test]
async fn turn_star_answers_every_further_message() {
    let model = scripted("turn\n say first\nturn *\n say again {user}\n");
    let messages = vec![user("a"), answered(), user("b"), answered(), user("c")];
    assert_eq!(text_of(&play(&model, messages).await.0), "again c");
}

#[tokio::test]
async fn fail_is_an_error_of_the_request_or_of_the_stream() {
    let first = scripted("turn\n fail 429 slow down, {user}\n");
    let error = first
        .stream(request(vec![user("Ann")]))
        .await
        .err()
        .unwrap();
    assert_eq!(error.status, Some(429));
    assert_eq!(error.message, "slow down, Ann");
    let later = scripted("turn\n say well\n fail 7 of 9\n");
    let (parts, error) = play(&later, vec![user("Ann")]).await;
    assert_well_formed(&parts, error.as_ref());
    assert_eq!(text_of(&parts), "well");
    let error = error.unwrap();
    assert_eq!((error.status, error.message.as_str()), (None, "7 of 9"));
}

#[tokio::test(start_paused = true)]
async fn pause_waits_and_hold_never_ends() {
    let model = scripted("turn\n pause 200ms\n pause 2s\n say late\n hold\n");
    let mut stream = model.stream(request(vec![user("a")])).await.unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(stream.next().await, Some(Ok(Part::TextStart { block: 0 })));
    assert_eq!(begun.elapsed(), Duration::from_millis(2200));
    stream.next().await.unwrap().unwrap();
    // Held in the middle of the block: it has not ended.
    let year = Duration::from_secs(365 * 86_400);
    assert!(tokio::time::timeout(year, stream.next()).await.is_err());
}

#[test]
fn errors_name_the_line_what_was_found_and_what_was_expected() {
    let table = [
        (
            "say hi",
            "line 1: found `say hi`, expected `turn` before any other line",
        ),
        (
            "next",
            "line 1: found `next`, expected `turn` before any other line",
        ),
        (
            "turn\nnext now",
            "line 2: found `next now`, expected `next` alone on its line",
        ),
        (
            "turn\n\n  sing la",
            "line 3: found `sing la`, expected turn, task, next, think, ",
        ),
        (
            "turn\nsay",
            "line 2: found `say`, expected a text after `say`",
        ),
        ("turn\nthink", "expected a text after `think`"),
        ("turn\nsummary", "expected a text after `summary`"),
        ("turn\ncall", "expected `call NAME {json}`"),
        ("turn\ncall {}", "expected `call NAME {json}`"),
        ("turn\ncall x {", "expected a JSON object after `call x` ("),
        ("turn\ncall x 1", "expected a JSON object after `call x`"),
        (
            "turn\nrepeat many x",
            "expected `repeat N TEXT` with N from 1 to",
        ),
        (
            "turn\nrepeat 0 x",
            "expected `repeat N TEXT` with N from 1 to",
        ),
        (
            "turn\nrepeat 3",
            "expected `repeat N TEXT` with N from 1 to",
        ),
        ("turn\nraw {", "expected JSON after `raw` ("),
        (
            "turn\npause 2",
            "expected `pause 200ms` or `pause 2s`, at most 3600s",
        ),
        (
            "turn\npause 9000s",
            "expected `pause 200ms` or `pause 2s`, at most 3600s",
        ),
        ("turn\nhold on", "expected `hold` alone on its line"),
        ("turn\nfail", "expected `fail TEXT` or `fail STATUS TEXT`"),
        (
            "turn\nfail 500",
            "expected `fail TEXT` or `fail STATUS TEXT`",
        ),
        (
            "turn\nusage 1",
            "expected `usage IN OUT [MICRO-DOLLARS]`, whole numbers",
        ),
        ("turn *\nturn", "expected no turn after `turn *`"),
    ];
    for (script, expected) in table {
        let error = RehearsalScript::parse(script)
            .expect_err(script)
            .to_string();
        assert!(error.contains(expected), "{script:?}: {error}");
    }
}

#[tokio::test]
async fn orders_at_the_start_of_a_message_are_obeyed_exactly() {
    let model = Rehearsal::new(None);
    let (parts, _) = play(&model, vec![user("echo show me a plan")]).await;
    assert_eq!(text_of(&parts), "show me a plan");
    let (parts, _) = play(&model, vec![user("stream 1000")]).await;
    assert!(text_of(&parts).starts_with("w0 w1 w2 "));
    assert_eq!(parts.len(), 1000 + 3);
    assert_eq!(finish_of(&parts).1.output_tokens, 1000);
    let order = "tool read {\"filePath\":\"a\"}";
    let (parts, _) = play(&model, vec![user(order)]).await;
    assert_eq!(calls_of(&parts)[0].1, "read");
    let (parts, _) = play(&model, vec![user(order), answered(), result("x y", false)]).await;
    assert_eq!(text_of(&parts), "Tool result: x y");
    let (parts, _) = play(&model, vec![user("tool read [")]).await;
    assert!(text_of(&parts).starts_with("Expected `tool NAME {json}`"));
}

#[tokio::test(start_paused = true)]
async fn slow_deltas_come_50_ms_apart() {
    let begun = tokio::time::Instant::now();
    let (parts, _) = play(&Rehearsal::new(None), vec![user("slow 11")]).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(500));
    assert_eq!(parts.len(), 11 + 3);
}

/// Plays a whole turn: every call is answered with `outcome`. Gives the text and the call names.
async fn play_turn(message: &str, outcome: (&str, bool)) -> (String, Vec<(String, Value)>) {
    let model = Rehearsal::new(None);
    let mut messages = vec![user(message)];
    let (mut text, mut calls) = (String::new(), Vec::new());
    for _ in 0..10 {
        let (parts, error) = play(&model, messages.clone()).await;
        assert_well_formed(&parts, error.as_ref());
        text.push_str(&text_of(&parts));
        let made = calls_of(&parts);
        if made.is_empty() {
            text.push_str(&error.map_or(String::new(), |error| error.message));
            return (text, calls);
        }
        calls.extend(made.into_iter().map(|(_, name, input)| (name, input)));
        messages.extend([answered(), result(outcome.0, outcome.1)]);
    }
    panic!("{message} never ends");
}

#[tokio::test(start_paused = true)]
async fn every_ability_is_shown_on_request() {
    let table: [(&str, &[&str], &str); 8] = [
        (
            "Show me an APPROVAL please",
            &["bash"],
            "this came back: fine",
        ),
        ("a question", &["ask"], "Your answer reached me: fine"),
        ("a plan", &["todoWrite"; 4], "The plan is done"),
        ("reasoning", &[], "think aloud"),
        ("a long stream", &[], "sentence 60 of 60"),
        ("an error", &[], "failed on purpose"),
        (
            "a file edit",
            &["read", "write", "edit"],
            "rehearsal-notes.md",
        ),
        (
            "can you explain filenames?",
            &["read", "write", "edit"],
            "rehearsal",
        ),
    ];
    for (message, tools, says) in table {
        let (text, calls) = play_turn(message, ("fine", false)).await;
        let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, tools, "{message}");
        assert!(text.contains(says), "{message}: {text}");
        assert!(text.contains("rehearsal"), "{message}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_plan_moves_on_by_one_each_time() {
    let (_, calls) = play_turn("a plan", ("Todos updated.", false)).await;
    let statuses: Vec<String> = calls
        .iter()
        .map(|(_, input)| {
            let todos = input["todos"].as_array().unwrap();
            let status = todos.iter().map(|todo| todo["status"].as_str().unwrap());
            status.collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        statuses,
        [
            "in_progress pending pending",
            "completed in_progress pending",
            "completed completed in_progress",
            "completed completed completed",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn anything_else_is_echoed_with_what_can_be_shown() {
    for message in ["good morning", "help me plan", ""] {
        let (text, _) = play_turn(message, ("", false)).await;
        assert!(text.contains(message), "{text}");
        assert!(text.contains("rehearsal"), "{text}");
    }
    let (text, _) = play_turn("good morning", ("", false)).await;
    assert!(text.contains(HOW_TO_CONNECT));
    for wish in demonstration::Demonstration::ALL {
        let (words, _) = wish.invitation();
        assert!(text.contains(words));
        assert_eq!(demonstration::Demonstration::wished_by(words), Some(wish));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_tool_ends_the_demonstration_honestly() {
    let (text, calls) = play_turn("a file edit", ("no", true)).await;
    assert_eq!(calls.len(), 2, "a read and a write, and no edit");
    assert!(text.contains("What came back: no"), "{text}");
    let mut bare = request(vec![user("an approval")]);
    bare.tools = Default::default();
    let stream = Rehearsal::new(None).stream(bare).await.unwrap();
    let parts: Vec<Part> = stream.map(Result::unwrap).collect().await;
    assert!(text_of(&parts).contains("`bash`, but it is not offered here"));
}
