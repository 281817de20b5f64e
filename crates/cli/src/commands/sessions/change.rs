//! `dragoman sessions archive`, `unarchive` and `delete`: what is changed here, clients of running servers hear.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use engine::Engine;
use serde_json::{Value, json};
use server::open_engine;
use vocabulary::{Call, Caller, Changes, Refusal, Thread, ThreadId, Why};

use super::names::SessionNames;
use super::open;
use crate::commands::checkpoints::words;
use crate::commands::consent;
use crate::screen::harmless;

/// How long what was woken for a change may take to fall asleep again.
const REST_WAIT: Duration = Duration::from_secs(5);
/// So many are named before they are deleted.
const NAMED_MAX: usize = 10;

#[derive(Debug, Args)]
pub struct ChangeArguments {
    /// Ends of ids, whole ids, ids that clients gave, or `last`
    #[arg(value_name = "ID", required = true)]
    pub sessions: Vec<String>,
}

#[derive(Debug, Args)]
pub struct DeleteArguments {
    #[command(flatten)]
    pub chosen: ChangeArguments,
    /// Delete without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    Archive,
    Unarchive,
    Delete,
}

impl SessionChange {
    fn done(self) -> &'static str {
        match self {
            Self::Archive => "archived",
            Self::Unarchive => "unarchived",
            Self::Delete => "deleted",
        }
    }

    fn call(self, thread: ThreadId) -> Call {
        let archived = match self {
            Self::Delete => return Call::DeleteThread { thread },
            Self::Archive => Some(true),
            Self::Unarchive => Some(false),
        };
        let changes = Changes {
            archived,
            ..Changes::default()
        };
        Call::ChangeThread { thread, changes }
    }

    /// Whether there is nothing to change.
    fn is_so(self, thread: &Thread) -> bool {
        match self {
            Self::Archive => thread.archived,
            Self::Unarchive => !thread.archived,
            Self::Delete => false,
        }
    }
}

pub async fn delete(arguments: DeleteArguments, home: &Path, json: bool) -> anyhow::Result<()> {
    if !arguments.yes && (json || !consent::can_ask()) {
        bail!(
            "nothing was deleted, because nobody can be asked here; --yes deletes without asking"
        );
    }
    let store = open(home).await?;
    let names = SessionNames::read(&store, &Caller::local().tenant).await?;
    let threads = names.find_all(&arguments.chosen.sessions)?;
    if !arguments.yes {
        words::say(named(&names, &threads))?;
        if !consent::agreed("Delete for good?").await? {
            return words::say("Nothing was deleted.\n");
        }
    }
    let engine = open_engine(home, store)?;
    make(&engine, SessionChange::Delete, &threads, json).await
}

pub async fn run(
    change: SessionChange,
    arguments: ChangeArguments,
    home: &Path,
    json: bool,
) -> anyhow::Result<()> {
    let store = open(home).await?;
    let names = SessionNames::read(&store, &Caller::local().tenant).await?;
    let threads = names.find_all(&arguments.sessions)?;
    let engine = open_engine(home, store)?;
    make(&engine, change, &threads, json).await
}

fn named(names: &SessionNames, threads: &[&Thread]) -> String {
    let mut text = String::new();
    for thread in threads.iter().take(NAMED_MAX) {
        let title = harmless(&thread.title.text);
        let messages = words::count(thread.message_count, "message", "messages");
        let short = names.short(thread.card.id);
        text.push_str(&format!("  {short}  {title} ({messages})\n"));
    }
    if threads.len() > NAMED_MAX {
        text.push_str(&format!("  and {} more\n", threads.len() - NAMED_MAX));
    }
    text
}

async fn make(
    engine: &Engine,
    change: SessionChange,
    threads: &[&Thread],
    json: bool,
) -> anyhow::Result<()> {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for thread in threads {
        let id = thread.card.id;
        let outcome = match change.is_so(thread) {
            true => Ok(()),
            false => {
                let answered = engine.call(&Caller::local(), change.call(id)).await;
                answered.map(|_| ())
            }
        };
        match outcome {
            Ok(()) => done.push(id.to_string()),
            Err(refusal) => failed.push((id, in_words(refusal))),
        }
    }
    // Whoever else wants them can have them at once.
    engine.stop(REST_WAIT).await;
    tell(change, &done, &failed, json)?;
    match failed.is_empty() {
        true => Ok(()),
        false => bail!(
            "{} of {} sessions are not {}",
            failed.len(),
            threads.len(),
            change.done()
        ),
    }
}

fn in_words(refusal: Refusal) -> String {
    match refusal.why {
        Why::OwnedElsewhere => format!(
            "{}; stop the turn there or let its clients leave, and try again",
            refusal.message
        ),
        // tidy: wildcard, because every other refusal says all there is to say.
        _ => refusal.message,
    }
}

fn tell(
    change: SessionChange,
    done: &[String],
    failed: &[(ThreadId, String)],
    json: bool,
) -> anyhow::Result<()> {
    if json {
        let failed: Vec<Value> = failed
            .iter()
            .map(|(id, why)| json!({ "session": id.to_string(), "why": why }))
            .collect();
        let done_word = change.done();
        return words::say_json(&json!({ done_word: done, "failed": failed }));
    }
    let sessions = words::count(done.len() as u64, "session", "sessions");
    let mut text = format!("{sessions} {}.\n", change.done());
    for (id, why) in failed {
        let line = harmless(&format!("not {}: {id}: {why}", change.done()));
        text.push_str(&format!("{line}\n"));
    }
    words::say(text).context("the outcome is not told")
}
