//! Every client message with its fields, in the order in which they are checked.

use super::fields::{
    FieldCheck, ValueShape, invalid, mcp_server, missing, missing_or_invalid, optional_provider,
    set_config, set_harness_context,
};

/// All but `client_hello` also have a `sessionId`, which is checked before these.
pub const MESSAGES: &[(&str, &[FieldCheck])] = &[
    (
        "client_hello",
        &[
            missing_or_invalid("client", ValueShape::NonBlank),
            invalid("version", ValueShape::Text),
        ],
    ),
    (
        "user_message",
        &[
            missing("text", ValueShape::Text),
            invalid("clientMessageId", ValueShape::Text),
        ],
    ),
    (
        "ask_response",
        &[
            missing("requestId", ValueShape::NonBlank),
            missing("answer", ValueShape::Text),
        ],
    ),
    (
        "approval_response",
        &[
            missing("requestId", ValueShape::NonBlank),
            missing_or_invalid("approved", ValueShape::Boolean),
        ],
    ),
    ("cancel", &[]),
    ("reset", &[]),
    (
        "set_model",
        &[
            missing_or_invalid("model", ValueShape::NonBlank),
            FieldCheck::Checked(optional_provider),
        ],
    ),
    ("refresh_provider_status", &[]),
    ("provider_catalog_get", &[]),
    ("provider_auth_methods_get", &[]),
    (
        "provider_auth_authorize",
        &[
            missing_or_invalid("provider", ValueShape::Provider),
            missing_or_invalid("methodId", ValueShape::NonBlank),
            FieldCheck::RegisteredMethod,
        ],
    ),
    (
        "provider_auth_callback",
        &[
            missing_or_invalid("provider", ValueShape::Provider),
            missing_or_invalid("methodId", ValueShape::NonBlank),
            invalid("code", ValueShape::Text),
            FieldCheck::RegisteredMethod,
        ],
    ),
    (
        "provider_auth_set_api_key",
        &[
            missing_or_invalid("provider", ValueShape::Provider),
            missing_or_invalid("methodId", ValueShape::NonBlank),
            missing_or_invalid("apiKey", ValueShape::NonBlank),
            FieldCheck::RegisteredMethod,
        ],
    ),
    ("list_tools", &[]),
    ("list_commands", &[]),
    (
        "execute_command",
        &[
            missing_or_invalid("name", ValueShape::NonBlank),
            invalid("arguments", ValueShape::Text),
            invalid("clientMessageId", ValueShape::Text),
        ],
    ),
    ("list_skills", &[]),
    ("read_skill", SKILL_NAME),
    ("disable_skill", SKILL_NAME),
    ("enable_skill", SKILL_NAME),
    ("delete_skill", SKILL_NAME),
    (
        "set_enable_mcp",
        &[missing_or_invalid("enableMcp", ValueShape::Boolean)],
    ),
    ("mcp_servers_get", &[]),
    (
        "mcp_server_upsert",
        &[
            missing_or_invalid("server", ValueShape::Object),
            FieldCheck::Checked(mcp_server),
            invalid("previousName", ValueShape::NonBlank),
        ],
    ),
    ("mcp_server_delete", NAME),
    ("mcp_server_validate", NAME),
    ("mcp_server_auth_authorize", NAME),
    (
        "mcp_server_auth_callback",
        &[
            missing_or_invalid("name", ValueShape::NonBlank),
            invalid("code", ValueShape::Text),
        ],
    ),
    (
        "mcp_server_auth_set_api_key",
        &[
            missing_or_invalid("name", ValueShape::NonBlank),
            missing_or_invalid("apiKey", ValueShape::NonBlank),
        ],
    ),
    (
        "mcp_servers_migrate_legacy",
        &[missing_or_invalid("scope", ValueShape::Scope)],
    ),
    ("session_close", &[]),
    (
        "get_messages",
        &[
            invalid("offset", ValueShape::AtLeast(0.0)),
            invalid("limit", ValueShape::AtLeast(1.0)),
        ],
    ),
    (
        "set_session_title",
        &[missing_or_invalid("title", ValueShape::NonBlank)],
    ),
    ("list_sessions", &[]),
    (
        "delete_session",
        &[missing_or_invalid("targetSessionId", ValueShape::NonBlank)],
    ),
    (
        "set_config",
        &[
            missing_or_invalid("config", ValueShape::Object),
            FieldCheck::Checked(set_config),
        ],
    ),
    (
        "upload_file",
        &[
            missing_or_invalid("filename", ValueShape::NonBlank),
            missing_or_invalid("contentBase64", ValueShape::Text),
        ],
    ),
    ("session_backup_get", &[]),
    ("session_backup_checkpoint", &[]),
    (
        "session_backup_restore",
        &[invalid("checkpointId", ValueShape::NonBlank)],
    ),
    (
        "session_backup_delete_checkpoint",
        &[missing("checkpointId", ValueShape::NonBlank)],
    ),
    ("harness_context_get", &[]),
    (
        "harness_context_set",
        &[
            missing_or_invalid("context", ValueShape::Object),
            FieldCheck::Checked(set_harness_context),
        ],
    ),
    ("ping", &[]),
];

const SKILL_NAME: &[FieldCheck] = &[missing_or_invalid("skillName", ValueShape::NonBlank)];
const NAME: &[FieldCheck] = &[missing_or_invalid("name", ValueShape::NonBlank)];
