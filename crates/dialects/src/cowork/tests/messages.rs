//! Client messages, right and wrong.

use serde_json::{Value, json};

use super::samples::SESSION;
use crate::cowork::hear::MESSAGES;

/// With the session's own id.
pub fn of_session(kind: &str, fields: Value) -> Value {
    let mut message = json!({ "type": kind, "sessionId": SESSION });
    for (name, value) in fields.as_object().expect("fields") {
        message[name] = value.clone();
    }
    message
}

/// Messages that are wrong, and the words for it. Fields come in the order they are looked at.
pub fn wrong_fields() -> Vec<(&'static str, Value, &'static str)> {
    let context = |field: &str, value: Value| {
        let mut context = json!({
            "runId": "r",
            "objective": "o",
            "acceptanceCriteria": [],
            "constraints": [],
        });
        context[field] = value;
        json!({ "context": context })
    };
    let config = |field: &str, value: Value| json!({ "config": { field: value } });
    vec![
        ("user_message", json!({}), "user_message missing text"),
        (
            "user_message",
            json!({"text": 1}),
            "user_message missing text",
        ),
        (
            "user_message",
            json!({"text": "", "clientMessageId": 1}),
            "user_message invalid clientMessageId",
        ),
        (
            "ask_response",
            json!({"answer": "a"}),
            "ask_response missing requestId",
        ),
        (
            "ask_response",
            json!({"requestId": " ", "answer": "a"}),
            "ask_response missing requestId",
        ),
        (
            "ask_response",
            json!({"requestId": "r"}),
            "ask_response missing answer",
        ),
        (
            "approval_response",
            json!({"approved": true}),
            "approval_response missing requestId",
        ),
        (
            "approval_response",
            json!({"requestId": "r"}),
            "approval_response missing/invalid approved",
        ),
        (
            "approval_response",
            json!({"requestId": "r", "approved": "true"}),
            "approval_response missing/invalid approved",
        ),
        ("set_model", json!({}), "set_model missing/invalid model"),
        (
            "set_model",
            json!({"model": " "}),
            "set_model missing/invalid model",
        ),
        (
            "set_model",
            json!({"model": "m", "provider": "ollama"}),
            "set_model invalid provider: ollama",
        ),
        (
            "set_model",
            json!({"model": "m", "provider": 7}),
            "set_model invalid provider: 7",
        ),
        (
            "provider_auth_authorize",
            json!({"methodId": "x"}),
            "provider_auth_authorize missing/invalid provider",
        ),
        (
            "provider_auth_authorize",
            json!({"provider": "openai"}),
            "provider_auth_authorize missing/invalid methodId",
        ),
        (
            "provider_auth_authorize",
            json!({"provider": "openai", "methodId": "x"}),
            "provider_auth_authorize unknown methodId",
        ),
        (
            "provider_auth_callback",
            json!({"provider": "x"}),
            "provider_auth_callback missing/invalid provider",
        ),
        (
            "provider_auth_callback",
            json!({"provider": "openai"}),
            "provider_auth_callback missing/invalid methodId",
        ),
        (
            "provider_auth_callback",
            json!({"provider": "codex-cli", "methodId": "oauth_cli", "code": 1}),
            "provider_auth_callback invalid code",
        ),
        (
            "provider_auth_callback",
            json!({"provider": "openai", "methodId": "oauth_cli"}),
            "provider_auth_callback unknown methodId",
        ),
        (
            "provider_auth_set_api_key",
            json!({"provider": 1}),
            "provider_auth_set_api_key missing/invalid provider",
        ),
        (
            "provider_auth_set_api_key",
            json!({"provider": "openai"}),
            "provider_auth_set_api_key missing/invalid methodId",
        ),
        (
            "provider_auth_set_api_key",
            json!({"provider": "openai", "methodId": "x"}),
            "provider_auth_set_api_key missing/invalid apiKey",
        ),
        (
            "provider_auth_set_api_key",
            json!({"provider": "openai", "methodId": "x", "apiKey": "k"}),
            "provider_auth_set_api_key unknown methodId",
        ),
        (
            "execute_command",
            json!({}),
            "execute_command missing/invalid name",
        ),
        (
            "execute_command",
            json!({"name": "n", "arguments": []}),
            "execute_command invalid arguments",
        ),
        (
            "execute_command",
            json!({"name": "n", "clientMessageId": {}}),
            "execute_command invalid clientMessageId",
        ),
        (
            "read_skill",
            json!({}),
            "read_skill missing/invalid skillName",
        ),
        (
            "disable_skill",
            json!({"skillName": ""}),
            "disable_skill missing/invalid skillName",
        ),
        (
            "enable_skill",
            json!({"skillName": 1}),
            "enable_skill missing/invalid skillName",
        ),
        (
            "delete_skill",
            json!({}),
            "delete_skill missing/invalid skillName",
        ),
        (
            "set_enable_mcp",
            json!({"enableMcp": "yes"}),
            "set_enable_mcp missing/invalid enableMcp",
        ),
        (
            "mcp_server_upsert",
            json!({}),
            "mcp_server_upsert missing/invalid server",
        ),
        (
            "mcp_server_upsert",
            json!({"server": {}}),
            "mcp_server_upsert invalid server: Error: mcp-servers.json: servers.0.name: Invalid input: expected string, received undefined",
        ),
        (
            "mcp_server_upsert",
            json!({"server": {"name": "n", "transport": {"type": "stdio", "command": "c"}}, "previousName": 1}),
            "mcp_server_upsert invalid previousName",
        ),
        (
            "mcp_server_delete",
            json!({}),
            "mcp_server_delete missing/invalid name",
        ),
        (
            "mcp_server_validate",
            json!({}),
            "mcp_server_validate missing/invalid name",
        ),
        (
            "mcp_server_auth_authorize",
            json!({}),
            "mcp_server_auth_authorize missing/invalid name",
        ),
        (
            "mcp_server_auth_callback",
            json!({}),
            "mcp_server_auth_callback missing/invalid name",
        ),
        (
            "mcp_server_auth_callback",
            json!({"name": "n", "code": 1}),
            "mcp_server_auth_callback invalid code",
        ),
        (
            "mcp_server_auth_set_api_key",
            json!({}),
            "mcp_server_auth_set_api_key missing/invalid name",
        ),
        (
            "mcp_server_auth_set_api_key",
            json!({"name": "n"}),
            "mcp_server_auth_set_api_key missing/invalid apiKey",
        ),
        (
            "mcp_servers_migrate_legacy",
            json!({"scope": "system"}),
            "mcp_servers_migrate_legacy missing/invalid scope",
        ),
        (
            "get_messages",
            json!({"offset": -1}),
            "get_messages invalid offset",
        ),
        (
            "get_messages",
            json!({"offset": "0"}),
            "get_messages invalid offset",
        ),
        (
            "get_messages",
            json!({"limit": 0}),
            "get_messages invalid limit",
        ),
        (
            "set_session_title",
            json!({"title": " "}),
            "set_session_title missing/invalid title",
        ),
        (
            "delete_session",
            json!({}),
            "delete_session missing/invalid targetSessionId",
        ),
        ("set_config", json!({}), "set_config missing/invalid config"),
        (
            "set_config",
            json!({"config": []}),
            "set_config missing/invalid config",
        ),
        (
            "set_config",
            config("yolo", json!("true")),
            "set_config config.yolo must be boolean",
        ),
        (
            "set_config",
            config("observabilityEnabled", json!(1)),
            "set_config config.observabilityEnabled must be boolean",
        ),
        (
            "set_config",
            config("subAgentModel", json!(" ")),
            "set_config config.subAgentModel must be non-empty string",
        ),
        (
            "set_config",
            config("maxSteps", json!(0)),
            "set_config config.maxSteps must be number 1-1000",
        ),
        (
            "set_config",
            config("maxSteps", json!(1000.5)),
            "set_config config.maxSteps must be number 1-1000",
        ),
        (
            "upload_file",
            json!({"contentBase64": ""}),
            "upload_file missing/invalid filename",
        ),
        (
            "upload_file",
            json!({"filename": "f"}),
            "upload_file missing/invalid contentBase64",
        ),
        (
            "session_backup_restore",
            json!({"checkpointId": ""}),
            "session_backup_restore invalid checkpointId",
        ),
        (
            "session_backup_delete_checkpoint",
            json!({}),
            "session_backup_delete_checkpoint missing checkpointId",
        ),
        (
            "harness_context_set",
            json!({}),
            "harness_context_set missing/invalid context",
        ),
        (
            "harness_context_set",
            context("runId", json!("")),
            "harness_context_set invalid context.runId",
        ),
        (
            "harness_context_set",
            context("taskId", json!(1)),
            "harness_context_set invalid context.taskId",
        ),
        (
            "harness_context_set",
            context("objective", json!(null)),
            "harness_context_set invalid context.objective",
        ),
        (
            "harness_context_set",
            context("acceptanceCriteria", json!([1])),
            "harness_context_set invalid context.acceptanceCriteria",
        ),
        (
            "harness_context_set",
            context("constraints", json!("c")),
            "harness_context_set invalid context.constraints",
        ),
        (
            "harness_context_set",
            context("metadata", json!([])),
            "harness_context_set invalid context.metadata",
        ),
        (
            "harness_context_set",
            context("metadata", json!({"k": 1})),
            "harness_context_set invalid context.metadata values",
        ),
    ]
}

