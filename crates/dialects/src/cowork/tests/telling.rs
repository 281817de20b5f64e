//! Each fact as whole frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, AskId, AskKind, Cause, Changed, Closing, Fact, FileChange,
    FileChangeKind, Growth, Item, ItemId, ModelRef, Opening, OutputStream, PlanStep,
    PlanStepStatus, ReasoningKind, Status, StatusReason, StopReason, StreamTag, Title, TitleSource,
    ToolCallRef, ToolOutcome, ToolOutput, TurnError, TurnErrorKind, TurnId, TurnOutcome, Usage,
    UserInput,
};

use super::samples::{SESSION, approval, bash, model, questions, settings, tag, thread, told};
use crate::cowork::tell::Raw;

fn check(fact: Fact, expected: &[Value]) {
    assert_eq!(told(fact, Raw::Leave), expected);
}

/// An event of the sample session.
fn frame(kind: &str, fields: Value) -> Value {
    let mut frame = json!({ "type": kind, "sessionId": SESSION });
    for (name, value) in fields.as_object().expect("fields") {
        frame[name] = value.clone();
    }
    frame
}

fn chunk(index: u32, part_type: &str, part: Value) -> Value {
    frame(
        "model_stream_chunk",
        json!({
            "turnId": "t1",
            "index": index,
            "provider": "openai",
            "model": "gpt-5.2",
            "partType": part_type,
            "part": part,
        }),
    )
}

fn usage() -> Usage {
    Usage {
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 50,
        cost_micro_dollars: 7,
    }
}

fn wire_usage() -> Value {
    json!({ "promptTokens": 100, "completionTokens": 10, "totalTokens": 110 })
}

fn session_info(title: &str, source: &str, title_model: Value) -> Value {
    frame(
        "session_info",
        json!({
            "title": title,
            "titleSource": source,
            "titleModel": title_model,
            "createdAt": "2026-02-19T18:00:00.000Z",
            "updatedAt": "2026-02-19T18:00:00.000Z",
            "provider": "openai",
            "model": "gpt-5.2",
        }),
    )
}

fn finished(outcome: TurnOutcome, text: &str) -> Fact {
    Fact::TurnFinished {
        turn: TurnId::new("t1"),
        outcome,
        text: text.to_owned(),
        reasoning: vec![
            (ReasoningKind::Reasoning, "Hm.".to_owned()),
            (ReasoningKind::Summary, String::new()),
            (ReasoningKind::Summary, "Thought.".to_owned()),
        ],
        usage: Some(usage()),
        model: Arc::new(model()),
    }
}

fn rest(outcome: &str) -> Value {
    let fields = json!({ "busy": false, "turnId": "t1", "outcome": outcome });
    frame("session_busy", fields)
}

#[test]
fn a_turn_starts_with_the_echo() {
    let started = |cause, display: Option<&str>, client_id: Option<&str>| Fact::TurnStarted {
        turn: TurnId::new("t1"),
        cause,
        input: UserInput {
            item: ItemId::new("i1"),
            text: "Review it".to_owned(),
            display: display.map(str::to_owned),
            client_id: client_id.map(str::to_owned),
        },
        model: Arc::new(model()),
    };
    let busy = |cause: &str| {
        let fields = json!({ "busy": true, "turnId": "t1", "cause": cause });
        frame("session_busy", fields)
    };
    let echo = json!({ "text": "Review it", "clientMessageId": "cm-1" });
    check(
        started(Cause::UserMessage, None, Some("cm-1")),
        &[frame("user_message", echo), busy("user_message")],
    );
    let echo = frame("user_message", json!({ "text": "/review" }));
    let fact = started(Cause::SlashCommand, Some("/review"), None);
    check(fact, &[echo, busy("command")]);
}

