//! Refusals: a typed no.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ThreadId;

/// Why a call did not happen, and a sentence for people. A refused call changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{message}")]
pub struct Refusal {
    pub why: Why,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// A turn is running.
    Busy,
    UnknownThread,
    UnknownAsk,
    UnknownCheckpoint,
    /// No such file, or no such version of it.
    UnknownFile,
    AlreadyAnswered,
    /// A field is not what it should be.
    Invalid {
        field: Cow<'static, str>,
    },
    /// The answer was empty; the ask stays open.
    BlankAnswer,
    NoRunningTurn,
    /// The same client id with another body.
    Conflict,
    Forbidden,
    Unauthenticated,
    /// Another process has this thread awake.
    OwnedElsewhere,
    NotAvailable,
    /// A model's service said no, or could not be asked.
    Provider,
    ShuttingDown,
    /// The tenant's balance does not cover it.
    InsufficientCredits,
    /// The store could not keep it: a full disk, a lost database.
    Storage,
    Internal,
}

impl Why {
    pub const fn invalid(field: &'static str) -> Self {
        Self::Invalid {
            field: Cow::Borrowed(field),
        }
    }
}

impl Refusal {
    pub fn new(why: Why, message: impl Into<String>) -> Self {
        Self {
            why,
            message: message.into(),
        }
    }

    pub fn busy() -> Self {
        Self::new(Why::Busy, "Agent is busy")
    }

    pub fn unknown_thread(thread: ThreadId) -> Self {
        Self::new(Why::UnknownThread, format!("there is no thread {thread}"))
    }

    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::new(Why::invalid(field), message)
    }

    pub fn shutting_down() -> Self {
        Self::new(
            Why::ShuttingDown,
            "the server is shutting down; connect again in a moment",
        )
    }
}
