//! Flips bytes on the disk: none may lead to a wrong restore, and verify finds all that matter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkpoints::{Error, Moment, SnapshotLimits, Vault};

use crate::tree::{self, Tree, assert_same};
use crate::world::{Chance, THREAD, World, open, work};

/// A closed vault with a few checkpoints, kept aside to begin anew with after each flip.
struct Specimen {
    home: tempfile::TempDir,
    states: Vec<(Moment, Tree)>,
}

impl Specimen {
    fn new() -> Self {
        let world = World::new();
        let large = vec![7; (1 << 20) + 100];
        world.write("dir/one", "one\n".repeat(20));
        world.write("empty", "");
        tree::link(&world.at("link"), Path::new("dir/one"));
        let mut states = vec![(world.begin(), world.tree())];
        for (path, content) in [
            ("dir/one", &b"two"[..]),
            ("dir/other", b"other other other"),
            ("large", &large),
            ("empty", b"no more"),
        ] {
            world.write(path, content);
            states.push((world.take().moment, world.tree()));
        }
        let World { home, vault, .. } = world;
        drop(vault);
        fs::rename(home.path().join("vault"), home.path().join("pristine")).unwrap();
        fs::rename(home.path().join("workspace"), home.path().join("files")).unwrap();
        let specimen = Self { home, states };
        specimen.renew();
        specimen
    }

    fn vault(&self) -> PathBuf {
        self.home.path().join("vault")
    }

    /// As it was before any flip.
    fn renew(&self) {
        for (from, to) in [("pristine", "vault"), ("files", "workspace")] {
            let to = self.home.path().join(to);
            tree::remove(&to);
            copy(&self.home.path().join(from), &to);
        }
    }

    fn files(&self, folder: &str) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.vault().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files
    }

    fn open(&self) -> Result<Vault, Error> {
        open(self.home.path(), SnapshotLimits::default())
    }

    /// Whether opening or verifying says that something is wrong.
    fn found(&self) -> bool {
        let verdict = self.open().and_then(|vault| vault.verify(&work()));
        verdict.map_or(true, |verdict| !verdict.damage.is_empty())
    }

    /// Restores everything; an error is fine, another tree is not.
    fn assert_never_wrong(&self, what: &str) -> bool {
        let mut all = true;
        for (moment, tree) in &self.states {
            let Ok(vault) = self.open() else {
                return false;
            };
            match vault.restore(&work(), THREAD, *moment, None) {
                Ok(restored) if restored.steps.iter().any(skipped) => all = false,
                Ok(_) => assert_same(&tree::read(&self.home.path().join("workspace")), tree, what),
                Err(_) => all = false,
            }
        }
        all
    }
}

fn skipped(step: &checkpoints::RestoreStep) -> bool {
    matches!(step.how, vocabulary::RestoreAction::Skip { .. })
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.unwrap().success());
}

fn flip(path: &Path, offset: usize, bits: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= bits;
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_flipped_byte_of_the_contents_is_found() {
    let specimen = Specimen::new();
    assert!(!specimen.found(), "the pristine one is sound");
    assert!(specimen.assert_never_wrong("pristine"));
    specimen.renew();
    let mut chance = Chance(1);
    let mut flipped = 0;
    for folder in ["packs", "large"] {
        let files = specimen.files(folder);
        assert!(!files.is_empty(), "nothing in {folder}");
        for file in files {
            let length = fs::metadata(&file).unwrap().len();
            for offset in 0..usize::try_from(length).unwrap() {
                let bits = 1 << chance.below(8);
                flip(&file, offset, bits);
                assert!(specimen.found(), "byte {offset} of {length} in {file:?}");
                flip(&file, offset, bits);
                flipped += 1;
            }
        }
    }
    assert!(!specimen.found(), "all bytes are back");
    println!("{flipped} flipped bytes were found");
}

#[test]
fn a_flipped_byte_of_the_contents_is_never_restored() {
    let specimen = Specimen::new();
    let mut chance = Chance(2);
    for folder in ["packs", "large"] {
        for file in specimen.files(folder) {
            let length = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
            for _ in 0..12 {
                let offset = chance.below(length);
                flip(&file, offset, 1 << chance.below(8));
                specimen.assert_never_wrong(&format!("byte {offset} of {file:?}"));
                specimen.renew();
            }
        }
    }
}

/// Lost or cut files are damage as well.
#[test]
fn lost_and_cut_files_are_found() {
    let specimen = Specimen::new();
    for folder in ["packs", "large"] {
        for file in specimen.files(folder) {
            let bytes = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            assert!(specimen.found(), "{file:?} is gone");
            specimen.assert_never_wrong("a lost file");
            specimen.renew();
            for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
                fs::write(&file, &bytes[..length]).unwrap();
                assert!(specimen.found(), "{length} bytes are left of {file:?}");
                specimen.assert_never_wrong("a cut file");
                specimen.renew();
            }
        }
    }
}

#[test]
fn a_flipped_byte_of_the_index_is_found_or_does_no_harm() {
    let specimen = Specimen::new();
    let index = specimen.vault().join("vault.db");
    let length = usize::try_from(fs::metadata(&index).unwrap().len()).unwrap();
    let flips = std::env::var("CHECKPOINTS_FLIPS").ok();
    let flips = flips.map_or(80, |text| text.parse().unwrap());
    let used = occupied(&fs::read(&index).unwrap());
    let mut chance = Chance(3);
    let (mut found, mut refused) = (0, 0);
    for _ in 0..flips {
        // Most of a database page is empty; flips that hit something are worth more.
        let offset = match chance.below(10) {
            0 => chance.below(length),
            _ => used[chance.below(used.len())],
        };
        let bits = 1 << chance.below(8);
        flip(&index, offset, bits);
        let what = format!("byte {offset} of {length}, bits {bits:#x}");
        if specimen.found() {
            found += 1;
        }
        if !specimen.assert_never_wrong(&what) {
            refused += 1;
            specimen.renew();
            flip(&index, offset, bits);
            assert!(specimen.found(), "{what}: a restore failed, verify did not");
        }
        specimen.renew();
    }
    println!("of {flips} flips verify found {found}; {refused} made a restore fail");
}

/// Where bytes are that mean something, roughly.
fn occupied(bytes: &[u8]) -> Vec<usize> {
    let marked = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
    marked.map(|(offset, _)| offset).collect()
}
