//! Births: whoever makes a thread under a client's own id does so alone, so that of several who
//! want the same one all get it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use vocabulary::TenantId;

type BirthKey = (TenantId, String);

/// Which ids are being given to a thread right now.
#[derive(Default)]
pub struct Births {
    under_way: Mutex<HashMap<BirthKey, Arc<tokio::sync::Mutex<()>>>>,
}

/// The right to give one id to a thread, until it is dropped.
pub struct Birth<'a> {
    births: &'a Births,
    key: BirthKey,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Births {
    /// Waits until nobody else is about to use this id.
    pub async fn begin(&self, tenant: &TenantId, client_id: &str) -> Birth<'_> {
        let key = (tenant.clone(), client_id.to_owned());
        let lock = Arc::clone(self.under_way.lock().entry(key.clone()).or_default());
        // Made first: one that is given up while it waits must leave nothing behind, either.
        let mut birth = Birth {
            births: self,
            key,
            guard: None,
        };
        birth.guard = Some(lock.lock_owned().await);
        birth
    }
}

impl Drop for Birth<'_> {
    fn drop(&mut self) {
        drop(self.guard.take());
        let mut under_way = self.births.under_way.lock();
        if under_way
            .get(&self.key)
            .is_some_and(|lock| Arc::strong_count(lock) == 1)
        {
            under_way.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_has_an_id_and_nothing_is_left_of_it() {
        let (births, tenant) = (Births::default(), TenantId::new("local"));
        let first = births.begin(&tenant, "a").await;
        let other = births.begin(&tenant, "b").await;
        let second = births.begin(&tenant, "a");
        tokio::pin!(second);
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut second).is_ready());
        drop(other);
        assert_eq!(births.under_way.lock().len(), 0);
    }
}
