//! Tool calls and what people are asked about them, as whole frames.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, AskFact, AskId, AskKind, Closing, Effects, Fact, FileChange,
    FileChangeKind, Subject, ToolCall, ToolEvent, ToolFact, ToolOutcome, ToolOutput,
};

use super::samples::{approval, bash, questions, tag, told};
use super::telling::{check, chunk, frame};
use crate::cowork::tell::RawParts;

#[test]
fn a_call_is_planned_reached_and_finished() {
    let call = || bash(json!({ "command": "ls" }));
    let planned = Fact::Tool(ToolEvent {
        tag: tag(5),
        call: call().into(),
        what: ToolFact::Planned { content: 0 },
    });
    let ids = json!({ "toolCallId": "call_1", "toolName": "bash" });
    let with = |name: &str, value: Value| {
        let mut part = ids.clone();
        part[name] = value;
        part
    };
    check(
        planned,
        &[
            chunk(5, "tool_input_end", json!({ "id": "call_1" })),
            chunk(6, "tool_call", with("input", json!({ "command": "ls" }))),
        ],
    );
    let log = |line: &str| frame("log", json!({ "line": line }));
    let reached = Fact::Tool(ToolEvent {
        tag: tag(7),
        call: call().into(),
        what: ToolFact::Reached,
    });
    check(reached, &[log("tool> bash {\"command\":\"ls\"}")]);
    let finished = |outcome| {
        Fact::Tool(ToolEvent {
            tag: tag(9),
            call: call().into(),
            what: ToolFact::Finished {
                outcome,
                duration_ms: None,
            },
        })
    };
    let output = || ToolOutput::Command {
        stdout: "a".to_owned(),
        stderr: String::new(),
        exit_code: 1,
        duration_ms: 5,
        model_text: None,
    };
    let line = log("tool< bash {\"stdout\":\"a\",\"stderr\":\"\",\"exitCode\":1}");
    let result = with(
        "output",
        json!({ "stdout": "a", "stderr": "", "exitCode": 1 }),
    );
    for outcome in [
        ToolOutcome::Succeeded(output()),
        ToolOutcome::Denied(output()),
        ToolOutcome::Interrupted(output()),
    ] {
        let result = chunk(9, "tool_result", result.clone());
        check(finished(outcome), &[line.clone(), result]);
    }
    let failed = ToolOutcome::Failed {
        error: "blocked".to_owned(),
    };
    check(
        finished(failed),
        &[chunk(9, "tool_error", with("error", json!("blocked")))],
    );
    let not_run = ToolOutcome::NotRun {
        why: "cancelled".to_owned(),
    };
    check(finished(not_run), &[]);
}

