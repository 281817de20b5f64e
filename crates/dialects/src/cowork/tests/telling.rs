//! Each fact as whole frames.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Answer, ApprovalAnswer, AskFact, Cause, Changed, Closing, Fact, ItemId, NoteFact, PlanStep,
    PlanStepStatus, ReasoningKind, RevertPoint, Seq, Status, StatusReason, StepFact, ThreadFact,
    Title, TitleSource, ToolEvent, ToolFact, ToolOutcome, TurnError, TurnErrorKind, TurnFact,
    TurnId, TurnOutcome, Usage, UserInput,
};

use super::samples::{SESSION, approval, bash, model, questions, settings, tag, thread, told};
use crate::cowork::tell::{RawParts, chunks};

pub fn check(fact: Fact, expected: &[Value]) {
    assert_eq!(told(fact, RawParts::Leave), expected);
}

/// An event of the sample session.
pub fn frame(kind: &str, fields: Value) -> Value {
    let mut frame = json!({ "type": kind, "sessionId": SESSION });
    for (name, value) in fields.as_object().expect("fields") {
        frame[name] = value.clone();
    }
    frame
}

pub fn chunk(index: u32, part_type: &str, part: Value) -> Value {
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

pub fn usage() -> Usage {
    Usage {
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 50,
        reasoning_tokens: 0,
        cost_micro_dollars: Some(7),
    }
}

pub fn wire_usage() -> Value {
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
    Fact::Turn(TurnFact::Finished {
        turn: TurnId::new("t1"),
        outcome,
        text: text.to_owned(),
        reasoning: vec![
            (ReasoningKind::Reasoning, "Hm.".to_owned()),
            (ReasoningKind::Summary, String::new()),
            (ReasoningKind::Summary, "Thought.".to_owned()),
        ],
        usage: Some(usage()),
        model: Some(Arc::new(model())),
        started_at: None,
    })
}

fn rest(outcome: &str) -> Value {
    let fields = json!({ "busy": false, "turnId": "t1", "outcome": outcome });
    frame("session_busy", fields)
}

#[test]
fn a_turn_starts_with_the_echo() {
    let started = |cause, display: Option<&str>, client_id: Option<&str>| {
        Fact::Turn(TurnFact::Started {
            turn: TurnId::new("t1"),
            cause,
            input: UserInput {
                images: Vec::new(),
                item: ItemId::new("i1"),
                text: "Review it".to_owned(),
                display: display.map(str::to_owned),
                client_id: client_id.map(str::to_owned),
                pieces: Vec::new(),
            },
            model: Some(Arc::new(model())),
        })
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
    let silent = told(finished(TurnOutcome::Completed, " "), RawParts::Leave);
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
        (TurnErrorKind::ContextFull, "provider_error", "provider"),
        (TurnErrorKind::Budget, "permission_denied", "session"),
        (
            TurnErrorKind::InsufficientCredits,
            "permission_denied",
            "session",
        ),
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
fn a_turn_that_gave_up_says_its_last_words_and_why() {
    let reasoning =
        |kind: &str, text: &str| frame("reasoning", json!({ "kind": kind, "text": text }));
    for (kind, code, source) in [
        (TurnErrorKind::StepLimit, "permission_denied", "session"),
        (TurnErrorKind::Loop, "provider_error", "tool"),
        (TurnErrorKind::OutputLimit, "provider_error", "provider"),
        (TurnErrorKind::EmptyAnswer, "provider_error", "provider"),
    ] {
        let message = "stopped at the limit of 100 steps".to_owned();
        let error = json!({ "message": message, "code": code, "source": source });
        let outcome = TurnOutcome::Failed(TurnError { kind, message });
        check(
            finished(outcome, "Half is done."),
            &[
                reasoning("reasoning", "Hm."),
                reasoning("summary", "Thought."),
                frame("assistant_message", json!({ "text": "Half is done." })),
                frame(
                    "turn_usage",
                    json!({ "turnId": "t1", "usage": wire_usage() }),
                ),
                frame("error", error),
                rest("error"),
            ],
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
        Fact::Thread(ThreadFact::Titled {
            title,
            model: model(),
        }),
        &[session_info("Hello there", "model", json!("gpt-5-mini"))],
    );
}

#[test]
fn settings_are_told_by_what_was_named() {
    let changed = |changed: &[Changed]| {
        Fact::Thread(ThreadFact::SettingsChanged {
            settings: settings(),
            changed: changed.to_vec(),
            title: Title::default(),
        })
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
    check(changed(&named), std::slice::from_ref(&config));
    check(changed(&[Changed::Mode]), &[]);
    // The status of observability goes before it, and is each connection's own.
    check(changed(&[Changed::Observability]), &[config]);
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
    let fact = Fact::Turn(TurnFact::PlanChanged {
        turn: None,
        steps: vec![
            step(PlanStepStatus::Pending),
            step(PlanStepStatus::InProgress),
            step(PlanStepStatus::Completed),
        ],
    });
    let all = json!([todo("pending"), todo("in_progress"), todo("completed")]);
    check(fact, &[todos(all)]);
    let done = frame("reset_done", json!({}));
    check(Fact::Thread(ThreadFact::Reset), &[todos(json!([])), done]);
    // There is no word for turns that were taken back: the plan is as it was, and a line says why.
    let point = RevertPoint {
        turn: TurnId::new("t2"),
        number: 2,
        seq: Seq(7),
        entry: 4,
        message_count: 2,
        preview: String::new(),
        plan: vec![step(PlanStepStatus::Pending)],
        plan_turn: None,
        context_tokens: 0,
        compacted: None,
    };
    let line = "[info] The last turns were taken back, for everyone and for the agent.";
    let reverted = Fact::Thread(ThreadFact::Reverted {
        point: Box::new(point),
    });
    let logged = frame("log", json!({ "line": line }));
    check(reverted, &[todos(json!([todo("pending")])), logged]);
}

#[test]
fn what_has_no_words_here_is_not_told() {
    let created = Fact::Thread(ThreadFact::Created {
        thread: Box::new(thread()),
    });
    let status = Fact::Thread(ThreadFact::StatusChanged {
        status: Status::Ready,
        reason: StatusReason::Idle,
    });
    let started = Fact::tool(tag(0), Arc::new(bash(json!({}))), ToolFact::Started);
    for fact in [
        created,
        status,
        started,
        Fact::Thread(ThreadFact::Archived { archived: true }),
    ] {
        check(fact, &[]);
    }
    let line = "[sub:explore] x".to_owned();
    let logged = frame("log", json!({ "line": line }));
    check(Fact::Note(NoteFact::Logged { line }), &[logged]);
}

/// The number of a part is given out by the engine, which has to know how many there are.
#[test]
fn a_fact_makes_as_many_parts_as_it_says() {
    let call = || bash(json!({}));
    let facts = [
        Fact::Step {
            tag: tag(0),
            what: StepFact::Started,
        },
        Fact::Tool(ToolEvent {
            tag: tag(0),
            call: call().into(),
            what: ToolFact::Planned { content: 0 },
        }),
        Fact::Ask {
            tag: tag(0),
            what: AskFact::Opened { ask: approval(1) },
        },
        Fact::Ask {
            tag: tag(0),
            what: AskFact::Opened {
                ask: questions(1, &["Which?"]),
            },
        },
        Fact::Ask {
            tag: tag(0),
            what: AskFact::Closed {
                ask: approval(1),
                closing: Closing::Answered(Answer::Approval(ApprovalAnswer::Deny)),
            },
        },
        Fact::Ask {
            tag: tag(0),
            what: AskFact::Closed {
                ask: approval(1),
                closing: Closing::Answered(Answer::Dismissed),
            },
        },
        Fact::Tool(ToolEvent {
            tag: tag(0),
            call: call().into(),
            what: ToolFact::Finished {
                outcome: ToolOutcome::Failed {
                    error: String::new(),
                },
                duration_ms: None,
            },
        }),
        finished(TurnOutcome::Completed, "x"),
    ];
    for fact in facts {
        let parts = chunks::count(&fact);
        let frames = told(fact, RawParts::Leave);
        let chunks = frames.iter().filter(|f| f["type"] == "model_stream_chunk");
        assert_eq!(chunks.count() as u32, parts);
    }
}
