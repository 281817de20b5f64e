//! `dragoman sessions list`: which sessions are kept.

use std::path::Path;

use serde_json::{Value, json};
use server::database;
use vocabulary::{ArchivedThreads, Caller, Thread, ThreadQuery};

use super::open;
use crate::commands::checkpoints::words;
use crate::commands::table::aligned;

pub async fn list(home: &Path, json: bool) -> anyhow::Result<()> {
    let query = ThreadQuery {
        archived: ArchivedThreads::Included,
        ..ThreadQuery::default()
    };
    // Where there is no database there is no session, and looking makes none.
    let threads = match database::existing(home) {
        None => Vec::new(),
        Some(_) => {
            let (store, tenant) = (open(home).await?, Caller::local().tenant);
            store.threads(&tenant, &query).await?.threads
        }
    };
    if json {
        let sessions: Vec<Value> = threads.iter().map(for_programs).collect();
        return words::say_json(&json!({ "sessions": sessions }));
    }
    if threads.is_empty() {
        return words::say("No sessions are kept.\n");
    }
    let heading = ["SESSION", "CHANGED", "MESSAGES", "DIRECTORY", "TITLE"].map(str::to_owned);
    let row = |thread: &Thread| {
        vec![
            thread.card.id.to_string(),
            words::when(thread.updated_at.millis()),
            thread.message_count.to_string(),
            words::path(&thread.card.directory),
            thread.title.text.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec())
        .chain(threads.iter().map(row))
        .collect();
    words::say(aligned(&rows))
}

fn for_programs(thread: &Thread) -> Value {
    json!({
        "id": thread.card.id.to_string(),
        "title": thread.title.text,
        "directory": thread.card.directory,
        "provider": thread.settings.model.provider,
        "model": thread.settings.model.model,
        "messages": thread.message_count,
        "archived": thread.archived,
        "createdAt": thread.card.created_at.iso(),
        "updatedAt": thread.updated_at.iso(),
    })
}
