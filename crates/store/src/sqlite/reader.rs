//! A few connections that only read, so that no reader waits for the writer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::open::{BUSY_TIMEOUT, STATEMENTS_KEPT};
use crate::{Result, StoreError};

/// How many reads run at once; SQLite's reads are short.
const READERS: usize = 2;
/// Pages each connection keeps in memory. The kernel keeps the file too.
const CACHE_KIB: i32 = 512;

#[derive(Clone)]
pub(super) struct Readers(Arc<Pool>);

struct Pool {
    path: PathBuf,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self(Arc::new(Pool {
            path: path.to_owned(),
            places: Arc::new(Semaphore::new(READERS)),
            idle: Mutex::new(Vec::new()),
        }))
    }

    /// Reads at one moment: everything `work` sees belongs together, and every write that was
    /// acknowledged before is in it.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let pool = self.0.clone();
        let place = pool.places.clone().acquire_owned().await;
        let place = place.map_err(|error| StoreError::Failed(error.to_string()))?;
        let read = move || {
            // Given back when this closure is done, even if the caller has gone away.
            let _place = place;
            let idle = pool.idle.lock().pop();
            let connection = match idle {
                Some(connection) => connection,
                None => connect(&pool.path)?,
            };
            let moment = connection.unchecked_transaction()?;
            let found = work(&moment);
            moment.finish()?;
            pool.idle.lock().push(connection);
            found
        };
        match tokio::task::spawn_blocking(read).await {
            Ok(found) => found,
            Err(error) => Err(StoreError::Failed(format!("a read ended early: {error}"))),
        }
    }
}

pub(super) fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(connection)
}
