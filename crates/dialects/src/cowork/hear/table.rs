//! Every client message with its fields, in the order in which they are checked.

use super::fields::{
    Field, Shape, invalid, mcp_server, missing, missing_or_invalid, optional_provider, set_config,
    set_harness_context,
};

/// All but `client_hello` also have a `sessionId`, which is checked before these.
pub const MESSAGES: &[(&str, &[Field])] = &[
    (
        "client_hello",
        &[
            missing_or_invalid("client", Shape::NonBlank),
            invalid("version", Shape::Text),
        ],
    ),
    (
        "user_message",
        &[
            missing("text", Shape::Text),
            invalid("clientMessageId", Shape::Text),
        ],
    ),
    (
        "ask_response",
        &[
            missing("requestId", Shape::NonBlank),
            missing("answer", Shape::Text),
        ],
    ),
    (
        "approval_response",
        &[
            missing("requestId", Shape::NonBlank),
            missing_or_invalid("approved", Shape::Boolean),
        ],
    ),
    ("cancel", &[]),
    ("reset", &[]),
    (
        "set_model",
        &[
            missing_or_invalid("model", Shape::NonBlank),
            Field::Checked(optional_provider),
        ],
    ),
    ("refresh_provider_status", &[]),
    ("provider_catalog_get", &[]),
    ("provider_auth_methods_get", &[]),
    (
        "provider_auth_authorize",
        &[
            missing_or_invalid("provider", Shape::Provider),
            missing_or_invalid("methodId", Shape::NonBlank),
            Field::RegisteredMethod,
        ],
    ),
    (
        "provider_auth_callback",
        &[
            missing_or_invalid("provider", Shape::Provider),
            missing_or_invalid("methodId", Shape::NonBlank),
            invalid("code", Shape::Text),
            Field::RegisteredMethod,
        ],
    ),
    (
        "provider_auth_set_api_key",
        &[
            missing_or_invalid("provider", Shape::Provider),
            missing_or_invalid("methodId", Shape::NonBlank),
            missing_or_invalid("apiKey", Shape::NonBlank),
            Field::RegisteredMethod,
        ],
    ),
    ("list_tools", &[]),
    ("list_commands", &[]),
    (
        "execute_command",
        &[
            missing_or_invalid("name", Shape::NonBlank),
            invalid("arguments", Shape::Text),
            invalid("clientMessageId", Shape::Text),
        ],
    ),
    ("list_skills", &[]),
    ("read_skill", SKILL_NAME),
    ("disable_skill", SKILL_NAME),
    ("enable_skill", SKILL_NAME),
    ("delete_skill", SKILL_NAME),
    (
        "set_enable_mcp",
        &[missing_or_invalid("enableMcp", Shape::Boolean)],
    ),
    ("mcp_servers_get", &[]),
    (
        "mcp_server_upsert",
        &[
            missing_or_invalid("server", Shape::Object),
            Field::Checked(mcp_server),
            invalid("previousName", Shape::NonBlank),
        ],
    ),
    ("mcp_server_delete", NAME),
    ("mcp_server_validate", NAME),
    ("mcp_server_auth_authorize", NAME),
    (
        "mcp_server_auth_callback",
        &[
            missing_or_invalid("name", Shape::NonBlank),
            invalid("code", Shape::Text),
        ],
    ),
    (
        "mcp_server_auth_set_api_key",
        &[
            missing_or_invalid("name", Shape::NonBlank),
            missing_or_invalid("apiKey", Shape::NonBlank),
        ],
    ),
    (
        "mcp_servers_migrate_legacy",
        &[missing_or_invalid("scope", Shape::Scope)],
    ),
    ("session_close", &[]),
    (
        "get_messages",
        &[
            invalid("offset", Shape::AtLeast(0.0)),
            invalid("limit", Shape::AtLeast(1.0)),
        ],
    ),
    (
        "set_session_title",
        &[missing_or_invalid("title", Shape::NonBlank)],
    ),
    ("list_sessions", &[]),
    (
        "delete_session",
        &[missing_or_invalid("targetSessionId", Shape::NonBlank)],
    ),
    (
        "set_config",
        &[
            missing_or_invalid("config", Shape::Object),
            Field::Checked(set_config),
        ],
    ),
    (
        "upload_file",
        &[
            missing_or_invalid("filename", Shape::NonBlank),
            missing_or_invalid("contentBase64", Shape::Text),
        ],
    ),
    ("session_backup_get", &[]),
    ("session_backup_checkpoint", &[]),
    (
        "session_backup_restore",
        &[invalid("checkpointId", Shape::NonBlank)],
    ),
    (
        "session_backup_delete_checkpoint",
        &[missing("checkpointId", Shape::NonBlank)],
    ),
    ("harness_context_get", &[]),
    (
        "harness_context_set",
        &[
            missing_or_invalid("context", Shape::Object),
            Field::Checked(set_harness_context),
        ],
    ),
    ("ping", &[]),
];

const SKILL_NAME: &[Field] = &[missing_or_invalid("skillName", Shape::NonBlank)];
const NAME: &[Field] = &[missing_or_invalid("name", Shape::NonBlank)];