#[test]
fn a_turn_that_completed_ends_with_what_it_said() {
    let reasoning =
        |kind: &str, text: &str| frame("reasoning", json!({ "kind": kind, "text": text }));
    check(
        finished(TurnOutcome::Completed, "\nDone. "),
        &[
            reasoning("reasoning", "Hm."),
            reasoning("summary", "Thought."),
            frame("assistant_message", json!({ "text": "Done." })),
            frame(
                "turn_usage",
                json!({ "turnId": "t1", "usage": wire_usage() }),
            ),
            rest("completed"),
        ],
    );
    let silent = told(finished(TurnOutcome::Completed, " "), Raw::Leave);
    assert!(
        silent
            .iter()
            .all(|frame| frame["type"] != "assistant_message")
    );
}

#[test]
fn a_turn_that_did_not_complete_says_only_how_it_ended() {
    check(
        finished(TurnOutcome::Cancelled, "half"),
        &[rest("cancelled")],
    );
    for (kind, code, source) in [
        (TurnErrorKind::Provider, "provider_error", "provider"),
        (TurnErrorKind::ServerRestart, "internal_error", "session"),
        (TurnErrorKind::AgentLost, "internal_error", "session"),
        (TurnErrorKind::Internal, "internal_error", "session"),
    ] {
        let message = "HTTP 401".to_owned();
        let error = json!({ "message": message, "code": code, "source": source });
        let outcome = TurnOutcome::Failed(TurnError { kind, message });
        check(
            finished(outcome, "half"),
            &[frame("error", error), rest("error")],
        );
    }
}

#[test]
fn a_title_is_told_with_the_whole_info() {
    let title = Title {
        text: "Hello there".to_owned(),
        source: TitleSource::Model,
        model: Some("gpt-5-mini".to_owned()),
    };
    check(
        Fact::TitleChanged {
            title,
            model: model(),
        },
        &[session_info("Hello there", "model", json!("gpt-5-mini"))],
    );
}

#[test]
fn settings_are_told_by_what_was_named() {
    let changed = |changed: &[Changed]| Fact::SettingsChanged {
        settings: settings(),
        changed: changed.to_vec(),
        title: Title::default(),
    };
    let config = json!({
        "provider": "openai",
        "model": "gpt-5.2",
        "workingDirectory": "/home/user/project",
    });
    check(
        changed(&[Changed::Model]),
        &[
            frame("config_updated", json!({ "config": config })),
            session_info("New conversation", "default", json!(null)),
        ],
    );
    let settings = frame("session_settings", json!({ "enableMcp": true }));
    check(changed(&[Changed::Mcp]), &[settings]);
    let config = json!({
        "yolo": false,
        "observabilityEnabled": true,
        "subAgentModel": "gpt-5.2",
        "maxSteps": 100,
    });
    let config = frame("session_config", json!({ "config": config }));
    let named = [
        Changed::AutoApprove,
        Changed::MaxSteps,
        Changed::SubAgentModel,
    ];
    check(changed(&named), &[config]);
    check(changed(&[Changed::Tools]), &[]);
    let observed = told(changed(&[Changed::Observability]), Raw::Leave);
    assert_eq!(observed[0]["type"], "session_config");
    assert_eq!(observed[1]["type"], "observability_status");
}

#[test]
fn a_step_is_two_parts_at_each_end() {
    let request = json!({ "model": "gpt-5.2", "provider": "openai" });
    check(
        Fact::StepStarted { tag: tag(4) },
        &[
            chunk(
                4,
                "start_step",
                json!({ "stepNumber": 1, "request": request }),
            ),
            chunk(5, "start", json!({})),
        ],
    );
    for (reason, word) in [
        (StopReason::Stop, "stop"),
        (StopReason::ToolUse, "toolUse"),
        (StopReason::Length, "length"),
        (StopReason::Aborted, "aborted"),
        (StopReason::Error, "error"),
    ] {
        let finish = json!({ "finishReason": word, "totalUsage": wire_usage() });
        let fact = Fact::StepFinished {
            tag: tag(6),
            reason,
            usage: usage(),
        };
        check(
            fact,
            &[
                chunk(6, "finish", finish),
                chunk(7, "finish_step", finish_step(word, wire_usage())),
            ],
        );
    }
}

