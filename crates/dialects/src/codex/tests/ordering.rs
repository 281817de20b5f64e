//! What a person orders: summaries, reviews, commands of their own, and what runs in the background.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    BackgroundTerminal, Call, Cause, ExecOutput, Fact, Item, ItemFact, ItemId, Refusal, Reply,
    ReviewTarget, SandboxMode, StartedTurn, TerminalCall, TerminalReply, ThreadId, ToolCall,
    ToolFact, ToolOutcome, ToolOutput, TurnFact, TurnId, UserInput, Why,
};

use super::stub::{Stub, THREAD, bash, tag};
use crate::codex::Endpoint;

const OTHERS: [(&str, &str); 3] = [
    ("thread/compact/start", r#"{}"#),
    ("thread/shellCommand", r#"{"command":"ls","timeoutMs":5}"#),
    ("thread/backgroundTerminals/clean", r#"{}"#),
];

fn thread() -> ThreadId {
    ThreadId::parse(THREAD).expect("an id")
}

fn turn() -> Reply {
    Reply::Turn(StartedTurn {
        turn: TurnId::new("t9"),
        again: false,
        joined: None,
    })
}

fn busy() -> Refusal {
    Refusal::new(Why::Busy, "Agent is busy")
}

/// The params of a request with its thread.
fn params(text: &str) -> serde_json::Value {
    let mut params: serde_json::Value = serde_json::from_str(text).expect("JSON");
    params["threadId"] = json!(THREAD);
    params
}

#[test]
fn orders_become_calls_and_are_answered_with_nothing() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let mut stub = Stub::started(endpoint);
        stub.ask(2, "thread/compact/start", params("{}"));
        assert_eq!(*stub.call(), Call::CompactThread { thread: thread() });
        stub.reply(Ok(turn()));
        assert_eq!(stub.sent, [json!({ "id": 2, "result": {} })]);
        stub.sent.clear();
        stub.ask(3, "thread/shellCommand", params(r#"{"command":"ls | wc"}"#));
        let Call::RunShell(run) = stub.call() else {
            panic!("{:?}", stub.calls);
        };
        assert_eq!((run.command.as_str(), run.timeout_ms), ("ls | wc", None));
        stub.reply(Ok(turn()));
        assert_eq!(stub.sent, [json!({ "id": 3, "result": {} })]);
    }
}

#[test]
fn a_refusal_that_would_end_the_terminal_client_is_told_in_the_thread() {
    for (method, given) in OTHERS {
        let mut stub = Stub::started(Endpoint::Codex);
        stub.ask(2, method, params(given));
        stub.reply(Err(busy()));
        assert_eq!(stub.sent[0], json!({ "id": 2, "result": {} }), "{method}");
        let error = &stub.sent[1];
        assert_eq!(error["method"], "error");
        let told = &error["params"];
        assert_eq!(told["threadId"], THREAD);
        assert_eq!(told["error"]["message"], "Agent is busy");
        assert_eq!(
            (&told["turnId"], &told["willRetry"]),
            (&json!(""), &json!(false))
        );

        let mut stub = Stub::started(Endpoint::Codex);
        stub.ask(2, method, params(given));
        stub.reply(Err(Refusal::unknown_thread(thread())));
        assert_eq!(stub.sent[0]["error"]["code"], -32600, "{method}");
        assert_eq!(stub.sent.len(), 1);

        let mut stub = Stub::started(Endpoint::Zane);
        stub.ask(2, method, params(given));
        stub.reply(Err(busy()));
        assert_eq!(
            stub.sent[0]["error"]["message"], "Agent is busy",
            "{method}"
        );
    }
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(
        2,
        "review/start",
        params(r#"{"target":{"type":"uncommittedChanges"}}"#),
    );
    stub.reply(Err(busy()));
    let result = &stub.sent[0]["result"];
    assert_eq!(result["reviewThreadId"], THREAD);
    assert_eq!(result["turn"]["status"], "failed");
    assert_eq!(result["turn"]["error"]["message"], "Agent is busy");
    assert_eq!(stub.sent[1]["method"], "error");
}

#[test]
fn every_target_of_a_review_is_understood_and_a_thread_of_its_own_is_refused() {
    let targets = [
        (
            r#"{"type":"uncommittedChanges"}"#,
            ReviewTarget::Uncommitted,
        ),
        (
            r#"{"type":"baseBranch","branch":"main"}"#,
            ReviewTarget::BaseBranch {
                branch: "main".to_owned(),
            },
        ),
        (
            r#"{"type":"commit","sha":"abc","title":"Mend"}"#,
            ReviewTarget::Commit {
                sha: "abc".to_owned(),
                title: Some("Mend".to_owned()),
            },
        ),
        (
            r#"{"type":"custom","instructions":"look"}"#,
            ReviewTarget::Instructions {
                text: "look".to_owned(),
            },
        ),
    ];
    for (given, expected) in targets {
        let mut stub = Stub::started(Endpoint::Codex);
        stub.ask(
            2,
            "review/start",
            params(&format!(r#"{{"target":{given}}}"#)),
        );
        let Call::StartReview(start) = stub.call() else {
            panic!("{:?}", stub.calls);
        };
        assert_eq!(start.target, expected);
        stub.reply(Ok(turn()));
        let result = &stub.sent[0]["result"];
        assert_eq!(
            (&result["turn"]["id"], &result["reviewThreadId"]),
            (&json!("t9"), &json!(THREAD))
        );
    }
    let mut stub = Stub::started(Endpoint::Codex);
    let detached = r#"{"target":{"type":"uncommittedChanges"},"delivery":"detached"}"#;
    stub.ask(2, "review/start", params(detached));
    assert_eq!(stub.sent[0]["error"]["code"], -32602);
    let message = stub.sent[0]["error"]["message"].as_str().expect("words");
    assert!(
        message.contains("delivery") && message.contains("inline"),
        "{message}"
    );
    stub.sent.clear();
    stub.ask(
        3,
        "thread/shellCommand",
        params(r#"{"command":"ls","timeoutMs":-1}"#),
    );
    assert_eq!(stub.sent[0]["error"]["code"], -32602);
}

#[test]
fn a_turn_that_was_ordered_has_no_message_of_a_user_and_a_review_has_two_ends() {
    let mut stub = Stub::started(Endpoint::Codex);
    let started = |cause| {
        Fact::Turn(TurnFact::Started {
            turn: TurnId::new("t9"),
            cause,
            input: UserInput {
                item: ItemId::new("u9"),
                text: "do it".to_owned(),
                display: Some("/compact".to_owned()),
                client_id: None,
                images: Vec::new(),
                pieces: Vec::new(),
            },
            model: None,
        })
    };
    for cause in [Cause::Compaction, Cause::Review, Cause::Shell] {
        let told = stub.tell(started(cause));
        let methods: Vec<_> = told.iter().map(|frame| frame["method"].clone()).collect();
        assert_eq!(
            methods,
            ["thread/status/changed", "turn/started"],
            "{cause:?}"
        );
    }
    for (body, kind) in [
        (
            Item::ReviewEntered {
                review: "current changes".to_owned(),
            },
            "enteredReviewMode",
        ),
        (
            Item::ReviewExited {
                review: "all is right".to_owned(),
            },
            "exitedReviewMode",
        ),
    ] {
        let told = stub.tell(Fact::Item {
            tag: tag(),
            item: ItemId::new("r1"),
            content: 0,
            what: ItemFact::Finished { body, began: None },
        });
        let methods: Vec<_> = told.iter().map(|frame| frame["method"].clone()).collect();
        assert_eq!(methods, ["item/started", "item/completed"]);
        assert_eq!(told[1]["params"]["item"]["type"], kind);
        assert!(told[1]["params"]["item"]["review"].is_string());
    }
}

#[test]
fn terminals_are_listed_in_pages_ended_and_written_to() {
    let terminal = |process: u32| BackgroundTerminal {
        process,
        item: Some(ItemId::new(format!("i{process}"))),
        line: "sleep 9".to_owned(),
        directory: "/w".into(),
    };
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(
        2,
        "thread/backgroundTerminals/list",
        params(r#"{"limit":2,"cursor":"1"}"#),
    );
    let listed = [1, 2, 3, 4].map(terminal).to_vec();
    stub.reply(Ok(Reply::Terminals(TerminalReply::List(listed))));
    let result = &stub.sent[0]["result"];
    let ids = result["data"].as_array().expect("data").iter();
    let ids: Vec<_> = ids.map(|each| each["processId"].clone()).collect();
    assert_eq!(ids, ["2", "3"]);
    assert_eq!(result["nextCursor"], "3");
    assert_eq!(
        result["data"][0],
        json!({"processId": "2", "itemId": "i2", "command": "sleep 9", "cwd": "/w"})
    );
    stub.sent.clear();
    stub.ask(
        3,
        "thread/backgroundTerminals/terminate",
        params(r#"{"processId":"2"}"#),
    );
    let end = TerminalCall::End { process: Some(2) };
    assert!(matches!(stub.call(), Call::Terminals { call, .. } if *call == end));
    stub.reply(Ok(Reply::Terminals(TerminalReply::Ended(1))));
    assert_eq!(stub.sent[0]["result"], json!({ "terminated": true }));
    stub.sent.clear();
    stub.ask(
        4,
        "dragoman/terminals/write",
        params(r#"{"processId":"2","text":"y\n"}"#),
    );
    stub.reply(Ok(Reply::Terminals(TerminalReply::Written)));
    assert_eq!(stub.sent[0]["result"], json!({}));
    for wrong in [
        r#"{"processId":"x","text":"y"}"#,
        r#"{"processId":"2","text":""}"#,
    ] {
        stub.sent.clear();
        stub.ask(5, "dragoman/terminals/write", params(wrong));
        assert_eq!(stub.sent[0]["error"]["code"], -32602, "{wrong}");
    }
}

#[test]
fn a_command_of_its_own_is_run_or_refused_by_its_field() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let given = json!({
        "command": ["git", "diff"], "cwd": "/w", "env": { "A": "1", "B": null },
        "sandboxPolicy": { "type": "workspaceWrite" }, "timeoutMs": 5000,
    });
    stub.ask(2, "command/exec", given);
    let Call::Exec(command) = stub.call() else {
        panic!("{:?}", stub.calls);
    };
    assert_eq!(command.words, ["git", "diff"]);
    assert_eq!(command.sandbox, Some(SandboxMode::WorkspaceWrite));
    assert_eq!(command.environment.len(), 2);
    stub.reply(Ok(Reply::Exec(Box::new(ExecOutput {
        exit_code: 1,
        stdout: "a".to_owned(),
        stderr: "b".to_owned(),
    }))));
    assert_eq!(
        stub.sent[0]["result"],
        json!({ "exitCode": 1, "stdout": "a", "stderr": "b" })
    );
    for (field, value) in [
        ("tty", json!(true)),
        ("streamStdin", json!(true)),
        ("streamStdoutStderr", json!(true)),
        ("disableTimeout", json!(true)),
        ("permissionProfile", json!("x")),
        ("cwd", json!("relative")),
        ("timeoutMs", json!(-1)),
        ("sandboxPolicy.type", json!({ "type": "externalSandbox" })),
        (
            "sandboxPolicy.networkAccess",
            json!({ "type": "readOnly", "networkAccess": true }),
        ),
        (
            "sandboxPolicy.writableRoots",
            json!({ "type": "workspaceWrite", "writableRoots": ["/"] }),
        ),
    ] {
        let mut stub = Stub::ready(Endpoint::Codex);
        let name = field.split('.').next().expect("a name");
        stub.ask(
            2,
            "command/exec",
            json!({ "command": ["true"], (name): value }),
        );
        assert_eq!(stub.sent[0]["error"]["code"], -32602, "{field}");
        let message = stub.sent[0]["error"]["message"].as_str().expect("words");
        assert!(message.contains(field), "{message}");
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn a_users_own_command_and_who_types_to_one_are_told_as_what_they_are() {
    let mut stub = Stub::started(Endpoint::Codex);
    let call = Arc::new(ToolCall {
        by_user: true,
        ..bash()
    });
    let told = stub.tell(Fact::tool(tag(), Arc::clone(&call), ToolFact::Reached));
    assert_eq!(told[0]["params"]["item"]["source"], "userShell");
    let told = stub.tell(Fact::tool(tag(), Arc::new(bash()), ToolFact::Reached));
    assert_eq!(told[0]["params"]["item"]["source"], "agent");
    let typed = ToolFact::Interacted {
        process: 3,
        stdin: "y\n".to_owned(),
    };
    let told = stub.tell(Fact::tool(tag(), call, typed));
    assert_eq!(
        told[0]["method"],
        "item/commandExecution/terminalInteraction"
    );
    assert_eq!(
        told[0]["params"],
        json!({"threadId": THREAD, "turnId": "t1", "itemId": "i1", "processId": "3", "stdin": "y\n"})
    );
}

/// The terminal client lists what has begun and not ended as a background terminal.
#[test]
fn a_command_in_the_background_is_an_item_until_it_ends() {
    let call = Arc::new(ToolCall {
        input: json!({"command": "ls", "background": true}),
        ..bash()
    });
    let left = ToolFact::Finished {
        outcome: ToolOutcome::Succeeded(ToolOutput::Text("running as job 1".to_owned())),
        duration_ms: Some(1),
    };
    let ended = ToolFact::JobEnded {
        outcome: ToolOutcome::Succeeded(ToolOutput::Command {
            stdout: "[job 1 ended]\n".to_owned(),
            stderr: String::new(),
            exit_code: 7,
            duration_ms: 2_000,
            model_text: None,
        }),
    };
    let mut stub = Stub::started(Endpoint::Codex);
    let mut tell = |what: ToolFact| stub.tell(Fact::tool(tag(), Arc::clone(&call), what));
    let told = tell(ToolFact::Reached);
    assert_eq!(told[0]["params"]["item"]["source"], "unifiedExecStartup");
    assert_eq!(tell(left.clone()), Vec::<Value>::new());
    let told = tell(ended.clone());
    assert_eq!(told[0]["method"], "item/completed");
    let item = &told[0]["params"]["item"];
    let shown = ["status", "exitCode", "durationMs", "aggregatedOutput"].map(|name| &item[name]);
    assert_eq!(json!(shown), json!(["failed", 7, 2_000, "[job 1 ended]\n"]));
    // One that went on by itself is over when its call is, and so it is for Zane.
    let mut stub = Stub::started(Endpoint::Codex);
    let bash = Arc::new(bash());
    let told = stub.tell(Fact::tool(tag(), Arc::clone(&bash), left.clone()));
    assert_eq!(told[0]["method"], "item/completed");
    let told = stub.tell(Fact::tool(tag(), bash, ended.clone()));
    assert_eq!(told, Vec::<Value>::new());
    let mut stub = Stub::started(Endpoint::Zane);
    let told = stub.tell(Fact::tool(tag(), Arc::clone(&call), left));
    assert_eq!(told[0]["method"], "item/completed");
    let told = stub.tell(Fact::tool(tag(), call, ended));
    assert_eq!(told, Vec::<Value>::new());
}
