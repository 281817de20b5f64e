//! The items of a thread without their turns, and places in what was said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::ThreadItem;
use super::params::SortDirection;

/// thread/items/list
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListParams {
    pub thread_id: String,
    /// Only the items of this turn.
    #[serde(default)]
    pub turn_id: Option<String>,
    #[serde(default)]
    pub cursor: Option<ThreadItemsListCursor>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub sort_direction: Option<SortDirection>,
}

/// Of a page before, or an item of the turn that `turnId` names.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ThreadItemsListCursor {
    Page(String),
    Anchor(ThreadItemsListAnchor),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadItemsListAnchor {
    Item { item_id: String },
}

/// thread/items/list
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListResponse<'a> {
    pub data: Vec<ThreadItemEntry<'a>>,
    pub next_cursor: Option<String>,
    /// For the other direction: that page begins with the first item of this one.
    pub backwards_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemEntry<'a> {
    pub turn_id: &'a str,
    pub item: ThreadItem<'a>,
}

/// thread/items/read
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsReadParams {
    pub thread_id: String,
    pub turn_id: String,
    pub item_ids: Vec<String>,
}

/// thread/items/read
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadItemsReadResponse<'a> {
    pub data: Vec<ThreadItemEntry<'a>>,
}

/// thread/searchOccurrences
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchOccurrencesParams {
    pub thread_id: String,
    pub search_term: String,
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
}

/// thread/searchOccurrences
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchOccurrence {
    pub turn_id: String,
    pub item_id: String,
    /// The words around it.
    pub snippet: String,
    pub snippet_match_range: ThreadSearchTextRange,
    /// For `thread/turns/list`: that page begins with the turn it is in, in both directions.
    pub turn_cursor: String,
}

/// In UTF-16 code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadSearchTextRange {
    pub start: u32,
    pub end: u32,
}
