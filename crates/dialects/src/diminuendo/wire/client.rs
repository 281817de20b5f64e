//! Client messages. Any of them may have a `requestId`, which its answer or error repeats.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::secret::SecretText;

/// Client -> server: the 21 messages of the protocol, and `approve`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ClientMessage {
    Authenticate {
        token: SecretText,
        /// `dotted`: streamed text is told in its dotted form besides.
        #[serde(default)]
        features: Vec<String>,
    },
    ListSessions {
        #[serde(default)]
        include_archived: bool,
    },
    CreateSession {
        agent_type: String,
        name: Option<String>,
    },
    RenameSession {
        session_id: String,
        name: String,
    },
    ArchiveSession {
        session_id: String,
    },
    UnarchiveSession {
        session_id: String,
    },
    DeleteSession {
        session_id: String,
    },
    JoinSession {
        session_id: String,
        after_seq: Option<Number>,
    },
    LeaveSession {
        session_id: String,
    },
    RunTurn {
        session_id: String,
        #[serde(alias = "content")]
        text: String,
        client_turn_id: Option<String>,
    },
    StopTurn {
        session_id: String,
    },
    Steer {
        session_id: String,
        #[serde(alias = "text")]
        content: String,
    },
    AnswerQuestion {
        session_id: String,
        request_id: String,
        answers: Option<Answers>,
        #[serde(default)]
        dismissed: bool,
    },
    /// Ours: the explicit answer to `permission_requested`.
    Approve {
        session_id: String,
        request_id: String,
        approved: bool,
    },
    GetHistory {
        session_id: String,
        limit: Option<u64>,
        after_seq: Option<Number>,
    },
    GetEvents {
        session_id: String,
        after_seq: Option<Number>,
        limit: Option<u64>,
    },
    Ping {
        ts: Number,
    },
    ListFiles {
        session_id: String,
        path: Option<String>,
        depth: Option<u64>,
    },
    ReadFile {
        session_id: String,
        path: String,
    },
    FileHistory {
        session_id: String,
        path: String,
    },
    FileAtIteration {
        session_id: String,
        path: String,
        iteration: u64,
    },
    ManageMembers {
        action: String,
        user_id: Option<String>,
        role: Option<String>,
    },
}

/// answer_question: answers by question id, or a yes or no to a permission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Answers {
    Word(String),
    ByQuestion(BTreeMap<String, AnswerValue>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AnswerValue {
    Yes(bool),
    Text(String),
    Texts(Vec<String>),
}
