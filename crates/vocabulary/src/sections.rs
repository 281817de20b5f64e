//! Sections: where a person puts threads in a list, across all workspaces, in an order of their own.

use serde::{Deserialize, Serialize};

use crate::{FieldChange, SectionId, ThreadId, Timestamp};

/// The section that is always there. Its id is the same everywhere: clients know it by heart.
pub const PINNED_SECTION: &str = "01984de2-8f74-7c91-a3b2-5c5e937cf318";

/// A named part of a tenant's list of threads. A thread is in one of them at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub id: SectionId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appearance: Option<SectionAppearance>,
    pub created_at: Timestamp,
}

/// How clients draw a section, in words of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionAppearance {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

/// The section that a thread is in, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InSection {
    pub section: Section,
    pub entered_at: Timestamp,
}

/// What a client can want of sections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SectionCall {
    /// The pinned one first, then the oldest first.
    List,
    Create {
        name: String,
        appearance: Option<SectionAppearance>,
    },
    Update {
        section: SectionId,
        name: String,
        appearance: FieldChange<SectionAppearance>,
    },
    /// The threads in it are in none then.
    Delete { section: SectionId },
    /// Into a section, to another place in it, or out of any.
    Move {
        thread: ThreadId,
        to: Option<SectionPlace>,
    },
}

/// Where in a section a thread is to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionPlace {
    pub section: SectionId,
    /// To its end when absent.
    pub before: Option<ThreadId>,
}

/// Which threads a list is about, by their sections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionFilter {
    /// Those in no section.
    Unsectioned,
    Of {
        section: SectionId,
        /// Whether the list has the section's own order, rather than that of a time. *Oldest first* is from
        /// its beginning to its end.
        in_order: bool,
    },
}
