//! Turns, their items, and what a person is asked.

use serde_json::json;
use vocabulary::{
    AgentMode, Answer, ApprovalAnswer, AskFact, AskId, Call, Changed, Closing, Fact, Reply,
    StartedTurn, Status, StatusReason, ThreadFact, Title, ToolEvent, ToolFact, ToolOutcome,
    ToolOutput, TurnError, TurnErrorKind, TurnFact, TurnId, TurnOutcome, Why,
};

use super::samples::{THREAD, approval, bash, tag, turn_finished, turn_started};
use super::stub::Stub;

fn say(text: &str) -> serde_json::Value {
    let input = json!([{ "type": "text", "text": text, "textElements": [] }]);
    json!({ "thread_id": THREAD, "turn_id": "t1", "input": input })
}

#[test]
fn a_turn_is_answered_and_then_told() {
    let mut stub = Stub::subscribed(false);
    stub.say("turn/start", say("Hello"));
    let Call::StartTurn(turn) = stub.call() else {
        panic!("{:?}", stub.call())
    };
    assert_eq!(turn.client_turn_id.as_deref(), Some("t1"));
    let turn = TurnId::new("t1");
    stub.reply(Ok(Reply::Turn(StartedTurn {
        turn,
        again: false,
        joined: None,
    })));
    let result = json!({ "turn": { "id": "t1", "status": "InProgress" } });
    assert_eq!(stub.take()[0]["result"], result);
    stub.tell(Fact::Thread(ThreadFact::StatusChanged {
        status: Status::Running,
        reason: StatusReason::TurnStarted,
    }));
    stub.tell(turn_started());
    stub.tell(turn_finished());
    assert_eq!(
        stub.methods(),
        [
            "turn/started",
            "item/started",
            "item/completed",
            "thread/updated",
            "turn/completed",
        ]
    );
}

#[test]
fn who_is_not_subscribed_starts_no_turn() {
    let mut stub = Stub::opened(false);
    stub.say("turn/start", say("Hello"));
    assert!(stub.calls.is_empty());
    assert_eq!(stub.methods(), ["error -32600"]);
}

#[test]
fn an_override_goes_with_its_turn() {
    let mut stub = Stub::subscribed(false);
    let mut params = say("Hello");
    params["mode"] = json!("Agent");
    stub.say("turn/start", params);
    let Call::StartTurn(start) = stub.call() else {
        panic!("{:?}", stub.call())
    };
    assert_eq!(start.changes.mode, Some(AgentMode::Code));
    stub.refuse(Why::Busy);
    let error = &stub.take()[0]["error"];
    assert_eq!(error["message"], "failed to start turn: no");
}

#[test]
fn a_thread_that_plans_goes_on_planning_where_that_has_no_word() {
    let mut stub = Stub::subscribed(false);
    let mut settings = super::samples::thread().settings;
    settings.mode = AgentMode::Plan;
    stub.tell(Fact::Thread(ThreadFact::SettingsChanged {
        settings,
        changed: vec![Changed::Mode],
        title: Title::default(),
    }));
    stub.take();
    let mut params = say("Hello");
    params["mode"] = json!("Agent");
    stub.say("turn/start", params);
    let Call::StartTurn(start) = stub.call() else {
        panic!("{:?}", stub.call())
    };
    assert_eq!(start.changes.mode, None);
}

#[test]
fn a_turn_that_gave_up_has_failed_and_says_why() {
    let mut stub = Stub::subscribed(false);
    stub.tell(turn_started());
    stub.take();
    let mut finished = turn_finished();
    if let Fact::Turn(TurnFact::Finished { outcome, .. }) = &mut finished {
        *outcome = TurnOutcome::Failed(TurnError {
            kind: TurnErrorKind::StepLimit,
            message: "stopped at the limit of 100 steps".to_owned(),
        });
    }
    stub.tell(finished);
    let sent = stub.take();
    let failed = sent.iter().find(|frame| frame["method"] == "turn/failed");
    let turn = &failed.expect("an end")["params"]["turn"];
    assert_eq!(turn["status"], "Failed");
    assert_eq!(turn["error"], "stopped at the limit of 100 steps");
}

