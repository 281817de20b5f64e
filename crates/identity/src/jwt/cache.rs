//! Tokens that were found good, so that a client that shows one again costs a hash.

use std::collections::{HashMap, VecDeque};

use vocabulary::Timestamp;

use super::VerifiedToken;
use super::limits::{CACHED_TOKEN_LIFE_MS, CACHED_TOKENS_MAX};

/// SHA-256 of a token.
type TokenHash = Box<[u8]>;

/// A good token, and how long that is believed.
pub struct CachedToken {
    verified: VerifiedToken,
    /// The key set it was checked with.
    generation: u64,
    until: Timestamp,
}

impl CachedToken {
    pub fn new(verified: VerifiedToken, generation: u64, now: Timestamp) -> Self {
        let until = now.plus_millis(CACHED_TOKEN_LIFE_MS);
        Self {
            until: Timestamp(until.0.min(verified.expires_at.0)),
            verified,
            generation,
        }
    }
}

/// By their hashes, the oldest first to go.
#[derive(Default)]
pub struct TokenCache {
    tokens: HashMap<TokenHash, CachedToken>,
    in_order: VecDeque<TokenHash>,
}

impl TokenCache {
    /// Whom it names, if it was good a while ago and the keys are the same still.
    pub fn get(&self, hash: &[u8], generation: u64, now: Timestamp) -> Option<VerifiedToken> {
        let cached = self.tokens.get(hash)?;
        let good = cached.generation == generation && now.0 < cached.until.0;
        good.then(|| cached.verified.clone())
    }

    pub fn insert(&mut self, hash: &[u8], token: CachedToken) {
        if self.tokens.insert(hash.into(), token).is_none() {
            self.in_order.push_back(hash.into());
        }
        while self.in_order.len() > CACHED_TOKENS_MAX {
            if let Some(oldest) = self.in_order.pop_front() {
                self.tokens.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::TenantId;

    use super::*;

    fn token(expires_at: i64) -> CachedToken {
        let verified = VerifiedToken {
            subject: "ada".to_owned(),
            email: None,
            tenant: TenantId::new("north"),
            role: None,
            expires_at: Timestamp(expires_at),
        };
        CachedToken::new(verified, 1, Timestamp(0))
    }

    #[test]
    fn a_token_is_believed_until_its_end_and_for_five_minutes_at_most() {
        let mut cache = TokenCache::default();
        cache.insert(b"short", token(1_000));
        cache.insert(b"long", token(CACHED_TOKEN_LIFE_MS * 9));
        let believed = |hash: &[u8], at| cache.get(hash, 1, Timestamp(at)).is_some();
        assert!(believed(b"short", 999) && !believed(b"short", 1_000));
        let end = CACHED_TOKEN_LIFE_MS;
        assert!(believed(b"long", end - 1) && !believed(b"long", end));
        assert!(cache.get(b"long", 2, Timestamp(0)).is_none());
        assert!(!believed(b"other", 0));
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let mut cache = TokenCache::default();
        let hashes: Vec<_> = (0..=CACHED_TOKENS_MAX as u64)
            .map(u64::to_be_bytes)
            .collect();
        for hash in &hashes {
            cache.insert(hash, token(1_000));
            cache.insert(hash, token(1_000));
        }
        let known = |hash: &[u8]| cache.get(hash, 1, Timestamp(0)).is_some();
        assert!(!known(&hashes[0]) && known(&hashes[1]) && known(&hashes[CACHED_TOKENS_MAX]));
        assert_eq!(cache.tokens.len(), CACHED_TOKENS_MAX);
        assert_eq!(cache.in_order.len(), CACHED_TOKENS_MAX);
    }
}
