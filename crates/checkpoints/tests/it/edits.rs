//! Random changes to a tree. They say "the third file", not a path, so that any list of them fits any
//! tree.

use std::ffi::OsString;
use std::fs::{self, FileTimes};
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::tree;
use crate::world::{Chance, IGNORED};

/// Chooses among what is there.
type Choice = u16;

#[derive(Clone, Debug)]
pub enum Edit {
    /// A new file, or other content in a file of this name.
    Write(Place, Content, u32),
    Append(Choice, Content),
    Truncate(Choice),
    /// As long as before; the second also sets the time back.
    Rewrite(Choice, u64),
    RewriteUnnoticed(Choice, u64),
    Chmod(Choice, u32),
    Delete(Choice),
    Rename(Choice, Place),
    Directory(Place, u32),
    Link(Place, u8),
    HardLink(Choice, Place),
    /// Something else of the same name.
    Become(Choice, Something),
}

/// A directory that exists, and a name in it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    directory: Choice,
    name: u8,
}

#[derive(Clone, Debug)]
pub enum Something {
    File(Content, u32),
    Directory(u32),
    Link(u8),
}

#[derive(Clone, Copy, Debug)]
pub struct Content {
    bytes: usize,
    seed: u64,
    compressible: bool,
}

/// Over this a blob is a file of its own in the vault.
const LARGE: usize = 1 << 20;

pub fn edits(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), count)
}

fn edit() -> impl Strategy<Value = Edit> {
    let choice = any::<Choice>;
    prop_oneof![
        6 => (place(), content(), mode()).prop_map(|(at, what, mode)| Edit::Write(at, what, mode)),
        2 => (choice(), content()).prop_map(|(at, what)| Edit::Append(at, what)),
        1 => choice().prop_map(Edit::Truncate),
        2 => (choice(), any::<u64>()).prop_map(|(at, seed)| Edit::Rewrite(at, seed)),
        2 => (choice(), any::<u64>()).prop_map(|(at, seed)| Edit::RewriteUnnoticed(at, seed)),
        2 => (choice(), mode()).prop_map(|(at, mode)| Edit::Chmod(at, mode)),
        2 => choice().prop_map(Edit::Delete),
        2 => (choice(), place()).prop_map(|(from, to)| Edit::Rename(from, to)),
        3 => (place(), mode()).prop_map(|(at, mode)| Edit::Directory(at, mode)),
        2 => (place(), any::<u8>()).prop_map(|(at, target)| Edit::Link(at, target)),
        1 => (choice(), place()).prop_map(|(from, to)| Edit::HardLink(from, to)),
        2 => (choice(), something()).prop_map(|(at, what)| Edit::Become(at, what)),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    (any::<Choice>(), any::<u8>()).prop_map(|(directory, name)| Place { directory, name })
}

fn something() -> impl Strategy<Value = Something> {
    prop_oneof![
        (content(), mode()).prop_map(|(what, mode)| Something::File(what, mode)),
        mode().prop_map(Something::Directory),
        any::<u8>().prop_map(Something::Link),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    let bytes = prop_oneof![
        2 => Just(0),
        12 => 1..300usize,
        6 => 300..20_000usize,
        1 => LARGE - 2..LARGE + 3,
        1 => LARGE..3 * LARGE,
    ];
    // Few seeds, so that the same content comes up twice.
    let seed = prop_oneof![0..4u64, any::<u64>()];
    (bytes, seed, any::<bool>()).prop_map(|(bytes, seed, compressible)| Content {
        bytes,
        seed,
        compressible,
    })
}

fn mode() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(0o644),
        2 => Just(0o755),
        2 => 0..=0o777u32,
        1 => prop::sample::select(vec![0o1777, 0o2755, 0o000, 0o555]),
    ]
}

impl Content {
    pub fn bytes(&self) -> Vec<u8> {
        let mut chance = Chance(self.seed);
        if !self.compressible {
            return chance.noise(self.bytes);
        }
        let mut text = Vec::with_capacity(self.bytes + 64);
        while text.len() < self.bytes {
            let line = chance.below(1000);
            text.extend_from_slice(format!("let value_{line} = compute({line});\n").as_bytes());
        }
        text.truncate(self.bytes);
        text
    }
}

/// Names that trip what is careless about names.
fn name(number: u8) -> OsString {
    let names: [&[u8]; 20] = [
        b"a",
        b"b",
        b"c.txt",
        b"d.rs",
        b"e",
        b"-rf",
        b"--",
        b"with space",
        b" ",
        b"new\nline",
        b"bad\xff\xfeutf8",
        "ünïcödé".as_bytes(),
        b".hidden",
        b"*",
        b"[a]?",
        b"!bang",
        b"back\\slash",
        b"\x01\x7f\t\"quoted\"'",
        &[b'x'; 255],
        &[0xc3; 255],
    ];
    OsString::from_vec(names[number as usize % names.len()].to_vec())
}

fn target(number: u8, workspace: &Path) -> PathBuf {
    let outside = workspace.with_file_name("outside");
    let targets = [
        PathBuf::from("a"),
        PathBuf::from("nowhere/at all"),
        PathBuf::from(".."),
        PathBuf::from("."),
        PathBuf::from("/"),
        outside.join("secret"),
        outside,
        PathBuf::from(OsString::from_vec(b"bad\xff\n".to_vec())),
        PathBuf::from("x/".repeat(500)),
    ];
    targets[number as usize % targets.len()].clone()
}