#[test]
fn a_command_ends_with_what_it_was_called_with() {
    let mut stub = Stub::subscribed(false);
    let call = bash("make");
    stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Planned { content: 0 },
    }));
    stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(ToolOutput::Command {
                stdout: "done\n".to_owned(),
                stderr: String::new(),
                exit_code: 0,
                duration_ms: 5,
                model_text: None,
            }),
            duration_ms: None,
        },
    }));
    let sent = stub.take();
    assert_eq!(sent[0]["method"], "item/started");
    let item = &sent[1]["params"]["item"];
    assert_eq!(item["type"], "commandExecution");
    assert_eq!(item["toolName"], "bash");
    assert_eq!(item["command"], json!(["bash", "-c", "make"]));
    assert_eq!(item["arguments"], json!({ "command": "make" }));
    assert_eq!(item["display"]["kind"], "shell");
    assert_eq!(item["display"]["exit_code"], 0);
    assert_eq!(item["success"], true);
    let outcome = json!({ "status": "ok", "shouldRetry": false, "incomplete": false });
    assert_eq!(item["outcome"], outcome);
    assert_eq!(item["storage"]["metadata"], json!({ "exit_code": 0 }));
}

#[test]
fn a_command_that_says_no_has_failed() {
    let mut stub = Stub::subscribed(false);
    let call = bash("false");
    stub.tell(Fact::Tool(ToolEvent {
        tag: tag(),
        call: call.clone().into(),
        what: ToolFact::Finished {
            outcome: ToolOutcome::Succeeded(ToolOutput::Command {
                stdout: String::new(),
                stderr: String::new(),
                exit_code: 3,
                duration_ms: 5,
                model_text: None,
            }),
            duration_ms: None,
        },
    }));
    let item = &stub.take()[0]["params"]["item"];
    assert_eq!(
        (&item["status"], &item["success"]),
        (&json!("failed"), &json!(false))
    );
    assert_eq!(item["outcome"]["status"], "recoverable_error");
}

#[test]
fn only_who_wants_to_be_asked_is_asked() {
    for (permissions, expected) in [(false, 0), (true, 1)] {
        let mut stub = Stub::subscribed(permissions);
        let ask = approval();
        stub.tell(Fact::Ask {
            tag: tag(),
            what: AskFact::Opened { ask },
        });
        assert_eq!(stub.take().len(), expected);
        let attendance = stub.attendance();
        assert_eq!(attendance.answers, permissions, "the engine knows, too");
        assert!(attendance.lets_sleep, "the last one out unloads a thread");
    }
}

#[test]
fn a_permission_is_given_and_told_to_all_who_ask() {
    let mut stub = Stub::subscribed(true);
    let ask = approval();
    stub.tell(Fact::Ask {
        tag: tag(),
        what: AskFact::Opened { ask },
    });
    let request = &stub.take()[0]["params"]["request"];
    assert_eq!(request["request_id"], "7");
    assert_eq!(request["command"], "make");
    let params = json!({ "request_id": "7", "resolution": "allow_once" });
    stub.say("turn/permission/request/respond", params.clone());
    let Call::AnswerAsk { ask, answer, .. } = stub.call() else {
        panic!("{:?}", stub.call())
    };
    assert_eq!(*ask, AskId(7));
    let once = Answer::Approval(ApprovalAnswer::Once);
    assert_eq!(*answer, once);
    stub.reply(Ok(Reply::Done));
    assert_eq!(stub.take()[0]["result"], params);
    stub.tell(Fact::Ask {
        tag: tag(),
        what: AskFact::Closed {
            ask: approval(),
            closing: Closing::Answered(once),
        },
    });
    assert_eq!(stub.methods(), ["turn/permission/request/resolved"]);
}
