//! Where traces of turns go, and how that fares.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Where Langfuse is, if nobody says otherwise.
const LANGFUSE_CLOUD: &str = "https://cloud.langfuse.com";
/// What a Langfuse takes traces under.
const LANGFUSE_TRACES_PATH: &str = "/api/public/otel/v1/traces";

/// What may be told of the server's tracing: never a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracingState {
    pub langfuse: LangfuseTarget,
    pub health: TracingHealth,
}

/// Langfuse as it is configured, wholly or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LangfuseTarget {
    pub base_url: String,
    pub traces_url: String,
    pub environment: Option<String>,
    pub release: Option<String>,
    pub has_public_key: bool,
    pub has_secret_key: bool,
}

impl LangfuseTarget {
    /// One of this address, or Langfuse's own, without keys.
    pub fn at(base_url: Option<&str>) -> Self {
        let base_url = base_url.unwrap_or(LANGFUSE_CLOUD).trim_end_matches('/');
        Self {
            base_url: base_url.to_owned(),
            traces_url: format!("{base_url}{LANGFUSE_TRACES_PATH}"),
            environment: None,
            release: None,
            has_public_key: false,
            has_secret_key: false,
        }
    }

    pub fn is_configured(&self) -> bool {
        self.has_public_key && self.has_secret_key
    }
}

impl Default for LangfuseTarget {
    fn default() -> Self {
        Self::at(None)
    }
}

/// How traces fare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TracingHealth {
    /// There is nowhere to send them.
    #[default]
    Unconfigured,
    /// `since`: it had failed before.
    Ready { since: Option<Timestamp> },
    Failing {
        /// The other side took a request and said no; another try would fare no better.
        refused: bool,
        /// For people: what is wrong and what to do. Never a key.
        message: String,
        since: Timestamp,
    },
}
