//! Kills a process while it snapshots, prunes and restores; all that was kept still comes back.
//!
//! `DRAGOMAN_KILLS` and `DRAGOMAN_SEED` make it longer or other.

mod journal;
mod trees;
mod victim;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use checkpoints::{RetentionPolicy, SnapshotLimits, Vault};

use journal::Journal;
use trees::expected;

use crate::children::{available, child, through};
use crate::tree::{self, Node, assert_same};
use crate::world::{Chance, THREAD, damage, keep_all, now, open, within, work};

const KILLS: u64 = 18;
const MODES: [&str; 3] = ["snapshot", "prune", "restore"];

/// What changes something on the disk, and before which of them at most a child is killed.
const CALLS: [(&str, usize); 6] = [
    ("rename,renameat,renameat2", 3),
    ("unlink,unlinkat", 60),
    ("fsync,fdatasync", 8),
    ("pwrite64", 40),
    ("write", 40),
    ("ftruncate,fchmod,mkdirat", 4),
];

/// A child that makes no such call is killed after this long.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many checkpoints may be there when a child begins.
const LEFT: u64 = 6;

#[test]
fn what_was_kept_survives_a_kill() {
    within(limit(), || {
        let mut survivor = Survivor::new(number("DRAGOMAN_SEED").unwrap_or(1));
        let kills = number("DRAGOMAN_KILLS").unwrap_or(KILLS);
        let started = Instant::now();
        for kill in 0..kills {
            let mode = MODES[usize::try_from(kill).unwrap() % MODES.len()];
            survivor.kill_at_some_moment(mode);
            survivor.assert_all_is_well(mode);
        }
        survivor.tell(kills, started);
    });
}

/// Before this or that call to the system, where a moment picked by the clock rarely falls.
#[test]
fn what_was_kept_survives_a_kill_at_any_call() {
    if !available(&["strace", "-qq", "-o", "/dev/null", "true"]) {
        return;
    }
    within(limit(), || {
        let mut survivor = Survivor::new(number("DRAGOMAN_SEED").unwrap_or(2));
        let kills = number("DRAGOMAN_KILLS").unwrap_or(KILLS);
        let started = Instant::now();
        for kill in 0..kills {
            let kill = usize::try_from(kill).unwrap();
            let mode = MODES[kill % MODES.len()];
            let (call, most) = CALLS[(kill / MODES.len()) % CALLS.len()];
            let nth = 1 + survivor.chance.below(most);
            survivor.kill_at_call(mode, call, nth);
            survivor.assert_all_is_well(&format!("{mode} at {call}"));
        }
        survivor.tell(kills, started);
    });
}

fn limit() -> Duration {
    let kills = number("DRAGOMAN_KILLS").unwrap_or(KILLS);
    Duration::from_secs(6) * u32::try_from(kills).unwrap()
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap())
}

struct Survivor {
    home: tempfile::TempDir,
    chance: Chance,
    /// Checkpoints that must be there.
    alive: BTreeSet<u64>,
    /// The last number that a child has told of.
    told: u64,
    restored: u64,
    cut_short: u64,
    impatient: u64,
}

