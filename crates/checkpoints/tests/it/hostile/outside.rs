//! Ways out of the workspace: links, paths, and directories that become links at the wrong moment.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use checkpoints::{Error, RestoreStep};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use vocabulary::RestoreAction;

use super::LIMIT;
use crate::tree::{self, assert_same};
use crate::world::{THREAD, World, within, work};

#[test]
fn a_link_out_is_kept_as_a_link() {
    within(LIMIT, || {
        let world = World::new();
        // Whoever opened this would wait for a writer for ever.
        let pipe = world.outside().join("pipe");
        mkfifo(&pipe);
        tree::link(&world.at("to-directory"), &world.outside());
        tree::link(&world.at("to-file"), &world.outside().join("secret"));
        tree::link(&world.at("to-pipe"), &pipe);
        tree::link(&world.at("up"), Path::new(".."));
        tree::link(&world.at("device"), Path::new("/dev/zero"));
        let original = world.begin();
        let tree = world.tree();
        let paths: Vec<PathBuf> = tree.keys().cloned().collect();
        let left_out = world.vault.left_out(original).unwrap();
        assert_eq!(left_out, []);
        for path in &paths {
            fs::remove_file(world.at(path)).unwrap();
        }
        let restored = world.restore(original);
        let made = |path| RestoreStep {
            path,
            how: RestoreAction::Create,
        };
        assert_eq!(
            restored.steps,
            paths.into_iter().map(made).collect::<Vec<_>>()
        );
        assert_same(&world.tree(), &tree, "links");
        fs::remove_file(pipe).unwrap();
        world.assert_outside_untouched();
        world.assert_sound();
    });
}

/// The checkpoint has a directory; a link to somewhere else is there when it is restored.
#[test]
fn a_directory_that_became_a_link_out_leads_nobody_out() {
    within(LIMIT, || {
        let world = World::new();
        let empty = world.begin();
        world.write("dir/secret", "mine");
        world.write("dir/added", "mine too");
        world.write("dir/deep/er", "and this");
        let with = world.take().moment;
        let tree = world.tree();
        fs::remove_dir_all(world.at("dir")).unwrap();
        tree::link(&world.at("dir"), &world.outside());
        let linked = world.tree();

        for path in ["dir/secret", "dir/added", "dir/deep", "dir/deep/er"] {
            // Either it says no or it puts a real directory there.
            let done = world
                .vault
                .restore(&work(), THREAD, with, Some(Path::new(path)));
            world.assert_outside_untouched();
            let skipped = done.is_ok_and(|done| {
                done.steps.iter().any(|step| {
                    step.path == Path::new(path) && matches!(step.how, RestoreAction::Skip { .. })
                })
            });
            println!("{path}: skipped {skipped}");
            tree::remove(&world.at("dir"));
            tree::link(&world.at("dir"), &world.outside());
            assert_same(&world.tree(), &linked, "the link again");
        }
        world.restore(with);
        assert_same(&world.tree(), &tree, "the directory");
        world.assert_outside_untouched();

        fs::remove_dir_all(world.at("dir")).unwrap();
        tree::link(&world.at("dir"), &world.outside());
        world.restore(empty);
        assert_eq!(
            world.tree().len(),
            0,
            "the link is gone, not what it led to"
        );
        world.assert_outside_untouched();
    });
}

