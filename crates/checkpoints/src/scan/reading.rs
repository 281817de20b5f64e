//! Reads what may have changed, on all cores, and adds its content to the vault.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::Doubt;
use super::commit::New;
use crate::blobs::{self, Hash, LARGE_FROM, Record, Writer};
use crate::database::{EntryKind, Lying, Stamp};
use crate::ground::{self, Ground, Met};
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

pub struct Reader<'a> {
    pub ground: &'a Ground,
    pub limits: &'a SnapshotLimits,
    pub writer: &'a Writer<'a>,
    /// Where to ask whether a content is kept already; nowhere if none is.
    pub db: Option<&'a Mutex<Connection>>,
    pub work: &'a WorkControl<'a>,
    /// When the look began, if it sees all names in each directory that it comes to.
    pub directories: Option<i64>,
}

/// What each thread reads with.
struct Hand {
    buffer: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
}

/// What came of reading a path.
enum Came {
    /// Whether a later change would show in its times is told last.
    Content(Hash, Met, bool),
    LeftOut(LeftOutReason),
    Gone,
}

/// Whose fault it is that a file could not be kept.
enum Trouble {
    Theirs(io::Error),
    Ours(crate::Error),
}

impl Reader<'_> {
    pub fn read(&self, doubts: Vec<Doubt>) -> Result<Vec<New>> {
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
        let threads = if doubts.len() < ALONE_BELOW {
            1
        } else {
            cores.min(THREADS_MAX)
        };
        let total = doubts.len() as u64;
        let doubts: Vec<Mutex<Option<Doubt>>> = doubts
            .into_iter()
            .map(|doubt| Mutex::new(Some(doubt)))
            .collect();
        let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        let run = || -> Result<Vec<New>> {
            let mut hand = Hand {
                buffer: Vec::new(),
                compressor: Record::compressor()?,
            };
            let mut new = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(doubt) = doubts.get(place).and_then(|doubt| doubt.lock().take()) else {
                    return Ok(new);
                };
                self.work.check()?;
                let bytes = bytes.fetch_add(doubt.seen.size, Ordering::Relaxed);
                if place.is_multiple_of(TOLD_EVERY) {
                    (self.work.progress)(WorkProgress {
                        done: place as u64,
                        total: Some(total),
                        bytes,
                    });
                }
                new.extend(self.settle(&mut hand, doubt)?);
            }
        };
        if threads == 1 {
            return run();
        }
        let parts = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<New>>>| {
                let panicked = |panic| std::panic::resume_unwind(panic);
                thread.join().unwrap_or_else(panicked)
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// What the index knows of a path; it is asked for one that was not looked at.
    pub fn old(&self, path: &[u8]) -> Result<Option<Lying>> {
        match self.db {
            Some(db) => crate::tree::at(&db.lock(), path, Moment(i64::MAX)),
            None => Ok(None),
        }
    }

    /// Keeps a small content that is in memory.
    pub fn keep(&self, content: &[u8]) -> Result<Hash> {
        self.keep_with(&mut Record::compressor()?, content)
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
    fn settle(&self, hand: &mut Hand, doubt: Doubt) -> Result<Option<New>> {
        let Doubt { seen, old } = doubt;
        let path = Path::new(OsStr::from_bytes(&seen.path));
        let came = match seen.kind {
            EntryKind::LeftOut(why) => Came::LeftOut(why),
            EntryKind::Kept(FileKind::File) => self.file(hand, path)?,
            EntryKind::Kept(FileKind::Link) => self.link(hand, path)?,
            EntryKind::Kept(FileKind::Directory) => {
                let whole = self.directories;
                let settled = whole.is_some_and(|began| is_settled_at(&seen.stamp, began));
                return Ok(Some(New {
                    path: seen.path,
                    kind: seen.kind,
                    mode: seen.mode,
                    size: 0,
                    content: None,
                    stamp: if settled {
                        seen.stamp
                    } else {
                        Stamp::default()
                    },
                    old,
                }));
            }
        };
        Ok(match came {
            Came::Content(hash, met, settled) => Some(New {
                kind: seen.kind,
                // A link has no mode of its own; what a restore makes never runs as somebody else.
                mode: match seen.kind {
                    EntryKind::Kept(FileKind::File) => met.mode & 0o777,
                    _ => 0,
                },
                size: met.size,
                content: Some(hash),
                stamp: if settled { met.stamp } else { Stamp::default() },
                path: seen.path,
                old,
            }),
            Came::LeftOut(why) => Some(New {
                kind: EntryKind::LeftOut(why),
                mode: 0,
                size: 0,
                content: None,
                stamp: Stamp::default(),
                path: seen.path,
                old,
            }),
            Came::Gone => None,
        })
    }

    fn link(&self, hand: &mut Hand, path: &Path) -> Result<Came> {
        let looked = self.ground.spot(path).and_then(|spot| {
            let met = spot.met()?.ok_or(io::ErrorKind::NotFound)?;
            Ok((spot.link_target()?, met))
        });
        match looked {
            Ok((target, met)) => {
                let hash = self.keep_with(&mut hand.compressor, &target)?;
                let size = target.len() as u64;
                Ok(Came::Content(hash, Met { size, ..met }, is_settled(&met)))
            }
            Err(error) => Ok(missed(&error)),
        }
    }

    fn file(&self, hand: &mut Hand, path: &Path) -> Result<Came> {
        let mut last = Came::Gone;
        for _ in 0..TRIES_MAX {
            let (file, met) = match self.open(path) {
                Ok(opened) => opened,
                Err(error) => return Ok(missed(&error)),
            };
            if met.size > self.limits.file_bytes {
                return Ok(Came::LeftOut(LeftOutReason::TooLarge));
            }
            let settled = is_settled(&met);
            let (hash, size) = match self.content(hand, &file, &met) {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(Came::LeftOut(LeftOutReason::TooLarge)),
                Err(Trouble::Theirs(error)) => return Ok(missed(&error)),
                Err(Trouble::Ours(error)) => return Err(error),
            };
            let met = Met { size, ..met };
            if ground::met(&file).is_ok_and(|after| after == met) {
                return Ok(Came::Content(hash, met, settled));
            }
            last = Came::Content(hash, met, false);
        }
        Ok(last)
    }

    fn open(&self, path: &Path) -> io::Result<(std::fs::File, Met)> {
        let file = self.ground.file(path)?;
        let met = ground::met(&file)?;
        Ok((file, met))
    }

    /// `None`: it has grown too large.
    fn content(
        &self,
        hand: &mut Hand,
        file: &std::fs::File,
        met: &Met,
    ) -> Result<Option<(Hash, u64)>, Trouble> {
        hand.buffer.clear();
        if met.size <= LARGE_FROM {
            let mut content = file.take(LARGE_FROM + 1);
            content
                .read_to_end(&mut hand.buffer)
                .map_err(Trouble::Theirs)?;
        }
        let size = hand.buffer.len() as u64;
        if met.size <= LARGE_FROM && size <= LARGE_FROM {
            let hash = self.keep_with(&mut hand.compressor, &hand.buffer);
            return Ok(Some((hash.map_err(Trouble::Ours)?, size)));
        }
        let mut theirs = Theirs {
            inner: io::Cursor::new(std::mem::take(&mut hand.buffer)).chain(file),
            bytes: 0,
            failed: None,
        };
        let added = self
            .writer
            .add_large(&mut theirs, self.limits.file_bytes.max(LARGE_FROM));
        match (added, theirs.failed) {
            (Ok(hash), _) => Ok(hash.map(|hash| (hash, theirs.bytes))),
            (Err(_), Some(error)) => Err(Trouble::Theirs(error)),
            (Err(error), None) => Err(Trouble::Ours(error)),
        }
    }
}

/// Remembers that reading failed, where writing may fail as well.
struct Theirs<R> {
    inner: R,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Theirs<R> {
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

fn missed(error: &io::Error) -> Came {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Came::Gone,
        io::ErrorKind::Unsupported => Came::LeftOut(LeftOutReason::Special),
        _ => Came::LeftOut(LeftOutReason::Unreadable),
    }
}

/// Whether a later change would show in the file's times.
fn is_settled(met: &Met) -> bool {
    is_settled_at(&met.stamp, nanos())
}

pub fn is_settled_at(stamp: &Stamp, at: i64) -> bool {
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
