//! Sections of the list of threads.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// threadSection/create
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ThreadSectionCreateParams {
    pub name: String,
    #[serde(default)]
    pub appearance: Option<ThreadSectionAppearance>,
}

/// How clients draw a section; the server keeps it and gives it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSectionAppearance {
    #[serde(default)]
    pub icon: Option<String>,
    #[serde(default)]
    pub color: Option<String>,
}

/// threadSection/update
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionUpdateParams {
    pub section_id: String,
    pub name: String,
    /// Left out: it stays. Null: there is none any more.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub appearance: Option<Option<ThreadSectionAppearance>>,
}

/// A field that is there, and may be null.
pub fn given<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// threadSection/delete
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionDeleteParams {
    pub section_id: String,
}

/// threadSection/list
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ThreadSectionListParams {
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
}

/// thread/section/move
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionMoveParams {
    pub thread_id: String,
    /// Null: out of its section. It must be there.
    #[serde(deserialize_with = "Option::deserialize")]
    pub section_id: Option<String>,
    /// A thread of that section; left out: to its end.
    #[serde(default)]
    pub before_thread_id: Option<String>,
}

/// Shared Types: ThreadSection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadSection<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub appearance: Option<ThreadSectionAppearance>,
}

/// threadSection/create, threadSection/update
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThreadSectionResponse<'a> {
    pub section: ThreadSection<'a>,
}
