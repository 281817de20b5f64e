//! Refusals and turn errors in this protocol's codes.

use vocabulary::{Refusal, TurnError, TurnErrorKind, Why};

use super::wire::ServerEvent;
use super::wire::session::{Error, ServerErrorCode, ServerErrorSource};
use crate::Frame;

/// The one place where a refusal's reason becomes a code and a source.
pub fn code(why: &Why) -> (ServerErrorCode, ServerErrorSource) {
    match why {
        Why::Busy | Why::OwnedElsewhere => (ServerErrorCode::Busy, ServerErrorSource::Session),
        Why::UnknownThread => (ServerErrorCode::UnknownSession, ServerErrorSource::Session),
        Why::UnknownCheckpoint => (ServerErrorCode::ValidationFailed, ServerErrorSource::Backup),
        Why::UnknownAsk
        | Why::UnknownFile
        | Why::AlreadyAnswered
        | Why::Invalid { .. }
        | Why::BlankAnswer
        | Why::NoRunningTurn
        | Why::Conflict => (
            ServerErrorCode::ValidationFailed,
            ServerErrorSource::Session,
        ),
        Why::Forbidden | Why::Unauthenticated => (
            ServerErrorCode::PermissionDenied,
            ServerErrorSource::Permissions,
        ),
        // As for a budget: what its owner allows is used up.
        Why::InsufficientCredits => (
            ServerErrorCode::PermissionDenied,
            ServerErrorSource::Session,
        ),
        Why::Provider => (ServerErrorCode::ProviderError, ServerErrorSource::Provider),
        Why::NotAvailable | Why::ShuttingDown | Why::Storage | Why::Internal => {
            (ServerErrorCode::InternalError, ServerErrorSource::Session)
        }
    }
}

pub fn refusal_frame(session: &str, refusal: &Refusal) -> Frame {
    error_frame(session, &refusal.message, code(&refusal.why))
}

pub fn turn_error_frame(session: &str, error: &TurnError) -> Frame {
    let told_as = match error.kind {
        // The model did nothing wrong but make the same calls again and again.
        TurnErrorKind::Loop => (ServerErrorCode::ProviderError, ServerErrorSource::Tool),
        TurnErrorKind::Provider
        | TurnErrorKind::OutputLimit
        | TurnErrorKind::EmptyAnswer
        | TurnErrorKind::ContextFull => {
            (ServerErrorCode::ProviderError, ServerErrorSource::Provider)
        }
        // What its owner allows is used up; neither the provider nor the server has failed.
        TurnErrorKind::Budget | TurnErrorKind::InsufficientCredits | TurnErrorKind::StepLimit => (
            ServerErrorCode::PermissionDenied,
            ServerErrorSource::Session,
        ),
        TurnErrorKind::ServerRestart | TurnErrorKind::AgentLost | TurnErrorKind::Internal => {
            (ServerErrorCode::InternalError, ServerErrorSource::Session)
        }
    };
    error_frame(session, &error.message, told_as)
}

pub fn error_frame(
    session: &str,
    message: &str,
    (code, source): (ServerErrorCode, ServerErrorSource),
) -> Frame {
    ServerEvent::Error(Error {
        session_id: session,
        message,
        code,
        source,
    })
    .frame()
}
