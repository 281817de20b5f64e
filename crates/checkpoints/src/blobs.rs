//! Contents by their hash: small ones one after the other in packs, large ones in a file each.
//!
//! Both are only ever added to, and are on disk before the database says that they are there. What a
//! crash leaves behind is known to no row: the tail of a pack is cut off by the next who writes, a
//! stray file goes with the next pruning.

mod pack;
mod writer;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::database::{Checksum, check};
use crate::{Error, Moment, Result};

pub use pack::{HEADER_BYTES, MAGIC, PackRecord, read_record};
pub use writer::BlobWriter;

/// Larger contents have a file of their own, and are never in memory as a whole.
pub const LARGE_FROM: u64 = 1 << 20;
/// Fast, and source code shrinks to a third by it; more would cost more time than it saves disk.
const LEVEL: i32 = 1;

pub type Hash = [u8; 32];

/// Where a content lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobLocation {
    pub hash: Hash,
    /// As it was.
    pub size: u64,
    /// 0: in a file of its own.
    pub pack: i64,
    pub offset: u64,
    /// As it is stored, without its header.
    pub stored: u64,
    /// Of what is stored in a file of its own; a pack has this itself.
    pub check: i64,
}

impl BlobLocation {
    /// What it takes on disk.
    pub fn bytes(&self) -> u64 {
        match self.pack {
            0 => self.stored,
            _ => self.stored + HEADER_BYTES as u64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobRow {
    pub id: i64,
    pub location: BlobLocation,
    pub since: Moment,
}

fn blob_sum(row: &BlobRow) -> Checksum {
    Checksum::new()
        .number(row.id)
        .bytes(&row.location.hash)
        .number(row.location.size as i64)
        .number(row.location.pack)
        .number(row.location.offset as i64)
        .number(row.location.stored as i64)
        .number(row.location.check)
        .number(row.since.0)
}

pub const BLOB: &str = "id, hash, size, pack, offset, stored, since, sum, tested";

pub fn read_row(row: &Row<'_>) -> Result<BlobRow> {
    let read = BlobRow {
        id: row.get(0)?,
        location: BlobLocation {
            hash: row.get(1)?,
            size: row.get(2)?,
            pack: row.get(3)?,
            offset: row.get(4)?,
            stored: row.get(5)?,
            check: row.get(8)?,
        },
        since: Moment(row.get(6)?),
    };
    let id = read.id;
    check(row.get(7)?, blob_sum(&read), || {
        format!("the place of content {id} does not match its checksum")
    })?;
    Ok(read)
}

pub fn row(db: &Connection, id: i64) -> Result<BlobRow> {
    let sql = format!("SELECT {BLOB} FROM blob WHERE id = ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([id])?;
    let row = rows.next()?.map(read_row).transpose()?;
    row.ok_or_else(|| Error::Damaged(format!("content {id} is missing")))
}

pub fn id_of(db: &Connection, hash: &Hash) -> Result<Option<i64>> {
    let mut statement = db.prepare_cached("SELECT id FROM blob WHERE hash = ?1")?;
    Ok(statement.query_row([hash], |row| row.get(0)).optional()?)
}

/// The highest number that a row of `table` has ever had.
pub fn highest(db: &Connection, table: &str) -> Result<i64> {
    let mut statement = db.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = ?1")?;
    let highest = statement.query_row([table], |row| row.get(0)).optional()?;
    Ok(highest.unwrap_or(0))
}

/// Adds a content that this many entries refer to.
pub fn insert(db: &Connection, row: &BlobRow, refs: u64) -> Result<()> {
    let BlobRow {
        id,
        location,
        since,
    } = row;
    let mut statement = db.prepare_cached(
        "INSERT INTO blob (id, hash, size, pack, offset, stored, since, sum, refs, tested)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let sum = blob_sum(row).end();
    statement.execute(params![
        id,
        location.hash,
        location.size,
        location.pack,
        location.offset,
        location.stored,
        since.0,
        sum,
        refs,
        location.check
    ])?;
    Ok(())
}

pub fn add_refs(db: &Connection, id: i64, refs: i64) -> Result<()> {
    db.prepare_cached("UPDATE blob SET refs = refs + ?2 WHERE id = ?1")?
        .execute([id, refs])?;
    Ok(())
}

/// Says that a content lies elsewhere now.
pub fn moved(db: &Connection, row: BlobRow, location: BlobLocation) -> Result<()> {
    let row = BlobRow { location, ..row };
    db.prepare_cached(
        "UPDATE blob SET pack = ?2, offset = ?3, stored = ?4, sum = ?5 WHERE id = ?1",
    )?
    .execute(params![
        row.id,
        location.pack,
        location.offset,
        location.stored,
        blob_sum(&row).end()
    ])?;
    Ok(())
}

/// A pack as the database knows it: what lies past `bytes` does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackRow {
    pub id: i64,
    pub bytes: u64,
}

fn pack_sum(row: PackRow) -> Checksum {
    Checksum::new().number(row.id).number(row.bytes as i64)
}

pub fn packs(db: &Connection) -> Result<Vec<PackRow>> {
    let mut statement = db.prepare_cached("SELECT id, bytes, sum FROM pack ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut packs = Vec::new();
    while let Some(row) = rows.next()? {
        let read = PackRow {
            id: row.get(0)?,
            bytes: row.get(1)?,
        };
        check(row.get(2)?, pack_sum(read), || {
            format!("pack {} does not match its checksum", read.id)
        })?;
        packs.push(read);
    }
    Ok(packs)
}

pub fn write_pack(db: &Connection, row: PackRow) -> Result<()> {
    db.execute(
        "INSERT INTO pack (id, bytes, sum) VALUES (?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, sum = excluded.sum",
        params![row.id, row.bytes, pack_sum(row).end()],
    )?;
    Ok(())
}

/// The files of a vault that hold contents.
#[derive(Clone, Debug)]
pub struct Blobs {
    packs: PathBuf,
    large: PathBuf,
}

impl Blobs {
    pub fn open(directory: &Path) -> Result<Blobs> {
        let blobs = Blobs {
            packs: directory.join("packs"),
            large: directory.join("large"),
        };
        for directory in [&blobs.packs, &blobs.large] {
            std::fs::create_dir_all(directory)?;
        }
        Ok(blobs)
    }

    pub fn directories(&self) -> [&Path; 2] {
        [&self.packs, &self.large]
    }

    pub fn pack_path(&self, pack: i64) -> PathBuf {
        self.packs.join(format!("{pack:06}.pack"))
    }

    pub fn large_path(&self, hash: &Hash) -> PathBuf {
        self.large.join(format!("{}.zst", hex(hash)))
    }

    /// Writes a content out, and tells if it is not what it should be.
    pub fn copy(&self, row: &BlobRow, to: &mut impl Write) -> Result<()> {
        if row.location.pack != 0 {
            return Ok(to.write_all(&self.small(row)?)?);
        }
        let file = File::open(self.large_path(&row.location.hash)).map_err(|e| lost(row, &e))?;
        let mut hashed = Hashed::new(to);
        let mut unpacked = zstd::stream::read::Decoder::new(file)?;
        io::copy(&mut unpacked, &mut hashed).map_err(|error| match error.kind() {
            // What the decoder says of bytes that it cannot make sense of.
            io::ErrorKind::Other | io::ErrorKind::UnexpectedEof => lost(row, &error),
            _ => Error::Io(error),
        })?;
        if hashed.end() != (row.location.hash, row.location.size) {
            return Err(damaged(row));
        }
        Ok(())
    }

    pub fn read(&self, row: &BlobRow) -> Result<Vec<u8>> {
        if row.location.pack != 0 {
            return self.small(row);
        }
        let mut content = Vec::new();
        self.copy(row, &mut content)?;
        Ok(content)
    }

    /// Whether what is stored in a file of its own is what was stored, to the last byte.
    pub fn is_untouched(&self, location: &BlobLocation) -> io::Result<bool> {
        let mut hashed = Hashed::new(File::open(self.large_path(&location.hash))?);
        io::copy(&mut hashed, &mut io::sink())?;
        let (hash, bytes) = hashed.end();
        Ok(bytes == location.stored && check_of(&hash) == location.check)
    }

    /// A content of a pack as it is stored; it must be whole.
    pub fn record(&self, row: &BlobRow) -> Result<PackRecord> {
        let file = File::open(self.pack_path(row.location.pack)).map_err(|e| lost(row, &e))?;
        let record = pack::read_at(&file, row.location.offset).map_err(|e| lost(row, &e))?;
        if record.hash != row.location.hash || record.size != row.location.size {
            return Err(damaged(row));
        }
        Ok(record)
    }

    fn small(&self, row: &BlobRow) -> Result<Vec<u8>> {
        self.record(row)?.unpack().ok_or_else(|| damaged(row))
    }
}

fn damaged(row: &BlobRow) -> Error {
    Error::Damaged(format!("content {} is damaged", hex(&row.location.hash)))
}

fn lost(row: &BlobRow, error: &io::Error) -> Error {
    Error::Damaged(format!("content {}: {error}", hex(&row.location.hash)))
}

/// A checksum from a hash.
fn check_of(hash: &Hash) -> i64 {
    Checksum::new().bytes(hash).end()
}

pub fn hex(hash: &Hash) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

/// Hashes and counts what passes through.
pub struct Hashed<T> {
    inner: T,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<T> Hashed<T> {
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        }
    }

    pub fn into_inner(self) -> T {
        self.inner
    }

    pub fn end(&self) -> (Hash, u64) {
        (*self.hasher.finalize().as_bytes(), self.bytes)
    }

    fn passed(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.passed(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.passed(&buffer[..count]);
        Ok(count)
    }
}
