//! Workspaces that are none.

use std::fs;
use std::path::Path;

use checkpoints::{Error, ScanOutcome, SnapshotLimits, Vault, VaultOptions};

use super::LIMIT;
use crate::world::{World, now, within, work};

fn look(workspace: &Path) -> Result<ScanOutcome, Error> {
    let home = tempfile::tempdir().unwrap();
    let options = VaultOptions {
        workspace: workspace.to_owned(),
        apart: Vec::new(),
        limits: SnapshotLimits::default(),
    };
    Vault::open(&home.path().join("vault"), options)?.scan(&work(), None)
}

#[test]
fn a_file_and_nothing_are_no_workspace() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "content").unwrap();
    for path in [file, home.path().join("missing")] {
        let error = look(&path).err();
        let refused = matches!(error, Some(Error::Workspace(_) | Error::NotAProject(_)));
        assert!(refused, "{path:?}: {error:?}");
    }
}

#[test]
fn the_root_is_no_project() {
    within(LIMIT, || {
        let error = look(Path::new("/")).err();
        assert!(matches!(error, Some(Error::NotAProject(_))), "{error:?}");
    });
}

/// One that is lived in has more files than are looked at; a new one is as good as any directory.
#[test]
fn a_home_directory_is_looked_at_only_if_it_is_small() {
    within(LIMIT, || {
        let home = std::env::var_os("HOME").unwrap();
        match look(Path::new(&home)) {
            Ok(scan) => assert!(scan.changes.len() <= 20_000),
            Err(Error::TooManyFiles(limit)) => assert_eq!(limit, 20_000),
            Err(error) => panic!("{error:?}"),
        }
    });
}

/// Gone or replaced later: an error, not an empty snapshot that a restore would be compared with.
#[test]
fn a_workspace_that_goes_away_is_not_an_empty_one() {
    let world = World::new();
    world.write("file", "content");
    let original = world.begin();
    fs::rename(world.workspace(), world.home.path().join("away")).unwrap();
    let error = world.vault.scan(&work(), None).err();
    assert!(matches!(error, Some(Error::Workspace(_))), "{error:?}");
    fs::rename(world.home.path().join("away"), world.workspace()).unwrap();
    assert_eq!(world.scan().moment, original);
}

/// Our own data in the workspace is not looked at.
#[test]
fn what_is_ours_is_apart() {
    let world = World::new();
    world.write("file", "content");
    world.write("ours/data", "ours");
    let options = VaultOptions {
        workspace: world.workspace(),
        apart: vec![world.at("ours")],
        limits: SnapshotLimits::default(),
    };
    let vault = Vault::open(&world.at("ours/vault"), options).unwrap();
    let scan = vault.scan(&work(), None).unwrap();
    let paths: Vec<&Path> = scan
        .changes
        .iter()
        .map(|change| change.path.as_path())
        .collect();
    assert_eq!(paths, [Path::new("file")]);
    assert_eq!(vault.scan(&work(), None).unwrap().moment, scan.moment);
    vault.begin("thread", scan.moment, now(), false).unwrap();
    fs::remove_file(world.at("file")).unwrap();
    vault.restore(&work(), "thread", scan.moment, None).unwrap();
    assert_eq!(fs::read(world.at("ours/data")).unwrap(), b"ours");
    assert!(world.at("file").exists());
}
