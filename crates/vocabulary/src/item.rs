//! Items: the entries of a transcript that the model writes, and its plan.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a provider wants back as it was when the conversation goes on. It means nothing to anyone
/// else and is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    pub origin: String,
    pub value: Value,
}

/// An entry that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    AgentMessage {
        text: String,
        /// Cut short by a cancel, a failure or the end of the process.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Box<Native>>,
    },
    Reasoning {
        kind: ReasoningKind,
        text: String,
        /// Where in the text its parts after the first begin.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        breaks: Vec<usize>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Box<Native>>,
    },
    /// A review began: what is reviewed, in words for people.
    ReviewEntered { review: String },
    /// It is over: what the reviewer found.
    ReviewExited { review: String },
    /// What the model proposes to do, for a person to say yes to: a part of what it wrote, marked by it.
    Plan {
        /// Without its marks.
        text: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        marks: PlanMarks,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Box<Native>>,
    },
    /// A file that the model made: a picture, mostly.
    File {
        media_type: String,
        base64: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Box<Native>>,
    },
}

/// Where a blank line parts two parts of a thought.
pub const PART_BREAK: &str = "\n\n";

/// The parts of a thought, without the blank lines between them; none of an empty one.
pub fn reasoning_parts<'a>(text: &'a str, breaks: &[usize]) -> Vec<&'a str> {
    let ends = breaks.iter().copied().chain([text.len()]);
    let starts = std::iter::once(0).chain(breaks.iter().copied());
    let parts = starts.zip(ends).filter_map(|(start, end)| {
        let part = text.get(start..end)?;
        match end == text.len() {
            true => Some(part),
            false => Some(part.strip_suffix(PART_BREAK).unwrap_or(part)),
        }
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// What stood around a plan where the model wrote it: with these, its own words are as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMarks {
    pub before: String,
    /// Empty for a plan that was never ended.
    pub after: String,
}

impl PlanMarks {
    /// Of a plan that was not ended, and of which nothing else is known.
    pub fn begun() -> Self {
        Self {
            before: "<proposed_plan>\n".to_owned(),
            after: String::new(),
        }
    }
}

/// Whether a provider shows the reasoning itself or only a summary of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningKind {
    Reasoning,
    Summary,
}

/// One line of the to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub content: String,
    pub status: PlanStepStatus,
    /// The same in the present continuous, shown while it is being done.
    pub active_form: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    Pending,
    InProgress,
    Completed,
}
