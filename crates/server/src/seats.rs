//! How many sockets are open, in all and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{SOCKETS_MAX, SOCKETS_PER_PEER_MAX};

/// Shared by all listeners.
#[derive(Clone, Default)]
pub struct Seats(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    total: usize,
    by_peer: HashMap<IpAddr, usize>,
}

impl Seats {
    /// A place for one more socket, as long as the seat is kept.
    pub fn take(&self, peer: IpAddr) -> Option<Seat> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.total >= SOCKETS_MAX {
            return None;
        }
        // A proxy or a desktop on this machine speaks for many.
        if !peer.is_loopback() {
            let of_peer = taken.by_peer.entry(peer).or_default();
            if *of_peer >= SOCKETS_PER_PEER_MAX {
                return None;
            }
            *of_peer += 1;
        }
        taken.total += 1;
        Some(Seat {
            seats: self.clone(),
            peer,
        })
    }

    fn give_back(&self, peer: IpAddr) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.total -= 1;
        if let Some(of_peer) = taken.by_peer.get_mut(&peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                taken.by_peer.remove(&peer);
            }
        }
    }
}

/// One socket's place; given back when it is dropped.
pub struct Seat {
    seats: Seats,
    peer: IpAddr,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.give_back(self.peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_every_place() {
        let seats = Seats::default();
        let greedy = IpAddr::from([192, 0, 2, 1]);
        let mut kept: Vec<_> = (0..SOCKETS_PER_PEER_MAX)
            .map(|_| seats.take(greedy).expect("a seat"))
            .collect();
        assert!(seats.take(greedy).is_none());
        assert!(seats.take(IpAddr::from([192, 0, 2, 2])).is_some());
        kept.pop();
        assert!(seats.take(greedy).is_some());
    }

    #[test]
    fn this_machine_may_take_all_but_no_more_and_nothing_leaks() {
        let seats = Seats::default();
        let here = IpAddr::from([127, 0, 0, 1]);
        let kept: Vec<_> = (0..SOCKETS_MAX).map(|_| seats.take(here)).collect();
        assert!(kept.iter().all(Option::is_some) && seats.take(here).is_none());
        drop(kept);
        let taken = seats.0.lock().expect("not poisoned");
        assert_eq!((taken.total, taken.by_peer.len()), (0, 0));
    }
}
