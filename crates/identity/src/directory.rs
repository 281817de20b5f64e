//! The directory: reads who is who when it is first needed, keeps it in memory, and tells of changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use store::SharedStore;
use tokio::sync::watch;
use vocabulary::Timestamp;

use crate::limits::LOAD_TRIES_MAX;
use crate::{IdentityError, People};

pub struct Directory {
    pub(crate) store: SharedStore,
    loader: Arc<PeopleLoader>,
    /// When it was last written that a token was used.
    pub(crate) used: Mutex<HashMap<String, Timestamp>>,
}

/// Reads everybody, for all who ask at the same time.
struct PeopleLoader {
    store: SharedStore,
    /// What was read, and at which number of changes.
    known: Mutex<Option<(u64, Arc<People>)>>,
    /// One reads for all who ask meanwhile.
    loading: tokio::sync::Mutex<()>,
    /// How often something has changed.
    changes: watch::Sender<u64>,
}

impl Directory {
    /// Reads nothing yet.
    pub fn new(store: SharedStore) -> Self {
        let loader = PeopleLoader {
            store: Arc::clone(&store),
            known: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
        };
        Self {
            store,
            loader: Arc::new(loader),
            used: Mutex::default(),
        }
    }

    /// Everybody, as of the last change that this process has heard of.
    pub async fn people(&self) -> Result<Arc<People>, IdentityError> {
        if let Some(people) = self.loader.current() {
            return Ok(people);
        }
        // In a task of its own: who asked may not be polled for a while, and all others wait for it.
        let loader = Arc::clone(&self.loader);
        let loading = tokio::spawn(async move { loader.load().await });
        loading.await.unwrap_or(Err(IdentityError::Busy))
    }

    /// Something changed, here or in another process: whoever holds a caller has to ask again.
    pub fn changed(&self) {
        self.loader.changes.send_modify(|count| *count += 1);
    }

    /// Counts the changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.loader.changes.subscribe()
    }
}

impl PeopleLoader {
    async fn load(&self) -> Result<Arc<People>, IdentityError> {
        let _one = self.loading.lock().await;
        for _ in 0..LOAD_TRIES_MAX {
            if let Some(people) = self.current() {
                return Ok(people);
            }
            let at = *self.changes.borrow();
            let people = Arc::new(People::load(&self.store).await?);
            *self.known.lock() = Some((at, people));
        }
        Err(IdentityError::Busy)
    }

    /// What was read, if nothing has changed since.
    fn current(&self) -> Option<Arc<People>> {
        let known = self.known.lock();
        let (at, people) = known.as_ref()?;
        (*at == *self.changes.borrow()).then(|| Arc::clone(people))
    }
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.unwrap_or_default().as_millis() as i64)
}
