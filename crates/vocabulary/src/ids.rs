//! Identifiers, positions and times: newtypes, so that one is never taken for another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A thread's own id. Ids that clients made up are kept beside it, see `Thread::client_id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(pub Uuid);

impl ThreadId {
    /// Reads an id as a client sent it; anything but a UUID is nobody's thread.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.0)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

text_id!(
    /// One turn of a thread: ours, or the id a client gave when it started the turn.
    TurnId
);
text_id!(
    /// One entry of the transcript.
    ItemId
);
text_id!(
    /// Who owns threads. A lone user is the tenant `local`.
    TenantId
);
text_id!(
    /// A directory and its settings, where threads run.
    WorkspaceId
);

text_id!(
    /// A section of a tenant's list of threads.
    SectionId
);

impl TenantId {
    /// The tenant of a lone user.
    pub const LOCAL: &'static str = "local";

    /// Whether this is the tenant of a lone user, who owns the server.
    pub fn is_local(&self) -> bool {
        self.as_str() == Self::LOCAL
    }

    /// Whether it can be the name of a directory: 1 to 64 of `a-z`, `0-9`, `_` and `-`, beginning with a
    /// letter or a digit.
    pub fn is_plain(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let id = self.as_str().as_bytes();
        let rest = |byte: &u8| plain(*byte) || matches!(byte, b'_' | b'-');
        id.len() <= 64 && id.first().is_some_and(|first| plain(*first)) && id.iter().all(rest)
    }
}

/// An ask's number: unique in the whole home, the same after every restart, starting at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub u64);

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A position in one thread's log. It only grows, whatever happens to the process.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    pub const ZERO: Seq = Seq(0);

    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn millis(self) -> i64 {
        self.0
    }

    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// `2026-02-19T18:00:00.000Z`, as JavaScript's `toISOString` writes it.
    pub fn iso(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => format!("{time:.3}"),
            Err(_) => "1970-01-01T00:00:00.000Z".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_written_as_javascript_writes_it() {
        assert_eq!(
            Timestamp(1_771_524_000_000).iso(),
            "2026-02-19T18:00:00.000Z"
        );
        assert_eq!(
            Timestamp(1_771_524_000_007).iso(),
            "2026-02-19T18:00:00.007Z"
        );
    }

    #[test]
    fn only_a_uuid_names_a_thread() {
        assert!(ThreadId::parse("73d90981-ed97-4e30-a4a8-74684326d1fc").is_some());
        assert!(ThreadId::parse("").is_none());
        assert!(ThreadId::parse("../../etc/passwd").is_none());
    }
}
