//! Events as each endpoint spells them.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    AskFact, Cause, Effects, Fact, FileChangeKind, FilePreview, FileSubject, FileVersion,
    FilesFact, Item, ItemFact, ItemId, Native, OutputStream, PlanStep, PlanStepStatus,
    ReasoningKind, StepFact, StopReason, SubAgent, Subject, ToolCall, ToolEvent, ToolFact,
    ToolOutcome, ToolOutput, TurnError, TurnErrorKind, TurnFact, TurnId, TurnOutcome, Usage,
    UserInput,
};

use super::stub::{NOW, Stub, THREAD, approval, bash, model, tag};
use crate::codex::Endpoint;

fn methods(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|f| f["method"].as_str()).collect()
}

fn turn_started() -> Fact {
    Fact::Turn(TurnFact::Started {
        turn: TurnId::new("t1"),
        cause: Cause::UserMessage,
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new("u1"),
            text: "Hi".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
        model: Some(Arc::new(model())),
    })
}

fn turn_finished(outcome: TurnOutcome) -> Fact {
    Fact::Turn(TurnFact::Finished {
        turn: TurnId::new("t1"),
        outcome,
        text: String::new(),
        reasoning: Vec::new(),
        usage: None,
        model: Some(Arc::new(model())),
        started_at: None,
    })
}

#[test]
fn a_turn_has_two_ends_in_each_endpoints_case() {
    for (endpoint, runs, ended) in [
        (Endpoint::Codex, "inProgress", "interrupted"),
        (Endpoint::Zane, "InProgress", "Interrupted"),
    ] {
        let mut stub = Stub::started(endpoint);
        let started = stub.tell(turn_started());
        assert_eq!(
            methods(&started),
            [
                "thread/status/changed",
                "turn/started",
                "item/started",
                "item/completed"
            ]
        );
        assert_eq!(started[1]["params"]["turn"]["status"], runs);
        assert_eq!(started[3]["params"]["item"]["content"][0]["text"], "Hi");
        let finished = stub.tell(turn_finished(TurnOutcome::Cancelled));
        assert_eq!(
            methods(&finished),
            ["thread/status/changed", "turn/completed"]
        );
        assert_eq!(finished[1]["params"]["turn"]["status"], ended);
    }
}

#[test]
fn the_end_of_a_call_repeats_what_was_called() {
    let mut stub = Stub::started(Endpoint::Codex);
    let (tag, call) = (tag(), bash());
    let reached = stub.tell(Fact::Tool(ToolEvent {
        tag: tag.clone(),
        call: call.clone().into(),
        what: ToolFact::Reached,
    }));
    assert_eq!(reached[0]["params"]["item"]["status"], "inProgress");
    let output = ToolOutput::Command {
        stdout: "a\n".to_owned(),
        stderr: "b\n".to_owned(),
        exit_code: 2,
        duration_ms: 5,
        model_text: None,
    };
    let finished = stub.tell(Fact::Tool(ToolEvent {
        tag,
        call: call.clone().into(),
        what: ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(output),
            duration_ms: None,
        },
    }));
    let item = &finished[0]["params"]["item"];
    assert_eq!(finished[0]["method"], "item/completed");
    assert_eq!(item["command"], "/bin/bash -c 'rm -rf build'");
    assert_eq!(item["aggregatedOutput"], "a\nb\n");
    assert_eq!(
        (&item["exitCode"], &item["status"]),
        (&json!(2), &json!("failed"))
    );
}

#[test]
fn what_a_turn_has_changed_is_told_as_a_whole() {
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        let turn = TurnId::new("t1");
        let told = stub.tell(Fact::Files(FilesFact::TurnDiffed {
            turn: turn.clone(),
            diff: diff.to_owned(),
        }));
        let params = json!({ "threadId": THREAD, "turnId": "t1", "diff": diff });
        let notice = json!({ "method": "turn/diff/updated", "params": params });
        assert_eq!(told, [notice]);
        let files = vec![FileVersion {
            path: "a.txt".to_owned(),
            iteration: 2,
            size: 4,
            kind: FileChangeKind::Update,
        }];
        let turn = Some(turn);
        let told = stub.tell(Fact::Files(FilesFact::Changed { turn, files }));
        assert!(told.is_empty(), "the diff tells them");
    }
}

