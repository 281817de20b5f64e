//! What is no ordinary file, and what is far too much of it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use checkpoints::{Error, LeftOut, LeftOutReason, SnapshotLimits};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};
use vocabulary::RestoreAction;

use super::LIMIT;
use super::outside::mkfifo;
use crate::children::{available, order, succeed, through};
use crate::tree::{self, Node, assert_same};
use crate::world::{World, now, open, within, work};

fn left_out(path: &str, why: LeftOutReason) -> LeftOut {
    LeftOut {
        path: path.into(),
        why,
    }
}

#[test]
fn pipes_sockets_and_devices_are_listed_and_left_alone() {
    within(LIMIT, || {
        let world = World::new();
        world.write("file", "content");
        world.write("was-a-file", "content");
        let before = world.begin();
        fs::remove_file(world.at("was-a-file")).unwrap();
        mkfifo(&world.at("was-a-file"));
        mkfifo(&world.at("pipe"));
        let _socket = UnixListener::bind(world.at("socket")).unwrap();
        let mut wanted = vec![
            left_out("pipe", LeftOutReason::Special),
            left_out("socket", LeftOutReason::Special),
            left_out("was-a-file", LeftOutReason::Special),
        ];
        let null = rustix::fs::makedev(1, 3);
        let mode = Mode::from_raw_mode(0o666);
        let made = mknodat(CWD, world.at("null"), FileType::CharacterDevice, mode, null);
        match made {
            Ok(()) => wanted.insert(0, left_out("null", LeftOutReason::Special)),
            Err(error) => println!("left out: no device can be made here: {error}"),
        }
        let taken = world.take();
        assert_eq!(world.vault.left_out(taken.moment).unwrap(), wanted);
        assert_eq!(world.vault.left_out(before).unwrap(), []);

        let restored = world.restore(before);
        let skipped: Vec<&Path> = restored
            .steps
            .iter()
            .filter(|step| matches!(step.how, RestoreAction::Skip { .. }))
            .map(|step| step.path.as_path())
            .collect();
        assert_eq!(skipped, [Path::new("was-a-file")]);
        for LeftOut { path, .. } in wanted {
            let kind = world.at(&path).symlink_metadata().unwrap().file_type();
            assert!(!kind.is_file(), "{path:?} is still what it was");
        }
        world.assert_sound();
    });
}

#[test]
fn a_terabyte_of_nothing_costs_nothing() {
    within(LIMIT, || {
        let world = World::new();
        world.write("file", "content");
        let huge = fs::File::create(world.at("huge")).unwrap();
        if let Err(error) = huge.set_len(1 << 40) {
            println!("left out: no file of 1 TB can be made here: {error}");
            return;
        }
        let started = Instant::now();
        let moment = world.begin();
        assert!(started.elapsed() < Duration::from_secs(5));
        assert!(world.vault.size().unwrap().bytes < 10 << 20);
        let listed = world.vault.left_out(moment).unwrap();
        assert_eq!(listed, [left_out("huge", LeftOutReason::TooLarge)]);
        fs::remove_file(world.at("file")).unwrap();
        world.restore(moment);
        assert_eq!(fs::read(world.at("file")).unwrap(), b"content");
        assert_eq!(world.at("huge").metadata().unwrap().len(), 1 << 40);
        world.assert_sound();
    });
}

#[test]
fn the_largest_files_are_left_out_first() {
    let limits = SnapshotLimits {
        file_bytes: 1000,
        total_bytes: 100,
        entries: 100,
    };
    let world = World::with(limits);
    for (name, bytes) in [("a", 30), ("b", 60), ("c", 50), ("d", 1001)] {
        world.write(name, vec![b'x'; bytes]);
    }
    let moment = world.begin();
    assert_eq!(
        world.vault.left_out(moment).unwrap(),
        [
            left_out("b", LeftOutReason::TooMuch),
            left_out("d", LeftOutReason::TooLarge)
        ]
    );
    fs::remove_file(world.at("b")).unwrap();
    fs::remove_file(world.at("c")).unwrap();
    world.write("d", "small now");
    let taken = world.take();
    assert_eq!(world.vault.left_out(taken.moment).unwrap(), []);
    let restored = world.restore(moment);
    assert_eq!(fs::read(world.at("c")).unwrap().len(), 50);
    // It was not in that snapshot, so its name is free to go; the checkpoint before has it.
    world.restore(restored.before.moment);
    assert_eq!(fs::read(world.at("d")).unwrap(), b"small now");
}

