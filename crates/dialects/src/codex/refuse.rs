//! Refusals in this protocol's codes.

use vocabulary::{Refusal, Why};

use super::VERSION;
use super::hear::repeated;
use crate::Frame;
use crate::jsonrpc::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND, NOT_SUPPORTED,
    PARSE_ERROR,
};

/// The app-server's word for a server that cannot take more just now.
const OVERLOADED: i32 = -32001;

/// A no, before it is a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodexError {
    pub code: i32,
    pub message: String,
}

impl CodexError {
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    pub fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub fn not_json() -> Self {
        Self::new(PARSE_ERROR, "expected one JSON object per message")
    }

    pub fn unknown_method(method: &str) -> Self {
        let message = format!("unknown method `{}`", repeated(method));
        Self::new(METHOD_NOT_FOUND, message)
    }

    /// What the program on the user's machine says of everything that went wrong there.
    pub fn of_anchor(refusal: &Refusal) -> Self {
        const FAILED: i32 = -1;
        Self::new(FAILED, refusal.message.clone())
    }

    /// A method that we chose not to have.
    pub fn not_supported(method: &str, why: &str) -> Self {
        Self::new(NOT_SUPPORTED, format!("{method} is not supported: {why}"))
    }

    /// As a refusal of anything else, but for the one word that tells them apart.
    pub fn steer(refusal: &Refusal) -> Self {
        match refusal.why {
            Why::NoRunningTurn => Self::request("no active turn to steer"),
            // tidy: wildcard, because everything else is the same for every request
            _ => Self::from(refusal),
        }
    }

    fn new(code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// No id: the request could not be read.
    pub fn frame(&self, id: Option<&Id>) -> Frame {
        VERSION.error(id, self.code, &self.message)
    }
}

/// The one place where a refusal's reason becomes a code.
impl From<&Refusal> for CodexError {
    fn from(refusal: &Refusal) -> Self {
        let code = match &refusal.why {
            Why::Invalid { .. } => INVALID_PARAMS,
            Why::NoRunningTurn => return Self::request("no active turn to interrupt"),
            Why::UnknownThread
            | Why::Busy
            | Why::UnknownAsk
            | Why::UnknownCheckpoint
            | Why::UnknownFile
            | Why::AlreadyAnswered
            | Why::BlankAnswer
            | Why::Conflict
            | Why::Forbidden
            | Why::Unauthenticated
            | Why::InsufficientCredits
            | Why::OwnedElsewhere => INVALID_REQUEST,
            Why::NotAvailable => NOT_SUPPORTED,
            Why::ShuttingDown => OVERLOADED,
            Why::Provider | Why::Storage | Why::Internal => INTERNAL_ERROR,
        };
        Self::new(code, refusal.message.clone())
    }
}