/// Every message as it should be.
pub fn right_messages() -> Vec<Value> {
    let skill = || json!({ "skillName": "commit" });
    let name = || json!({ "name": "grep" });
    let server = json!({
        "name": "grep",
        "transport": { "type": "http", "url": "https://mcp.grep.app" },
        "auth": { "type": "oauth", "oauthMode": "auto" },
    });
    let context = json!({
        "runId": "run-abc-123",
        "taskId": "task-1",
        "objective": "Fix the authentication bug",
        "acceptanceCriteria": ["Login works"],
        "constraints": [],
        "metadata": { "priority": "high" },
    });
    let key = json!({ "provider": "openai", "methodId": "api_key", "apiKey": "k" });
    let callback = json!({ "provider": "codex-cli", "methodId": "oauth_cli", "code": "c" });
    let with_fields = [
        (
            "client_hello",
            json!({ "client": "tui", "version": "1.0.0" }),
        ),
        (
            "user_message",
            json!({ "text": "", "clientMessageId": "m" }),
        ),
        (
            "ask_response",
            json!({ "requestId": "req-1", "answer": "" }),
        ),
        (
            "approval_response",
            json!({ "requestId": "req-1", "approved": false }),
        ),
        (
            "set_model",
            json!({ "model": "gpt-4o", "provider": "codex-cli" }),
        ),
        (
            "provider_auth_authorize",
            json!({ "provider": "codex-cli", "methodId": "oauth_cli" }),
        ),
        ("provider_auth_callback", callback),
        ("provider_auth_set_api_key", key),
        (
            "execute_command",
            json!({ "name": "review", "arguments": "x" }),
        ),
        ("read_skill", skill()),
        ("disable_skill", skill()),
        ("enable_skill", skill()),
        ("delete_skill", skill()),
        ("set_enable_mcp", json!({ "enableMcp": true })),
        (
            "mcp_server_upsert",
            json!({ "server": server, "previousName": "old" }),
        ),
        ("mcp_server_delete", name()),
        ("mcp_server_validate", name()),
        ("mcp_server_auth_authorize", name()),
        ("mcp_server_auth_callback", name()),
        (
            "mcp_server_auth_set_api_key",
            json!({ "name": "grep", "apiKey": "k" }),
        ),
        ("mcp_servers_migrate_legacy", json!({ "scope": "user" })),
        ("get_messages", json!({ "offset": 0.5, "limit": 1e300 })),
        ("set_session_title", json!({ "title": "t" })),
        ("delete_session", json!({ "targetSessionId": "t" })),
        (
            "set_config",
            json!({ "config": { "yolo": true, "maxSteps": 7.5 } }),
        ),
        (
            "upload_file",
            json!({ "filename": "f", "contentBase64": "" }),
        ),
        (
            "session_backup_restore",
            json!({ "checkpointId": "cp-0001" }),
        ),
        (
            "session_backup_delete_checkpoint",
            json!({ "checkpointId": "cp-0001" }),
        ),
        ("harness_context_set", json!({ "context": context })),
    ];
    let fields_of = |kind: &str| {
        let found = with_fields.iter().find(|(name, _)| *name == kind);
        found.map_or_else(|| json!({}), |(_, fields)| fields.clone())
    };
    let message = |(kind, _): &(&str, _)| of_session(kind, fields_of(kind));
    MESSAGES.iter().map(message).collect()
}
