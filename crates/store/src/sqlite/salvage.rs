//! Reads what can be read of a damaged database.
//!
//! Only the log is read: all that stands beside it follows from it. Pages that cannot be read are passed
//! over, and the index of the log says which events were on them. A thread is whole up to the first
//! event that is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use vocabulary::{Seq, Timestamp};

use super::foreign::DatabaseCopy;
use super::open::{APPLICATION_ID, PAGE_BYTES, io_failed};
use crate::{Result, StoredEvent};

/// What was saved.
#[derive(Debug, Default)]
pub struct Salvage {
    pub threads: Vec<SalvagedThread>,
    /// Rows of the tables that are small and not of the log.
    pub rows: Vec<(&'static SalvagedTable, Vec<Value>)>,
}

/// The log of one thread, from its beginning.
#[derive(Debug)]
pub struct SalvagedThread {
    pub events: Vec<StoredEvent>,
    /// How many events of it are known to be lost, and those behind them.
    pub lost: u64,
}

/// A table that is copied as it is.
#[derive(Debug)]
pub struct SalvagedTable {
    name: &'static str,
    columns: usize,
    key: &'static str,
}

const TABLES: [SalvagedTable; 6] = [
    SalvagedTable {
        name: "settings",
        columns: 3,
        key: "tenant, name",
    },
    SalvagedTable {
        name: "records",
        columns: 4,
        key: "tenant, kind, id",
    },
    SalvagedTable {
        name: "libraries",
        columns: 2,
        key: "tenant",
    },
    SalvagedTable {
        name: "counters",
        columns: 2,
        key: "name",
    },
    SalvagedTable {
        name: "deleted",
        columns: 1,
        key: "id",
    },
    SalvagedTable {
        name: "credits",
        columns: 3,
        key: "tenant",
    },
];

/// How far is jumped behind rows that cannot be read; twice as far each time.
const JUMP_ROWS: i64 = 1;
const HEADER: &[u8] = b"SQLite format 3\0";

/// Reads a copy of the file; the file itself is not touched.
pub fn salvage(path: &Path) -> Result<Salvage> {
    let copy = DatabaseCopy::of(path)?;
    mend_header(&copy.file).map_err(io_failed)?;
    let db = Connection::open(&copy.file)?;
    // Lets SQLite open a file that is shorter than it says.
    db.pragma_update(None, "writable_schema", true)?;
    let mut salvage = Salvage {
        threads: threads(&db),
        rows: Vec::new(),
    };
    for table in &TABLES {
        let rows = both_ways(&db, table);
        salvage
            .rows
            .extend(rows.into_iter().map(|row| (table, row)));
    }
    Ok(salvage)
}

/// Writes the small tables into a new database.
pub fn write_salvaged(path: &Path, salvage: &Salvage) -> Result<()> {
    let db = Connection::open(path)?;
    for (table, row) in &salvage.rows {
        let places = vec!["?"; table.columns].join(", ");
        let insert = format!("INSERT OR REPLACE INTO {} VALUES ({places})", table.name);
        db.prepare_cached(&insert)?.execute(params_from_iter(row))?;
    }
    Ok(())
}

/// Where the beginning of the file was overwritten, what must stand there is known.
fn mend_header(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut header = [0; 100];
    file.read_exact_at(&mut header, 0)?;
    if header.starts_with(HEADER) {
        return Ok(());
    }
    let page_bytes = page_bytes(&file)?;
    let pages = u32::try_from(file.metadata()?.len() / u64::from(page_bytes)).unwrap_or(u32::MAX);
    header.fill(0);
    header[..16].copy_from_slice(HEADER);
    header[16..18].copy_from_slice(&page_bytes.to_be_bytes());
    // In log mode; the fractions are fixed by the format.
    header[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
    header[24..28].copy_from_slice(&1_u32.to_be_bytes());
    header[28..32].copy_from_slice(&pages.to_be_bytes());
    header[40..44].copy_from_slice(&1_u32.to_be_bytes());
    // The newest format, texts in UTF-8.
    header[44..48].copy_from_slice(&4_u32.to_be_bytes());
    header[56..60].copy_from_slice(&1_u32.to_be_bytes());
    header[68..72].copy_from_slice(&APPLICATION_ID.to_be_bytes());
    header[92..96].copy_from_slice(&1_u32.to_be_bytes());
    file.write_all_at(&header, 0)
}

/// Ours, unless the file cannot consist of such pages.
fn page_bytes(file: &File) -> io::Result<u16> {
    let ours = PAGE_BYTES as u16;
    let length = file.metadata()?.len();
    Ok([ours, 4096]
        .into_iter()
        .find(|bytes| length.is_multiple_of(u64::from(*bytes)))
        .unwrap_or(ours))
}

/// The events of all threads by their number there.
fn threads(db: &Connection) -> Vec<SalvagedThread> {
    let mut logs: BTreeMap<i64, BTreeMap<i64, (i64, Bytes)>> = BTreeMap::new();
    let mut passed_over = false;
    let read = "SELECT rowid, thread, seq, at, payload FROM events WHERE rowid > ?1 ORDER BY rowid";
    let last = max_row(db).unwrap_or(i64::MAX);
    let (mut after, mut jump) = (0, JUMP_ROWS);
    while after < last {
        let reached = each_row(db, read, after, |row| {
            let payload: Vec<u8> = row.get(4)?;
            let log = logs.entry(row.get(1)?).or_default();
            log.insert(row.get(2)?, (row.get(3)?, Bytes::from(payload)));
            row.get(0)
        });
        match reached {
            Ok(_) => break,
            Err(Some(reached)) => (after, jump) = (reached, JUMP_ROWS),
            Err(None) => {
                after = after.saturating_add(jump);
                jump = jump.saturating_mul(2);
            }
        }
        passed_over = true;
    }
    let known = index(db);
    let found = logs.into_iter().map(|(thread, log)| {
        let there: BTreeSet<i64> = log.keys().copied().collect();
        let known = known.get(&thread);
        let missing = known.into_iter().flatten().find(|seq| !there.contains(seq));
        let upto = match (passed_over, missing) {
            (true, Some(missing)) => *missing,
            (_, _) => i64::MAX,
        };
        let all = known.map_or(there.len(), |known| known.union(&there).count()) as u64;
        let whole = log.range(..upto);
        let event = |(seq, (at, payload)): (&i64, &(i64, Bytes))| StoredEvent {
            seq: Seq(u64::try_from(*seq).unwrap_or_default()),
            at: Timestamp(*at),
            payload: payload.clone(),
        };
        let events: Vec<StoredEvent> = whole.map(event).collect();
        let lost = all.saturating_sub(events.len() as u64);
        SalvagedThread { events, lost }
    });
    found.collect()
}

/// Which events each thread had, as far as the index of the log can be read, from both of its ends.
fn index(db: &Connection) -> BTreeMap<i64, BTreeSet<i64>> {
    let mut known: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for order in ["thread, seq", "thread DESC, seq DESC"] {
        let read = format!(
            "SELECT thread, seq FROM events INDEXED BY events_by_seq WHERE thread > ?1 ORDER BY {order}"
        );
        let _ = each_row(db, &read, i64::MIN, |row| {
            known.entry(row.get(0)?).or_default().insert(row.get(1)?);
            Ok(0)
        });
    }
    known
}

fn max_row(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("SELECT coalesce(max(rowid), 0) FROM events", (), |row| {
        row.get(0)
    })
}

/// Takes rows as long as they can be read; tells the number that `take` gave for the last one, if any.
/// `Err` says that there would have been more.
fn each_row(
    db: &Connection,
    sql: &str,
    after: i64,
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<i64>,
) -> std::result::Result<Option<i64>, Option<i64>> {
    let mut reached = None;
    let mut reading = db.prepare(sql).map_err(|_| reached)?;
    let mut rows = reading.query([after]).map_err(|_| reached)?;
    loop {
        match rows.next() {
            Ok(Some(row)) => match take(row) {
                Ok(number) => reached = Some(number),
                Err(_) => return Err(reached),
            },
            Ok(None) => return Ok(reached),
            Err(_) => return Err(reached),
        }
    }
}

/// The rows of a small table, from its beginning and from its end, each once.
fn both_ways(db: &Connection, table: &SalvagedTable) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let backwards = table.key.split(", ").map(|column| format!("{column} DESC"));
    let backwards = backwards.collect::<Vec<_>>().join(", ");
    for order in [table.key, &backwards] {
        let read = format!("SELECT * FROM {} WHERE ?1 < 1 ORDER BY {order}", table.name);
        let whole = each_row(db, &read, 0, |row| {
            let columns = (0..table.columns).map(|place| row.get(place));
            let row = columns.collect::<rusqlite::Result<Vec<Value>>>()?;
            if !rows.contains(&row) {
                rows.push(row);
            }
            Ok(0)
        });
        if whole.is_ok() {
            break;
        }
    }
    rows
}
