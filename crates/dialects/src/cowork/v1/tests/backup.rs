//! Backup / Checkpoint Flow: the same frames as in protocol 7, with other comparisons and errors.

use std::sync::Arc;

use serde_json::{Value, json};
use vocabulary::{
    Call, CheckpointCall, CheckpointId, CheckpointNews, CheckpointReply, Fact, FilesFact, Refusal,
    Reply, Trigger, Why,
};

use super::stub::Stub;
use crate::cowork::tests::backup::{shown, shown_failed, shown_list};
use crate::cowork::tests::samples::{SESSION, checkpoint_list, checkpoints, thread_id};

fn said(message: Value) -> Stub {
    let mut message = message;
    message["sessionId"] = json!(SESSION);
    let mut stub = Stub::connected();
    stub.say(message);
    stub
}

fn call(call: CheckpointCall) -> Call {
    let thread = thread_id(SESSION);
    Call::Checkpoints { thread, call }
}

#[test]
fn the_state_compares_with_the_original() {
    let mut stub = said(json!({"type": "session_backup_get"}));
    assert_eq!(stub.call(), &call(CheckpointCall::Get));
    let now = checkpoints(checkpoint_list());
    let reply = CheckpointReply::State(now.clone());
    stub.reply(Ok(Reply::Checkpoints(Box::new(reply))));
    let list = shown_list([true, true]);
    assert_eq!(stub.take(), [shown("requested", list.clone())]);
    for (news, reason) in [
        (CheckpointNews::Taken(Trigger::Automatic), "auto_checkpoint"),
        (CheckpointNews::Taken(Trigger::Manual), "manual_checkpoint"),
        (CheckpointNews::Restored, "restore"),
        (CheckpointNews::Deleted, "delete"),
    ] {
        let now = Arc::new(now.clone());
        stub.tell(Fact::Files(FilesFact::CheckpointsChanged { news, now }));
        assert_eq!(stub.take(), [shown(reason, list.clone())]);
    }
}

#[test]
fn a_backup_that_cannot_be_had_has_failed() {
    let mut stub = said(json!({"type": "session_backup_get"}));
    stub.reply(Err(Refusal::new(Why::Storage, "the disk is full")));
    assert_eq!(stub.take(), [shown_failed("the disk is full")]);
}

#[test]
fn what_is_done_to_it_is_told_by_events_alone() {
    let restore = |to: Option<u64>| {
        let to = to.map(CheckpointId);
        call(CheckpointCall::Restore { to, path: None })
    };
    let id = CheckpointId(3);
    for (message, expected) in [
        (
            json!({"type": "session_backup_checkpoint"}),
            call(CheckpointCall::Take),
        ),
        (json!({"type": "session_backup_restore"}), restore(None)),
        (
            json!({"type": "session_backup_restore", "checkpointId": "cp-0003"}),
            restore(Some(3)),
        ),
        (
            json!({"type": "session_backup_delete_checkpoint", "checkpointId": "cp-0003"}),
            call(CheckpointCall::Delete { id }),
        ),
    ] {
        let mut stub = said(message);
        assert_eq!(stub.call(), &expected);
        stub.reply(Ok(Reply::Done));
        assert!(stub.take().is_empty());
    }
}

#[test]
fn no_such_checkpoint_has_the_same_words_in_both_messages() {
    for kind in ["session_backup_restore", "session_backup_delete_checkpoint"] {
        for id in ["cp-0009", "nine"] {
            let mut stub = said(json!({"type": kind, "checkpointId": id}));
            if id == "cp-0009" {
                stub.reply(Err(Refusal::new(Why::UnknownCheckpoint, "no checkpoint 9")));
            }
            assert!(stub.calls.is_empty());
            let message = format!("Unknown checkpoint id: {id}");
            let error = json!({"type": "error", "sessionId": SESSION, "message": message});
            assert_eq!(stub.take(), [error]);
        }
    }
}

#[test]
fn whatever_else_is_wrong_is_said_as_it_is() {
    for refusal in [
        Refusal::busy(),
        Refusal::new(Why::NotAvailable, "no workspace to keep"),
    ] {
        let mut stub = said(json!({"type": "session_backup_checkpoint"}));
        let message = refusal.message.clone();
        stub.reply(Err(refusal));
        let error = json!({"type": "error", "sessionId": SESSION, "message": message});
        assert_eq!(stub.take(), [error]);
    }
}
