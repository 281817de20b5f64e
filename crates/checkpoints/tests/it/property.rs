//! Random trees and random edits: any checkpoint comes back bit for bit, and the vault's account of
//! what changed agrees with a comparison of the trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use checkpoints::{Error, FileKind, KeptCheckpoint, Moment};
use proptest::prelude::*;
use proptest::sample::Index;
use vocabulary::{FileChangeKind, Trigger};

use crate::comparison::{differences, grafted, sorted, steps, told};
use crate::edits::{Edit, apply, edits};
use crate::tree::{Node, Tree, assert_same};
use crate::world::{IGNORED, THREAD, World, keep_all, now, work};

const CASES: u32 = 16;

/// A world in which several states were kept, and what each of them was.
struct Past {
    world: World,
    states: Vec<State>,
}

#[derive(Clone)]
struct State {
    moment: Moment,
    tree: Tree,
}

pub fn cases(default: u32) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: wanted.and_then(|text| text.parse().ok()).unwrap_or(default),
        failure_persistence: None,
        max_shrink_time: 15_000,
        ..ProptestConfig::default()
    }
}

/// The original and a few batches of changes to it.
fn batches() -> impl Strategy<Value = Vec<Vec<Edit>>> {
    (edits(0..40), prop::collection::vec(edits(0..12), 1..6)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

impl Past {
    /// Takes a checkpoint after each batch; each is compared with what was there before.
    fn live(batches: &[Vec<Edit>]) -> Self {
        let world = World::new();
        world.write(".dragomanignore", format!("/{IGNORED}\n"));
        let mut past = Self {
            world,
            states: Vec::new(),
        };
        for (number, batch) in batches.iter().enumerate() {
            past.world
                .write(format!("{IGNORED}/file"), number.to_string());
            apply(&past.world.workspace(), batch);
            past.keep();
        }
        past
    }

    fn keep(&mut self) {
        let tree = self.world.tree();
        let scan = self.world.scan();
        let before = self.states.last().map(|state| state.tree.clone());
        let wanted = differences(&before.clone().unwrap_or_default(), &tree);
        assert_eq!(told(&scan.changes), wanted, "what the scan found");
        for change in &scan.changes {
            if let Some(Node::File { size, .. }) = tree.get(&change.path) {
                assert_eq!(change.size, *size, "{:?}", change.path);
            }
        }
        assert!(!scan.partial);
        match before {
            None => self
                .world
                .vault
                .begin(THREAD, scan.moment, now(), false)
                .unwrap(),
            Some(before) => {
                let noted = self
                    .world
                    .vault
                    .note(THREAD, scan.moment, Trigger::Automatic)
                    .unwrap();
                assert_eq!(noted.changed, tree != before);
                assert_eq!(noted.changed_from_original, tree != self.states[0].tree);
                assert_eq!(noted.moment, scan.moment);
            }
        }
        let moment = scan.moment;
        self.states.push(State { moment, tree });
    }

    fn now(&self) -> Tree {
        self.world.tree()
    }

    /// Restores it and undoes that again; comes to rest at the state.
    fn there_and_back(&self, state: &State) {
        let now = self.now();
        let there = self.restore(state);
        let back = self.world.restore(there.moment);
        assert_same(&self.now(), &now, "after undoing the restore");
        assert_eq!(sorted(back.steps), steps(&state.tree, &now));
        self.restore(state);
    }

    /// What undoes it.
    fn restore(&self, state: &State) -> KeptCheckpoint {
        let now = self.now();
        let wanted = steps(&now, &state.tree);
        let preview = self
            .world
            .vault
            .preview(&work(), state.moment, None)
            .unwrap();
        assert_eq!(sorted(preview), wanted, "the preview");
        assert_same(&self.now(), &now, "after a preview");
        let restored = self.world.restore(state.moment);
        assert_same(&self.now(), &state.tree, "after the restore");
        assert_eq!(sorted(restored.steps), wanted, "what was restored");
        let changes = told(&restored.scan.changes);
        assert_eq!(changes, differences(&now, &state.tree));
        restored.before
    }

    /// Nothing was done to what is in no snapshot.
    fn assert_ignored_is_left_alone(&self, written: usize) {
        let file = self.world.at(format!("{IGNORED}/file"));
        let content = std::fs::read_to_string(file).unwrap();
        assert_eq!(content, written.to_string());
        self.world.assert_outside_untouched();
    }

    /// Every content that a checkpoint has seen at some path.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<blake3::Hash>> {
        let mut contents: BTreeMap<PathBuf, Vec<blake3::Hash>> = BTreeMap::new();
        for state in &self.states {
            for (path, node) in &state.tree {
                if let Node::File { hash, .. } = node {
                    contents.entry(path.clone()).or_default().push(*hash);
                }
            }
        }
        contents
    }
}

/// What a diff can show: it knows no directories, and of a mode only whether the owner may run it.
fn shown(node: &Node) -> Option<Node> {
    match node.clone() {
        Node::Directory { .. } => None,
        Node::File { mode, size, hash } => Some(Node::File {
            mode: mode & 0o100,
            size,
            hash,
        }),
        Node::Link(target) => Some(Node::Link(target)),
    }
}

/// Whether a restore of this path alone has a plain meaning: what it lies in is a directory or gone.
fn reachable(now: &Tree, path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .all(|parent| matches!(now.get(parent), None | Some(Node::Directory { .. })))
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn any_checkpoint_comes_back_bit_for_bit(
        batches in batches(),
        order in prop::collection::vec(any::<Index>(), 1..5),
    ) {
        let mut past = Past::live(&batches);
        past.world.reopen();
        for index in order {
            past.there_and_back(index.get(&past.states));
        }
        past.world.assert_sound();
        past.assert_ignored_is_left_alone(batches.len() - 1);
    }

    #[test]
    fn one_path_comes_back_and_nothing_else_is_touched(
        batches in batches(),
        choices in prop::collection::vec((any::<Index>(), any::<Index>()), 1..8),
    ) {
        let past = Past::live(&batches);
        for (state, path) in choices {
            let state = state.get(&past.states);
            let now = past.now();
            let paths: Vec<&PathBuf> = now.keys().chain(state.tree.keys()).collect();
            let path = *path.get(&paths);
            if !reachable(&now, path) {
                continue;
            }
            let wanted = grafted(&now, path, &state.tree);
            let restored = past.world.restore_path(state.moment, path);
            assert_same(&past.now(), &wanted, &format!("after a restore of {path:?} alone"));
            assert_eq!(sorted(restored.steps), steps(&now, &wanted));
            past.world.restore(restored.before.moment);
            assert_same(&past.now(), &now, "after undoing it");
        }
        past.world.assert_sound();
        past.assert_ignored_is_left_alone(batches.len() - 1);
    }

    #[test]
    fn what_changed_between_any_two_is_what_a_comparison_finds(batches in batches()) {
        let past = Past::live(&batches);
        for from in &past.states {
            for to in &past.states {
                let changes = past.world.vault.changes(from.moment, to.moment).unwrap();
                let wanted = differences(&from.tree, &to.tree);
                assert_eq!(told(&changes), wanted);
                let diff = past.world.vault.diff(from.moment, to.moment, 1 << 20).unwrap();
                let contents = |tree: &Tree| -> Vec<(PathBuf, Node)> {
                    tree.iter().filter_map(|(path, node)| Some((path.clone(), shown(node)?))).collect()
                };
                let same = contents(&from.tree) == contents(&to.tree);
                assert_eq!(diff.is_empty(), same, "{wanted:?}\n{diff}");
            }
        }
    }

    #[test]
    fn every_version_of_a_file_can_be_read(batches in batches()) {
        let past = Past::live(&batches);
        let vault = &past.world.vault;
        for (path, seen) in past.contents() {
            let history = vault.history(&path).unwrap();
            let numbers: Vec<u64> = history.iter().map(|version| version.iteration).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{path:?}: {numbers:?}");
            let mut kept = Vec::new();
            for version in history {
                let (same, content) = vault.content(&path, version.iteration).unwrap();
                assert_eq!(same, version);
                let hash = blake3::hash(&content);
                assert_eq!(version.hash, hash.to_hex().to_string(), "{path:?}");
                assert_eq!(version.size, content.len() as u64);
                kept.push(hash);
            }
            for hash in seen {
                assert!(kept.contains(&hash), "{path:?}: a version is missing");
            }
        }
    }

    /// Looking at what changed is as good as looking at everything.
    #[test]
    fn recording_the_changed_paths_is_enough(first in edits(0..30), then in edits(1..12)) {
        let world = World::new();
        apply(&world.workspace(), &first);
        let original = world.begin();
        let before = world.tree();
        apply(&world.workspace(), &then);
        let after = world.tree();
        let wanted = differences(&before, &after);
        let paths: Vec<PathBuf> = wanted.iter().map(|change| change.0.clone()).collect();
        let recorded = world.vault.record(&work(), &paths).unwrap();
        assert_eq!(told(&recorded.changes), wanted);
        let scan = world.scan();
        assert_eq!(told(&scan.changes), []);
        assert_eq!(scan.moment, recorded.moment);
        world.restore(original);
        assert_same(&world.tree(), &before, "what was there before");
        world.restore(recorded.moment);
        assert_same(&world.tree(), &after, "what was recorded");
    }

    #[test]
    fn what_is_left_after_deleting_and_pruning_still_comes_back(
        batches in batches(),
        left in prop::collection::vec(any::<bool>(), 8),
    ) {
        let mut past = Past::live(&batches);
        let vault = &past.world.vault;
        for number in numbers(&past) {
            vault.delete(THREAD, number).unwrap();
        }
        let pruned = vault.prune(&work(), &keep_all()).unwrap();
        assert_eq!((pruned.checkpoints, pruned.versions), (0, 0), "all is young");
        past.grow_old();
        let vault = &past.world.vault;
        for (state, left) in past.states.iter().zip(left) {
            if left {
                vault.note(THREAD, state.moment, Trigger::Manual).unwrap();
            }
        }
        vault.prune(&work(), &checkpoints::RetentionPolicy { age: OLD, ..keep_all() }).unwrap();
        past.world.reopen();
        past.world.assert_sound();
        past.assert_listed_restore();
        past.assert_none_is_wrong();
        past.world.assert_sound();
    }
}

fn numbers(past: &Past) -> Vec<u64> {
    let kept = past.world.vault.kept(THREAD).unwrap();
    let all = kept.into_iter().flat_map(|kept| kept.checkpoints);
    all.map(|kept| kept.number).collect()
}

/// Longer than it takes to note a few states.
const OLD: Duration = Duration::from_millis(150);

impl Past {
    /// On behalf of another thread, so that this one's list stays as it is.
    fn assert_listed_restore(&self) {
        let Some(kept) = self.world.vault.kept(THREAD).unwrap() else {
            return;
        };
        let vault = &self.world.vault;
        let aside = self.world.scan().moment;
        vault.begin("another", aside, now(), false).unwrap();
        let listed = kept.checkpoints.iter().map(|kept| kept.moment);
        for moment in listed.chain([kept.original]) {
            let state = self.states.iter().find(|state| state.moment == moment);
            let state = state.expect("a moment that was noted");
            vault.restore(&work(), "another", moment, None).unwrap();
            assert_same(&self.now(), &state.tree, "after pruning and a restore");
        }
        vault.forget("another").unwrap();
    }

    /// Until all that was kept so far is older than what is to stay.
    fn grow_old(&self) {
        let until = Instant::now() + OLD + Duration::from_millis(10);
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
    }

    /// States that nobody has named since: gone, or as they were.
    fn assert_none_is_wrong(&self) {
        let vault = &self.world.vault;
        let aside = self.world.scan().moment;
        vault.begin("another", aside, now(), false).unwrap();
        for state in &self.states {
            match vault.restore(&work(), "another", state.moment, None) {
                Ok(_) => assert_same(&self.now(), &state.tree, "a state that was to go"),
                Err(error) => assert!(matches!(error, Error::Damaged(_)), "{error}"),
            }
        }
    }
}

/// The version that a scan names is the one that can be read under that number.
#[test]
fn a_change_names_the_version_that_it_made() {
    let world = World::new();
    world.begin();
    for content in ["one", "two", "three"] {
        world.write("file", content);
        let scan = world.scan();
        let [change] = &scan.changes[..] else {
            panic!("{:?}", scan.changes)
        };
        let (version, read) = world.vault.content(&change.path, change.iteration).unwrap();
        assert_eq!(read, content.as_bytes());
        assert_eq!(version.iteration, change.iteration);
    }
    std::fs::remove_file(world.at("file")).unwrap();
    let scan = world.scan();
    assert_eq!(scan.changes[0].what, FileChangeKind::Delete);
    assert_eq!(scan.changes[0].iteration, 4);
    let content = |number| world.vault.content(Path::new("file"), number);
    assert_eq!(content(3).unwrap().1, b"three");
    assert!(content(4).is_err(), "nothing is kept of a removal");
    world.write("file", "four");
    assert_eq!(world.scan().changes[0].iteration, 5);
    assert_eq!(content(5).unwrap().1, b"four");
}

#[test]
fn a_directory_in_the_place_of_a_file_removes_it() {
    let world = World::new();
    world.write("file", "one");
    world.begin();
    std::fs::remove_file(world.at("file")).unwrap();
    world.write("file/inner", "two");
    let told = |scan: checkpoints::ScanOutcome| -> Vec<_> {
        let changes = scan.changes.iter();
        changes
            .map(|change| (change.was, change.kind, change.iteration))
            .collect()
    };
    let (file, directory) = (FileKind::File, FileKind::Directory);
    let became_directory = [(Some(file), directory, 2), (None, file, 1)];
    assert_eq!(told(world.scan()), became_directory);
    std::fs::remove_dir_all(world.at("file")).unwrap();
    world.write("file", "three");
    let became_file = [(Some(directory), file, 3), (Some(file), file, 2)];
    assert_eq!(told(world.scan()), became_file);
}

/// A clock tick is longer than it takes to write a file twice.
#[test]
fn a_file_rewritten_within_a_clock_tick_is_seen() {
    let world = World::new();
    world.write("file", "0000");
    world.begin();
    for number in 1..200 {
        let content = format!("{number:04}");
        world.write("file", &content);
        let scan = world.scan();
        assert_eq!(scan.changes.len(), 1, "change {number} was missed");
        let (_, kept) = world
            .vault
            .content(Path::new("file"), scan.changes[0].iteration)
            .unwrap();
        assert_eq!(kept, content.as_bytes());
    }
}

/// An unchanged workspace costs nothing and is no new moment.
#[test]
fn nothing_changed_is_nothing_new() {
    let world = World::new();
    world.write("dir/file", "content");
    let first = world.begin();
    let again = world.scan();
    assert_eq!(again.moment, first);
    assert_eq!(again.changes, []);
    assert_eq!(again.bytes, 0);
    let taken = world.take();
    assert!(!taken.changed && !taken.changed_from_original);
    assert_eq!(taken.bytes, 0);
}
