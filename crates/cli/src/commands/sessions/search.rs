//! `dragoman sessions search`: sessions by what was said in them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use engine::ThreadSearch;
use serde_json::{Value, json};
use server::database;
use vocabulary::{
    ArchivedThreads, Caller, FoundThread, SearchKind, SearchPage, SearchQuery, TextHit, Timestamp,
};

use super::list;
use crate::commands::checkpoints::words;
use crate::screen::{BOLD, CYAN, YELLOW, harmless, has_colours, painted};

/// How often the building of the index is told, in pieces.
const PROGRESS_EVERY: usize = 20;

#[derive(Debug, Args)]
pub struct SearchArguments {
    /// What was said: words, all of which must be there; "words in quotes" must follow each other
    #[arg(required = true)]
    words: Vec<String>,
    /// Only sessions of this directory
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Archived sessions, too
    #[arg(long)]
    archived: bool,
    /// Only sessions that changed since then: a date (2026-01-31) or an age (7d, 12h)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,
    /// How many sessions at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
}

pub async fn run(arguments: SearchArguments, home: &Path, json: bool) -> anyhow::Result<()> {
    let workspace = arguments.workspace.as_deref().map(whole_path).transpose()?;
    let query = SearchQuery {
        text: arguments.words.join(" "),
        archived: match arguments.archived {
            true => ArchivedThreads::Included,
            false => ArchivedThreads::LeftOut,
        },
        directories: workspace.into_iter().collect(),
        updated_since: arguments.since,
        limit: Some(arguments.limit),
        ..SearchQuery::default()
    };
    // Where there is no database there is no session, and looking makes none.
    let page = match database::existing(home) {
        None => SearchPage::default(),
        Some(_) => {
            let search = ThreadSearch::new(super::open(home).await?);
            build_index(&search).await?;
            search.search(&Caller::local().tenant, &query).await?
        }
    };
    if json {
        let sessions: Vec<Value> = page.threads.iter().map(for_programs).collect();
        let more = page.next.is_some();
        return words::say_json(&json!({ "sessions": sessions, "more": more }));
    }
    if page.threads.is_empty() {
        return words::say("Nothing was found.\n");
    }
    let colours = has_colours(&std::io::stdout());
    let mut text: String = page
        .threads
        .iter()
        .map(|found| shown(found, colours))
        .collect();
    if page.next.is_some() {
        text.push_str("There are more: --limit shows up to 100, more words find fewer.\n");
    }
    words::say(text)
}

/// What older versions kept is indexed by the server in its own time; who asks here waits for it.
async fn build_index(search: &ThreadSearch) -> anyhow::Result<()> {
    let mut pieces = 0;
    while let Some(progress) = search.progress().await? {
        if pieces % PROGRESS_EVERY == 0 {
            eprintln!("indexing: {} of {} …", progress.done, progress.total);
        }
        pieces += 1;
        search.index_old().await?;
    }
    Ok(())
}

fn whole_path(path: &Path) -> anyhow::Result<PathBuf> {
    let found = path.canonicalize();
    found.with_context(|| format!("there is no directory {}", path.display()))
}

/// A date in the user's own time, or so long ago.
fn since(text: &str) -> anyhow::Result<Timestamp> {
    if let Ok(age) = words::parse_age(text) {
        let now = jiff::Timestamp::now().as_millisecond();
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        return Ok(Timestamp(now.saturating_sub(age)));
    }
    let Ok(date) = text.parse::<jiff::civil::Date>() else {
        bail!("expected a date (2026-01-31) or an age (7d, 12h)");
    };
    let midnight = date.to_zoned(jiff::tz::TimeZone::system())?;
    Ok(Timestamp(midnight.timestamp().as_millisecond()))
}

fn for_programs(found: &FoundThread) -> Value {
    let hit = |hit: &TextHit| {
        let matches = hit.matches.iter();
        let matches: Vec<Value> = matches
            .map(|range| json!({ "start": range.start, "end": range.end }))
            .collect();
        json!({
            "kind": hit.kind,
            "turn": hit.turn.as_ref().map(|turn| turn.as_str()),
            "item": hit.item.as_ref().map(|item| item.as_str()),
            "at": hit.at.iso(),
            "snippet": hit.snippet,
            "matches": matches,
        })
    };
    let mut session = list::for_programs(&found.thread);
    session["hits"] = found.hits.iter().map(hit).collect();
    session["moreHits"] = found.more_hits.into();
    session
}

fn shown(found: &FoundThread, colours: bool) -> String {
    let thread = &found.thread;
    let title = match thread.title.text.as_str() {
        "" => "(untitled)",
        title => title,
    };
    let mut text = format!(
        "{}\n  {}  {}  {}\n",
        painted(&harmless(title), BOLD, colours),
        painted(&thread.card.id.to_string(), CYAN, colours),
        words::when(thread.updated_at.millis()),
        words::path(&thread.card.directory),
    );
    for hit in &found.hits {
        let line = marked(hit, colours);
        text.push_str(&format!("  {:<8}{line}\n", spelled(hit.kind)));
    }
    if found.more_hits > 0 {
        let more = words::count(u64::from(found.more_hits), "more place", "more places");
        text.push_str(&format!("          and {more}\n"));
    }
    text.push('\n');
    text
}

/// The snippet with its matches in colour, where there are colours.
fn marked(hit: &TextHit, colours: bool) -> String {
    let mut line = String::new();
    let mut at = 0;
    for range in &hit.matches {
        let before = hit.snippet.get(at..range.start).unwrap_or_default();
        let found = hit.snippet.get(range.clone()).unwrap_or_default();
        line.push_str(&harmless(before));
        line.push_str(&painted(&harmless(found), YELLOW, colours));
        at = range.end;
    }
    line.push_str(&harmless(hit.snippet.get(at..).unwrap_or_default()));
    line
}

fn spelled(kind: SearchKind) -> &'static str {
    match kind {
        SearchKind::Title => "title",
        SearchKind::User => "you",
        SearchKind::Agent => "agent",
        SearchKind::Command => "command",
        SearchKind::Path => "file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_coloured_on_a_terminal_only() {
        let hit = TextHit {
            kind: SearchKind::User,
            turn: None,
            item: None,
            at: Timestamp(0),
            snippet: "the key is \u{1b}[2Jhere".to_owned(),
            matches: std::iter::once(4..7).collect(),
        };
        assert_eq!(marked(&hit, false), "the key is \\u{1b}[2Jhere");
        assert_eq!(
            marked(&hit, true),
            "the \x1b[33mkey\x1b[0m is \\u{1b}[2Jhere"
        );
    }

    #[test]
    fn a_time_is_a_date_or_an_age() {
        let (long_ago, lately) = (
            since("2020-01-31").expect("a date"),
            since("7d").expect("an age"),
        );
        assert!(long_ago < lately);
        assert!(since("yesterday").is_err());
    }
}