#[test]
fn a_plan_is_capitalised_for_zane_only() {
    let step = PlanStep {
        content: "Read".to_owned(),
        status: PlanStepStatus::InProgress,
        active_form: "Reading".to_owned(),
    };
    for (endpoint, status) in [
        (Endpoint::Codex, "inProgress"),
        (Endpoint::Zane, "InProgress"),
    ] {
        let told = Stub::started(endpoint).tell(Fact::Turn(TurnFact::PlanChanged {
            turn: Some(TurnId::new("t1")),
            steps: vec![step.clone()],
        }));
        let plan = json!([{ "step": "Read", "status": status }]);
        assert_eq!(told[0]["params"]["plan"], plan);
    }
}

#[test]
fn an_ask_says_what_is_waited_for_before_it_asks() {
    let told = Stub::started(Endpoint::Codex).tell(Fact::Ask {
        tag: tag(),
        what: AskFact::Opened { ask: approval(7) },
    });
    let status = json!({ "type": "active", "activeFlags": ["waitingOnApproval"] });
    assert_eq!(told[0]["params"]["status"], status);
    assert_eq!(told[1]["id"], 7);
    assert_eq!(told[1]["method"], "item/commandExecution/requestApproval");
    let params = &told[1]["params"];
    // As the app-server joins it: its clients unwrap the shell.
    assert_eq!(params["command"], "/bin/bash -c 'rm -rf build'");
    assert_eq!(params["reason"], "this command is not known to be harmless");
}

#[test]
fn a_change_is_shown_before_it_is_made() {
    let edit = ToolCall {
        name: "edit".to_owned(),
        input: json!({ "filePath": "a.txt", "oldString": "one", "newString": "two\nthree" }),
        subject: Subject::Files(vec![FileSubject {
            path: "a.txt".to_owned(),
            preview: Some(FilePreview {
                kind: FileChangeKind::Update,
                diff: "@@ -1,1 +1,2 @@\n-one\n+two\n+three\n".to_owned(),
            }),
        }]),
        effects: Effects::WRITES,
        ..bash()
    };
    let told = Stub::started(Endpoint::Codex).tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: edit.into(),
        what: ToolFact::Reached,
    }));
    let change = &told[0]["params"]["item"]["changes"][0];
    assert_eq!(change["path"], "/home/user/project/a.txt");
    assert_eq!(change["diff"], "@@ -1,1 +1,2 @@\n-one\n+two\n+three\n");
}

#[test]
fn a_step_tells_what_the_thread_and_the_step_used() {
    let usage = |input_tokens, output_tokens| Usage {
        input_tokens,
        output_tokens,
        cached_tokens: 10,
        reasoning_tokens: 2,
        cost_micro_dollars: None,
    };
    let finished = |usage: Usage, thread_usage, context_limit| Fact::Step {
        tag: tag(),
        what: StepFact::Finished {
            reason: StopReason::Stop,
            usage,
            context_limit,
            thread_usage,
        },
    };
    let numbers = |input: u64, output: u64| {
        json!({
            "totalTokens": input + output, "inputTokens": input, "cachedInputTokens": 10,
            "outputTokens": output, "reasoningOutputTokens": 2,
        })
    };
    let mut stub = Stub::started(Endpoint::Codex);
    let told = stub.tell(finished(usage(20, 5), usage(300, 50), Some(128_000)));
    let mut params = numbers(300, 50);
    params["threadId"] = json!(THREAD);
    params["turnId"] = json!("t1");
    params["tokenUsage"] = json!({
        "total": numbers(300, 50), "last": numbers(20, 5), "modelContextWindow": 128_000,
    });
    let expected = json!({ "method": "thread/tokenUsage/updated", "params": params });
    assert_eq!(told, [expected]);
    let uncounted = finished(Usage::default(), Usage::default(), None);
    assert_eq!(stub.tell(uncounted), Vec::<Value>::new());
}

#[test]
fn a_delay_is_an_error_that_is_tried_again() {
    let told = Stub::started(Endpoint::Zane).tell(Fact::Step {
        tag: tag(),
        what: StepFact::Delayed {
            agent: None,
            discards: false,
            attempt: 2,
            delay_ms: 1500,
            error: "openai: 429: slow down".to_owned(),
        },
    });
    let message = "Attempt 2 failed; trying again in 2 s";
    let expected = json!({ "method": "error", "params": {
        "threadId": THREAD, "turnId": "t1", "message": message, "willRetry": true,
        "error": {
            "message": message,
            "codexErrorInfo": { "responseStreamDisconnected": { "httpStatusCode": null } },
            "additionalDetails": "openai: 429: slow down",
        },
    } });
    assert_eq!(told, [expected]);
}

