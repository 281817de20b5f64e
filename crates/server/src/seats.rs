//! How many sockets are open: in all, from one address, and by nobody we know.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::limits::{SOCKETS_PER_PEER_MAX, SOCKETS_UNIDENTIFIED_MAX};
use crate::peer::Peer;

/// Shared by all listeners.
#[derive(Clone)]
pub struct Seats(Arc<SeatTable>);

struct SeatTable {
    sockets_max: usize,
    taken: Mutex<TakenSeats>,
}

#[derive(Default)]
struct TakenSeats {
    total: usize,
    by_peer: HashMap<IpAddr, usize>,
    /// Those of nobody we know, by number, so the oldest is first.
    unidentified: BTreeMap<u64, CancellationToken>,
    next_number: u64,
}

impl Seats {
    pub fn new(sockets_max: usize) -> Self {
        Self(Arc::new(SeatTable {
            sockets_max,
            taken: Mutex::default(),
        }))
    }

    /// A place for one more socket, as long as the seat is kept.
    ///
    /// Whoever has not said yet who they are gets one of a few places, and gives it up to the next
    /// one: a client with a token needs it for a moment only, so one that dawdles keeps nobody
    /// out.
    pub fn take(&self, peer: &Peer) -> Option<Seat> {
        let mut taken = self.lock();
        if taken.total >= self.0.sockets_max {
            return None;
        }
        // A proxy or a desktop on this machine speaks for many.
        if !peer.address.is_loopback() {
            let of_peer = taken.by_peer.entry(peer.address).or_default();
            if *of_peer >= SOCKETS_PER_PEER_MAX {
                return None;
            }
            *of_peer += 1;
        }
        taken.total += 1;
        let number = taken.next_number;
        taken.next_number += 1;
        let evicted = (!peer.is_own_user()).then(CancellationToken::new);
        if let Some(evicted) = &evicted {
            if taken.unidentified.len() >= SOCKETS_UNIDENTIFIED_MAX
                && let Some((_, oldest)) = taken.unidentified.pop_first()
            {
                oldest.cancel();
            }
            taken.unidentified.insert(number, evicted.clone());
        }
        drop(taken);
        Some(Seat {
            seats: self.clone(),
            address: peer.address,
            number,
            evicted,
        })
    }

    /// How many places are taken.
    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.lock().total
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TakenSeats> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One socket's place; given back when it is dropped.
pub struct Seat {
    seats: Seats,
    address: IpAddr,
    number: u64,
    /// None where it cannot be.
    evicted: Option<CancellationToken>,
}

impl Seat {
    /// Whoever sits here has shown the token: the place is theirs.
    pub fn identify(&self) {
        self.seats.lock().unidentified.remove(&self.number);
    }

    /// Comes when the place is needed for somebody else.
    pub async fn evicted(&self) {
        match &self.evicted {
            Some(evicted) => evicted.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        taken.total -= 1;
        taken.unidentified.remove(&self.number);
        if let Some(of_peer) = taken.by_peer.get_mut(&self.address) {
            *of_peer -= 1;
            if *of_peer == 0 {
                taken.by_peer.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far(address: [u8; 4]) -> Peer {
        Peer {
            address: IpAddr::from(address),
            user: None,
        }
    }

    fn here(user: Option<u32>) -> Peer {
        Peer {
            address: IpAddr::from([127, 0, 0, 1]),
            user,
        }
    }

    fn own_user() -> Option<u32> {
        Some(rustix::process::geteuid().as_raw())
    }

    fn is_evicted(seat: &Seat) -> bool {
        let evicted = seat.evicted.as_ref();
        evicted.is_some_and(CancellationToken::is_cancelled)
    }

    #[test]
    fn one_address_cannot_take_every_place() {
        let seats = Seats::new(10_000);
        let greedy = far([192, 0, 2, 1]);
        let take = |peer: &Peer| {
            let seat = seats.take(peer)?;
            seat.identify();
            Some(seat)
        };
        let mut kept: Vec<_> = (0..SOCKETS_PER_PEER_MAX)
            .map(|_| take(&greedy).expect("a seat"))
            .collect();
        assert!(take(&greedy).is_none());
        assert!(take(&far([192, 0, 2, 2])).is_some());
        kept.pop();
        assert!(take(&greedy).is_some());
    }

    #[test]
    fn our_own_user_may_take_all_but_no_more_and_nothing_leaks() {
        let seats = Seats::new(1_000);
        let kept: Vec<_> = (0..1_000).map(|_| seats.take(&here(own_user()))).collect();
        assert!(kept.iter().all(Option::is_some) && seats.take(&here(own_user())).is_none());
        drop(kept);
        let taken = seats.lock();
        let left = (taken.total, taken.by_peer.len(), taken.unidentified.len());
        assert_eq!(left, (0, 0, 0));
    }

    #[test]
    fn who_shows_nothing_makes_room_for_the_next_and_nobody_else_does() {
        let seats = Seats::new(10_000);
        let ours = seats.take(&here(own_user())).expect("a seat");
        let shown = seats.take(&here(None)).expect("a seat");
        shown.identify();
        let dawdlers: Vec<_> = (0..SOCKETS_UNIDENTIFIED_MAX)
            .map(|_| seats.take(&here(None)).expect("a seat"))
            .collect();
        assert!(!dawdlers.iter().any(is_evicted));
        let newest = seats.take(&here(None)).expect("a seat");
        assert!(is_evicted(&dawdlers[0]));
        let others = [&ours, &shown, &newest, &dawdlers[1]];
        assert!(!others.into_iter().any(is_evicted));
    }
}
