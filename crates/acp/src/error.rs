//! Why an agent could not be asked.

use thiserror::Error;

use crate::limits::ERROR_CHARS_MAX;

/// In words for people: what is wrong, and what to do where that is known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct AcpError {
    pub kind: AcpErrorKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcpErrorKind {
    /// Its program is not there.
    NotInstalled,
    /// A person must sign in first.
    SignIn,
    /// It refused the request; it goes on.
    Refused,
    /// It is gone, does not answer, or cannot be understood: the connection is of no use any more.
    Lost,
}

impl AcpError {
    pub fn new(kind: AcpErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let message = match message.char_indices().nth(ERROR_CHARS_MAX) {
            None => message,
            Some((cut, _)) => format!("{}…", &message[..cut]),
        };
        Self { kind, message }
    }

    pub(crate) fn lost(message: impl Into<String>) -> Self {
        Self::new(AcpErrorKind::Lost, message)
    }
}
