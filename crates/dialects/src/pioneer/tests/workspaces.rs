//! Workspaces, the tree, and who hears of them.

use serde_json::json;
use vocabulary::{
    Call, LibraryCall, LibraryReply, Notice, Reply, WorkspaceChange, WorkspaceDirectory,
    WorkspaceId,
};

use super::samples::{WORKSPACE, workspace};
use super::stub::Stub;

fn changed(what: WorkspaceChange) -> Notice {
    Notice::WorkspaceChanged {
        what,
        workspace: Box::new(workspace()),
    }
}

fn tree_changed(workspace: &str) -> Notice {
    Notice::TreeChanged {
        workspace: WorkspaceId::new(workspace),
    }
}

#[test]
fn a_workspace_is_answered_before_it_is_told_to_all() {
    let mut stub = Stub::opened(false);
    let params = json!({ "workspace_id": WORKSPACE, "make_current": true });
    stub.say("workspace/create", params);
    let expected = Call::Library(LibraryCall::CreateWorkspace {
        id: WorkspaceId::new(WORKSPACE),
        name: None,
        make_current: true,
        directory: WorkspaceDirectory::Managed,
    });
    assert_eq!(*stub.call(), expected);
    stub.notice(&changed(WorkspaceChange::Created));
    assert_eq!(stub.take(), Vec::<serde_json::Value>::new());
    stub.library(LibraryReply::Workspace(workspace()));
    let sent = stub.take();
    let shown = json!({
        "id": WORKSPACE, "name": "Work", "is_active": true, "is_current": true,
        "created_at": 1_771_524_000, "updated_at": 1_771_524_000,
    });
    assert_eq!(sent[0]["result"], json!({ "workspace": shown }));
    assert_eq!(sent[1]["method"], "workspace/changed");
    assert_eq!(
        sent[1]["params"],
        json!({ "kind": "created", "workspace": shown })
    );
}

#[test]
fn only_a_bound_connection_hears_that_a_tree_changed() {
    let mut stub = Stub::opened(false);
    stub.notice(&tree_changed(WORKSPACE));
    assert!(stub.take().is_empty());
    stub.say("workspace/default", json!({}));
    stub.library(LibraryReply::Workspace(workspace()));
    stub.take();
    stub.notice(&tree_changed("another"));
    stub.notice(&tree_changed(WORKSPACE));
    let params = json!({ "workspace_id": WORKSPACE });
    let expected = json!({
        "jsonrpc": "2.0", "method": "thread/tree/changed", "params": params,
    });
    assert_eq!(stub.take(), [expected]);
}

#[test]
fn an_update_needs_a_field() {
    let mut stub = Stub::opened(false);
    stub.say("workspace/update", json!({ "workspace_id": WORKSPACE }));
    let sent = stub.take();
    assert_eq!(sent[0]["error"]["code"], -32602);
    assert_eq!(
        sent[0]["error"]["message"],
        "invalid params for `workspace/update`: at least one workspace field is required"
    );
}

#[test]
fn requests_are_handled_one_after_the_other() {
    let mut stub = Stub::opened(false);
    stub.say("workspace/list", json!({}));
    stub.say("workspace/default", json!({}));
    stub.say("no/such", json!({}));
    assert_eq!(stub.calls.len(), 1);
    stub.library(LibraryReply::Workspaces(Vec::new()));
    assert_eq!(stub.calls.len(), 1);
    stub.library(LibraryReply::Workspace(workspace()));
    assert_eq!(stub.methods(), ["result", "result", "error -32601"]);
}

#[test]
fn what_cannot_be_read_is_told_in_the_protocols_words() {
    let mut stub = Stub::opened(false);
    for (frame, code, message) in [
        ("{", -32700, "failed to parse JSON-RPC payload"),
        ("[]", -32600, "a request is one JSON object"),
        (
            r#"{"jsonrpc":"2.0","method":"workspace/list"}"#,
            -32600,
            "a request has an `id` and a `method`",
        ),
        (
            r#"{"id":"1","method":"workspace/list"}"#,
            -32600,
            "`jsonrpc` must be \"2.0\"",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"task/list"}"#,
            -32601,
            "method not found",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"mcp/list"}"#,
            -32602,
            "invalid params for `mcp/list`: missing field `workspace_id`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"thread/get"}"#,
            -32602,
            "invalid params for `thread/get`: missing field `thread_id`",
        ),
    ] {
        stub.say_text(frame);
        let sent = stub.take();
        assert_eq!(sent[0]["error"]["code"], code, "{frame}");
        assert_eq!(sent[0]["error"]["message"], message, "{frame}");
    }
}

#[test]
fn an_answer_of_the_wrong_kind_leaves_nobody_waiting() {
    for method in ["workspace/list", "provider/list"] {
        let mut stub = Stub::opened(false);
        stub.say(method, json!({}));
        stub.reply(Ok(Reply::Done));
        let sent = stub.take();
        assert_eq!(sent[0]["error"]["code"], -32600, "{method}");
    }
}
