//! Search over threads: words in, ranked threads with the places that have them out.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ArchivedThreads, ItemId, Thread, ThreadId, Timestamp, TurnId, WorkspaceId};

/// What is looked for, and in which threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchQuery {
    /// Words, all of which must be in one text; the last one may be cut off. Words in quotes must follow each
    /// other. Nothing in it can be wrong.
    pub text: String,
    pub archived: ArchivedThreads,
    pub workspace: Option<WorkspaceId>,
    /// Only threads of these directories, where any is named.
    pub directories: Vec<PathBuf>,
    /// Only threads that changed then or later.
    pub updated_since: Option<Timestamp>,
    /// Only threads that did not change since.
    pub updated_until: Option<Timestamp>,
    /// Only threads that this agent drives; empty for the built-in one.
    pub agent: Option<String>,
    /// Only threads that use this model, by its own name or with its provider's before it (`provider/model`).
    pub model: Option<String>,
    /// Only texts of these kinds, where any is named.
    pub kinds: Vec<SearchKind>,
    /// Only this thread.
    pub thread: Option<ThreadId>,
    /// Threads with one of these labels are left out.
    pub unlabelled: Vec<(String, String)>,
    /// How many threads a page has at most; as many as is usual where nobody says.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl SearchQuery {
    /// Whether a thread is one of those that are searched. An ephemeral one never is.
    pub fn matches(&self, thread: &Thread) -> bool {
        let card = &thread.card;
        let (since, until) = (self.updated_since, self.updated_until);
        !card.ephemeral
            && self.archived.matches(thread.archived)
            && self.thread.is_none_or(|id| card.id == id)
            && self
                .workspace
                .as_ref()
                .is_none_or(|id| card.workspace == *id)
            && (self.directories.is_empty() || self.directories.contains(&card.directory))
            && since.is_none_or(|since| thread.updated_at >= since)
            && until.is_none_or(|until| thread.updated_at <= until)
            && self.matches_settings(thread)
            && !self
                .unlabelled
                .iter()
                .any(|(label, value)| thread.labels.get(label) == Some(value))
    }

    fn matches_settings(&self, thread: &Thread) -> bool {
        let settings = &thread.settings;
        let agent = settings.agent.as_deref().unwrap_or_default();
        let (provider, model) = (&settings.model.provider, &settings.model.model);
        let is_model = |named: &String| {
            let whole = named.strip_prefix(provider.as_str());
            named == model || whole.and_then(|rest| rest.strip_prefix('/')) == Some(model.as_str())
        };
        self.agent.as_ref().is_none_or(|named| named == agent)
            && self.model.as_ref().is_none_or(is_model)
    }
}

/// What kind of text has the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// The thread's own.
    Title,
    /// What the user said.
    User,
    /// What the agent said.
    Agent,
    /// What was run.
    Command,
    /// Files that calls were about.
    Path,
}

impl SearchKind {
    pub const ALL: [SearchKind; 5] = [
        SearchKind::Title,
        SearchKind::User,
        SearchKind::Agent,
        SearchKind::Command,
        SearchKind::Path,
    ];
}

/// A page of threads that have the words, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchPage {
    pub threads: Vec<FoundThread>,
    /// To be passed as `cursor` for the next page.
    pub next: Option<String>,
    /// While what older versions wrote is not in the index yet: what is found is not all there is.
    pub indexing: Option<IndexingProgress>,
}

/// How far the index has come with what was there before it, in events of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexingProgress {
    pub done: u64,
    pub total: u64,
}

/// A thread that has the words, with the best places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundThread {
    pub thread: Thread,
    pub hits: Vec<TextHit>,
    /// How many more places it has.
    pub more_hits: u32,
}

/// A text that has the words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextHit {
    pub kind: SearchKind,
    /// None where it is the thread's title.
    pub turn: Option<TurnId>,
    pub item: Option<ItemId>,
    /// When it was said.
    pub at: Timestamp,
    /// Some of the text around the words; what is left out at either end is `…`.
    pub snippet: String,
    /// Where the snippet has the words, in bytes, in order.
    pub matches: Vec<Range<usize>>,
}
