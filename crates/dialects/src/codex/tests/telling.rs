//! Events as each endpoint spells them.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Cause, Fact, ItemId, PlanStep, PlanStepStatus, ToolCall, ToolCallRef, ToolClass, ToolOutcome,
    ToolOutput, TurnId, TurnOutcome, UserInput,
};

use super::stub::{Stub, approval, bash, model, tag};
use crate::codex::Endpoint;

fn methods(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|f| f["method"].as_str()).collect()
}

fn turn_started() -> Fact {
    Fact::TurnStarted {
        turn: TurnId::new("t1"),
        cause: Cause::UserMessage,
        input: UserInput {
            item: ItemId::new("u1"),
            text: "Hi".to_owned(),
            display: None,
            client_id: None,
        },
        model: Arc::new(model()),
    }
}

fn turn_finished(outcome: TurnOutcome) -> Fact {
    Fact::TurnFinished {
        turn: TurnId::new("t1"),
        outcome,
        text: String::new(),
        reasoning: Vec::new(),
        usage: None,
        model: Arc::new(model()),
    }
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
    let reached = stub.tell(Fact::ToolReached {
        tag: tag.clone(),
        call: call.clone(),
    });
    assert_eq!(reached[0]["params"]["item"]["status"], "inProgress");
    let output = ToolOutput::Command {
        stdout: "a\n".to_owned(),
        stderr: "b\n".to_owned(),
        exit_code: 2,
        duration_ms: 5,
    };
    let finished = stub.tell(Fact::ToolFinished {
        tag,
        call: ToolCallRef::from(&call),
        outcome: ToolOutcome::Succeeded(output),
    });
    let item = &finished[0]["params"]["item"];
    assert_eq!(finished[0]["method"], "item/completed");
    assert_eq!(item["command"], "rm -rf build");
    assert_eq!(item["aggregatedOutput"], "a\nb\n");
    assert_eq!(
        (&item["exitCode"], &item["status"]),
        (&json!(2), &json!("failed"))
    );
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
        let told = Stub::started(endpoint).tell(Fact::PlanChanged {
            turn: Some(TurnId::new("t1")),
            steps: vec![step.clone()],
        });
        let plan = json!([{ "step": "Read", "status": status }]);
        assert_eq!(told[0]["params"]["plan"], plan);
    }
}

#[test]
fn an_ask_says_what_is_waited_for_before_it_asks() {
    let told = Stub::started(Endpoint::Codex).tell(Fact::AskOpened {
        tag: tag(),
        ask: approval(7),
    });
    let status = json!({ "type": "active", "activeFlags": ["waitingOnApproval"] });
    assert_eq!(told[0]["params"]["status"], status);
    assert_eq!(told[1]["id"], 7);
    assert_eq!(told[1]["method"], "item/commandExecution/requestApproval");
    assert_eq!(told[1]["params"]["command"], "rm -rf build");
}

#[test]
fn a_change_is_shown_before_it_is_made() {
    let edit = ToolCall {
        name: "edit".to_owned(),
        input: json!({ "filePath": "a.txt", "oldString": "one", "newString": "two\nthree" }),
        class: ToolClass::FileChange,
        ..bash()
    };
    let told = Stub::started(Endpoint::Codex).tell(Fact::ToolReached {
        tag: tag(),
        call: edit,
    });
    let change = &told[0]["params"]["item"]["changes"][0];
    assert_eq!(change["path"], "a.txt");
    assert_eq!(change["diff"], "@@ -1,1 +1,2 @@\n-one\n+two\n+three\n");
}
