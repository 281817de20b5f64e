//! What is kept with a thread of the repository that it works in.

use serde::{Deserialize, Serialize};

/// The repository around a thread's directory as it was when the thread was made, or as a client said since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<String>,
    /// Where it was cloned from, without a name or a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl GitInfo {
    /// How long each of its texts may be.
    pub const CHARS_MAX: usize = 1_000;

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn changed(mut self, change: &GitInfoChange) -> Self {
        change.branch.apply(&mut self.branch);
        change.sha.apply(&mut self.sha);
        change.origin.apply(&mut self.origin);
        self
    }
}

/// What becomes of it, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitInfoChange {
    pub branch: FieldChange<String>,
    pub sha: FieldChange<String>,
    pub origin: FieldChange<String>,
}

/// What becomes of a field that may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldChange<T> {
    #[default]
    Stays,
    Set(Option<T>),
}

impl<T: Clone> FieldChange<T> {
    pub fn apply(&self, field: &mut Option<T>) {
        if let FieldChange::Set(value) = self {
            field.clone_from(value);
        }
    }
}

impl<T> FieldChange<T> {
    /// From a field of a frame that may be left out, and may be null.
    pub fn given(given: Option<Option<T>>) -> Self {
        given.map_or(FieldChange::Stays, FieldChange::Set)
    }
}
