//! How a model answers: how much it says, and what it shows of its thoughts. How hard it thinks is a
//! word of the catalog, because services have words of their own for that.

use serde::{Deserialize, Serialize};

/// How much a model says, where its service lets that be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verbosity {
    Low,
    Medium,
    High,
}

impl Verbosity {
    pub const ALL: [Verbosity; 3] = [Verbosity::Low, Verbosity::Medium, Verbosity::High];

    pub fn word(self) -> &'static str {
        match self {
            Verbosity::Low => "low",
            Verbosity::Medium => "medium",
            Verbosity::High => "high",
        }
    }

    pub fn named(word: &str) -> Option<Verbosity> {
        Self::ALL.into_iter().find(|each| each.word() == word)
    }
}

/// How much of a model's thoughts is summarised for people, where its service does that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryDetail {
    /// No summary is asked for.
    None,
    /// As the service finds best.
    Auto,
    Concise,
    Detailed,
}

impl SummaryDetail {
    pub const ALL: [SummaryDetail; 4] = [
        SummaryDetail::None,
        SummaryDetail::Auto,
        SummaryDetail::Concise,
        SummaryDetail::Detailed,
    ];

    pub fn word(self) -> &'static str {
        match self {
            SummaryDetail::None => "none",
            SummaryDetail::Auto => "auto",
            SummaryDetail::Concise => "concise",
            SummaryDetail::Detailed => "detailed",
        }
    }

    pub fn named(word: &str) -> Option<SummaryDetail> {
        Self::ALL.into_iter().find(|each| each.word() == word)
    }
}
