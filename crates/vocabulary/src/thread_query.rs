//! Which threads a list is about, and in what order.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{SectionFilter, Thread, ThreadId, Timestamp, WorkspaceId};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadQuery {
    pub archived: ArchivedThreads,
    pub workspace: Option<WorkspaceId>,
    /// Also those that work for others, and that lists leave out.
    #[serde(default)]
    pub hidden: bool,
    /// Only threads of these directories, where any is named.
    pub directories: Vec<PathBuf>,
    /// Only threads with this in their title or in the first words said; case does not matter.
    pub text: Option<String>,
    /// Only threads that use a model of these providers, where any is named.
    #[serde(default)]
    pub providers: Vec<String>,
    /// Only these.
    #[serde(default)]
    pub only: Option<Vec<ThreadId>>,
    /// None of these.
    #[serde(default)]
    pub left_out: BTreeSet<ThreadId>,
    /// The library knows who is in which; no store does.
    #[serde(default)]
    pub section: Option<SectionFilter>,
    #[serde(default)]
    pub sort: ThreadSort,
    #[serde(default)]
    pub direction: ListDirection,
    /// `None`: all of them.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// By which time a list of threads is sorted; threads of the same time by their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSort {
    /// Anything of it changed.
    #[default]
    Updated,
    Created,
    /// A turn started or ended; where there was none, it was created.
    Active,
}

impl ThreadSort {
    /// When a thread has its place in the list.
    pub fn time(self, thread: &Thread) -> Timestamp {
        match self {
            ThreadSort::Updated => thread.updated_at,
            ThreadSort::Created => thread.card.created_at,
            ThreadSort::Active => thread.active_at.unwrap_or(thread.card.created_at),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListDirection {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// What a list does with archived threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArchivedThreads {
    #[default]
    LeftOut,
    Included,
    /// Nothing else.
    Only,
}

impl ArchivedThreads {
    fn matches(self, archived: bool) -> bool {
        match self {
            ArchivedThreads::LeftOut => !archived,
            ArchivedThreads::Included => true,
            ArchivedThreads::Only => archived,
        }
    }
}

impl ThreadQuery {
    /// Whether a thread is one of those that the list is about, wherever it pages. An ephemeral one
    /// is in no list.
    pub fn matches(&self, thread: &Thread) -> bool {
        let card = &thread.card;
        let has = |text: &str, words: &str| text.to_lowercase().contains(words);
        let provider = &thread.settings.model.provider;
        !card.ephemeral
            && self.archived.matches(thread.archived)
            && (self.hidden || !thread.is_hidden())
            && self
                .workspace
                .as_ref()
                .is_none_or(|id| card.workspace == *id)
            && (self.directories.is_empty() || self.directories.contains(&card.directory))
            && (self.providers.is_empty() || self.providers.contains(provider))
            && self
                .only
                .as_ref()
                .is_none_or(|only| only.contains(&card.id))
            && !self.left_out.contains(&card.id)
            && self.text.as_ref().is_none_or(|text| {
                let words = text.to_lowercase();
                has(&thread.title.text, &words) || has(&thread.preview, &words)
            })
    }
}