/// The swap happens again and again while files are written and deleted.
#[test]
fn a_directory_that_becomes_a_link_meanwhile_leads_nobody_out() {
    within(LIMIT, || {
        let world = World::new();
        world.begin();
        let empty = world.take().moment;
        for number in 0..40 {
            world.write(format!("dir/{number}"), "mine");
        }
        world.write("dir/secret", "mine");
        let with = world.take().moment;
        let trap = world.home.path().join("trap");
        tree::link(&trap, &world.outside());
        let stop = Arc::new(AtomicBool::new(false));
        let swapping = {
            let (stop, dir, trap) = (stop.clone(), world.at("dir"), trap.clone());
            std::thread::spawn(move || {
                let mut swaps = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    swaps += u64::from(exchange(&dir, &trap));
                }
                swaps
            })
        };
        let mut done = 0;
        for round in 0..30 {
            let to = if round % 2 == 0 { empty } else { with };
            // It may fail; it may not go astray.
            let restored = world.vault.restore(&work(), THREAD, to, None);
            done += u64::from(restored.is_ok());
            world.assert_outside_untouched();
            if world.at("dir").symlink_metadata().is_err() {
                fs::create_dir(world.at("dir")).unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
        let swaps = swapping.join().unwrap();
        println!("{swaps} swaps, {done} restores went through");
        assert!(swaps > 0, "nothing was swapped");
        tree::remove(&world.at("dir"));
        tree::remove(&trap);
        world.restore(with);
        assert_eq!(fs::read(world.at("dir/secret")).unwrap(), b"mine");
        world.assert_outside_untouched();
        world.assert_sound();
    });
}

fn exchange(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[test]
fn a_path_that_leads_out_is_refused() {
    let world = World::new();
    world.write("dir/file", "content");
    let moment = world.begin();
    let before = world.tree();
    for path in [
        "..",
        "../outside/secret",
        "/etc/passwd",
        "dir/../../outside/secret",
        "dir/..",
        "./../outside",
    ] {
        let path = Path::new(path);
        let refused = [
            world
                .vault
                .restore(&work(), THREAD, moment, Some(path))
                .err(),
            world.vault.preview(&work(), moment, Some(path)).err(),
            world.vault.history(path).err(),
            world.vault.content(path, 1).err(),
            world.vault.record(&work(), &[path.to_owned()]).err(),
        ];
        for error in refused {
            assert!(
                matches!(error, Some(Error::BadPath(_))),
                "{path:?}: {error:?}"
            );
        }
    }
    assert_same(&world.tree(), &before, "refusals");
    assert_eq!(world.kept().checkpoints, []);
    world.assert_outside_untouched();
}

/// Another name of the same file lies outside: it is content as any, and is not written through.
#[test]
fn a_hard_link_out_is_not_written_through() {
    let world = World::new();
    fs::hard_link(world.outside().join("secret"), world.at("file")).unwrap();
    let original = world.begin();
    let tree = world.tree();
    fs::remove_file(world.at("file")).unwrap();
    world.write("file", "other");
    let changed = world.take().moment;
    fs::remove_file(world.at("file")).unwrap();
    fs::hard_link(world.outside().join("secret"), world.at("file")).unwrap();
    world.restore(changed);
    assert_eq!(fs::read(world.at("file")).unwrap(), b"other");
    world.assert_outside_untouched();
    world.restore(original);
    assert_same(&world.tree(), &tree, "the hard-linked file");
    world.assert_outside_untouched();
}

/// Only the mode differs, and the other name is outside.
#[test]
fn a_mode_is_not_set_through_a_hard_link() {
    let world = World::new();
    tree::write(&world.at("file"), 0o600, b"secret");
    let original = world.begin();
    fs::remove_file(world.at("file")).unwrap();
    fs::hard_link(world.outside().join("secret"), world.at("file")).unwrap();
    world.restore(original);
    let tree = world.tree();
    assert_eq!(tree[Path::new("file")], tree::Node::file(0o600, b"secret"));
    world.assert_outside_untouched();
}

/// Each name that is replaced changes the times of the other.
#[test]
fn all_names_of_a_file_come_back() {
    let world = World::new();
    world.write("one", "first");
    fs::hard_link(world.at("one"), world.at("two")).unwrap();
    fs::hard_link(world.at("one"), world.at("three")).unwrap();
    let original = world.begin();
    let tree = world.tree();
    world.write("one", "second, and longer");
    // Times of a file that was just written are not trusted; these are to be.
    let written = fs::metadata(world.at("one")).unwrap().modified().unwrap();
    while written.elapsed().unwrap() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(100));
    }
    world.scan();
    let steps = world.restore(original).steps;
    assert_same(&world.tree(), &tree, &format!("{steps:?}"));
}

/// The directory on the way to it has another mode by now.
#[test]
fn a_restore_of_one_path_leaves_what_it_lies_in() {
    let world = World::new();
    world.write("dir/file", "first");
    tree::chmod(&world.at("dir"), 0o700);
    let original = world.begin();
    tree::chmod(&world.at("dir"), 0o755);
    world.write("dir/file", "second");
    let steps = world.restore_path(original, "dir/file").steps;
    let step = RestoreStep {
        path: PathBuf::from("dir/file"),
        how: RestoreAction::Replace,
    };
    assert_eq!(steps, [step]);
    assert_eq!(
        world.tree()[Path::new("dir")],
        tree::Node::Directory { mode: 0o755 }
    );
}

pub fn mkfifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}