/// Who is not root must still be able to read what the test wrote.
fn reachable(mode: u32) -> u32 {
    if rustix::process::geteuid().is_root() {
        mode
    } else {
        mode | 0o700
    }
}

pub fn apply(workspace: &Path, edits: &[Edit]) {
    for edit in edits {
        edit.apply(workspace);
    }
}

impl Edit {
    fn apply(&self, workspace: &Path) {
        match self {
            Edit::Write(place, content, mode) => {
                if let Some(path) = place.of_file(workspace) {
                    fs::write(&path, content.bytes()).unwrap();
                    tree::chmod(&path, reachable(*mode & 0o777));
                }
            }
            Edit::Append(choice, content) => {
                if let Some(path) = a_file(workspace, *choice) {
                    let mut file = fs::File::options().append(true).open(path).unwrap();
                    file.write_all(&content.bytes()).unwrap();
                }
            }
            Edit::Truncate(choice) => {
                if let Some(path) = a_file(workspace, *choice) {
                    let file = fs::File::options().write(true).open(path).unwrap();
                    let length = file.metadata().unwrap().len();
                    file.set_len(length / 2).unwrap();
                }
            }
            Edit::Rewrite(choice, seed) => {
                if let Some(path) = a_file(workspace, *choice) {
                    rewrite(&path, *seed);
                }
            }
            Edit::RewriteUnnoticed(choice, seed) => {
                if let Some(path) = a_file(workspace, *choice) {
                    let before = path.metadata().unwrap().modified().unwrap();
                    let file = rewrite(&path, *seed);
                    file.set_times(FileTimes::new().set_modified(before))
                        .unwrap();
                }
            }
            Edit::Chmod(choice, mode) => {
                if let Some(path) = one(workspace, *choice, |path| !path.is_symlink()) {
                    let bits = if path.is_dir() { *mode } else { *mode & 0o777 };
                    tree::chmod(&path, reachable(bits));
                }
            }
            Edit::Delete(choice) => {
                if let Some(path) = one(workspace, *choice, |_| true) {
                    tree::remove(&path);
                }
            }
            Edit::Rename(choice, place) => {
                let to = place.path(workspace);
                if let Some(from) = one(workspace, *choice, |_| true)
                    && to.symlink_metadata().is_err()
                    && !to.starts_with(&from)
                {
                    fs::rename(from, to).unwrap();
                }
            }
            Edit::Directory(place, mode) => {
                if let Some(path) = place.free(workspace) {
                    tree::make_directory(&path, reachable(*mode));
                }
            }
            Edit::Link(place, number) => {
                if let Some(path) = place.free(workspace) {
                    tree::link(&path, &target(*number, workspace));
                }
            }
            Edit::HardLink(choice, place) => {
                if let Some(from) = a_file(workspace, *choice)
                    && let Some(to) = place.free(workspace)
                {
                    fs::hard_link(from, to).unwrap();
                }
            }
            Edit::Become(choice, something) => {
                if let Some(path) = one(workspace, *choice, |_| true) {
                    tree::remove(&path);
                    something.make(workspace, &path);
                }
            }
        }
    }
}

impl Something {
    fn make(&self, workspace: &Path, path: &Path) {
        match self {
            Something::File(content, mode) => {
                tree::write(path, reachable(*mode & 0o777), &content.bytes());
            }
            Something::Directory(mode) => tree::make_directory(path, reachable(*mode)),
            Something::Link(number) => tree::link(path, &target(*number, workspace)),
        }
    }
}

impl Place {
    fn path(self, workspace: &Path) -> PathBuf {
        let mut directories = vec![PathBuf::new()];
        let inside = kept(workspace).into_iter();
        directories.extend(inside.filter(|path| {
            let full = workspace.join(path);
            // A path must stay short enough to be opened at once.
            full.is_dir() && !full.is_symlink() && path.as_os_str().len() < 1500
        }));
        let directory = &directories[self.directory as usize % directories.len()];
        workspace.join(directory).join(name(self.name))
    }

    fn free(self, workspace: &Path) -> Option<PathBuf> {
        let path = self.path(workspace);
        path.symlink_metadata().is_err().then_some(path)
    }

    /// Where nothing lies or a file.
    fn of_file(self, workspace: &Path) -> Option<PathBuf> {
        let path = self.path(workspace);
        let free = path
            .symlink_metadata()
            .map_or(true, |there| there.is_file());
        free.then_some(path)
    }
}

fn kept(workspace: &Path) -> Vec<PathBuf> {
    let mut paths = tree::paths(workspace);
    paths.retain(|path| !path.starts_with(IGNORED) && path != Path::new(".dragomanignore"));
    paths
}

fn one(workspace: &Path, choice: Choice, wanted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let all = kept(workspace).into_iter().map(|path| workspace.join(path));
    let fit: Vec<PathBuf> = all.filter(|path| wanted(path)).collect();
    let index = (choice as usize).checked_rem(fit.len())?;
    Some(fit[index].clone())
}

fn a_file(workspace: &Path, choice: Choice) -> Option<PathBuf> {
    one(workspace, choice, |path| {
        path.symlink_metadata().is_ok_and(|facts| facts.is_file())
    })
}

/// In place, with as many bytes.
fn rewrite(path: &Path, seed: u64) -> fs::File {
    let mut file = fs::File::options().write(true).open(path).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    file.write_all(&Chance(seed).noise(length)).unwrap();
    file
}
