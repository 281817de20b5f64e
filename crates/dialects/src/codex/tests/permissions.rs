//! Approval policies and sandboxes: asked for, kept, told as they are.

use serde_json::{Value, json};
use vocabulary::{Approvals, Call, Changes, Reply, SandboxInForce, SandboxMode, ThreadView};

use super::stub::{Stub, THREAD, thread, view};
use crate::codex::Endpoint;

/// What a new thread's settings and machine make of the answer.
fn told(view: ThreadView) -> Value {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "thread/start", json!({}));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Ok(Reply::View(Box::new(view))));
    let result = stub.take()[0]["result"].clone();
    json!([result["approvalPolicy"], result["sandbox"]])
}

#[test]
fn the_answer_tells_what_is_in_force() {
    let with = |approvals, auto_approve, sandbox, holds, network| {
        let mut view = view();
        view.thread.settings.approvals = approvals;
        view.thread.settings.auto_approve = auto_approve;
        view.thread.settings.sandbox = sandbox;
        view.sandbox = SandboxInForce {
            holds,
            network,
            ..SandboxInForce::default()
        };
        told(view)
    };
    let writes = |network: bool| {
        json!({"type": "workspaceWrite", "writableRoots": [], "networkAccess": network,
               "excludeTmpdirEnvVar": false, "excludeSlashTmp": true})
    };
    let reads = json!({"type": "readOnly", "networkAccess": false});
    let (read, write) = (SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite);
    assert_eq!(
        with(Approvals::Auto, false, write, true, false),
        json!(["on-request", writes(false)])
    );
    assert_eq!(
        with(Approvals::Ask, false, read, true, false),
        json!(["untrusted", reads])
    );
    assert_eq!(
        with(Approvals::Never, false, write, true, true),
        json!(["never", writes(true)])
    );
    // The app-server has no word of its own for it.
    assert_eq!(
        with(Approvals::OnFailure, false, write, true, false),
        json!(["on-request", writes(false)])
    );
    // The owner took full access back.
    assert_eq!(
        with(Approvals::Auto, false, SandboxMode::FullAccess, true, false),
        json!(["on-request", writes(false)])
    );
    // Who runs everything without asking asks nobody, whatever was asked for.
    assert_eq!(
        with(Approvals::Auto, true, write, true, false),
        json!(["never", writes(false)])
    );
    // Where nothing holds, nothing is claimed.
    assert_eq!(
        with(Approvals::Auto, false, read, false, true),
        json!(["on-request", {"type": "dangerFullAccess"}])
    );
}

/// The frame of the official terminal client (0.166).
#[test]
fn the_official_client_starts_a_thread_that_may_only_read() {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(
        1,
        "thread/start",
        json!({"model": null, "modelProvider": null, "cwd": "/work", "approvalPolicy": "on-request",
               "sandbox": "read-only", "config": null, "ephemeral": false}),
    );
    let Call::CreateThread(new) = stub.call() else {
        panic!("not a creation");
    };
    let expected = Changes {
        approvals: Some(Approvals::Auto),
        sandbox: Some(SandboxMode::ReadOnly),
        ..Changes::default()
    };
    assert_eq!(new.changes, expected);
}

/// The settings that a turn changes in a thread that writes and asks as clients do by default.
fn changed(endpoint: Endpoint, fields: Value) -> Result<Option<Changes>, String> {
    let mut stub = Stub::started(endpoint);
    let mut turn = json!({"threadId": THREAD, "input": [{"type": "text", "text": "Go"}]});
    let object = turn.as_object_mut().expect("an object");
    object.extend(fields.as_object().cloned().unwrap_or_default());
    stub.ask(2, "turn/start", turn);
    match stub.take().first() {
        Some(refused) => Err(refused["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()),
        None => Ok(match stub.call() {
            Call::StartTurn(start) => {
                let changes = (*start.changes).clone();
                (changes != Changes::default()).then_some(changes)
            }
            call => panic!("{call:?}"),
        }),
    }
}

#[test]
fn a_turn_sets_what_is_new_and_nothing_that_holds_already() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let repeated = json!({"approvalPolicy": "on-request",
            "sandboxPolicy": {"type": "workspaceWrite", "writableRoots": [], "networkAccess": false}});
        assert_eq!(changed(endpoint, repeated), Ok(None));
        let narrowed =
            json!({"approvalPolicy": "untrusted", "sandboxPolicy": {"type": "readOnly"}});
        let expected = Changes {
            approvals: Some(Approvals::Ask),
            auto_approve: Some(false),
            sandbox: Some(SandboxMode::ReadOnly),
            ..Changes::default()
        };
        assert_eq!(changed(endpoint, narrowed), Ok(Some(expected)));
        // Whether there is full access is for the engine to say.
        let full = changed(
            endpoint,
            json!({"sandboxPolicy": {"type": "dangerFullAccess"}}),
        );
        let full = full.expect("not refused here").expect("a change");
        assert_eq!(full.sandbox, Some(SandboxMode::FullAccess));
        let network = json!({"sandboxPolicy": {"type": "workspaceWrite", "networkAccess": true}});
        let expected = Changes {
            network: Some(true),
            ..Changes::default()
        };
        assert_eq!(changed(endpoint, network), Ok(Some(expected)));
        let failing = json!({"approvalPolicy": "on-failure", "permissions": ":read-only"});
        let expected = Changes {
            approvals: Some(Approvals::OnFailure),
            sandbox: Some(SandboxMode::ReadOnly),
            ..Changes::default()
        };
        assert_eq!(changed(endpoint, failing), Ok(Some(expected)));
    }
}

#[test]
fn a_turn_is_refused_what_its_thread_cannot_have() {
    let table = [
        (
            json!({"sandboxPolicy": {"type": "workspaceWrite", "writableRoots": ["/etc"]}}),
            "sandboxPolicy.writableRoots",
        ),
        (
            json!({"approvalPolicy": {"granular": {"rules": true}}}),
            "approvalPolicy",
        ),
        (json!({"permissions": ":mine"}), "permissions"),
        (
            json!({"permissions": ":workspace", "sandboxPolicy": {"type": "readOnly"}}),
            "permissions",
        ),
        (
            json!({"collaborationMode": {"mode": "guess"}}),
            "collaborationMode.mode",
        ),
    ];
    for (fields, field) in table {
        for endpoint in [Endpoint::Codex, Endpoint::Zane] {
            let message = changed(endpoint, fields.clone()).expect_err("refused");
            assert!(message.contains(field), "{message}");
        }
    }
}
