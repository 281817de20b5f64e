//! A session's backup: asked for, changed, told, and what goes wrong with it.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Call, CheckpointCall, CheckpointId, CheckpointNews, CheckpointReply, Checkpoints, Fact,
    FileChangeKind, FileVersion, FilesFact, Refusal, Reply, Standing, Trigger, TurnId, Why,
};

use super::commands::said;
use super::samples::{SESSION, card, checkpoint_list, checkpoints, view};
use super::stub::{Stub, no_checkpoints};
use super::telling::check;

/// The sample's checkpoints as this protocol shows them; only `changed` depends on the version.
pub fn shown_list(changed: [bool; 2]) -> Value {
    json!([
        {
            "id": "cp-0001",
            "index": 1,
            "createdAt": "2026-02-19T18:00:00.000Z",
            "trigger": "auto",
            "changed": changed[0],
            "patchBytes": 1234,
        },
        {
            "id": "cp-0003",
            "index": 3,
            "createdAt": "2026-02-19T18:00:05.000Z",
            "trigger": "manual",
            "changed": changed[1],
            "patchBytes": 0,
        },
    ])
}

pub fn shown(reason: &str, checkpoints: Value) -> Value {
    json!({
        "type": "session_backup_state",
        "sessionId": SESSION,
        "reason": reason,
        "backup": {
            "status": "ready",
            "sessionId": SESSION,
            "workingDirectory": "/home/user/project",
            "backupDirectory": "/home/user/.cowork/checkpoints/7",
            "createdAt": "2026-02-19T18:00:00.000Z",
            "originalSnapshot": { "kind": "directory" },
            "checkpoints": checkpoints,
        },
    })
}

/// That there is none, and why.
pub fn shown_failed(why: &str) -> Value {
    let mut frame = shown("requested", json!([]));
    frame["backup"]["status"] = json!("failed");
    frame["backup"]["backupDirectory"] = Value::Null;
    frame["backup"]["originalSnapshot"]["kind"] = json!("pending");
    frame["backup"]["failureReason"] = json!(why);
    frame
}

fn error(message: &str, code: &str, source: &str) -> Value {
    json!({
        "type": "error",
        "sessionId": SESSION,
        "message": message,
        "code": code,
        "source": source,
    })
}

fn call(call: CheckpointCall) -> Call {
    let thread = card().id;
    Call::Checkpoints { thread, call }
}

#[test]
fn the_state_is_shown_to_who_asks_for_it() {
    let mut stub = said(json!({ "type": "session_backup_get" }));
    assert_eq!(stub.call(), &call(CheckpointCall::Get));
    let state = CheckpointReply::State(checkpoints(checkpoint_list()));
    stub.reply(Ok(Reply::Checkpoints(Box::new(state))));
    let expected = shown("requested", shown_list([true, false]));
    assert_eq!(stub.take(), [expected]);
    assert_eq!(stub.shared, 0);
}

#[test]
fn a_backup_that_cannot_be_had_has_failed() {
    let expected = shown_failed("this workspace cannot be kept");
    let mut stub = said(json!({ "type": "session_backup_get" }));
    stub.reply(Err(no_checkpoints()));
    assert_eq!(stub.take(), std::slice::from_ref(&expected));

    let mut stub = Stub::greeted(view());
    stub.take();
    stub.wake();
    stub.reply_to(3, Err(no_checkpoints()));
    assert_eq!(stub.take(), [expected]);
}

#[test]
fn what_is_done_to_it_is_told_by_events_alone() {
    let restore = |to: Option<u64>| {
        call(CheckpointCall::Restore {
            to: to.map(CheckpointId),
            path: None,
        })
    };
    let delete = CheckpointCall::Delete {
        id: CheckpointId(12_345),
    };
    for (message, expected) in [
        (
            json!({ "type": "session_backup_checkpoint" }),
            call(CheckpointCall::Take),
        ),
        (json!({ "type": "session_backup_restore" }), restore(None)),
        (
            json!({ "type": "session_backup_restore", "checkpointId": "cp-0001" }),
            restore(Some(1)),
        ),
        (
            json!({ "type": "session_backup_delete_checkpoint", "checkpointId": "cp-12345" }),
            call(delete),
        ),
    ] {
        let mut stub = said(message);
        assert_eq!(stub.call(), &expected);
        stub.reply(Ok(Reply::Done));
        assert!(stub.take().is_empty());
    }
}