#[test]
fn each_output_has_its_shape() {
    let change = FileChange {
        path: "a".to_owned(),
        kind: FileChangeKind::Add,
        diff: "+".to_owned(),
    };
    let files = ToolOutput::Files {
        summary: "Edit applied.".to_owned(),
        changes: vec![change],
    };
    for (output, expected, logged) in [
        (
            ToolOutput::Text("1\tline".to_owned()),
            json!("1\tline"),
            r#"{"chars":6}"#,
        ),
        (files, json!("Edit applied."), r#"{"ok":true}"#),
        (
            ToolOutput::Json(json!({ "a": [1] })),
            json!({ "a": [1] }),
            r#"{"a":[1]}"#,
        ),
    ] {
        let fact = Fact::Tool(ToolEvent {
            tag: tag(0),
            call: bash(json!({})).into(),
            what: ToolFact::Finished {
                outcome: ToolOutcome::Succeeded(output),
                duration_ms: None,
            },
        });
        let frames = told(fact, RawParts::Leave);
        assert_eq!(frames[0]["line"], format!("tool< bash {logged}"));
        assert_eq!(frames[1]["part"]["output"], expected);
    }
}

#[test]
fn the_line_of_a_change_says_how_long_the_text_is_and_not_what_it_says() {
    let call = |name: &str, input: Value, subject| ToolCall {
        name: name.to_owned(),
        subject,
        effects: Effects::WRITES,
        ..bash(input)
    };
    let line = |call: ToolCall, what| {
        let event = ToolEvent {
            tag: tag(0),
            call: call.into(),
            what,
        };
        let frames = told(Fact::Tool(event), RawParts::Leave);
        frames.first().map(|frame| frame["line"].clone())
    };
    let input = json!({ "filePath": "a.txt", "content": "one\ntwo\n", "force": true });
    let write = || call("write", input.clone(), Subject::file("a.txt"));
    assert_eq!(
        line(write(), ToolFact::Reached).expect("a line"),
        r#"tool> write {"filePath":"a.txt","content":{"chars":8},"force":true}"#
    );
    let patch = call(
        "applyPatch",
        json!({ "input": "*** Begin Patch" }),
        Subject::file("b.txt"),
    );
    assert_eq!(
        line(patch, ToolFact::Reached).expect("a line"),
        r#"tool> applyPatch {"input":{"chars":15},"files":["b.txt"]}"#
    );
    let todos = || ToolCall {
        effects: Effects::NONE,
        ..call("todoWrite", json!({ "todos": [1, 2, 3] }), Subject::Plan)
    };
    let given = |output| ToolFact::Finished {
        outcome: ToolOutcome::Succeeded(output),
        duration_ms: None,
    };
    let text = |text: &str| given(ToolOutput::Text(text.to_owned()));
    assert_eq!(
        line(todos(), text("kept")).expect("a line"),
        r#"tool< todoWrite {"count":3}"#
    );
    let ask = call("ask", json!({ "question": "Which?" }), Subject::Question);
    assert_eq!(
        line(ask, text(" a.ts ")).expect("a line"),
        r#"tool< ask {"answer":" a.ts "}"#
    );
    let unknown = ToolCall {
        effects: Effects::NONE,
        ..call("nothing", json!({}), Subject::Other)
    };
    assert_eq!(line(unknown, ToolFact::Reached), None);
}

#[test]
fn a_log_line_is_cut_and_says_by_how_much() {
    let fact = Fact::Tool(ToolEvent {
        tag: tag(0),
        call: bash(json!("é".repeat(5000))).into(),
        what: ToolFact::Reached,
    });
    let frames = told(fact, RawParts::Leave);
    let line = frames[0]["line"].as_str().expect("a line");
    assert!(line.ends_with("é...[truncated 1002 chars]"), "{line}");
}

#[test]
fn an_approval_is_asked_for_and_only_a_no_is_told() {
    let opened = Fact::Ask {
        tag: tag(8),
        what: AskFact::Opened { ask: approval(3) },
    };
    let ids = json!({ "toolCallId": "call_1", "toolName": "bash" });
    let mut request = ids.clone();
    request["approvalId"] = json!("req-3");
    let mut tool_call = ids.clone();
    tool_call["input"] = json!({ "command": "rm -rf build" });
    request["toolCall"] = tool_call;
    check(
        opened,
        &[
            chunk(8, "tool_approval_request", request),
            frame(
                "approval",
                json!({
                    "requestId": "req-3",
                    "command": "rm -rf build",
                    "dangerous": true,
                    "reasonCode": "matches_dangerous_pattern",
                    "reason": "this command is not known to be harmless",
                }),
            ),
        ],
    );
    let closed = |closing| Fact::Ask {
        tag: tag(9),
        what: AskFact::Closed {
            ask: approval(3),
            closing,
        },
    };
    let answered = |answer| closed(Closing::Answered(Answer::Approval(answer)));
    let denied = chunk(9, "tool_output_denied", ids);
    check(
        answered(ApprovalAnswer::Deny),
        std::slice::from_ref(&denied),
    );
    check(answered(ApprovalAnswer::DenyAndCancel), &[denied]);
    check(answered(ApprovalAnswer::Once), &[]);
    check(answered(ApprovalAnswer::ForSession), &[]);
    check(closed(Closing::Cancelled), &[]);
}

#[test]
fn questions_are_asked_one_by_one() {
    let ask = || questions(7, &["Which?", "Why?"]);
    let asked = |request: &str, question: &str| {
        let fields = json!({ "requestId": request, "question": question, "options": ["yes"] });
        frame("ask", fields)
    };
    let opened = Fact::Ask {
        tag: tag(0),
        what: AskFact::Opened { ask: ask() },
    };
    check(opened, &[asked("req-7", "Which?")]);
    let AskKind::Questions(mut all) = ask().kind else {
        panic!("it asks");
    };
    let progressed = Fact::Ask {
        tag: tag(0),
        what: AskFact::Progressed {
            ask: AskId(7),
            answers: BTreeMap::new(),
            next: Some(all.remove(1)),
            position: 1,
        },
    };
    check(progressed, &[asked("req-7-2", "Why?")]);
    let closed = Fact::Ask {
        tag: tag(0),
        what: AskFact::Closed {
            ask: ask(),
            closing: Closing::Answered(Answer::Dismissed),
        },
    };
    check(closed, &[]);
}

#[test]
fn a_question_without_options_has_none() {
    let mut ask = questions(7, &["Which?"]);
    if let AskKind::Questions(questions) = &mut ask.kind {
        questions[0].options.clear();
    }
    let fields = json!({ "requestId": "req-7", "question": "Which?" });
    check(
        Fact::Ask {
            tag: tag(0),
            what: AskFact::Opened { ask },
        },
        &[frame("ask", fields)],
    );
}
