//! One-time tickets: what a browser puts into a WebSocket's URL instead of the token.
//!
//! URLs end up in histories and proxies' logs; a ticket that was used, or is older than a few
//! seconds, is worth nothing there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use vocabulary::Caller;

use crate::limits::{TICKET_LIFE, TICKETS_MAX};

/// Tickets that were given out and not yet used, by their hash: when, and to whom.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<blake3::Hash, (Instant, Caller)>>);

impl Tickets {
    /// A new ticket for a caller; none when too many are out.
    pub fn issue(&self, caller: Caller, now: Instant) -> Option<String> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if out.len() >= TICKETS_MAX {
            out.retain(|_, (issued, _)| alive(*issued, now));
        }
        if out.len() >= TICKETS_MAX {
            return None;
        }
        // 244 random bits of the system's own generator.
        let ticket = format!(
            "{}{}",
            uuid::Uuid::new_v4().simple(),
            uuid::Uuid::new_v4().simple()
        );
        out.insert(blake3::hash(ticket.as_bytes()), (now, caller));
        Some(ticket)
    }

    /// Whom it was made for, if it is good; it is not a second time.
    pub fn redeem(&self, ticket: &str, now: Instant) -> Option<Caller> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (issued, caller) = out.remove(&blake3::hash(ticket.as_bytes()))?;
        alive(issued, now).then_some(caller)
    }
}

fn alive(issued: Instant, now: Instant) -> bool {
    now.saturating_duration_since(issued) < TICKET_LIFE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_not_for_long() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let ticket = tickets.issue(Caller::local(), now).expect("a ticket");
        assert_eq!(tickets.redeem("another", now), None);
        assert_eq!(tickets.redeem(&ticket, now), Some(Caller::local()));
        assert_eq!(tickets.redeem(&ticket, now), None);
        let late = tickets.issue(Caller::local(), now).expect("a ticket");
        assert_eq!(tickets.redeem(&late, now + TICKET_LIFE), None);
    }

    #[test]
    fn the_table_is_bounded_and_old_tickets_make_room() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        for _ in 0..TICKETS_MAX {
            assert!(tickets.issue(Caller::local(), now).is_some());
        }
        assert!(tickets.issue(Caller::local(), now).is_none());
        assert!(tickets.issue(Caller::local(), now + TICKET_LIFE).is_some());
    }
}
