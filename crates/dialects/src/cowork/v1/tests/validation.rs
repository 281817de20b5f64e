//! The errors of docs/protocols/cowork.md, "Protocol 1", word by word.

use serde_json::{Value, json};

use super::stub::Stub;
use crate::cowork::tests::samples::SESSION;

fn check(message: &str, error: &str) {
    let mut stub = Stub::connected();
    stub.say_text(message);
    let expected = json!({"type": "error", "sessionId": SESSION, "message": error});
    assert_eq!(stub.take(), [expected], "{message}");
    assert!(stub.calls.is_empty());
}

fn check_fields(kind: &str, fields: Value, error: &str) {
    let mut message = fields;
    message["type"] = json!(kind);
    message["sessionId"] = json!(SESSION);
    check(&message.to_string(), error);
}

#[test]
fn what_is_no_message_is_told_so() {
    check("{", "Invalid JSON");
    check("7", "Expected object");
    check("[]", "Expected object");
    check("{}", "Missing type");
    check(r#"{"type":7}"#, "Missing type");
    check(r#"{"type":"cancel"}"#, "Unknown type: cancel");
}

#[test]
fn a_message_is_for_this_session() {
    check(
        r#"{"type":"user_message","text":"x"}"#,
        "Unknown sessionId: undefined",
    );
    check(
        r#"{"type":"reset","sessionId":"other"}"#,
        "Unknown sessionId: other",
    );
    for kind in [
        "session_backup_get",
        "session_backup_checkpoint",
        "session_backup_restore",
        "session_backup_delete_checkpoint",
    ] {
        let message = json!({"type": kind, "checkpointId": "cp-0001"});
        check(&message.to_string(), &format!("{kind} missing sessionId"));
    }
}

#[test]
fn each_field_fails_in_its_own_words() {
    let none = || json!({});
    check_fields("user_message", none(), "user_message missing text");
    check_fields("set_model", json!({"model": " "}), "Model id is required");
    check_fields(
        "set_model",
        json!({"model": "m", "provider": "acme"}),
        "Unsupported provider: acme",
    );
    check_fields(
        "session_backup_restore",
        json!({"checkpointId": 3}),
        "session_backup_restore invalid checkpointId",
    );
    check_fields(
        "session_backup_delete_checkpoint",
        json!({"checkpointId": ""}),
        "session_backup_delete_checkpoint missing checkpointId",
    );
}

#[test]
fn a_key_is_text_and_is_not_repeated() {
    check_fields(
        "connect_provider",
        json!({"provider": "openai", "apiKey": 1234567}),
        "connect_provider invalid apiKey",
    );
    check_fields(
        "connect_provider",
        json!({"apiKey": "sk-secret"}),
        "Unsupported provider: undefined",
    );
}
