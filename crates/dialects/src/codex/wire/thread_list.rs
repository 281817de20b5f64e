//! Lists of threads: what is asked for, and what comes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::params::{OneOrMany, SortDirection};
use super::sections::given;
use super::thread::Thread;

/// What all lists of threads are asked with: thread/list, thread/search.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPageParams {
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub sort_key: Option<ThreadSortKey>,
    #[serde(default)]
    pub sort_direction: Option<SortDirection>,
    #[serde(default)]
    pub archived: Option<bool>,
    /// Where threads came from; none named: all.
    #[serde(default)]
    pub source_kinds: Option<Vec<String>>,
}

/// thread/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadListParams {
    #[serde(flatten)]
    pub page: ThreadPageParams,
    #[serde(default)]
    pub cwd: Option<OneOrMany>,
    #[serde(default)]
    pub search_term: Option<String>,
    /// Providers of models; none named: all.
    #[serde(default)]
    pub model_providers: Option<Vec<String>>,
    /// Threads that are left out before the page is cut.
    #[serde(default)]
    pub excluded_thread_ids: Option<Vec<String>>,
    /// Who made threads; must be left out or empty.
    #[serde(default)]
    pub originators: Option<Vec<String>>,
    /// Null for threads in no section; left out for all.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub section_id: Option<Option<String>>,
    /// Null for threads in no project, which all are; left out for all.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<Option<String>>,
    /// Threads of sub-agents, of which there are none here.
    #[serde(default)]
    pub parent_thread_id: Option<String>,
    #[serde(default)]
    pub ancestor_thread_id: Option<String>,
    /// Threads that hang on another one, of which there are none here.
    #[serde(default)]
    pub attached_to_thread_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSortKey {
    CreatedAt,
    UpdatedAt,
    RecencyAt,
    SectionPosition,
}

/// thread/list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResponse<'a> {
    pub data: Vec<Thread<'a>>,
    pub next_cursor: Option<String>,
    /// For the other direction: that page begins with the first thread of this one.
    pub backwards_cursor: Option<String>,
}

/// thread/search
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchParams {
    pub search_term: String,
    #[serde(flatten)]
    pub page: ThreadPageParams,
}

/// thread/search
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchResponse<'a> {
    pub data: Vec<ThreadSearchResult<'a>>,
    pub next_cursor: Option<String>,
    pub backwards_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadSearchResult<'a> {
    /// The title or the first words, whichever has what was searched for.
    pub snippet: &'a str,
    pub thread: Thread<'a>,
}

/// thread/loaded/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ThreadLoadedListParams {
    #[serde(default)]
    pub cursor: Option<String>,
    /// None: all of them.
    #[serde(default)]
    pub limit: Option<u32>,
}
