//! Project defaults: which changes the next session shall begin with, and what is told of them.

use serde_json::{Value, json};
use vocabulary::{Call, Changed, Refusal, Reply, Why, WorkFolders};

use super::commands::said;
use super::samples::{SESSION, card, thread, view};
use super::stub::Stub;
use crate::cowork::v1;

#[track_caller]
fn check(message: Value, kept: &[Changed]) {
    let mut stub = said(message);
    assert!(matches!(stub.call(), Call::ChangeThread { .. }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    if kept.is_empty() {
        return assert_eq!(stub.calls.len(), 0);
    }
    let call = Call::KeepDefaults {
        thread: card().id,
        settings: kept.to_vec(),
    };
    assert_eq!(stub.call(), &call);
    stub.reply(Ok(Reply::Done));
    assert_eq!(stub.take().len(), 0);
}

#[test]
fn what_a_project_keeps_is_kept_once_it_is_set() {
    check(
        json!({ "type": "set_model", "model": "gpt-5.1" }),
        &[Changed::Model],
    );
    check(
        json!({ "type": "set_enable_mcp", "enableMcp": false }),
        &[Changed::Mcp],
    );
    let config = json!({ "subAgentModel": " a ", "observabilityEnabled": false, "yolo": true });
    let kept = [Changed::SubAgentModel, Changed::Observability];
    check(json!({ "type": "set_config", "config": config }), &kept);
    let config = json!({ "yolo": true, "maxSteps": 5 });
    check(json!({ "type": "set_config", "config": config }), &[]);
    check(json!({ "type": "set_session_title", "title": "T" }), &[]);
}

#[test]
fn a_refused_change_keeps_nothing_and_a_file_that_fails_is_told() {
    let mut stub = said(json!({ "type": "set_model", "model": "m" }));
    stub.reply(Err(Refusal::busy()));
    assert_eq!(stub.calls.len(), 0);
    assert_eq!(stub.take()[0]["code"], "busy");
    let mut stub = said(json!({ "type": "set_model", "model": "m" }));
    stub.reply(Ok(Reply::Thread(Box::new(thread()))));
    stub.reply(Err(Refusal::new(Why::Storage, "it was left alone")));
    let expected = json!({
        "type": "error",
        "sessionId": SESSION,
        "message": "it was left alone",
        "code": "internal_error",
        "source": "session",
    });
    assert_eq!(stub.take(), [expected]);
}

#[test]
fn a_directory_for_results_is_told_only_where_one_is_configured() {
    let hello = |folders: Option<WorkFolders>| {
        let mut view = view();
        view.thread.card.folders = folders.map(Box::new);
        Stub::greeted(view).take().remove(0)["config"].take()
    };
    assert_eq!(hello(None)["outputDirectory"], Value::Null);
    let folders = WorkFolders {
        output: Some("/far/out".into()),
        uploads: None,
    };
    assert_eq!(hello(Some(folders.clone()))["outputDirectory"], "/far/out");
    // Protocol 1 always names one.
    let mut card = card();
    let told = |card: &vocabulary::ThreadCard| {
        let model = super::samples::model();
        v1::wire::config(card, &model).output_directory
    };
    assert_eq!(told(&card), "/home/user/project/output");
    card.folders = Some(Box::new(folders));
    assert_eq!(told(&card), "/far/out");
}
