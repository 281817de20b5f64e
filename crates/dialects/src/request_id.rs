//! How two dialects spell which question of which ask is meant.

use std::fmt;

use vocabulary::AskId;

/// `req-7` is ask 7 or its first question, `req-7-2` its second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    pub ask: AskId,
    /// The place of the question, from 0.
    pub position: u32,
}

impl RequestId {
    pub fn first(ask: AskId) -> Self {
        Self { ask, position: 0 }
    }

    /// Reads what `Display` wrote, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("req-")?;
        let (ask, position) = match rest.split_once('-') {
            Some((ask, number)) => (ask, number.parse::<u32>().ok()?.checked_sub(1)?),
            None => (rest, 0),
        };
        let id = Self {
            ask: AskId(ask.parse().ok()?),
            position,
        };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            0 => write!(f, "req-{}", self.ask),
            position => write!(f, "req-{}-{}", self.ask, u64::from(position) + 1),
        }
    }
}
