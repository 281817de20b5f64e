//! Refusals in this protocol's codes.

use vocabulary::{Refusal, Why};

use super::wire::ServerEvent;
use super::wire::parts::ErrorCode;
use crate::NotAuthenticated;

/// When to try again what another process or a full disk is in the way of.
const RETRY_MS: i64 = 1_000;

pub const NO_SUCH_FILE: &str = "there is no such file, or no such version of it";

/// The one place where a refusal's reason becomes a code, and how long to wait where that helps.
fn code(why: &Why) -> (ErrorCode, Option<i64>) {
    match why {
        Why::Busy => (ErrorCode::SessionBusy, None),
        Why::UnknownThread => (ErrorCode::SessionNotFound, None),
        Why::UnknownAsk | Why::AlreadyAnswered => (ErrorCode::RequestAlreadyResolved, None),
        Why::UnknownFile => (ErrorCode::FileNotFound, None),
        Why::Invalid { field } if field == "after" => (ErrorCode::InvalidCursor, None),
        Why::Invalid { .. } | Why::BlankAnswer | Why::UnknownCheckpoint => {
            (ErrorCode::InvalidRequest, None)
        }
        Why::NoRunningTurn => (ErrorCode::NoActiveTurn, None),
        Why::Conflict => (ErrorCode::Conflict, None),
        Why::Forbidden => (ErrorCode::Forbidden, None),
        Why::Unauthenticated => (ErrorCode::Unauthenticated, None),
        Why::OwnedElsewhere => (ErrorCode::SessionUnavailable, Some(RETRY_MS)),
        Why::NotAvailable => (ErrorCode::NotAvailable, None),
        Why::ShuttingDown => (ErrorCode::ServerShuttingDown, Some(RETRY_MS)),
        Why::InsufficientCredits => (ErrorCode::InsufficientCredits, None),
        Why::Storage => (ErrorCode::InternalError, Some(RETRY_MS)),
        Why::Provider | Why::Internal => (ErrorCode::InternalError, None),
    }
}

pub fn refusal(refusal: &Refusal) -> ServerEvent<'_> {
    let (code, retry_after_ms) = code(&refusal.why);
    // The engine speaks of threads and asks; clients of this protocol know neither word.
    let message = match refusal.why {
        Why::UnknownThread => "there is no such session",
        Why::UnknownAsk | Why::AlreadyAnswered => {
            "this request is not open: it was answered before, or never made"
        }
        Why::UnknownFile => NO_SUCH_FILE,
        Why::BlankAnswer => "an answer must not be empty; dismiss the request to skip it",
        Why::Busy
        | Why::UnknownCheckpoint
        | Why::Invalid { .. }
        | Why::NoRunningTurn
        | Why::Conflict
        | Why::Forbidden
        | Why::Unauthenticated
        | Why::OwnedElsewhere
        | Why::NotAvailable
        | Why::Provider
        | Why::ShuttingDown
        | Why::InsufficientCredits
        | Why::Storage
        | Why::Internal => &refusal.message,
    };
    ServerEvent::Error {
        code,
        message,
        retry_after_ms,
    }
}

pub fn error(code: ErrorCode, message: &str) -> ServerEvent<'_> {
    ServerEvent::Error {
        code,
        message,
        retry_after_ms: None,
    }
}

pub fn not_authenticated(why: NotAuthenticated) -> ServerEvent<'static> {
    match why {
        NotAuthenticated::Wrong => error(
            ErrorCode::AuthFailed,
            "this token is nobody's, or not good any more",
        ),
        NotAuthenticated::OtherDialect => {
            error(ErrorCode::AuthFailed, "this token is not for this protocol")
        }
        NotAuthenticated::OtherCaller => error(
            ErrorCode::AuthFailed,
            "this token is another user's than this connection; open a new one for it",
        ),
        NotAuthenticated::NotNow => ServerEvent::Error {
            code: ErrorCode::InternalError,
            message: "who you are cannot be found out right now; try again in a moment",
            retry_after_ms: Some(RETRY_MS),
        },
        NotAuthenticated::TooMany { retry_after_ms } => ServerEvent::Error {
            code: ErrorCode::AuthRateLimited,
            message: "too many wrong tokens came from there; wait, and send the right one",
            retry_after_ms: Some(retry_after_ms),
        },
    }
}

pub fn rate_limited(wait_ms: i64) -> ServerEvent<'static> {
    ServerEvent::Error {
        code: ErrorCode::RateLimited,
        message: "too many messages; wait before the next one",
        retry_after_ms: Some(wait_ms),
    }
}
