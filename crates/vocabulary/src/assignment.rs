//! What a harness, a program that drives a client, wants of a thread.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What the work in a thread is for, and by what it is judged. The model reads it while it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The harness's own names for it.
    pub run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub objective: String,
    #[serde(default)]
    pub criteria: Vec<String>,
    #[serde(default)]
    pub constraints: Vec<String>,
    /// For programs; the model is not told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// When it was set; filled in by the session.
    pub updated_at: Timestamp,
}

impl Assignment {
    /// The same without blanks at the ends, and without what is blank altogether.
    fn trimmed(self) -> Self {
        let trim = |text: String| text.trim().to_owned();
        let all = |texts: Vec<String>| {
            let texts = texts.into_iter().map(trim);
            texts.filter(|text| !text.is_empty()).collect()
        };
        let metadata = self.metadata.into_iter();
        let metadata = metadata.map(|(name, value)| (trim(name), trim(value)));
        Self {
            run: trim(self.run),
            task: self.task.map(trim).filter(|task| !task.is_empty()),
            objective: trim(self.objective),
            criteria: all(self.criteria),
            constraints: all(self.constraints),
            metadata: metadata
                .filter(|(name, value)| !name.is_empty() && !value.is_empty())
                .collect(),
            updated_at: self.updated_at,
        }
    }

    /// As it is kept once it was set.
    pub fn set_at(self, updated_at: Timestamp) -> Self {
        Self {
            updated_at,
            ..self.trimmed()
        }
    }

    /// How much text it is.
    pub fn bytes(&self) -> usize {
        let list = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        let pairs = self.metadata.iter();
        let pairs: usize = pairs.map(|(name, value)| name.len() + value.len()).sum();
        let task = self.task.as_ref().map_or(0, String::len);
        let texts = list(&self.criteria) + list(&self.constraints);
        self.run.len() + task + self.objective.len() + texts + pairs
    }
}