impl Survivor {
    fn new(seed: u64) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("workspace")).unwrap();
        Self {
            home,
            chance: Chance(seed),
            alive: BTreeSet::new(),
            told: 0,
            restored: 0,
            cut_short: 0,
            impatient: 0,
        }
    }

    fn tell(&self, kills: u64, started: Instant) {
        println!(
            "{kills} kills in {:.1} s: {} checkpoints restored, {} restores were cut short, {} kills \
             were late",
            started.elapsed().as_secs_f64(),
            self.restored,
            self.cut_short,
            self.impatient
        );
    }

    fn assert_all_is_well(&mut self, mode: &str) {
        let journal = Journal::read(self.home.path());
        let vault = open(self.home.path(), SnapshotLimits::default()).expect("it still opens");
        if let Some((from, to)) = journal.restoring {
            self.cut_short += 1;
            self.assert_each_file_is_whole(from, to);
        }
        assert_eq!(
            damage(&vault),
            Vec::<String>::new(),
            "after a kill in {mode}"
        );
        let listed = self.assert_all_listed_restore(&vault, &journal);
        if !mode.starts_with("prune") {
            self.alive.extend(journal.done_since(self.told));
            let lost: Vec<&u64> = self.alive.difference(&listed).collect();
            assert!(lost.is_empty(), "lost in {mode}: {lost:?}");
        }
        let policy = RetentionPolicy {
            count: LEFT,
            ..keep_all()
        };
        vault.prune(&work(), &policy).unwrap();
        self.told = journal.done.keys().last().copied().unwrap_or(0);
        let kept = vault.kept(THREAD).unwrap();
        self.alive = kept
            .iter()
            .flat_map(|kept| kept.checkpoints.iter().map(|kept| kept.number))
            .collect();
    }

    fn kill_at_some_moment(&mut self, mode: &str) {
        let seed = self.chance.next();
        let word = format!("{mode} {seed}");
        let mut child = child(
            "crash::victim::works_until_it_is_killed",
            self.home.path(),
            &word,
        )
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut rounds = lines.map_while(Result::ok).filter(|line| line == "round");
        for _ in 0..=1 + self.chance.below(2) {
            assert!(rounds.next().is_some(), "the child ended by itself");
        }
        // What it has begun takes some tens of milliseconds; any point of it will do.
        std::thread::sleep(Duration::from_micros(self.chance.next() % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn kill_at_call(&mut self, mode: &str, call: &str, nth: usize) {
        let word = format!("{mode} {}", self.chance.next());
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:signal=KILL:when={nth}");
        let starter = [
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &trace,
            "-e",
            &inject,
        ];
        let test = "crash::victim::works_until_it_is_killed";
        let mut command = through(&starter, test, self.home.path(), &word);
        // A group of its own, so that whoever traces and whoever is traced can go together.
        let command = command.stdout(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert_eq!(status.signal(), Some(9), "the child ended by itself");
                return;
            }
            if Instant::now() > until {
                let group = rustix::process::Pid::from_child(&child);
                rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
                child.wait().unwrap();
                self.impatient += 1;
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A restore that did not end has replaced some files and others not; what it was about to put in
    /// place may lie about until the next one.
    fn assert_each_file_is_whole(&self, from: u64, to: u64) {
        let found = tree::read(&self.home.path().join("workspace"));
        let (from, to) = (expected(from), expected(to));
        let unfinished = |path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(".dragoman-")
        };
        for (path, node) in found.iter().filter(|(path, _)| !unfinished(path)) {
            let old = from.get(path);
            let known = old == Some(node) || to.get(path) == Some(node);
            // A directory that is being made has not got its mode yet.
            let directory = matches!(node, Node::Directory { .. });
            assert!(known || directory, "{path:?} is {node:?}");
        }
    }

    fn assert_all_listed_restore(&mut self, vault: &Vault, journal: &Journal) -> BTreeSet<u64> {
        let Some(kept) = vault.kept(THREAD).unwrap() else {
            return BTreeSet::new();
        };
        let found = vault.scan(&work(), None).unwrap().moment;
        vault.begin("checker", found, now(), false).unwrap();
        for checkpoint in &kept.checkpoints {
            let moment = checkpoint.moment;
            vault.restore(&work(), "checker", moment, None).unwrap();
            let found = tree::read(&self.home.path().join("workspace"));
            let seed = journal.done.get(&checkpoint.number).copied();
            let seed = seed.unwrap_or_else(|| {
                let seed = seed_of(self.home.path());
                assert!(
                    journal.pending.contains(&seed),
                    "nobody noted {checkpoint:?}"
                );
                seed
            });
            assert_same(&found, &expected(seed), &format!("{checkpoint:?}"));
            self.restored += 1;
        }
        vault.forget("checker").unwrap();
        let numbers = kept.checkpoints.iter().map(|kept| kept.number);
        numbers.collect()
    }
}

fn seed_of(home: &Path) -> u64 {
    let text = fs::read_to_string(home.join("workspace/seed")).unwrap();
    text.parse().unwrap()
}
