//! One-time tickets: what a browser puts into a WebSocket's URL instead of the token.
//!
//! URLs end up in histories and proxies' logs; a ticket that was used, or is older than a few
//! seconds, is worth nothing there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::limits::{TICKET_LIFE, TICKETS_MAX};

/// Tickets that were given out and not yet used, by their hash.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<blake3::Hash, Instant>>);

impl Tickets {
    /// A new ticket; none when too many are out.
    pub fn issue(&self, now: Instant) -> Option<String> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if out.len() >= TICKETS_MAX {
            out.retain(|_, issued| alive(*issued, now));
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
        out.insert(blake3::hash(ticket.as_bytes()), now);
        Some(ticket)
    }

    /// Whether it is good; it is not a second time.
    pub fn redeem(&self, ticket: &str, now: Instant) -> bool {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.remove(&blake3::hash(ticket.as_bytes()))
            .is_some_and(|issued| alive(issued, now))
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
        let ticket = tickets.issue(now).expect("a ticket");
        assert!(!tickets.redeem("another", now));
        assert!(tickets.redeem(&ticket, now));
        assert!(!tickets.redeem(&ticket, now));
        let late = tickets.issue(now).expect("a ticket");
        assert!(!tickets.redeem(&late, now + TICKET_LIFE));
    }

    #[test]
    fn the_table_is_bounded_and_old_tickets_make_room() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        for _ in 0..TICKETS_MAX {
            assert!(tickets.issue(now).is_some());
        }
        assert!(tickets.issue(now).is_none());
        assert!(tickets.issue(now + TICKET_LIFE).is_some());
    }
}
