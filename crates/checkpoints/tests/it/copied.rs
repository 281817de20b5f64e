//! The files of a moment in a directory of their own: as they were, whole, and nothing else touched.

use std::fs;
use std::sync::atomic::AtomicBool;

use checkpoints::{Error, WorkControl};
use proptest::prelude::*;

use crate::edits::{apply, edits};
use crate::property::cases;
use crate::tree::{self, assert_same};
use crate::world::{IGNORED, World, work};

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn a_copy_is_what_was_there_then(
        batches in prop::collection::vec(edits(0..16), 1..4),
    ) {
        let world = World::new();
        world.write(".dragomanignore", format!("/{IGNORED}\n"));
        world.write(format!("{IGNORED}/file"), "not kept");
        let mut states = Vec::new();
        for batch in &batches {
            apply(&world.workspace(), batch);
            states.push((world.tree(), world.scan().moment));
        }
        let now = tree::read(&world.workspace());
        for (number, (then, moment)) in states.iter().enumerate() {
            let to = world.home.path().join(format!("new/copy-{number}"));
            world.vault.copy(&work(), *moment, &to).unwrap();
            assert_same(&tree::read(&to), then, "in the copy");
        }
        assert_same(&tree::read(&world.workspace()), &now, "in the workspace");
    }
}

#[test]
fn what_cannot_be_copied_whole_leaves_nothing() {
    let world = World::new();
    world.write("a", "one");
    let moment = world.scan().moment;
    let place = world.home.path().join("place");

    // Something lies there already.
    fs::create_dir(&place).unwrap();
    tree::write(&place.join("mine"), 0o644, b"mine");
    assert!(world.vault.copy(&work(), moment, &place).is_err());
    assert_eq!(fs::read(place.join("mine")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);

    let stop = AtomicBool::new(true);
    let stopped = WorkControl {
        cancel: &stop,
        progress: &|_| {},
    };
    let to = world.home.path().join("other/copy");
    let outcome = world.vault.copy(&stopped, moment, &to);
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert!(tree::paths(&world.home.path().join("other")).is_empty());

    // An empty directory is as good as none.
    fs::create_dir_all(&to).unwrap();
    world.vault.copy(&work(), moment, &to).unwrap();
    assert_eq!(fs::read(to.join("a")).unwrap(), b"one");
}
