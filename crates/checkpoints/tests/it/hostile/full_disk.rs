//! No space left, where the vault lies and where the workspace lies.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use checkpoints::{Error, SnapshotLimits, Vault, VaultOptions};
use vocabulary::Trigger;

use super::LIMIT;
use super::special::mount;
use crate::children::{available, order, succeed, through};
use crate::tree::{self, assert_same};
use crate::world::{Chance, THREAD, damage, now, within, work};

const OWN_MOUNTS: [&str; 2] = ["unshare", "-rm"];

fn on_small_disks(test: &str) {
    if !available(&[&OWN_MOUNTS[..], &["true"]].concat()) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    for disk in ["workspace", "disk"] {
        fs::create_dir(home.path().join(disk)).unwrap();
    }
    succeed(&mut through(&OWN_MOUNTS, test, home.path(), ""));
}

/// Takes all the space there is.
fn fill(disk: &Path) {
    let mut balloon = fs::File::create(disk.join("balloon")).unwrap();
    let piece = vec![1; 4096];
    while balloon.write_all(&piece).is_ok() {}
}

fn open(home: &Path) -> checkpoints::Result<Vault> {
    let options = VaultOptions {
        workspace: home.join("workspace"),
        apart: Vec::new(),
        limits: SnapshotLimits::default(),
    };
    Vault::open(&home.join("disk/vault"), options)
}

#[track_caller]
fn assert_says_full(error: &Error) {
    let text = error.to_string();
    let clear = matches!(error, Error::Full) || text.contains("full") || text.contains("space");
    assert!(clear, "{error:?}: {text}");
}

#[test]
fn a_full_disk_under_the_vault() {
    on_small_disks("hostile::full_disk::fills_the_disk_of_the_vault");
}

/// Not a test: needs file systems of its own.
#[test]
#[ignore = "run by a_full_disk_under_the_vault"]
fn fills_the_disk_of_the_vault() {
    let Some((home, _)) = order() else {
        return;
    };
    within(LIMIT, move || {
        mount(&home.join("disk"), "12m");
        let workspace = home.join("workspace");
        let vault = open(&home).unwrap();
        fs::write(workspace.join("file"), "first").unwrap();
        let first = vault.scan(&work(), None).unwrap().moment;
        vault.begin(THREAD, first, now(), false).unwrap();
        let noted = vault.note(THREAD, first, Trigger::Manual).unwrap();
        let before = tree::read(&workspace);

        fill(&home.join("disk"));
        for number in 0..40 {
            let noise = Chance(number).noise(200_000);
            fs::write(workspace.join(number.to_string()), noise).unwrap();
        }
        fs::write(workspace.join("large"), Chance(9).noise(2 << 20)).unwrap();
        assert_says_full(&vault.scan(&work(), None).expect_err("no space for it"));
        // What was kept can still be read.
        let kept = vault.kept(THREAD).unwrap().unwrap();
        assert_eq!(kept.checkpoints, [noted]);
        let (_, content) = vault.content(Path::new("file"), 1).unwrap();
        assert_eq!(content, b"first");
        assert_eq!(damage(&vault), Vec::<String>::new());
        drop(vault);
        if let Err(error) = open(&home) {
            assert_says_full(&error);
        }

        fs::remove_file(home.join("disk/balloon")).unwrap();
        let vault = open(&home).unwrap();
        let after = tree::read(&workspace);
        let second = vault.scan(&work(), None).unwrap().moment;
        vault.note(THREAD, second, Trigger::Manual).unwrap();
        vault.restore(&work(), THREAD, first, None).unwrap();
        assert_same(&tree::read(&workspace), &before, "what was kept before");
        vault.restore(&work(), THREAD, second, None).unwrap();
        assert_same(&tree::read(&workspace), &after, "what was kept after");
        assert_eq!(damage(&vault), Vec::<String>::new());
    });
}

#[test]
fn a_full_disk_under_the_workspace() {
    on_small_disks("hostile::full_disk::fills_the_disk_of_the_workspace");
}

/// Not a test: needs file systems of its own.
#[test]
#[ignore = "run by a_full_disk_under_the_workspace"]
fn fills_the_disk_of_the_workspace() {
    let Some((home, _)) = order() else {
        return;
    };
    within(LIMIT, move || {
        let workspace = home.join("workspace");
        mount(&workspace, "4m");
        let vault = open(&home).unwrap();
        fs::write(workspace.join(".dragomanignore"), "balloon\n").unwrap();
        fs::write(workspace.join("large"), Chance(1).noise(2 << 20)).unwrap();
        let first = vault.scan(&work(), None).unwrap().moment;
        vault.begin(THREAD, first, now(), false).unwrap();
        let before = tree::read(&workspace);
        fs::write(workspace.join("large"), "small now").unwrap();
        fill(&workspace);
        let error = vault.restore(&work(), THREAD, first, None).err();
        assert_says_full(&error.expect("no space for it"));
        let left = fs::read(workspace.join("large")).unwrap();
        assert_eq!(left, b"small now", "a file is replaced whole or not at all");
        fs::remove_file(workspace.join("balloon")).unwrap();
        vault.restore(&work(), THREAD, first, None).unwrap();
        assert_same(&tree::read(&workspace), &before, "with space again");
        assert_eq!(damage(&vault), Vec::<String>::new());
    });
}
