//! Refusals in this protocol's codes: almost everything is -32600.

use vocabulary::{Refusal, Why};

use super::hear::PioneerError;

/// The one place where a refusal becomes an error.
pub fn wrong(method: &str, thread: Option<&str>, refusal: &Refusal) -> PioneerError {
    match &refusal.why {
        // Folders are looked up, and what is not found is no matter of params here.
        Why::Invalid { field } if matches!(&**field, "folder_id" | "parent_folder_id") => {
            PioneerError::request(&refusal.message)
        }
        Why::Invalid { .. } | Why::BlankAnswer => PioneerError::params(method, &refusal.message),
        Why::UnknownThread => match thread {
            Some(name) => PioneerError::request(format!("thread `{name}` was not found")),
            None => PioneerError::request(&refusal.message),
        },
        Why::Busy
        | Why::UnknownAsk
        | Why::UnknownCheckpoint
        | Why::UnknownFile
        | Why::AlreadyAnswered
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
        | Why::Internal => match method {
            "turn/start" => {
                PioneerError::request(format!("failed to start turn: {}", refusal.message))
            }
            _ => PioneerError::request(&refusal.message),
        },
    }
}