#[test]
fn too_many_files_are_refused_as_a_whole() {
    let world = World::with(SnapshotLimits {
        entries: 50,
        ..SnapshotLimits::default()
    });
    for number in 0..51 {
        world.write(number.to_string(), "x");
    }
    let error = world.vault.scan(&work(), None).err();
    assert!(matches!(error, Some(Error::TooManyFiles(50))), "{error:?}");
    world.write(".dragomanignore", "/4*\n");
    let original = world.begin();
    fs::remove_file(world.at("5")).unwrap();
    world.restore(original);
    assert!(world.at("5").exists() && world.at("49").exists());
}

#[test]
fn odd_names_come_back() {
    let world = World::new();
    for name in [
        &b"new\nline"[..],
        b"\xff\xfe\xfd",
        b"-rf",
        b" ",
        b"\x1b[31mred",
        b"a\\b",
        &[b'n'; 255],
        "\u{202e}gpj.exe".as_bytes(),
    ] {
        let name = Path::new(OsStr::from_bytes(name));
        world.write(name, "file");
        world.write(Path::new("dir").join(name).join(name), "deeper");
    }
    let original = world.begin();
    let tree = world.tree();
    assert_eq!(tree.len(), 8 + 1 + 16);
    for path in tree.keys() {
        tree::remove(&world.at(path));
    }
    world.restore(original);
    assert_same(&world.tree(), &tree, "odd names");
    for (path, node) in &tree {
        if let Node::File { .. } = node {
            let history = world.vault.history(path).unwrap();
            assert_eq!(history.len(), 2, "{path:?}, before and after");
        }
    }
}

#[test]
fn deep_directories_come_back() {
    within(LIMIT, || {
        let world = World::new();
        let deep: PathBuf = std::iter::repeat_n("d", 500).collect();
        world.write(deep.join("file"), "deep");
        let original = world.begin();
        let tree = world.tree();
        fs::remove_dir_all(world.at("d")).unwrap();
        world.restore(original);
        assert_same(&world.tree(), &tree, "500 levels");
    });
}

/// Deeper than any path that the system takes in one piece: kept or listed, but no obstacle.
#[test]
fn directories_deeper_than_a_path_are_no_obstacle() {
    within(LIMIT, || {
        let world = World::new();
        world.write("file", "content");
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, world.workspace(), flags, Mode::empty()).unwrap();
        let name = "n".repeat(50);
        for _ in 0..500 {
            mkdirat(&at, &name, Mode::from_raw_mode(0o755)).unwrap();
            at = openat(&at, &name, flags, Mode::empty()).unwrap();
        }
        let original = world.begin();
        world.write("file", "other");
        world.restore(original);
        assert_eq!(fs::read(world.at("file")).unwrap(), b"content");
        let there = openat(&at, ".", flags, Mode::empty());
        assert!(there.is_ok(), "the depth is still there");
        world.assert_sound();
    });
}

#[test]
fn what_is_mounted_inside_is_listed_and_left_alone() {
    if !available(&["unshare", "-rm", "true"]) {
        return;
    }
    let world = World::new();
    fs::create_dir(world.at("mounted")).unwrap();
    world.write("file", "content");
    let test = "hostile::special::looks_at_a_mount";
    succeed(&mut through(
        &["unshare", "-rm"],
        test,
        world.home.path(),
        "",
    ));
}

/// Not a test: needs a file system of its own.
#[test]
#[ignore = "run by what_is_mounted_inside_is_listed_and_left_alone"]
fn looks_at_a_mount() {
    let Some((home, _)) = order() else {
        return;
    };
    let mounted = home.join("workspace/mounted");
    mount(&mounted, "1m");
    fs::write(mounted.join("foreign"), "foreign").unwrap();
    let vault = open(&home, SnapshotLimits::default()).unwrap();
    let scan = vault.scan(&work(), None).unwrap();
    let listed = vault.left_out(scan.moment).unwrap();
    assert_eq!(listed, [left_out("mounted", LeftOutReason::Mounted)]);
    vault.begin("thread", scan.moment, now(), false).unwrap();
    fs::write(home.join("workspace/file"), "other").unwrap();
    vault.restore(&work(), "thread", scan.moment, None).unwrap();
    assert_eq!(fs::read(mounted.join("foreign")).unwrap(), b"foreign");
    assert_eq!(fs::read(home.join("workspace/file")).unwrap(), b"content");
}

/// Only where the process has mounts of its own.
pub fn mount(at: &Path, size: &str) {
    let mut mount = std::process::Command::new("mount");
    let option = format!("size={size}");
    mount.args(["-t", "tmpfs", "-o", &option, "none"]).arg(at);
    assert!(mount.status().unwrap().success());
}
