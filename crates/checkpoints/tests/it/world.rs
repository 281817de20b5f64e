//! A workspace, its vault and something outside that nobody may touch, in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use checkpoints::{
    KeptCheckpoint, Millis, Moment, Restored, RetentionPolicy, ScanOutcome, SnapshotLimits,
    ThreadHistory, Vault, VaultOptions, VerifyReport, WorkControl,
};
use vocabulary::Trigger;

use crate::tree::{self, Tree};

pub const THREAD: &str = "thread";

/// Lies in every workspace and is in no snapshot.
pub const IGNORED: &str = "ignored";

pub struct World {
    pub home: tempfile::TempDir,
    pub vault: Vault,
    pub limits: SnapshotLimits,
}

static NEVER: AtomicBool = AtomicBool::new(false);

/// Goes on to its end and tells nobody.
pub fn work() -> WorkControl<'static> {
    WorkControl {
        cancel: &NEVER,
        progress: &|_| {},
    }
}

pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Nothing goes but what nobody needs.
pub fn keep_all() -> RetentionPolicy {
    RetentionPolicy {
        age: Duration::from_secs(3600),
        count: u64::MAX,
        bytes: u64::MAX,
    }
}

pub fn open(home: &Path, limits: SnapshotLimits) -> checkpoints::Result<Vault> {
    let options = VaultOptions {
        workspace: home.join("workspace"),
        apart: Vec::new(),
        limits,
    };
    Vault::open(&home.join("vault"), options)
}

impl World {
    pub fn new() -> Self {
        Self::with(SnapshotLimits::default())
    }

    pub fn with(limits: SnapshotLimits) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("workspace")).unwrap();
        fs::create_dir(home.path().join("outside")).unwrap();
        tree::write(&home.path().join("outside/secret"), 0o644, b"secret");
        let vault = open(home.path(), limits).unwrap();
        Self {
            home,
            vault,
            limits,
        }
    }

    pub fn reopen(&mut self) {
        self.vault = open(self.home.path(), self.limits).unwrap();
    }

    pub fn workspace(&self) -> PathBuf {
        self.home.path().join("workspace")
    }

    pub fn outside(&self) -> PathBuf {
        self.home.path().join("outside")
    }

    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.workspace().join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let full = self.at(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
    }

    /// All that is to be kept.
    pub fn tree(&self) -> Tree {
        let mut tree = tree::read(&self.workspace());
        tree.retain(|path, _| !path.starts_with(IGNORED));
        tree
    }

    #[track_caller]
    pub fn scan(&self) -> ScanOutcome {
        self.vault.scan(&work(), None).unwrap()
    }

    /// The original of the thread.
    #[track_caller]
    pub fn begin(&self) -> Moment {
        let moment = self.scan().moment;
        self.vault.begin(THREAD, moment, now(), false).unwrap();
        moment
    }

    /// A checkpoint of what lies there now.
    #[track_caller]
    pub fn take(&self) -> KeptCheckpoint {
        let moment = self.scan().moment;
        self.vault.note(THREAD, moment, Trigger::Manual).unwrap()
    }

    #[track_caller]
    pub fn restore(&self, to: Moment) -> Restored {
        self.vault.restore(&work(), THREAD, to, None).unwrap()
    }

    #[track_caller]
    pub fn restore_path(&self, to: Moment, path: impl AsRef<Path>) -> Restored {
        let path = Some(path.as_ref());
        self.vault.restore(&work(), THREAD, to, path).unwrap()
    }

    #[track_caller]
    pub fn kept(&self) -> ThreadHistory {
        self.vault.kept(THREAD).unwrap().unwrap()
    }

    #[track_caller]
    pub fn assert_sound(&self) {
        assert_eq!(damage(&self.vault), Vec::<String>::new());
    }

    /// Nothing outside the workspace was changed or added.
    #[track_caller]
    pub fn assert_outside_untouched(&self) {
        let outside = tree::read(&self.outside());
        let secret = (PathBuf::from("secret"), tree::Node::file(0o644, b"secret"));
        tree::assert_same(&outside, &Tree::from([secret]), "outside");
    }
}

#[track_caller]
pub fn damage(vault: &Vault) -> Vec<String> {
    let VerifyReport { damage, .. } = vault.verify(&work()).unwrap();
    damage
}

/// Fails when it takes longer, wherever it hangs.
#[track_caller]
pub fn within<T: Send + 'static>(limit: Duration, what: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, finished) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        // Nobody listens any more if the limit is over.
        let _ = done.send(what());
    });
    match finished.recv_timeout(limit) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("still not done after {limit:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it ended without a value"),
        },
    }
}

/// Numbers that are the same for the same seed (splitmix64).
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }

    /// Bytes that do not compress.
    pub fn noise(&mut self, length: usize) -> Vec<u8> {
        let words = (0..length.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        words.take(length).collect()
    }
}