fn finish_step(word: &str, usage: Value) -> Value {
    json!({
        "stepNumber": 1,
        "response": { "stopReason": word },
        "usage": usage,
        "finishReason": word,
    })
}

#[test]
fn a_step_that_failed_says_whether_it_was_cancelled() {
    let none = json!({ "promptTokens": 0, "completionTokens": 0, "totalTokens": 0 });
    let failed = |reason| Fact::StepFailed {
        tag: tag(6),
        reason,
        error: "overloaded".to_owned(),
    };
    check(
        failed(StopReason::Error),
        &[
            chunk(6, "error", json!({ "error": "overloaded" })),
            chunk(7, "finish_step", finish_step("error", none.clone())),
        ],
    );
    check(
        failed(StopReason::Aborted),
        &[
            chunk(6, "abort", json!({ "reason": "cancelled" })),
            chunk(7, "finish_step", finish_step("aborted", none)),
        ],
    );
}

#[test]
fn blocks_start_grow_and_end() {
    let item = || ItemId::new("i1");
    let started = |opening| Fact::ItemStarted {
        tag: tag(2),
        item: item(),
        content: 3,
        opening,
    };
    let grew = |growth| Fact::ItemGrew {
        tag: tag(2),
        item: item(),
        content: 3,
        growth,
        delta: "a\"b\n".to_owned(),
    };
    let ended = |body| Fact::ItemFinished {
        tag: tag(2),
        item: item(),
        content: 3,
        body,
    };
    let input = Opening::ToolInput {
        call_id: "call_1".to_owned(),
        name: "bash".to_owned(),
    };
    let call_id = Arc::from("call_1");
    let text = || "a\"b\n".to_owned();
    let summary = ReasoningKind::Summary;
    for (fact, part_type, part) in [
        (started(Opening::Text), "text_start", json!({ "id": "s3" })),
        (
            grew(Growth::Text),
            "text_delta",
            json!({ "id": "s3", "text": text() }),
        ),
        (
            ended(Item::AgentMessage {
                text: text(),
                partial: false,
            }),
            "text_end",
            json!({ "id": "s3" }),
        ),
        (
            started(Opening::Reasoning(summary)),
            "reasoning_start",
            json!({ "id": "s3", "mode": "summary" }),
        ),
        (
            grew(Growth::Reasoning(summary)),
            "reasoning_delta",
            json!({ "id": "s3", "mode": "summary", "text": text() }),
        ),
        (
            ended(Item::Reasoning {
                kind: ReasoningKind::Reasoning,
                text: text(),
                partial: true,
            }),
            "reasoning_end",
            json!({ "id": "s3", "mode": "reasoning" }),
        ),
        (
            started(input),
            "tool_input_start",
            json!({ "id": "call_1", "toolName": "bash" }),
        ),
        (
            grew(Growth::ToolInput { call_id }),
            "tool_input_delta",
            json!({ "id": "call_1", "delta": text() }),
        ),
    ] {
        check(fact, &[chunk(2, part_type, part)]);
    }
    check(grew(Growth::Output(OutputStream::Stdout)), &[]);
}

#[test]
fn a_delta_is_one_piece_of_memory() {
    let fact = Fact::ItemGrew {
        tag: tag(2),
        item: ItemId::new("i1"),
        content: 0,
        growth: Growth::Text,
        delta: "word ".repeat(400),
    };
    let card = super::samples::card();
    let frames = crate::cowork::tell::tell(&card, &super::samples::event(fact), Raw::Leave);
    // Memory that was taken once is as large as first asked for.
    assert_eq!(frames[0].capacity(), 320 + 2000);
}

