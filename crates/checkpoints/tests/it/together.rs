//! Several processes with several threads each on one workspace and one vault.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use checkpoints::{Error, SnapshotLimits, Vault};
use vocabulary::Trigger;

use crate::children::{child, order, succeed};
use crate::tree::{self, Node, Tree, assert_same};
use crate::world;
use crate::world::{Chance, World, damage, keep_all, now, within, work};

const PROCESSES: u64 = 2;
const WORKERS: u64 = 3;
const ROUNDS: u64 = 8;

#[test]
fn all_at_once_and_nothing_is_corrupt() {
    within(Duration::from_secs(100), || {
        let world = World::new();
        let test = "together::works_beside_others";
        let children: Vec<_> = (0..PROCESSES)
            .map(|number| child(test, world.home.path(), &number.to_string()))
            .map(|mut command: Command| std::thread::spawn(move || succeed(&mut command)))
            .collect();
        for child in children {
            child.join().unwrap();
        }
        world.assert_sound();
        let mut threads = world.vault.threads().unwrap();
        threads.sort();
        let all = 0..PROCESSES * WORKERS;
        assert_eq!(threads, all.map(name).collect::<Vec<_>>());
        let found = world.scan().moment;
        world.vault.begin("checker", found, now(), false).unwrap();
        let mut restored = 0;
        for number in 0..PROCESSES * WORKERS {
            restored += assert_all_were_there(&world, number);
        }
        world.assert_sound();
        println!("{restored} checkpoints restored");
    });
}

fn name(worker: u64) -> String {
    format!("worker-{worker}")
}

/// What a worker noted, by the numbers of its checkpoints.
fn ledger(home: &Path, worker: u64) -> PathBuf {
    home.join(format!("ledger-{worker}"))
}

fn assert_all_were_there(world: &World, worker: u64) -> usize {
    let kept = world.vault.kept(&name(worker)).unwrap().unwrap();
    let ledger = fs::read_to_string(ledger(world.home.path(), worker)).unwrap();
    let mut noted = Vec::new();
    for line in ledger.lines() {
        let (number, seed) = line.split_once(' ').unwrap();
        let (number, seed): (u64, u64) = (number.parse().unwrap(), seed.parse().unwrap());
        noted.push((number, seed));
    }
    let numbers: Vec<u64> = kept.checkpoints.iter().map(|kept| kept.number).collect();
    let said: Vec<u64> = noted.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, said, "each is there once, and no other");
    for (checkpoint, (_, seed)) in kept.checkpoints.iter().zip(noted) {
        let to = checkpoint.moment;
        world.vault.restore(&work(), "checker", to, None).unwrap();
        let tree = world.tree();
        let own = format!("w{worker}");
        let own: Tree = tree
            .iter()
            .filter(|(path, _)| path.starts_with(&own))
            .map(|(path, node)| (path.clone(), node.clone()))
            .collect();
        assert_same(&own, &subtree(worker, seed), "its own part");
        for (path, node) in &tree {
            if let Node::File { .. } = node {
                assert_whole(world, path);
            }
        }
    }
    kept.checkpoints.len()
}

/// A file says who it is in its first line, so that one that never existed gives itself away.
fn assert_whole(world: &World, path: &Path) {
    let content = fs::read_to_string(world.at(path)).unwrap();
    let (seal, body) = content.split_once('\n').unwrap();
    assert_eq!(seal, sealed(path, body), "{path:?}");
}

fn sealed(path: &Path, body: &str) -> String {
    blake3::hash(format!("{} {body}", path.display()).as_bytes()).to_string()
}

fn files(worker: u64, seed: u64) -> Vec<(PathBuf, String)> {
    let mut chance = Chance(seed);
    (0..10)
        .filter_map(|number| {
            let path = PathBuf::from(format!("w{worker}/f{number}"));
            let body = format!("{}\n", chance.next()).repeat(1 + chance.below(50));
            let content = format!("{}\n{body}", sealed(&path, &body));
            (chance.below(4) > 0).then_some((path, content))
        })
        .collect()
}

fn subtree(worker: u64, seed: u64) -> Tree {
    let files = files(worker, seed).into_iter();
    let mut tree: Tree = files
        .map(|(path, content)| (path, Node::file(0o644, content.as_bytes())))
        .collect();
    tree.insert(format!("w{worker}").into(), Node::Directory { mode: 0o755 });
    tree
}

