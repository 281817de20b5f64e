//! Trees that a number decides, so that nobody has to remember them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tree::{self, Node, Tree};
use crate::world::Chance;

enum Thing {
    File(u32, Vec<u8>),
    Link(PathBuf),
    Directory(u32),
}

/// A tree that its number decides; neighbours share some of their files.
fn things(seed: u64) -> Vec<(PathBuf, Thing)> {
    let mut chance = Chance(seed);
    let mut things = vec![
        ("seed".into(), Thing::File(0o644, seed.to_string().into())),
        ("empty".into(), Thing::Directory(0o755)),
        ("link".into(), Thing::Link(format!("to/{seed}").into())),
        ("swap".into(), Thing::File(0o600, chance.noise(10))),
    ];
    if seed.is_multiple_of(2) {
        things[3].1 = Thing::Directory(0o700);
        things.push(("swap/inner".into(), Thing::File(0o644, b"inner".to_vec())));
    }
    for directory in 0..4 {
        things.push((format!("d{directory}").into(), Thing::Directory(0o755)));
        for file in 0..8 {
            let shared = file < 4;
            let mut content = Chance(if shared { file } else { chance.next() });
            let length = 200 + content.below(4000);
            let mode = [0o644, 0o755][content.below(2)];
            let path = format!("d{directory}/f{file}");
            things.push((path.into(), Thing::File(mode, content.noise(length))));
        }
    }
    if chance.below(3) == 0 {
        let large = Thing::File(0o644, chance.noise((1 << 20) + 10));
        things.push(("large".into(), large));
    }
    things
}

pub fn expected(seed: u64) -> Tree {
    let node = |thing| match thing {
        Thing::File(mode, content) => Node::file(mode, &content),
        Thing::Link(target) => Node::Link(target),
        Thing::Directory(mode) => Node::Directory { mode },
    };
    let things = things(seed).into_iter();
    things.map(|(path, thing)| (path, node(thing))).collect()
}

/// Makes the directory exactly this.
pub fn put(workspace: &Path, seed: u64) {
    for entry in fs::read_dir(workspace).unwrap() {
        tree::remove(&entry.unwrap().path());
    }
    for (path, thing) in things(seed) {
        let full = workspace.join(path);
        match thing {
            Thing::File(mode, content) => tree::write(&full, mode, &content),
            Thing::Link(target) => tree::link(&full, &target),
            Thing::Directory(mode) => tree::make_directory(&full, mode),
        }
    }
}
