//! The process that is killed: it works on a vault for ever, and keeps a journal of it.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use checkpoints::{Moment, RetentionPolicy, SnapshotLimits, Vault};
use vocabulary::Trigger;

use super::LEFT;
use super::trees::put;
use crate::children::order;
use crate::world::{Chance, THREAD, now, open, work};

/// Not a test: what the tests of this folder start and kill.
#[test]
#[ignore = "run by what_was_kept_survives_a_kill"]
fn works_until_it_is_killed() {
    let Some((home, word)) = order() else {
        return;
    };
    let (mode, seed) = word.split_once(' ').unwrap();
    let mut victim = Victim::new(home, seed.parse().unwrap());
    loop {
        match mode {
            "snapshot" => victim.snapshot(|| println!("\nround")),
            "prune" => {
                victim.snapshot(|| {});
                victim.prune();
            }
            "restore" => {
                victim.snapshot(|| {});
                victim.restore();
            }
            _ => panic!("{mode}"),
        }
    }
}

struct Victim {
    home: PathBuf,
    vault: Vault,
    chance: Chance,
    journal: fs::File,
    /// The tree that lies there.
    seed: u64,
    known: Vec<(Moment, u64)>,
}

impl Victim {
    fn new(home: PathBuf, seed: u64) -> Self {
        let vault = open(&home, SnapshotLimits::default()).unwrap();
        let journal = fs::File::options()
            .append(true)
            .create(true)
            .open(home.join("journal"))
            .unwrap();
        let mut victim = Self {
            home,
            vault,
            chance: Chance(seed),
            journal,
            seed: 0,
            known: Vec::new(),
        };
        victim.say_if_forgotten();
        victim
    }

    fn say_if_forgotten(&mut self) {
        if self.vault.kept(THREAD).unwrap().is_none() {
            self.say("forgotten");
        }
    }

    /// In one piece, so that a kill leaves the line or nothing.
    fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        assert_eq!(self.journal.write(line.as_bytes()).unwrap(), line.len());
    }

    fn snapshot(&mut self, begins: impl Fn()) {
        self.seed = self.chance.next();
        put(&self.home.join("workspace"), self.seed);
        self.say(&format!("pending {}", self.seed));
        begins();
        let moment = self.vault.scan(&work(), None).unwrap().moment;
        self.vault.begin(THREAD, moment, now(), false).unwrap();
        let noted = self.vault.note(THREAD, moment, Trigger::Manual).unwrap();
        self.say(&format!("done {} {}", noted.number, self.seed));
        self.known.push((moment, self.seed));
    }

    fn prune(&mut self) {
        let listed = self.vault.kept(THREAD).unwrap().unwrap().checkpoints;
        let gone = &listed[self.chance.below(listed.len())];
        self.vault.delete(THREAD, gone.number).unwrap();
        let policy = RetentionPolicy {
            // What earlier children left is older, what this one has just taken is not.
            age: Duration::from_millis(400),
            count: LEFT,
            bytes: u64::MAX,
        };
        println!("\nround");
        self.vault.prune(&work(), &policy).unwrap();
        self.say_if_forgotten();
    }

    fn restore(&mut self) {
        let (moment, seed) = self.known[self.chance.below(self.known.len())];
        println!("\nround");
        self.say(&format!("restoring {} {seed}", self.seed));
        let restored = self.vault.restore(&work(), THREAD, moment, None).unwrap();
        self.say(&format!("done {} {}", restored.before.number, self.seed));
        self.seed = seed;
    }
}
