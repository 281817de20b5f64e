//! Reads what may have changed, on all cores, and adds its content to the vault.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::ReadCandidate;
use super::commit::NewEntry;
use crate::blobs::{self, BlobWriter, Hash, LARGE_FROM, PackRecord};
use crate::database::{EntryKind, IndexEntry, StatStamp};
use crate::workspace_root::{self, FileMeta, WorkspaceRoot};
use crate::{FileKind, LeftOutReason, Moment, Result, SnapshotLimits, WorkControl, WorkProgress};

/// Below this a second thread costs more than it does.
const ALONE_BELOW: usize = 8;
const THREADS_MAX: usize = 8;
/// A file that changes while it is read is read again this often.
const TRIES_MAX: usize = 3;
/// A file whose last change is nearer to now than this could change again without its times telling:
/// the kernel's clock ticks every few milliseconds, on some file systems every two seconds.
const TICK_NANOS: i64 = 50_000_000;
const COARSE_TICK_NANOS: i64 = 2_100_000_000;
const TOLD_EVERY: usize = 256;

pub struct ContentReader<'a> {
    pub root: &'a WorkspaceRoot,
    pub limits: &'a SnapshotLimits,
    pub writer: &'a BlobWriter<'a>,
    /// Where to ask whether a content is kept already; nowhere if none is.
    pub db: Option<&'a Mutex<Connection>>,
    pub work: &'a WorkControl<'a>,
    /// When the look began, if it sees all names in each directory that it comes to.
    pub directories: Option<i64>,
    /// Whether something was gone when it was to be read.
    pub missed: AtomicBool,
}

/// What each thread reads with.
struct ReadBuffers {
    buffer: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
}

/// What came of reading a path.
enum ReadOutcome {
    /// Whether a later change would show in its times is told last.
    Content(Hash, FileMeta, bool),
    LeftOut(LeftOutReason),
    Gone,
}

/// Whose fault it is that a file could not be kept.
enum ReadError {
    Source(io::Error),
    Vault(crate::Error),
}