#[test]
fn every_listener_is_told_what_happened_and_what_is_there_now() {
    for (news, reason) in [
        (CheckpointNews::Standing, "requested"),
        (CheckpointNews::Taken(Trigger::Automatic), "auto_checkpoint"),
        (CheckpointNews::Taken(Trigger::Manual), "manual_checkpoint"),
        (CheckpointNews::Restored, "restore"),
        (CheckpointNews::Deleted, "delete"),
    ] {
        let now = Arc::new(checkpoints(checkpoint_list()));
        let changed = Fact::Files(FilesFact::CheckpointsChanged { news, now });
        check(changed.clone(), &[shown(reason, shown_list([true, false]))]);
        assert_eq!(Stub::connected().tell(changed).shared, 1);
    }
}

#[test]
fn the_original_is_pending_until_it_is_there() {
    let told = |standing: Standing| {
        Fact::Files(FilesFact::CheckpointsChanged {
            news: CheckpointNews::Standing,
            now: Arc::new(Checkpoints {
                standing,
                ..checkpoints(Vec::new())
            }),
        })
    };
    let mut expected = shown("requested", json!([]));
    check(told(Standing::Ready), &[expected.clone()]);
    expected["backup"]["originalSnapshot"]["kind"] = json!("pending");
    expected["backup"]["status"] = json!("initializing");
    check(told(Standing::Initializing), &[expected.clone()]);
    expected["backup"]["status"] = json!("failed");
    expected["backup"]["failureReason"] = json!("the disk is full");
    let why = "the disk is full".to_owned();
    check(told(Standing::Failed { why }), &[expected]);
}

#[test]
fn no_such_checkpoint_is_told_in_the_words_of_each_message() {
    let long = "é".repeat(10_000);
    for id in ["cp-0009", "cp-9", "../original", " cp-0001", long.as_str()] {
        let repeated: String = id.chars().take(200).collect();
        let restore = error(
            &format!("restore failed: Error: Unknown checkpoint: {repeated}"),
            "backup_error",
            "backup",
        );
        let delete = error(
            &format!("Unknown checkpoint id: {repeated}"),
            "validation_failed",
            "backup",
        );
        for (kind, expected) in [
            ("session_backup_restore", restore),
            ("session_backup_delete_checkpoint", delete),
        ] {
            let mut stub = said(json!({ "type": kind, "checkpointId": id }));
            // What cannot be an id is not asked for.
            assert_eq!(stub.calls.len(), usize::from(id == "cp-0009"));
            if id == "cp-0009" {
                stub.reply(Err(Refusal::new(Why::UnknownCheckpoint, "no checkpoint 9")));
            }
            assert_eq!(stub.take(), [expected]);
        }
    }
}

#[test]
fn only_what_is_the_backups_fault_is_a_backup_error() {
    let messages = [
        json!({ "type": "session_backup_checkpoint" }),
        json!({ "type": "session_backup_restore" }),
        json!({ "type": "session_backup_delete_checkpoint", "checkpointId": "cp-0001" }),
    ];
    for (why, code, source) in [
        (Why::Busy, "busy", "session"),
        (Why::OwnedElsewhere, "busy", "session"),
        (Why::Forbidden, "permission_denied", "permissions"),
        (Why::NotAvailable, "backup_error", "backup"),
        (Why::Storage, "backup_error", "backup"),
        (Why::Internal, "backup_error", "backup"),
        (Why::ShuttingDown, "backup_error", "backup"),
    ] {
        for message in &messages {
            let mut stub = said(message.clone());
            stub.reply(Err(Refusal::new(why.clone(), "Agent is busy")));
            assert_eq!(stub.take(), [error("Agent is busy", code, source)]);
        }
    }
}

#[test]
fn files_and_diffs_are_shown_by_the_tools_that_made_them() {
    let file = FileVersion {
        path: "a.txt".to_owned(),
        iteration: 2,
        size: 5,
        kind: FileChangeKind::Update,
    };
    let turn = TurnId::new("t1");
    check(
        Fact::Files(FilesFact::Changed {
            turn: Some(turn.clone()),
            files: vec![file],
        }),
        &[],
    );
    let diff = "--- a/a.txt\n+++ b/a.txt\n".to_owned();
    check(Fact::Files(FilesFact::TurnDiffed { turn, diff }), &[]);
}