#[test]
fn what_may_be_spent_ends_a_turn_with_a_reason_of_its_own() {
    for (kind, info) in [
        (TurnErrorKind::Budget, json!("sessionBudgetExceeded")),
        (
            TurnErrorKind::InsufficientCredits,
            json!("usageLimitExceeded"),
        ),
    ] {
        let message = "the turn may use 1000 tokens".to_owned();
        let mut stub = Stub::started(Endpoint::Codex);
        let told = stub.tell(turn_finished(TurnOutcome::Failed(TurnError {
            kind,
            message,
        })));
        let methods = methods(&told);
        assert_eq!(
            methods,
            ["error", "thread/status/changed", "turn/completed"]
        );
        assert_eq!(told[0]["params"]["error"]["codexErrorInfo"], info);
        assert_eq!(told[2]["params"]["turn"]["error"]["codexErrorInfo"], info);
    }
}

#[test]
fn a_turn_that_gave_up_has_failed_and_says_why() {
    for kind in [
        TurnErrorKind::StepLimit,
        TurnErrorKind::Loop,
        TurnErrorKind::OutputLimit,
        TurnErrorKind::EmptyAnswer,
    ] {
        let message = "stopped at the limit of 100 steps".to_owned();
        let outcome = TurnOutcome::Failed(TurnError { kind, message });
        let told = Stub::started(Endpoint::Codex).tell(turn_finished(outcome));
        let turn = &told[2]["params"]["turn"];
        assert_eq!(turn["status"], "failed");
        let words = "stopped at the limit of 100 steps";
        assert_eq!(turn["error"]["message"], words);
    }
}

#[test]
fn a_compaction_is_an_item_without_words() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let told = Stub::started(endpoint).tell(Fact::Step {
            tag: tag(),
            what: StepFact::Compacted {
                item: ItemId::new("k1"),
                summary: "What was said.".to_owned(),
                tokens_before: 1000,
                kept: None,
            },
        });
        let item = json!({ "type": "contextCompaction", "id": "k1" });
        let at = NOW.millis();
        assert_eq!(
            told,
            [
                json!({ "method": "item/started", "params": {
                    "threadId": THREAD, "turnId": "t1", "startedAtMs": at, "item": item } }),
                json!({ "method": "item/completed", "params": {
                    "threadId": THREAD, "turnId": "t1", "completedAtMs": at, "item": item } }),
            ]
        );
    }
}

#[test]
fn a_thought_kept_by_its_provider_shows_nothing() {
    let thought = Fact::Item {
        tag: tag(),
        item: ItemId::new("r1"),
        content: 0,
        what: ItemFact::Finished {
            began: None,
            body: Item::Reasoning {
                kind: ReasoningKind::Summary,
                text: String::new(),
                partial: false,
                native: Some(Box::new(Native {
                    origin: "openai".to_owned(),
                    value: json!({ "encrypted_content": "opaque" }),
                })),
                breaks: Vec::new(),
            },
        },
    };
    let mut zane = Stub::started(Endpoint::Zane);
    assert_eq!(zane.tell(thought.clone()), Vec::<Value>::new());
    let codex = Stub::started(Endpoint::Codex).tell(thought);
    let item = json!({ "type": "reasoning", "id": "r1", "summary": [], "content": [] });
    assert_eq!(codex[0]["params"]["item"], item);
}

#[test]
fn a_sub_agents_call_is_an_item_of_the_turn() {
    let call = ToolCall {
        item: ItemId::new("i9"),
        agent: Some(Box::new(SubAgent {
            parent: ItemId::new("i1"),
            kind: "general".to_owned(),
            depth: 1,
        })),
        ..bash()
    };
    let mut stub = Stub::started(Endpoint::Codex);
    let reached = stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Reached,
    }));
    assert_eq!(reached[0]["method"], "item/started");
    assert_eq!(reached[0]["params"]["item"]["id"], "i9");
    assert_eq!(reached[0]["params"]["item"]["type"], "commandExecution");
    let ended = stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Finished {
            outcome: ToolOutcome::Failed {
                error: "no such command".to_owned(),
            },
            duration_ms: None,
        },
    }));
    assert_eq!(ended[0]["method"], "item/completed");
    assert_eq!(ended[0]["params"]["item"]["id"], "i9");
    assert_eq!(ended[0]["params"]["item"]["status"], "failed");
}

#[test]
fn only_a_commands_output_is_told_while_it_runs() {
    for (subject, times) in [(bash().subject, 1), (Subject::Other, 0)] {
        let mut stub = Stub::started(Endpoint::Codex);
        let call = ToolCall { subject, ..bash() };
        let what = ToolFact::Wrote {
            stream: OutputStream::Stdout,
            delta: "I looked".to_owned(),
        };
        let told = stub.tell(Fact::tool(tag(), call.into(), what));
        assert_eq!(told.len(), times);
    }
}