impl ContentReader<'_> {
    pub fn read(&self, candidates: Vec<ReadCandidate>) -> Result<Vec<NewEntry>> {
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
        let threads = if candidates.len() < ALONE_BELOW {
            1
        } else {
            cores.min(THREADS_MAX)
        };
        let total = candidates.len() as u64;
        let candidates: Vec<Mutex<Option<ReadCandidate>>> = candidates
            .into_iter()
            .map(|candidate| Mutex::new(Some(candidate)))
            .collect();
        let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        let run = || -> Result<Vec<NewEntry>> {
            let mut buffers = ReadBuffers {
                buffer: Vec::new(),
                compressor: PackRecord::compressor()?,
            };
            let mut new = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(candidate) = candidates
                    .get(place)
                    .and_then(|candidate| candidate.lock().take())
                else {
                    return Ok(new);
                };
                self.work.check()?;
                let bytes = bytes.fetch_add(candidate.seen.size, Ordering::Relaxed);
                if place.is_multiple_of(TOLD_EVERY) {
                    (self.work.progress)(WorkProgress {
                        done: place as u64,
                        total: Some(total),
                        bytes,
                    });
                }
                new.extend(self.settle(&mut buffers, candidate)?);
            }
        };
        if threads == 1 {
            return run();
        }
        let parts = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<NewEntry>>>| {
                let panicked = |panic| std::panic::resume_unwind(panic);
                thread.join().unwrap_or_else(panicked)
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// What the index knows of a path; it is asked for one that was not looked at.
    pub fn old(&self, path: &[u8]) -> Result<Option<IndexEntry>> {
        match self.db {
            Some(db) => crate::tree::at(&db.lock(), path, Moment(i64::MAX)),
            None => Ok(None),
        }
    }

    /// Keeps a small content that is in memory.
    pub fn keep(&self, content: &[u8]) -> Result<Hash> {
        self.keep_with(&mut PackRecord::compressor()?, content)
    }

    fn keep_with(
        &self,
        compressor: &mut zstd::bulk::Compressor<'static>,
        content: &[u8],
    ) -> Result<Hash> {
        let hash = *blake3::hash(content).as_bytes();
        let known = match self.db {
            Some(db) => blobs::id_of(&db.lock(), &hash)?.is_some(),
            None => false,
        };
        if !known {
            self.writer.add(hash, content, compressor)?;
        }
        Ok(hash)
    }

    /// `None`: it is gone by now.
    fn settle(
        &self,
        buffers: &mut ReadBuffers,
        candidate: ReadCandidate,
    ) -> Result<Option<NewEntry>> {
        let ReadCandidate { seen, old } = candidate;
        let path = Path::new(OsStr::from_bytes(&seen.path));
        let came = match seen.kind {
            EntryKind::LeftOut(why) => ReadOutcome::LeftOut(why),
            EntryKind::Kept(FileKind::File) => self.file(buffers, path)?,
            EntryKind::Kept(FileKind::Link) => self.link(buffers, path)?,
            EntryKind::Kept(FileKind::Directory) => {
                let whole = self.directories;
                let settled = whole.is_some_and(|began| is_settled_at(&seen.stamp, began));
                return Ok(Some(NewEntry {
                    path: seen.path,
                    kind: seen.kind,
                    mode: seen.mode,
                    size: 0,
                    content: None,
                    stamp: if settled {
                        seen.stamp
                    } else {
                        StatStamp::default()
                    },
                    old,
                }));
            }
        };
        Ok(match came {
            ReadOutcome::Content(hash, meta, settled) => Some(NewEntry {
                kind: seen.kind,
                // A link has no mode of its own; what a restore makes never runs as somebody else.
                mode: match seen.kind {
                    EntryKind::Kept(FileKind::File) => meta.mode & 0o777,
                    _ => 0,
                },
                size: meta.size,
                content: Some(hash),
                stamp: if settled {
                    meta.stamp
                } else {
                    StatStamp::default()
                },
                path: seen.path,
                old,
            }),
            ReadOutcome::LeftOut(why) => Some(NewEntry {
                kind: EntryKind::LeftOut(why),
                mode: 0,
                size: 0,
                content: None,
                stamp: StatStamp::default(),
                path: seen.path,
                old,
            }),
            ReadOutcome::Gone => {
                self.missed.store(true, Ordering::Relaxed);
                None
            }
        })
    }

    fn link(&self, buffers: &mut ReadBuffers, path: &Path) -> Result<ReadOutcome> {
        let looked = self.root.entry_ref(path).and_then(|entry_ref| {
            let meta = entry_ref.meta()?.ok_or(io::ErrorKind::NotFound)?;
            Ok((entry_ref.link_target()?, meta))
        });
        match looked {
            Ok((target, meta)) => {
                let hash = self.keep_with(&mut buffers.compressor, &target)?;
                let size = target.len() as u64;
                Ok(ReadOutcome::Content(
                    hash,
                    FileMeta { size, ..meta },
                    is_settled(&meta),
                ))
            }
            Err(error) => Ok(missed(&error)),
        }
    }

    fn file(&self, buffers: &mut ReadBuffers, path: &Path) -> Result<ReadOutcome> {
        let mut last = ReadOutcome::Gone;
        for _ in 0..TRIES_MAX {
            let (file, meta) = match self.open(path) {
                Ok(opened) => opened,
                Err(error) => return Ok(missed(&error)),
            };
            if meta.size > self.limits.file_bytes {
                return Ok(ReadOutcome::LeftOut(LeftOutReason::TooLarge));
            }
            let settled = is_settled(&meta);
            let (hash, size) = match self.content(buffers, &file, &meta) {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(ReadOutcome::LeftOut(LeftOutReason::TooLarge)),
                Err(ReadError::Source(error)) => return Ok(missed(&error)),
                Err(ReadError::Vault(error)) => return Err(error),
            };
            let meta = FileMeta { size, ..meta };
            if workspace_root::meta(&file).is_ok_and(|after| after == meta) {
                return Ok(ReadOutcome::Content(hash, meta, settled));
            }
            last = ReadOutcome::Content(hash, meta, false);
        }
        Ok(last)
    }

    fn open(&self, path: &Path) -> io::Result<(std::fs::File, FileMeta)> {
        let file = self.root.file(path)?;
        let meta = workspace_root::meta(&file)?;
        Ok((file, meta))
    }

    /// `None`: it has grown too large.
    fn content(
        &self,
        buffers: &mut ReadBuffers,
        file: &std::fs::File,
        meta: &FileMeta,
    ) -> Result<Option<(Hash, u64)>, ReadError> {
        buffers.buffer.clear();
        if meta.size <= LARGE_FROM {
            let mut content = file.take(LARGE_FROM + 1);
            content
                .read_to_end(&mut buffers.buffer)
                .map_err(ReadError::Source)?;
        }
        let size = buffers.buffer.len() as u64;
        if meta.size <= LARGE_FROM && size <= LARGE_FROM {
            let hash = self.keep_with(&mut buffers.compressor, &buffers.buffer);
            return Ok(Some((hash.map_err(ReadError::Vault)?, size)));
        }
        let mut source = SourceReader {
            inner: io::Cursor::new(std::mem::take(&mut buffers.buffer)).chain(file),
            bytes: 0,
            failed: None,
        };
        let added = self
            .writer
            .add_large(&mut source, self.limits.file_bytes.max(LARGE_FROM));
        match (added, source.failed) {
            (Ok(hash), _) => Ok(hash.map(|hash| (hash, source.bytes))),
            (Err(_), Some(error)) => Err(ReadError::Source(error)),
            (Err(error), None) => Err(ReadError::Vault(error)),
        }
    }
}

/// Remembers that reading failed, where writing may fail as well.
struct SourceReader<R> {
    inner: R,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Read for SourceReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(count) => {
                self.bytes += count as u64;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}

fn missed(error: &io::Error) -> ReadOutcome {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadOutcome::Gone,
        io::ErrorKind::Unsupported => ReadOutcome::LeftOut(LeftOutReason::Special),
        _ => ReadOutcome::LeftOut(LeftOutReason::Unreadable),
    }
}

/// Whether a later change would show in the file's times.
fn is_settled(meta: &FileMeta) -> bool {
    is_settled_at(&meta.stamp, nanos())
}

pub fn is_settled_at(stamp: &StatStamp, at: i64) -> bool {
    let tick = match stamp.changed % 1_000_000_000 {
        0 => COARSE_TICK_NANOS,
        _ => TICK_NANOS,
    };
    stamp.changed < at.saturating_sub(tick)
}

/// Since 1970.
pub fn nanos() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}
