//! Refusals in this protocol's codes: almost everything is -32600.

use vocabulary::{Refusal, Why};

use super::hear::Wrong;

/// The one place where a refusal becomes an error.
pub fn wrong(method: &str, thread: Option<&str>, refusal: &Refusal) -> Wrong {
    match &refusal.why {
        // Folders are looked up, and what is not found is no matter of params here.
        Why::Invalid { field } if matches!(&**field, "folder_id" | "parent_folder_id") => {
            Wrong::request(&refusal.message)
        }
        Why::Invalid { .. } | Why::BlankAnswer => Wrong::params(method, &refusal.message),
        Why::UnknownThread => match thread {
            Some(name) => Wrong::request(format!("thread `{name}` was not found")),
            None => Wrong::request(&refusal.message),
        },
        Why::Busy
        | Why::UnknownAsk
        | Why::UnknownCheckpoint
        | Why::UnknownFile
        | Why::AlreadyAnswered
        | Why::InUse
        | Why::NoRunningTurn
        | Why::Conflict
        | Why::Forbidden
        | Why::Unauthenticated
        | Why::OwnedElsewhere
        | Why::NotAvailable
        | Why::Provider
        | Why::ShuttingDown
        | Why::Storage
        | Why::Internal => match method {
            "turn/start" => Wrong::request(format!("failed to start turn: {}", refusal.message)),
            _ => Wrong::request(&refusal.message),
        },
    }
}