/// Not a test: what the test above starts several times.
#[test]
#[ignore = "run by all_at_once_and_nothing_is_corrupt"]
fn works_beside_others() {
    let Some((home, number)) = order() else {
        return;
    };
    let number: u64 = number.parse().unwrap();
    let vault = Arc::new(world::open(&home, SnapshotLimits::default()).unwrap());
    let workers: Vec<_> = (number * WORKERS..(number + 1) * WORKERS)
        .map(|worker| {
            let (home, vault) = (home.clone(), vault.clone());
            std::thread::spawn(move || Worker::new(worker, home, vault).run())
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}

struct Worker {
    number: u64,
    home: PathBuf,
    vault: Arc<Vault>,
    chance: Chance,
    /// What lies in its part of the workspace.
    seed: u64,
    noted: Vec<(u64, u64)>,
}

impl Worker {
    fn new(number: u64, home: PathBuf, vault: Arc<Vault>) -> Self {
        fs::create_dir(home.join(format!("stage-{number}"))).unwrap();
        tree::make_directory(&home.join(format!("workspace/w{number}")), 0o755);
        Self {
            number,
            home,
            vault,
            chance: Chance(number),
            seed: 0,
            noted: Vec::new(),
        }
    }

    fn run(mut self) {
        for round in 0..ROUNDS {
            self.change();
            self.snapshot();
            match round % 4 {
                1 => self.restore(),
                2 => self.delete(),
                3 => self.look(),
                _ => {}
            }
        }
        let lines = self
            .noted
            .iter()
            .map(|(number, seed)| format!("{number} {seed}\n"));
        fs::write(ledger(&self.home, self.number), lines.collect::<String>()).unwrap();
    }

    /// Whole files only: each is moved into its place.
    fn change(&mut self) {
        let working = self.vault.working(&work()).unwrap();
        self.seed = self.chance.next();
        let workspace = self.home.join("workspace");
        let wanted = files(self.number, self.seed);
        let own = workspace.join(format!("w{}", self.number));
        for entry in fs::read_dir(&own).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(&workspace).unwrap();
            if !wanted.iter().any(|(path, _)| path == inside) {
                fs::remove_file(&path).unwrap();
            }
        }
        let stage = self.home.join(format!("stage-{}/file", self.number));
        for (path, content) in wanted {
            tree::write(&stage, 0o644, content.as_bytes());
            fs::rename(&stage, workspace.join(path)).unwrap();
        }
        drop(working);
    }

    fn snapshot(&mut self) {
        let vault = &self.vault;
        let moment = vault.scan(&work(), None).unwrap().moment;
        vault
            .begin(&name(self.number), moment, now(), false)
            .unwrap();
        let noted = vault.note(&name(self.number), moment, Trigger::Automatic);
        self.noted.push((noted.unwrap().number, self.seed));
    }

    /// Its own part only; the others go on in theirs.
    fn restore(&mut self) {
        let name = name(self.number);
        let (number, seed) = self.noted[self.chance.below(self.noted.len())];
        let kept = self.vault.kept(&name).unwrap().unwrap();
        let to = kept.checkpoints.iter().find(|kept| kept.number == number);
        let path = PathBuf::from(format!("w{}", self.number));
        let to = to.unwrap().moment;
        match self.vault.restore(&work(), &name, to, Some(&path)) {
            Ok(restored) => {
                self.noted.push((restored.before.number, self.seed));
                self.seed = seed;
                let mut found = Tree::new();
                for (inside, node) in tree::read(&self.home.join("workspace").join(&path)) {
                    found.insert(path.join(inside), node);
                }
                found.insert(path, Node::Directory { mode: 0o755 });
                assert_same(
                    &found,
                    &subtree(self.number, seed),
                    "a restore beside others",
                );
            }
            // Another worker changes its part right now.
            Err(Error::TurnRunning) => {}
            Err(other) => panic!("{other}"),
        }
    }

    fn delete(&mut self) {
        let (number, _) = self.noted.remove(self.chance.below(self.noted.len()));
        self.vault.delete(&name(self.number), number).unwrap();
        self.vault.prune(&work(), &keep_all()).unwrap();
    }

    fn look(&self) {
        assert_eq!(damage(&self.vault), Vec::<String>::new());
        let kept = self.vault.kept(&name(self.number)).unwrap().unwrap();
        let last = kept.checkpoints.last().unwrap().moment;
        self.vault.changes(kept.original, last).unwrap();
        self.vault.diff(kept.original, last, 100_000).unwrap();
    }
}

#[test]
fn many_may_open_a_vault_that_is_not_there_yet() {
    within(Duration::from_secs(60), || {
        for _ in 0..10 {
            let home = tempfile::tempdir().unwrap();
            fs::create_dir(home.path().join("workspace")).unwrap();
            let at_once = std::sync::Barrier::new(8);
            let open = || {
                at_once.wait();
                world::open(home.path(), SnapshotLimits::default()).unwrap();
            };
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(open);
                }
            });
        }
    });
}
