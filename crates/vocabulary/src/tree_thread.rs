//! A thread as a tree shows it: little, because a tree has all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::thread::mode_or_flag;
use crate::{AgentMode, ModelRef, Status, Thread, ThreadId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeThread {
    pub id: ThreadId,
    /// The id a client made up for it.
    pub client_id: Option<String>,
    pub title: String,
    pub preview: String,
    pub mode: AgentMode,
    pub model: ModelRef,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub status: Status,
    pub archived: bool,
    pub labels: BTreeMap<String, String>,
}

impl From<Thread> for TreeThread {
    fn from(thread: Thread) -> Self {
        Self {
            id: thread.card.id,
            client_id: thread.card.client_id,
            title: thread.title.text,
            preview: thread.preview,
            mode: thread.settings.mode,
            model: thread.settings.model,
            created_at: thread.card.created_at,
            updated_at: thread.updated_at,
            status: thread.status,
            archived: thread.archived,
            labels: thread.labels,
        }
    }
}

impl TreeThread {
    /// Of a thread that was written as JSON, without reading the rest of it; nothing of one that is in no
    /// list.
    pub fn of_written(thread: &str) -> serde_json::Result<Option<Self>> {
        let read: WrittenThread = serde_json::from_str(thread)?;
        Ok((!read.card.ephemeral).then_some(Self {
            id: read.card.id,
            client_id: read.card.client_id,
            title: read.title.text,
            preview: read.preview,
            mode: read.settings.mode,
            model: read.settings.model,
            created_at: read.card.created_at,
            updated_at: read.updated_at,
            status: read.status,
            archived: read.archived,
            labels: read.labels,
        }))
    }
}

/// As much of a `Thread` as is read. The fields that are left out are passed over.
#[derive(Deserialize)]
struct WrittenThread {
    card: WrittenCard,
    title: WrittenTitle,
    settings: WrittenSettings,
    status: Status,
    archived: bool,
    updated_at: Timestamp,
    preview: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct WrittenCard {
    id: ThreadId,
    #[serde(default)]
    client_id: Option<String>,
    created_at: Timestamp,
    #[serde(default)]
    ephemeral: bool,
}

#[derive(Deserialize)]
struct WrittenTitle {
    text: String,
}

#[derive(Deserialize)]
struct WrittenSettings {
    model: ModelRef,
    #[serde(alias = "tools", deserialize_with = "mode_or_flag", default)]
    mode: AgentMode,
}
