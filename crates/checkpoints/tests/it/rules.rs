//! What is kept and what is not, who may restore when, and how work is stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use checkpoints::{Error, PreImages, RestoreStep, RetentionPolicy, WorkControl, WorkProgress};
use vocabulary::RestoreAction;

use crate::tree::{self, assert_same};
use crate::world::{THREAD, World, keep_all, now, work};

#[test]
fn ignored_files_are_neither_kept_nor_touched() {
    let world = World::new();
    world.write(".gitignore", "*.log\n/build/\n");
    world.write(".dragomanignore", "*.tmp\n!keep.log\n");
    world.write("a.log", "log");
    world.write("keep.log", "kept");
    world.write("b.tmp", "tmp");
    world.write("build/out", "out");
    world.write("src/build/in", "in");
    world.write("src/.gitignore", "*.gen\n");
    world.write("src/x.gen", "gen");
    world.write("y.gen", "kept");
    let scan = world.scan();
    let mut kept: Vec<&Path> = scan
        .changes
        .iter()
        .map(|change| change.path.as_path())
        .collect();
    kept.sort();
    let wanted = [
        ".dragomanignore",
        ".gitignore",
        "keep.log",
        "src",
        "src/.gitignore",
        "src/build",
        "src/build/in",
        "y.gen",
    ];
    assert_eq!(kept, wanted.map(Path::new));
    world
        .vault
        .begin(THREAD, scan.moment, now(), false)
        .unwrap();
    let before = world.tree();
    for path in ["a.log", "b.tmp", "build/out", "src/x.gen"] {
        world.write(path, "changed");
    }
    assert_eq!(world.scan().moment, scan.moment, "nobody saw that");
    fs::remove_file(world.at("keep.log")).unwrap();
    world.restore(scan.moment);
    assert_eq!(fs::read(world.at("keep.log")).unwrap(), b"kept");
    for path in ["a.log", "b.tmp", "build/out", "src/x.gen"] {
        assert_eq!(fs::read(world.at(path)).unwrap(), b"changed");
    }
    assert_eq!(before.len(), world.tree().len());
}

/// It was kept, is ignored now, and would be lost.
#[test]
fn what_is_ignored_by_now_is_not_overwritten() {
    let world = World::new();
    world.write("secret", "first");
    world.write("other", "first");
    let original = world.begin();
    world.write(".gitignore", "secret\n");
    world.write("secret", "second");
    world.write("other", "second");
    let steps = world.restore(original).steps;
    let how: Vec<(&Path, bool)> = steps
        .iter()
        .map(|step| {
            (
                step.path.as_path(),
                matches!(step.how, RestoreAction::Skip { .. }),
            )
        })
        .collect();
    let wanted = [(".gitignore", false), ("other", false), ("secret", true)];
    assert_eq!(
        how,
        wanted.map(|(path, skipped)| (Path::new(path), skipped))
    );
    assert_eq!(fs::read(world.at("secret")).unwrap(), b"second");
    assert_eq!(fs::read(world.at("other")).unwrap(), b"first");
    assert!(!world.at(".gitignore").exists());
}

/// A directory that has to go holds something that is not kept.
#[test]
fn a_directory_with_something_ignored_in_it_stays() {
    let world = World::new();
    world.write(".gitignore", "*.log\n");
    let original = world.begin();
    world.write("dir/file", "kept");
    world.write("dir/a.log", "not kept");
    world.restore(original);
    assert_eq!(fs::read(world.at("dir/a.log")).unwrap(), b"not kept");
    assert!(!world.at("dir/file").exists());
}

#[test]
fn no_restore_while_somebody_works() {
    let world = World::new();
    world.write("file", "first");
    let original = world.begin();
    world.write("file", "second");
    let before = world.tree();
    let (one, other) = (
        world.vault.working(&work()).unwrap(),
        world.vault.working(&work()).unwrap(),
    );
    let second = crate::world::open(world.home.path(), world.limits).unwrap();
    for working in [one, other] {
        for vault in [&world.vault, &second] {
            let error = vault.restore(&work(), THREAD, original, None).err();
            assert!(matches!(error, Some(Error::TurnRunning)), "{error:?}");
        }
        assert_same(&world.tree(), &before, "refused");
        drop(working);
    }
    assert_eq!(
        world.kept().checkpoints,
        [],
        "a refusal leaves nothing behind"
    );
    let step = RestoreStep {
        path: PathBuf::from("file"),
        how: RestoreAction::Replace,
    };
    assert_eq!(world.restore(original).steps, [step]);
}

