//! What lies in a directory, read without the crate under test, to compare and to put there.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    File {
        mode: u32,
        size: u64,
        hash: blake3::Hash,
    },
    Link(PathBuf),
    Directory {
        mode: u32,
    },
}

/// Everything below a directory, by its path in it.
pub type Tree = BTreeMap<PathBuf, Node>;

impl Node {
    pub fn file(mode: u32, content: &[u8]) -> Self {
        Node::File {
            mode,
            size: content.len() as u64,
            hash: blake3::hash(content),
        }
    }

    pub fn kind(&self) -> checkpoints::FileKind {
        match self {
            Node::File { .. } => checkpoints::FileKind::File,
            Node::Link(_) => checkpoints::FileKind::Link,
            Node::Directory { .. } => checkpoints::FileKind::Directory,
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::File { mode, size, hash } => {
                let hash = &hash.to_hex()[..8];
                write!(out, "file {mode:o}, {size} bytes, {hash}")
            }
            Node::Link(target) => write!(out, "link to {target:?}"),
            Node::Directory { mode } => write!(out, "directory {mode:o}"),
        }
    }
}

/// Reads all of it. What is no file, link or directory is not in it.
pub fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    for path in paths(root) {
        let full = root.join(&path);
        let facts = fs::symlink_metadata(&full).unwrap();
        let mode = facts.permissions().mode();
        let node = if facts.is_symlink() {
            Node::Link(fs::read_link(&full).unwrap())
        } else if facts.is_dir() {
            Node::Directory {
                mode: mode & 0o7777,
            }
        } else if facts.is_file() {
            Node::file(mode & 0o777, &fs::read(&full).unwrap())
        } else {
            continue;
        };
        tree.insert(path, node);
    }
    tree
}

/// The paths of everything below, sorted; parents before what is in them.
pub fn paths(root: &Path) -> Vec<PathBuf> {
    fn walk(root: &Path, inside: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(root.join(inside)).unwrap() {
            let entry = entry.unwrap();
            let path = inside.join(entry.file_name());
            found.push(path.clone());
            if entry.file_type().unwrap().is_dir() {
                walk(root, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(root, Path::new(""), &mut found);
    found.sort();
    found
}

/// Removes what lies there, whatever it is.
pub fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

pub fn write(path: &Path, mode: u32, content: &[u8]) {
    fs::write(path, content).unwrap();
    chmod(path, mode);
}

pub fn make_directory(path: &Path, mode: u32) {
    fs::create_dir(path).unwrap();
    chmod(path, mode);
}

pub fn link(path: &Path, target: &Path) {
    symlink(target, path).unwrap();
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Says what differs, and not all that is the same.
#[track_caller]
pub fn assert_same(found: &Tree, wanted: &Tree, when: &str) {
    let mut differences = Vec::new();
    for (path, node) in wanted {
        match found.get(path) {
            Some(other) if other == node => {}
            other => differences.push(format!("{path:?}: wanted {node:?}, found {other:?}")),
        }
    }
    for (path, node) in found {
        if !wanted.contains_key(path) {
            differences.push(format!("{path:?}: wanted nothing, found {node:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{when}: the tree is not what it was:\n{}",
        differences.join("\n")
    );
}
