//! Search over threads: an addition of ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::thread::Thread;

/// thread/search
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadSearchParams {
    /// Words, all of which must be in one text; words in quotes must follow each other.
    pub query: String,
    /// Threads of all workspaces where it is left out.
    pub workspace_id: Option<String>,
    /// Hidden threads, too.
    pub include_hidden: Option<bool>,
    /// Unix seconds.
    pub updated_since: Option<i64>,
    /// Unix seconds.
    pub updated_until: Option<i64>,
    /// By its own name, or with its provider and a slash before it.
    pub model: Option<String>,
    /// None: all.
    pub kinds: Option<Vec<ThreadSearchKind>>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSearchKind {
    Title,
    User,
    Agent,
    Command,
    Path,
}

/// thread/search
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadSearchResponse<'a> {
    pub results: Vec<ThreadSearchResult<'a>>,
    pub next_cursor: Option<&'a str>,
    /// While what older versions kept is not in the index yet.
    pub indexing: Option<ThreadSearchIndexing>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadSearchResult<'a> {
    pub thread: Thread<'a>,
    /// The best places, at most three.
    pub hits: Vec<ThreadSearchHit<'a>>,
    /// How many more there are.
    pub more_hits: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadSearchHit<'a> {
    pub kind: ThreadSearchKind,
    /// Null for a title.
    pub turn_id: Option<&'a str>,
    pub item_id: Option<&'a str>,
    /// Unix seconds.
    pub created_at: i64,
    /// The words around it.
    pub snippet: &'a str,
    /// Where the words are in the snippet.
    pub matches: Vec<ThreadSearchRange>,
}

/// In UTF-16 code units.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadSearchRange {
    pub start: u32,
    pub end: u32,
}

/// In events of the log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadSearchIndexing {
    pub done: u64,
    pub total: u64,
}