#[test]
fn a_call_is_planned_reached_and_finished() {
    let call = || bash(json!({ "command": "ls" }));
    let planned = Fact::ToolPlanned {
        tag: tag(5),
        content: 0,
        call: call(),
    };
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
    let reached = Fact::ToolReached {
        tag: tag(7),
        call: call(),
    };
    check(reached, &[log("tool> bash {\"command\":\"ls\"}")]);
    let finished = |outcome| Fact::ToolFinished {
        tag: tag(9),
        call: ToolCallRef::from(&call()),
        outcome,
    };
    let output = || ToolOutput::Command {
        stdout: "a".to_owned(),
        stderr: String::new(),
        exit_code: 1,
        duration_ms: 5,
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
        &[
            log("tool< bash {\"error\":\"blocked\"}"),
            chunk(9, "tool_error", with("error", json!("blocked"))),
        ],
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
    for (output, expected) in [
        (ToolOutput::Text("1\tline".to_owned()), json!("1\tline")),
        (files, json!("Edit applied.")),
        (ToolOutput::Json(json!({ "a": [1] })), json!({ "a": [1] })),
    ] {
        let fact = Fact::ToolFinished {
            tag: tag(0),
            call: ToolCallRef::from(&bash(json!({}))),
            outcome: ToolOutcome::Succeeded(output),
        };
        let frames = told(fact, Raw::Leave);
        assert_eq!(frames[0]["line"], format!("tool< bash {expected}"));
        assert_eq!(frames[1]["part"]["output"], expected);
    }
}

#[test]
fn a_log_line_is_cut_and_says_by_how_much() {
    let fact = Fact::ToolReached {
        tag: tag(0),
        call: bash(json!("é".repeat(5000))),
    };
    let frames = told(fact, Raw::Leave);
    let line = frames[0]["line"].as_str().expect("a line");
    assert!(line.ends_with("é...[truncated 1002 chars]"), "{line}");
}

#[test]
fn an_approval_is_asked_for_and_only_a_no_is_told() {
    let opened = Fact::AskOpened {
        tag: tag(8),
        ask: approval(3),
    };
    let ids = json!({ "toolCallId": "call_1", "toolName": "bash" });
    let mut request = ids.clone();
    request["approvalId"] = json!("req-3");
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
                }),
            ),
        ],
    );
    let closed = |closing| Fact::AskClosed {
        tag: tag(9),
        ask: approval(3),
        closing,
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
    let opened = Fact::AskOpened {
        tag: tag(0),
        ask: ask(),
    };
    check(opened, &[asked("req-7", "Which?")]);
    let AskKind::Questions(mut all) = ask().kind else {
        panic!("it asks");
    };
    let progressed = Fact::AskProgressed {
        tag: tag(0),
        ask: AskId(7),
        answers: BTreeMap::new(),
        next: all.remove(1),
        position: 1,
    };
    check(progressed, &[asked("req-7-2", "Why?")]);
    let closed = Fact::AskClosed {
        tag: tag(0),
        ask: ask(),
        closing: Closing::Answered(Answer::Dismissed),
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
        Fact::AskOpened { tag: tag(0), ask },
        &[frame("ask", fields)],
    );
}

#[test]
fn the_plan_is_told_whole_and_emptied_by_a_reset() {
    let step = |status| PlanStep {
        content: "Fix".to_owned(),
        status,
        active_form: "Fixing".to_owned(),
    };
    let todo = |status: &str| json!({ "content": "Fix", "status": status, "activeForm": "Fixing" });
    let todos = |todos: Value| frame("todos", json!({ "todos": todos }));
    let fact = Fact::PlanChanged {
        turn: None,
        steps: vec![
            step(PlanStepStatus::Pending),
            step(PlanStepStatus::InProgress),
            step(PlanStepStatus::Completed),
        ],
    };
    let all = json!([todo("pending"), todo("in_progress"), todo("completed")]);
    check(fact, &[todos(all)]);
    let done = frame("reset_done", json!({}));
    check(Fact::ThreadReset, &[todos(json!([])), done]);
}

