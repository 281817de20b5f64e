//! Adds contents to a vault. There is one writer at a time, used by many threads.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::pack::{HEADER_BYTES, MAGIC, PackRecord};
use super::{BlobLocation, Blobs, Hash, Hashed, LEVEL, PackRow, check_of};
use crate::Result;

/// A pack that has come to this size is not added to any more.
const PACK_BYTES_MAX: u64 = 64 << 20;
const BUFFER_BYTES: usize = 256 << 10;
/// So much of the disk is left to others, and on a small disk this part of it.
const RESERVE_BYTES: u64 = 128 << 20;
const RESERVE_SHARE: u64 = 64;
/// The disk is looked at whenever so much was written.
const LOOK_EVERY: u64 = 4 << 20;

pub struct BlobWriter<'a> {
    blobs: &'a Blobs,
    packs: Mutex<Packs>,
    /// What this writer has added; `None` while it is on its way.
    added: Mutex<HashMap<Hash, Option<BlobLocation>>>,
    /// Files of large contents that were not there before.
    new_large: Mutex<Vec<PathBuf>>,
    temporary: AtomicU64,
    /// Bytes written since the disk was last looked at.
    unchecked: AtomicU64,
    kept: AtomicBool,
}

struct Packs {
    /// The one that is written, once there is something to write.
    open: Option<OpenPack>,
    /// The last one that the database knows, as long as it may be gone on with.
    last: Option<PackRow>,
    /// The same, for good.
    known: Option<PackRow>,
    /// The highest number that was ever used.
    highest: i64,
    written: Vec<PackRow>,
}

struct OpenPack {
    file: BufWriter<File>,
    row: PackRow,
}

impl<'a> BlobWriter<'a> {
    /// `last` is the last pack, `highest` the highest number that a pack has ever had.
    pub fn new(blobs: &'a Blobs, last: Option<PackRow>, highest: i64) -> Self {
        let packs = Packs {
            open: None,
            last,
            known: last,
            highest,
            written: Vec::new(),
        };
        Self {
            blobs,
            packs: Mutex::new(packs),
            added: Mutex::default(),
            new_large: Mutex::default(),
            temporary: AtomicU64::new(0),
            unchecked: AtomicU64::new(0),
            kept: AtomicBool::new(false),
        }
    }

    /// Adds a small content, unless this writer has it already.
    pub fn add(
        &self,
        hash: Hash,
        content: &[u8],
        compressor: &mut zstd::bulk::Compressor<'_>,
    ) -> Result<()> {
        if self.added.lock().try_insert_pending(hash) {
            let record = PackRecord::pack(hash, content, compressor)?;
            let location = self.append(&record)?;
            self.added.lock().insert(hash, Some(location));
        }
        Ok(())
    }

    /// Puts a record at the end of the packs.
    pub fn append(&self, record: &PackRecord) -> Result<BlobLocation> {
        self.make_sure_of_room(record.bytes())?;
        let mut packs = self.packs.lock();
        let open = packs.open(self.blobs)?;
        let offset = open.row.bytes;
        open.file.write_all(&record.header())?;
        open.file.write_all(&record.payload)?;
        open.row.bytes += record.bytes();
        let location = BlobLocation {
            hash: record.hash,
            size: record.size,
            pack: open.row.id,
            offset,
            stored: record.bytes() - HEADER_BYTES as u64,
            check: 0,
        };
        if open.row.bytes >= PACK_BYTES_MAX {
            packs.close()?;
        }
        Ok(location)
    }

    /// Adds a large content of at most `max` bytes; `None` if there is more. What is read is not held.
    pub fn add_large(&self, content: impl Read, max: u64) -> Result<Option<Hash>> {
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = self.blobs.large.join(format!("{number}.new"));
        let outcome = self.fill_large(&temporary, content, max);
        if !matches!(outcome, Ok(Some(_))) {
            // A stray file costs disk only, and goes with the next pruning.
            let _ = std::fs::remove_file(&temporary);
        }
        outcome
    }

    fn fill_large(&self, temporary: &Path, content: impl Read, max: u64) -> Result<Option<Hash>> {
        let file = Hashed::new(SpaceCheckedFile::new(self, new_file(temporary)?));
        let mut packed = zstd::stream::write::Encoder::new(file, LEVEL)?;
        let mut hashed = Hashed::new(content.take(max + 1));
        io::copy(&mut hashed, &mut packed)?;
        let file = packed.finish()?;
        let (hash, size) = hashed.end();
        if size > max {
            return Ok(None);
        }
        let path = self.blobs.large_path(&hash);
        if !self.added.lock().try_insert_pending(hash) {
            std::fs::remove_file(temporary)?;
            return Ok(Some(hash));
        }
        let (stored_hash, stored) = file.end();
        file.into_inner().file.sync_data()?;
        let known = path.exists();
        std::fs::rename(temporary, &path)?;
        if !known {
            self.new_large.lock().push(path);
        }
        let location = BlobLocation {
            hash,
            size,
            pack: 0,
            offset: 0,
            stored,
            check: check_of(&stored_hash),
        };
        self.added.lock().insert(hash, Some(location));
        Ok(Some(hash))
    }

