//! Search over threads: an addition of ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::params::OneOrMany;
use super::thread::Thread;

/// dragoman/search
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DragomanSearchParams {
    /// Words, all of which must be in one text; words in quotes must follow each other.
    pub search_term: String,
    #[serde(default)]
    pub cwd: Option<OneOrMany>,
    /// Left out where it is not said.
    #[serde(default)]
    pub archived: Option<ArchivedChoice>,
    /// Unix seconds.
    #[serde(default)]
    pub updated_since: Option<i64>,
    /// Unix seconds.
    #[serde(default)]
    pub updated_until: Option<i64>,
    /// Empty for the built-in one.
    #[serde(default)]
    pub agent: Option<String>,
    /// By its own name, or with its provider and a slash before it.
    #[serde(default)]
    pub model: Option<String>,
    /// None: all.
    #[serde(default)]
    pub kinds: Option<Vec<SearchTextKind>>,
    /// Only this thread.
    #[serde(default)]
    pub thread_id: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ArchivedChoice {
    Exclude,
    Include,
    Only,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SearchTextKind {
    Title,
    User,
    Agent,
    Command,
    Path,
}

/// dragoman/search
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DragomanSearchResponse<'a> {
    pub data: Vec<DragomanSearchResult<'a>>,
    pub next_cursor: Option<&'a str>,
    /// While what older versions kept is not in the index yet.
    pub indexing: Option<IndexingState>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DragomanSearchResult<'a> {
    pub thread: Thread<'a>,
    /// The best places, at most three unless one thread is searched.
    pub hits: Vec<DragomanSearchHit<'a>>,
    /// How many more there are.
    pub more_hits: u32,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DragomanSearchHit<'a> {
    pub kind: SearchTextKind,
    /// Null for a title.
    pub turn_id: Option<&'a str>,
    pub item_id: Option<&'a str>,
    /// Unix seconds.
    pub created_at: i64,
    /// The words around it.
    pub snippet: &'a str,
    /// Where the words are in the snippet.
    pub matches: Vec<SearchTextRange>,
}

/// In UTF-16 code units.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SearchTextRange {
    pub start: u32,
    pub end: u32,
}

/// In events of the log.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct IndexingState {
    pub done: u64,
    pub total: u64,
}
