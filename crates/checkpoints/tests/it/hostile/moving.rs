//! Workspaces that change while they are read.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::LIMIT;
use crate::tree::{self, assert_same};
use crate::world::{Chance, World, within, work};

/// As long as the other side is at it.
const SPAN: Duration = Duration::from_millis(1500);

/// Does something to the workspace over and over while it is scanned; each scan must go through, and
/// what it kept must be sound.
fn scan_while(prepare: impl FnOnce(&World), disturb: impl Fn(&Path, u64) + Send + 'static) {
    let world = World::new();
    prepare(&world);
    world.begin();
    let stop = Arc::new(AtomicBool::new(false));
    let rounds = Arc::new(AtomicU64::new(0));
    let disturbing = {
        let (stop, rounds, workspace) = (stop.clone(), rounds.clone(), world.workspace());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                disturb(&workspace, rounds.fetch_add(1, Ordering::Relaxed));
            }
        })
    };
    let started = Instant::now();
    let mut taken = Vec::new();
    // On a busy machine longer: few of either would prove nothing.
    let few = |taken: usize| taken < 3 || rounds.load(Ordering::Relaxed) < 10;
    while started.elapsed() < SPAN || few(taken.len()) {
        taken.push(world.take());
    }
    stop.store(true, Ordering::Relaxed);
    disturbing.join().unwrap();
    println!("{} scans, {rounds:?} disturbances", taken.len());
    world.assert_sound();

    let tree = world.tree();
    let last = world.take();
    for checkpoint in taken.iter().rev().take(10) {
        world.restore(checkpoint.moment);
        let now = world.scan();
        let differ = world.vault.changes(checkpoint.moment, now.moment).unwrap();
        assert_eq!(differ, [], "a restore gives what was kept");
    }
    world.restore(last.moment);
    assert_same(&world.tree(), &tree, "the last state");
    world.assert_sound();
}

#[test]
fn directories_that_come_and_go() {
    within(LIMIT, || {
        let prepare = |world: &World| {
            for number in 0..50 {
                world.write(format!("here/{}/{number}", number % 5), "content");
            }
        };
        scan_while(prepare, |workspace, _| {
            fs::rename(workspace.join("here"), workspace.join("there")).unwrap();
            fs::rename(workspace.join("there/1"), workspace.join("one")).unwrap();
            fs::rename(workspace.join("one"), workspace.join("there/1")).unwrap();
            fs::rename(workspace.join("there"), workspace.join("here")).unwrap();
        });
    });
}

#[test]
fn directories_that_are_deleted_and_made_anew() {
    within(LIMIT, || {
        scan_while(
            |_| {},
            |workspace, round| {
                let directory = workspace.join("dir");
                fs::create_dir(&directory).unwrap();
                for number in 0..20 {
                    fs::write(directory.join(number.to_string()), round.to_string()).unwrap();
                }
                fs::remove_dir_all(directory).unwrap();
            },
        );
    });
}

/// A file is cut while it is read: no crash, and whatever was kept of it is what its hash says.
#[test]
fn files_that_shrink_and_grow() {
    within(LIMIT, || {
        let prepare = |world: &World| {
            world.write("large", Chance(1).noise(3 << 20));
            world.write("small", Chance(1).noise(3 << 10));
        };
        scan_while(prepare, |workspace, round| {
            for (name, length) in [("large", 3 << 20), ("small", 3 << 10)] {
                let mut file = fs::File::options()
                    .append(true)
                    .open(workspace.join(name))
                    .unwrap();
                file.set_len(length / 2 + round % 1000).unwrap();
                file.write_all(&Chance(round).noise(usize::try_from(length).unwrap() / 3))
                    .unwrap();
            }
        });
    });
}

#[test]
fn files_that_turn_into_directories_and_links() {
    within(LIMIT, || {
        let prepare = |world: &World| world.write("thing", "file");
        scan_while(prepare, |workspace, round| {
            let thing = workspace.join("thing");
            tree::remove(&thing);
            match round % 3 {
                0 => fs::create_dir(&thing).unwrap(),
                1 => tree::link(&thing, Path::new("/etc")),
                _ => fs::write(&thing, "file").unwrap(),
            }
        });
    });
}

/// Somebody writes in the workspace while it is put back: no hang, nothing outside, and afterwards a
/// restore in peace is exact.
#[test]
fn a_restore_into_a_moving_workspace_ends() {
    within(LIMIT, || {
        let world = World::new();
        world.begin();
        for number in 0..60 {
            world.write(format!("d{}/{number}", number % 4), number.to_string());
        }
        let full = world.take().moment;
        let tree = world.tree();
        let stop = Arc::new(AtomicBool::new(false));
        let disturbing = {
            let (stop, workspace) = (stop.clone(), world.workspace());
            std::thread::spawn(move || {
                let mut chance = Chance(5);
                while !stop.load(Ordering::Relaxed) {
                    let directory = workspace.join(format!("d{}", chance.below(4)));
                    // Any of these may find nothing to do.
                    let _ = fs::rename(&directory, workspace.join("away"));
                    let _ = fs::rename(workspace.join("away"), &directory);
                    let _ = fs::remove_file(directory.join(chance.below(60).to_string()));
                    let _ = fs::write(directory.join("new"), "new");
                }
            })
        };
        for _ in 0..20 {
            // What it says is not the point: it must say something.
            let _ = world
                .vault
                .restore(&work(), crate::world::THREAD, full, None);
        }
        stop.store(true, Ordering::Relaxed);
        disturbing.join().unwrap();
        world.restore(full);
        assert_same(&world.tree(), &tree, "in peace");
        world.assert_outside_untouched();
        world.assert_sound();
    });
}
