//! The keys of an issuer, as new as they have to be: asked for on first need, kept in memory only.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout};

use super::JwtError;
use super::compact::CompactToken;
use super::keys::KeySet;
use super::limits::{
    FAILED_FETCH_REST, FETCH_TIME_MAX, KEYS_FRESH_MAX, KEYS_FRESH_MIN, KEYS_STALE_MAX,
    UNKNOWN_KEY_EVERY,
};

/// Keys, and how long their issuer takes them for the newest.
pub struct FetchedKeys {
    pub keys: KeySet,
    pub fresh_for: Duration,
}

/// Or why there are none, for the log.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<FetchedKeys, String>> + Send + 'a>>;

/// Asks an issuer.
pub trait PublishedKeys: Send + Sync {
    fn fetch(&self) -> Fetching<'_>;
}

/// Keys that were fetched.
#[derive(Clone)]
struct KnownKeys {
    keys: Arc<KeySet>,
    /// Grows whenever they are others than before.
    generation: u64,
    fresh_until: Instant,
}

#[derive(Default)]
struct KeyState {
    known: Option<KnownKeys>,
    failed_at: Option<Instant>,
    /// When an unknown key last made us ask.
    surprised_at: Option<Instant>,
}

/// What to do for a token.
enum KeyPlan {
    Use(KnownKeys),
    /// Ask the issuer first; these would do meanwhile.
    Refresh(Option<KnownKeys>),
    Unavailable,
}

pub struct KeySource {
    published: Box<dyn PublishedKeys>,
    state: Mutex<KeyState>,
    /// One asks, the others wait for the same answer.
    asking: Arc<AsyncMutex<()>>,
}

impl KeySource {
    pub fn new(published: Box<dyn PublishedKeys>) -> Self {
        Self {
            published,
            state: Mutex::default(),
            asking: Arc::default(),
        }
    }

    /// Which key set is the one of now.
    pub fn generation(&self) -> u64 {
        let state = self.state.lock();
        state.known.as_ref().map_or(0, |known| known.generation)
    }

    /// Whether a token is signed by the issuer, and the key set that says so.
    pub async fn check(self: Arc<Self>, token: &CompactToken<'_>) -> Result<u64, JwtError> {
        let known = self.keys_for(token).await?;
        known.keys.check(token)?;
        Ok(known.generation)
    }

    async fn keys_for(self: Arc<Self>, token: &CompactToken<'_>) -> Result<KnownKeys, JwtError> {
        let plan = self.state.lock().plan(token, Instant::now());
        let turn = match plan {
            KeyPlan::Use(known) => return Ok(known),
            KeyPlan::Unavailable => return Err(JwtError::KeysUnavailable),
            KeyPlan::Refresh(Some(known)) => match Arc::clone(&self.asking).try_lock_owned() {
                Ok(turn) => turn,
                // Somebody asks already; what is a little old will do.
                Err(_) => return Ok(known),
            },
            KeyPlan::Refresh(None) => Arc::clone(&self.asking).lock_owned().await,
        };
        let plan = self.state.lock().plan(token, Instant::now());
        if let KeyPlan::Refresh(_) = plan {
            self.state.lock().asking_for(token, Instant::now());
            // In a task of its own: a client that goes away must not stop what others wait for, or
            // make us begin again and again.
            let asking = tokio::spawn(Arc::clone(&self).refresh(turn));
            asking.await.map_err(|_| JwtError::KeysUnavailable)?;
        }
        self.state
            .lock()
            .usable(Instant::now())
            .ok_or(JwtError::KeysUnavailable)
    }

    async fn refresh(self: Arc<Self>, _turn: OwnedMutexGuard<()>) {
        let fetched = match timeout(FETCH_TIME_MAX, self.published.fetch()).await {
            Ok(fetched) => fetched,
            Err(_) => Err("no answer in time".to_owned()),
        };
        match fetched {
            Ok(fetched) => self.state.lock().fetched(fetched, Instant::now()),
            Err(error) => {
                tracing::warn!(error, "the keys of the issuer of JWTs cannot be had");
                self.state.lock().failed_at = Some(Instant::now());
            }
        }
    }
}

impl KeyState {
    /// The keys, unless they are too old.
    fn usable(&self, now: Instant) -> Option<KnownKeys> {
        let known = self.known.as_ref();
        known
            .filter(|known| now < known.fresh_until + KEYS_STALE_MAX)
            .cloned()
    }

    fn plan(&self, token: &CompactToken<'_>, now: Instant) -> KeyPlan {
        let lately = |at: Option<Instant>, rest| at.is_some_and(|at| now < at + rest);
        let resting = lately(self.failed_at, FAILED_FETCH_REST);
        let Some(known) = self.usable(now) else {
            return match resting {
                true => KeyPlan::Unavailable,
                false => KeyPlan::Refresh(None),
            };
        };
        let knows = known.keys.knows(token);
        match (now < known.fresh_until, knows) {
            (_, _) if resting => KeyPlan::Use(known),
            (true, true) => KeyPlan::Use(known),
            (false, true) => KeyPlan::Refresh(Some(known)),
            (_, false) if lately(self.surprised_at, UNKNOWN_KEY_EVERY) => KeyPlan::Use(known),
            (_, false) => KeyPlan::Refresh(None),
        }
    }

    /// A token makes us ask.
    fn asking_for(&mut self, token: &CompactToken<'_>, now: Instant) {
        let known = self.known.as_ref();
        if known.is_some_and(|known| !known.keys.knows(token)) {
            self.surprised_at = Some(now);
        }
    }

    fn fetched(&mut self, fetched: FetchedKeys, now: Instant) {
        let fresh_for = fetched.fresh_for.clamp(KEYS_FRESH_MIN, KEYS_FRESH_MAX);
        let before = self.known.take();
        let generation = match &before {
            Some(before) if *before.keys == fetched.keys => before.generation,
            Some(before) => before.generation + 1,
            None => 1,
        };
        self.known = Some(KnownKeys {
            keys: Arc::new(fetched.keys),
            generation,
            fresh_until: now + fresh_for,
        });
        self.failed_at = None;
    }
}
