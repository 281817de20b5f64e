//! Numbers for asks: unique in the whole home, taken from the store a block at a time.

use store::{Counter, SharedStore, StoreError};
use tokio::sync::Mutex;
use vocabulary::AskId;

use crate::limits::ASK_NUMBERS_BLOCK;

pub struct AskNumbers {
    store: SharedStore,
    /// The next number and the end of the block. An async lock: only asks wait for it, and it is
    /// held across one store call so that no block is taken twice.
    block: Mutex<(u64, u64)>,
}

impl AskNumbers {
    pub fn new(store: SharedStore) -> Self {
        Self {
            store,
            block: Mutex::new((0, 0)),
        }
    }

    pub async fn next(&self) -> Result<AskId, StoreError> {
        let mut block = self.block.lock().await;
        if block.0 == block.1 {
            let first = self.store.reserve(Counter::Ask, ASK_NUMBERS_BLOCK).await?;
            *block = (first, first + ASK_NUMBERS_BLOCK);
        }
        let number = block.0;
        block.0 += 1;
        Ok(AskId(number))
    }
}