#[test]
fn what_has_no_words_here_is_not_told() {
    let created = Fact::ThreadCreated {
        thread: Box::new(thread()),
    };
    let status = Fact::StatusChanged {
        status: Status::Ready,
        reason: StatusReason::Idle,
    };
    let started = Fact::ToolStarted {
        tag: tag(0),
        item: ItemId::new("i1"),
    };
    for fact in [
        created,
        status,
        started,
        Fact::ArchivedChanged { archived: true },
    ] {
        check(fact, &[]);
    }
    let line = "[sub:explore] x".to_owned();
    let logged = frame("log", json!({ "line": line }));
    check(Fact::Logged { line }, &[logged]);
}

#[test]
fn a_raw_part_repeats_the_part_with_its_hyphenated_type() {
    let fact = || Fact::StepFinished {
        tag: tag(6),
        reason: StopReason::Stop,
        usage: usage(),
    };
    for frame in told(fact(), Raw::Include) {
        let part_type = frame["partType"].as_str().expect("a type");
        let mut expected = frame["part"].clone();
        expected["type"] = json!(part_type.replace('_', "-"));
        assert_eq!(frame["rawPart"], expected);
    }
    for frame in told(fact(), Raw::Leave) {
        assert_eq!(frame.get("rawPart"), None);
    }
    let value = json!({ "type": "response.in_progress" });
    let fact = Fact::RawReceived { tag: tag(2), value };
    let frames = told(fact, Raw::Include);
    let raw = json!({ "type": "response.in_progress" });
    assert_eq!(frames[0]["part"], json!({ "raw": raw }));
    assert_eq!(frames[0]["rawPart"], json!({ "type": "raw", "raw": raw }));
}

#[test]
fn a_model_of_another_provider_is_spelled_with_it() {
    let model = ModelRef {
        provider: "rehearsal".to_owned(),
        model: "echo".to_owned(),
    };
    let tag = StreamTag {
        model: Arc::new(model),
        ..tag(0)
    };
    let frames = told(Fact::StepStarted { tag }, Raw::Leave);
    assert_eq!(frames[0]["provider"], "openai");
    assert_eq!(frames[0]["model"], "rehearsal/echo");
    assert_eq!(frames[0]["part"]["request"]["model"], "rehearsal/echo");
}

/// The number of a part is given out by the engine, which has to know how many there are.
#[test]
fn a_fact_makes_as_many_parts_as_it_says() {
    let call = || bash(json!({}));
    let facts = [
        Fact::StepStarted { tag: tag(0) },
        Fact::ToolPlanned {
            tag: tag(0),
            content: 0,
            call: call(),
        },
        Fact::AskOpened {
            tag: tag(0),
            ask: approval(1),
        },
        Fact::AskOpened {
            tag: tag(0),
            ask: questions(1, &["Which?"]),
        },
        Fact::AskClosed {
            tag: tag(0),
            ask: approval(1),
            closing: Closing::Answered(Answer::Approval(ApprovalAnswer::Deny)),
        },
        Fact::AskClosed {
            tag: tag(0),
            ask: approval(1),
            closing: Closing::Answered(Answer::Dismissed),
        },
        Fact::ToolFinished {
            tag: tag(0),
            call: ToolCallRef::from(&call()),
            outcome: ToolOutcome::Failed {
                error: String::new(),
            },
        },
        finished(TurnOutcome::Completed, "x"),
    ];
    for fact in facts {
        let parts = fact.parts();
        let frames = told(fact, Raw::Leave);
        let chunks = frames.iter().filter(|f| f["type"] == "model_stream_chunk");
        assert_eq!(chunks.count() as u32, parts);
    }
}
