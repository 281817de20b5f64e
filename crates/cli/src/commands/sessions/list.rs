//! `dragoman sessions list`: which sessions are kept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use engine::transfer;
use serde_json::{Value, json};
use server::database;
use store::SharedStore;
use vocabulary::{Caller, Status, Thread, ThreadId, Usage};

use super::names::SessionNames;
use super::open;
use super::table::{Column, table};
use crate::commands::checkpoints::words;
use crate::commands::tenants::credit::dollars;

/// So many are shown to a person who does not say how many.
const SHOWN_MAX: usize = 50;

#[derive(Debug, Default, Args)]
pub struct ListArguments {
    /// Only sessions of this directory, or of the workspace with this id
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Show archived sessions, too
    #[arg(long)]
    pub archived: bool,
    /// Show sessions that clients hide, too: those of sub-agents and tasks
    #[arg(long)]
    pub all: bool,
    /// How many are shown; 0 for all of them [default: 50, all with --json]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// A session as the list shows it.
struct ListedSession<'a> {
    thread: &'a Thread,
    short: String,
    state: &'static str,
    usage: Usage,
}

pub async fn run(arguments: ListArguments, home: &Path, json: bool) -> anyhow::Result<()> {
    // Where there is no database there is no session, and looking makes none.
    if database::existing(home).is_none() {
        return match json {
            true => words::say_json(&json!({ "sessions": [] })),
            false => words::say("No sessions are kept.\n"),
        };
    }
    let store = open(home).await?;
    let names = SessionNames::read(&store, &Caller::local().tenant).await?;
    let wanted: Vec<&Thread> = names
        .threads()
        .iter()
        .filter(|thread| arguments.wants(thread))
        .collect();
    let limit = match (arguments.limit, json) {
        (Some(0), _) | (None, true) => usize::MAX,
        (Some(limit), _) => limit,
        (None, false) => SHOWN_MAX,
    };
    let listed = look(&store, &names, &wanted[..wanted.len().min(limit)]).await?;
    if json {
        let sessions: Vec<Value> = listed.iter().map(ListedSession::to_json).collect();
        return words::say_json(&json!({ "sessions": sessions }));
    }
    if wanted.is_empty() {
        return words::say(match names.threads().is_empty() {
            true => "No sessions are kept.\n",
            false => "No such sessions are kept; --archived and --all show more.\n",
        });
    }
    let mut text = for_people(&listed);
    if listed.len() < wanted.len() {
        let (shown, all) = (listed.len(), wanted.len());
        text.push_str(&format!("{shown} of {all} sessions; --limit 0 shows all\n"));
    }
    words::say(text)
}

impl ListArguments {
    fn wants(&self, thread: &Thread) -> bool {
        (self.archived || !thread.archived)
            && (self.all || !thread.is_hidden())
            && self
                .workspace
                .as_ref()
                .is_none_or(|named| is_in(named, thread))
    }
}

/// Whether a session works in a directory, or in the workspace of an id.
fn is_in(named: &Path, thread: &Thread) -> bool {
    let directory = named.canonicalize().unwrap_or_else(|_| named.to_owned());
    let card = &thread.card;
    card.directory == directory || Path::new(card.workspace.as_str()) == named
}

async fn look<'a>(
    store: &SharedStore,
    names: &SessionNames,
    threads: &[&'a Thread],
) -> anyhow::Result<Vec<ListedSession<'a>>> {
    let left: BTreeSet<ThreadId> = store.unfinished().await?.into_iter().collect();
    let mut listed = Vec::new();
    for thread in threads {
        let id = thread.card.id;
        // One that was deleted since is shown as it was.
        let kept = transfer::kept(store, id).await.ok();
        listed.push(ListedSession {
            thread,
            short: names.short(id),
            state: state(thread.status, left.contains(&id)),
            usage: kept.map(|kept| kept.state.usage).unwrap_or_default(),
        });
    }
    Ok(listed)
}

/// In a word; nothing for one that is at rest.
fn state(status: Status, is_left: bool) -> &'static str {
    match status {
        Status::Running if is_left => "cut off",
        Status::Running => "running",
        Status::Waiting => "waiting",
        Status::Error => "failed",
        Status::Inactive | Status::Activating | Status::Ready | Status::Deactivating => "",
    }
}

/// What was spent; a dash where the price is not known.
fn cost(usage: &Usage) -> String {
    match usage.cost_micro_dollars {
        Some(cost) => dollars(cost.cast_signed()),
        None => "-".to_owned(),
    }
}

fn for_people(listed: &[ListedSession<'_>]) -> String {
    let columns = [
        Column::fixed("SESSION"),
        Column::fixed("CHANGED"),
        Column::fixed("STATE"),
        Column::fixed("MESSAGES"),
        Column::fixed("COST"),
        Column::cut_at_start("DIRECTORY"),
        Column::cut_at_end("TITLE"),
    ];
    let row = |session: &ListedSession<'_>| {
        let thread = session.thread;
        let mut changed = words::when(thread.updated_at.millis());
        // To the minute.
        changed.truncate("2026-02-19 18:00".len());
        let state = match (session.state, thread.archived) {
            ("", true) => "archived",
            (state, _) => state,
        };
        let title = match thread.title.text.is_empty() {
            true => &thread.preview,
            false => &thread.title.text,
        };
        vec![
            session.short.clone(),
            changed,
            state.to_owned(),
            thread.message_count.to_string(),
            cost(&session.usage),
            thread.card.directory.to_string_lossy().into_owned(),
            title.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = listed.iter().map(row).collect();
    table(&columns, &rows)
}

impl ListedSession<'_> {
    fn to_json(&self) -> Value {
        let mut session = for_programs(self.thread);
        session["shortId"] = self.short.as_str().into();
        session["state"] = match self.state {
            "" => "idle".into(),
            state => state.into(),
        };
        session["costMicroDollars"] = self.usage.cost_micro_dollars.into();
        session["tokens"] = self.usage.total_tokens().into();
        session
    }
}

/// What every list says of a session.
pub fn for_programs(thread: &Thread) -> Value {
    json!({
        "id": thread.card.id.to_string(),
        "clientId": thread.card.client_id,
        "title": thread.title.text,
        "directory": thread.card.directory,
        "workspace": thread.card.workspace.as_str(),
        "provider": thread.settings.model.provider,
        "model": thread.settings.model.model,
        "messages": thread.message_count,
        "archived": thread.archived,
        "createdAt": thread.card.created_at.iso(),
        "updatedAt": thread.updated_at.iso(),
    })
}