    /// Sees to it that the disk is not filled to its last byte by us: it is not ours alone.
    fn make_sure_of_room(&self, bytes: u64) -> io::Result<()> {
        let last = self.unchecked.fetch_add(bytes, Ordering::Relaxed);
        if last > 0 && last + bytes < LOOK_EVERY {
            return Ok(());
        }
        self.unchecked.store(1, Ordering::Relaxed);
        let Ok(disk) = rustix::fs::statvfs(&self.blobs.packs) else {
            return Ok(());
        };
        let reserve =
            RESERVE_BYTES.min(disk.f_blocks.saturating_mul(disk.f_frsize) / RESERVE_SHARE);
        if disk.f_bavail.saturating_mul(disk.f_frsize) < reserve {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    /// Sees to it that everything is on disk, and gives what was added and how the packs are now.
    pub fn finish(&self) -> Result<(HashMap<Hash, BlobLocation>, Vec<PackRow>)> {
        let mut packs = self.packs.lock();
        packs.close()?;
        let added: HashMap<Hash, BlobLocation> = std::mem::take(&mut *self.added.lock())
            .into_iter()
            .filter_map(|(hash, location)| Some((hash, location?)))
            .collect();
        if !packs.written.is_empty() {
            sync_directory(&self.blobs.packs)?;
        }
        if added.values().any(|location| location.pack == 0) {
            sync_directory(&self.blobs.large)?;
        }
        Ok((added, packs.written.clone()))
    }

    /// The database knows of it all now.
    pub fn keep(self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

/// What the database was never told of is taken back, so that a failure does not cost disk as well.
impl Drop for BlobWriter<'_> {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        let packs = self.packs.get_mut();
        let open = packs.open.take().map(|open| open.row);
        for row in packs.written.drain(..).chain(open) {
            let path = self.blobs.pack_path(row.id);
            // What cannot be taken back now is cut off or swept away later.
            let _ = match packs.known {
                Some(known) if known.id == row.id => OpenOptions::new()
                    .write(true)
                    .open(path)
                    .and_then(|file| file.set_len(known.bytes)),
                _ => std::fs::remove_file(path),
            };
        }
        for path in self.new_large.get_mut().drain(..) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A file that is written as long as there is room.
struct SpaceCheckedFile<'a> {
    writer: &'a BlobWriter<'a>,
    file: File,
}

impl<'a> SpaceCheckedFile<'a> {
    fn new(writer: &'a BlobWriter<'a>, file: File) -> Self {
        Self { writer, file }
    }
}

impl Write for SpaceCheckedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.make_sure_of_room(bytes.len() as u64)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Claims a hash: whoever is told yes has to add it.
trait Claim {
    fn try_insert_pending(&mut self, hash: Hash) -> bool;
}

impl Claim for HashMap<Hash, Option<BlobLocation>> {
    fn try_insert_pending(&mut self, hash: Hash) -> bool {
        match self.entry(hash) {
            std::collections::hash_map::Entry::Occupied(_) => false,
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(None);
                true
            }
        }
    }
}

impl Packs {
    fn open(&mut self, blobs: &Blobs) -> Result<&mut OpenPack> {
        if self.open.is_none() {
            self.open = Some(match self.last.take().and_then(|row| reopen(blobs, row)) {
                Some(open) => open,
                None => {
                    self.highest += 1;
                    begin(blobs, self.highest)?
                }
            });
        }
        match &mut self.open {
            Some(open) => Ok(open),
            None => Err(io::Error::from(io::ErrorKind::NotFound).into()),
        }
    }

    fn close(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            let row = open.row;
            let file = open
                .file
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.sync_data()?;
            self.written.push(row);
        }
        Ok(())
    }
}

/// Goes on with a pack that has room; what a crash has left behind its end is cut off.
fn reopen(blobs: &Blobs, row: PackRow) -> Option<OpenPack> {
    if row.bytes >= PACK_BYTES_MAX {
        return None;
    }
    let path = blobs.pack_path(row.id);
    let mut file = OpenOptions::new().write(true).open(path).ok()?;
    // One that is shorter than it should be is damaged; it is left for the verification to tell.
    if file.metadata().ok()?.len() < row.bytes {
        return None;
    }
    file.set_len(row.bytes).ok()?;
    file.seek(SeekFrom::End(0)).ok()?;
    let file = BufWriter::with_capacity(BUFFER_BYTES, file);
    Some(OpenPack { file, row })
}

fn begin(blobs: &Blobs, id: i64) -> Result<OpenPack> {
    let file = new_file(&blobs.pack_path(id))?;
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
    file.write_all(MAGIC)?;
    let bytes = MAGIC.len() as u64;
    Ok(OpenPack {
        file,
        row: PackRow { id, bytes },
    })
}

/// Empty, for its owner only; a stray one of that name is overwritten.
fn new_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    Ok(options.open(path)?)
}

fn sync_directory(path: &Path) -> Result<()> {
    // So that new names last as well; not every file system can.
    let _ = File::open(path)?.sync_all();
    Ok(())
}