#[test]
fn cancelled_work_ends_and_leaves_the_vault_as_it_was() {
    let world = World::new();
    for number in 0..3000 {
        world.write(format!("{}/{number}", number % 30), number.to_string());
    }
    let cancel = AtomicBool::new(false);
    let stop = |progress: WorkProgress| {
        if progress.done > 0 {
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let stopped = world.vault.scan(
        &WorkControl {
            cancel: &cancel,
            progress: &stop,
        },
        None,
    );
    if let Err(error) = &stopped {
        assert!(matches!(error, Error::Cancelled), "{error}");
    }
    let cancelled = AtomicBool::new(true);
    let never = WorkControl {
        cancel: &cancelled,
        progress: &|_| {},
    };
    assert!(matches!(
        world.vault.scan(&never, None),
        Err(Error::Cancelled)
    ));
    world.assert_sound();
    let original = world.begin();
    let tree = world.tree();
    for number in 0..30 {
        tree::remove(&world.at(number.to_string()));
    }
    let refused = world.vault.restore(&never, THREAD, original, None);
    assert!(matches!(refused, Err(Error::Cancelled)));
    world.restore(original);
    assert_same(&world.tree(), &tree, "after a cancelled restore");
}

#[test]
fn numbers_are_never_used_twice() {
    let mut world = World::new();
    world.begin();
    for number in 1..=3 {
        world.write("file", number.to_string());
        assert_eq!(world.take().number, number);
    }
    for number in 1..=3 {
        world.vault.delete(THREAD, number).unwrap();
    }
    assert!(matches!(
        world.vault.delete(THREAD, 3),
        Err(Error::UnknownCheckpoint(3))
    ));
    world
        .vault
        .prune(&work(), &crate::world::keep_all())
        .unwrap();
    world.reopen();
    assert_eq!(world.take().number, 4);
}

/// The first snapshot is still under way when somebody changes files.
#[test]
fn what_was_kept_before_a_change_is_the_original() {
    let world = World::new();
    world.write("changed", "first");
    world.write("deleted", "first");
    world.write("dir/moved", "first");
    world.write("same", "first");
    let tree = world.tree();
    let before = PreImages::default();
    for path in ["changed", "deleted", "dir/moved", "new", "newdir/new"] {
        before.keep(&world.workspace(), Path::new(path));
    }
    world.write("changed", "second");
    before.keep(&world.workspace(), Path::new("changed"));
    fs::remove_file(world.at("deleted")).unwrap();
    fs::remove_file(world.at("dir/moved")).unwrap();
    world.write("new", "new");
    world.write("newdir/new", "new");
    let scan = world.vault.scan(&work(), Some(&before)).unwrap();
    assert!(!scan.partial);
    world
        .vault
        .begin(THREAD, scan.moment, now(), scan.partial)
        .unwrap();
    let changed = world.tree();
    let taken = world.take();
    world.restore(scan.moment);
    let mut found = world.tree();
    // Nobody said that the directory was not there.
    found.remove(Path::new("newdir"));
    assert_same(&found, &tree, "the original");
    world.restore(taken.moment);
    assert_same(&world.tree(), &changed, "after the change");
}

#[test]
fn a_change_of_unknown_paths_makes_the_original_partial() {
    let world = World::new();
    world.write("file", "first");
    let before = PreImages::default();
    before.mark_incomplete();
    let scan = world.vault.scan(&work(), Some(&before)).unwrap();
    assert!(scan.partial);
    world
        .vault
        .begin(THREAD, scan.moment, now(), scan.partial)
        .unwrap();
    assert!(world.kept().partial);
}

/// What no checkpoint needs and is old enough goes, and the disk gets it back.
#[test]
fn pruning_gives_space_back() {
    let mut world = World::new();
    world.write("file", "first");
    world.begin();
    for number in 0..10 {
        let mut chance = crate::world::Chance(number);
        world.write("noise", chance.noise(100_000));
        world.write("large", chance.noise((1 << 20) + 1));
        world.take();
    }
    let tree = world.tree();
    let full = world.vault.size().unwrap();
    assert_eq!((full.threads, full.checkpoints), (1, 10));
    assert!(full.bytes > 10 << 20, "{full:?}");
    let policy = RetentionPolicy {
        count: 1,
        ..keep_all()
    };
    let pruned = world.vault.prune(&work(), &policy).unwrap();
    assert_eq!(pruned.checkpoints, 9);
    let kept = world.kept().checkpoints;
    let numbers: Vec<u64> = kept.iter().map(|kept| kept.number).collect();
    assert_eq!(numbers, [10]);
    let policy = RetentionPolicy {
        age: std::time::Duration::ZERO,
        ..keep_all()
    };
    let pruned = world.vault.prune(&work(), &policy).unwrap();
    world.reopen();
    let left = world.vault.size().unwrap();
    assert!(left.bytes <= 3 << 20, "{left:?}");
    assert!(pruned.bytes > 8 << 20, "{pruned:?}");
    world.assert_sound();
    let last = world.begin();
    assert_eq!(world.scan().changes, [], "the vault knows what lies there");
    tree::remove(&world.at("large"));
    world.restore(last);
    assert_same(&world.tree(), &tree, "what is there now stays");
}

/// Two threads, one content: it goes when the last one lets go.
#[test]
fn what_another_thread_needs_stays() {
    let world = World::new();
    world.write("file", "precious");
    let first = world.begin();
    world.vault.begin("another", first, now(), false).unwrap();
    let tree = world.tree();
    world.write("file", "other");
    world.scan();
    world.vault.forget(THREAD).unwrap();
    assert_eq!(world.vault.kept(THREAD).unwrap(), None);
    assert_eq!(world.vault.threads().unwrap(), ["another"]);
    let everything = RetentionPolicy {
        age: std::time::Duration::ZERO,
        ..keep_all()
    };
    world.vault.prune(&work(), &everything).unwrap();
    if world.vault.kept("another").unwrap().is_some() {
        world
            .vault
            .restore(&work(), "another", first, None)
            .unwrap();
        assert_same(&world.tree(), &tree, "the other thread's original");
    }
    world.assert_sound();
}
