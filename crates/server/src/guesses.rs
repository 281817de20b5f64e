//! Slows down whoever tries wrong tokens.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{GUESS_EVERY, GUESSERS_MAX, GUESSES_BURST};
use crate::peer::Peer;

/// A token bucket for each peer that guessed wrong lately, kept as the moment at which it will be
/// full again. On this machine users have buckets of their own, so that one of them cannot lock
/// out another.
#[derive(Default)]
pub struct GuessLimiter(Mutex<HashMap<Peer, Instant>>);

impl GuessLimiter {
    /// How long a peer has to wait before it may try again; none if it need not.
    ///
    /// Asked before a token is looked at: were only the answer held back, a guesser would learn by
    /// the answer that comes at once, and could guess as fast as before.
    pub fn wait(&self, peer: Peer, now: Instant) -> Option<Duration> {
        let buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full_at = buckets.get(&network(peer))?;
        let missing = full_at.saturating_duration_since(now);
        let wait = missing.saturating_sub(GUESS_EVERY * (GUESSES_BURST - 1));
        (!wait.is_zero()).then_some(wait)
    }

    /// One wrong guess.
    pub fn wrong(&self, peer: Peer, now: Instant) {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = network(peer);
        if buckets.len() >= GUESSERS_MAX && !buckets.contains_key(&peer) {
            make_room(&mut buckets, now);
        }
        let full_at = buckets.entry(peer).or_insert(now);
        *full_at = (*full_at).max(now) + GUESS_EVERY;
    }
}

/// Forgets who has waited long enough, or else who is next to have.
fn make_room(buckets: &mut HashMap<Peer, Instant>, now: Instant) {
    buckets.retain(|_, full_at| *full_at > now);
    if buckets.len() < GUESSERS_MAX {
        return;
    }
    let first = buckets.iter().min_by_key(|(_, full_at)| **full_at);
    if let Some(peer) = first.map(|(peer, _)| *peer) {
        buckets.remove(&peer);
    }
}

/// Whoever has one IPv6 address has the 2^64 beside it, too.
fn network(peer: Peer) -> Peer {
    let address = match peer.address {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    };
    Peer { address, ..peer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str, user: Option<u32>) -> Peer {
        let address = address.parse().expect("an address");
        Peer { address, user }
    }

    #[test]
    fn a_burst_of_guesses_is_followed_by_one_a_second() {
        let (limiter, start) = (GuessLimiter::default(), Instant::now());
        let guesser = peer("192.0.2.1", None);
        for _ in 0..GUESSES_BURST {
            assert_eq!(limiter.wait(guesser, start), None);
            limiter.wrong(guesser, start);
        }
        assert_eq!(limiter.wait(guesser, start), Some(GUESS_EVERY));
        assert_eq!(limiter.wait(guesser, start + GUESS_EVERY), None);
        limiter.wrong(guesser, start + GUESS_EVERY);
        assert!(limiter.wait(guesser, start + GUESS_EVERY).is_some());
        // Nobody else waits for that, but whoever has the same network.
        assert_eq!(limiter.wait(peer("192.0.2.2", None), start), None);
        for _ in 0..GUESSES_BURST {
            limiter.wrong(peer("2001:db8::1", None), start);
        }
        assert!(limiter.wait(peer("2001:db8::2", None), start).is_some());
        assert_eq!(limiter.wait(peer("2001:db8:0:1::1", None), start), None);
    }

    #[test]
    fn a_user_of_this_machine_does_not_lock_out_another() {
        let (limiter, start) = (GuessLimiter::default(), Instant::now());
        for _ in 0..GUESSES_BURST {
            limiter.wrong(peer("127.0.0.1", Some(54_321)), start);
        }
        let waits = |user| limiter.wait(peer("127.0.0.1", user), start).is_some();
        assert!(waits(Some(54_321)) && !waits(Some(1_000)) && !waits(None));
    }

    #[test]
    fn the_table_is_bounded_and_the_worst_stay_in_it() {
        let (limiter, start) = (GuessLimiter::default(), Instant::now());
        let worst = peer("192.0.2.1", None);
        for _ in 0..GUESSES_BURST {
            limiter.wrong(worst, start);
        }
        for n in 0..2 * GUESSERS_MAX as u32 {
            let address = IpAddr::from((0x0a00_0000 + n).to_be_bytes());
            limiter.wrong(
                Peer {
                    address,
                    user: None,
                },
                start,
            );
        }
        assert!(limiter.0.lock().expect("not poisoned").len() <= GUESSERS_MAX);
        assert!(limiter.wait(worst, start).is_some());
    }
}
