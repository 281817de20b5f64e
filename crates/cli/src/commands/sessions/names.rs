//! Which session a person means: by the end of its id, its whole id, an id that a client made, or `last`.

use std::fmt::Write as _;

use anyhow::bail;
use store::SharedStore;
use vocabulary::{ArchivedThreads, TenantId, Thread, ThreadId, ThreadQuery};

use crate::screen::harmless;

/// What stands for the session that changed last.
const LAST: &str = "last";
/// Ends of ids are shown with at least so many letters, so that new sessions rarely take one away.
const SHORT_CHARS_MIN: usize = 6;
/// So many are named where several are meant.
const CANDIDATES_MAX: usize = 10;

/// All sessions of a tenant, the newest first, and how they are called.
pub struct SessionNames {
    threads: Vec<Thread>,
    short_chars: usize,
}

impl SessionNames {
    pub async fn read(store: &SharedStore, tenant: &TenantId) -> anyhow::Result<Self> {
        let query = ThreadQuery {
            archived: ArchivedThreads::Included,
            hidden: true,
            ..ThreadQuery::default()
        };
        Ok(Self::of(store.threads(tenant, &query).await?.threads))
    }

    fn of(threads: Vec<Thread>) -> Self {
        // Ids begin with the time, so that those of one day begin alike: their ends tell them apart.
        let mut ends: Vec<String> = threads.iter().map(|it| reversed(it.card.id)).collect();
        ends.sort();
        let alike = |pair: &[String]| {
            let both = pair[0].chars().zip(pair[1].chars());
            both.take_while(|(a, b)| a == b).count()
        };
        let longest = ends.windows(2).map(alike).max().unwrap_or(0);
        Self {
            threads,
            short_chars: (longest + 1).max(SHORT_CHARS_MIN),
        }
    }

    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The end of an id that no other session has.
    pub fn short(&self, id: ThreadId) -> String {
        let id = id.to_string();
        let from = id.len().saturating_sub(self.short_chars);
        id[from..].to_owned()
    }

    /// The session that is meant; an error names those that could be.
    pub fn find(&self, name: &str) -> anyhow::Result<&Thread> {
        let named = name.trim();
        if named == LAST {
            let newest = self.threads.iter().find(|thread| !thread.archived);
            return newest.ok_or_else(|| anyhow::anyhow!("no sessions are kept"));
        }
        let is_it = |thread: &&Thread| {
            let id = ThreadId::parse(named);
            id == Some(thread.card.id) || thread.card.client_id.as_deref() == Some(named)
        };
        if let Some(found) = self.threads.iter().find(is_it) {
            return Ok(found);
        }
        let end = named.to_ascii_lowercase();
        let ends_so = |thread: &&Thread| thread.card.id.to_string().ends_with(&end);
        let found: Vec<&Thread> = match end.is_empty() {
            true => Vec::new(),
            false => self.threads.iter().filter(ends_so).collect(),
        };
        match found.as_slice() {
            [only] => Ok(only),
            [] => bail!(
                "there is no session {}; `dragoman sessions list --archived` shows all of them",
                harmless(name)
            ),
            several => bail!("{}", self.candidates(name, several)),
        }
    }

    /// All that are named, each once; one that is not there is an error for all of them.
    pub fn find_all(&self, names: &[String]) -> anyhow::Result<Vec<&Thread>> {
        let mut found: Vec<&Thread> = Vec::new();
        for name in names {
            let thread = self.find(name)?;
            if !found.iter().any(|it| it.card.id == thread.card.id) {
                found.push(thread);
            }
        }
        Ok(found)
    }

    fn candidates(&self, name: &str, several: &[&Thread]) -> String {
        let mut text = format!("{} sessions end in {}:", several.len(), harmless(name));
        for thread in several.iter().take(CANDIDATES_MAX) {
            let title = harmless(&thread.title.text);
            let _ = write!(text, "\n  {}  {title}", self.short(thread.card.id));
        }
        if several.len() > CANDIDATES_MAX {
            text.push_str("\n  …");
        }
        text
    }
}

fn reversed(id: ThreadId) -> String {
    id.to_string().chars().rev().collect()
}
