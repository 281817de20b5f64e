//! What we may not read or write.

use std::fs;
use std::path::{Path, PathBuf};

use checkpoints::{LeftOut, LeftOutReason, SnapshotLimits};

use super::LIMIT;
use crate::children::{available, order};
use crate::tree::{self, Node, assert_same};
use crate::world::{THREAD, damage, now, open, within, work};

const NOBODY: &str = "65534";

/// Root may read everything, so the work is done by somebody else.
#[test]
fn what_may_not_be_read_is_listed_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    if !rustix::process::geteuid().is_root() {
        within(LIMIT, move || meet_closed_doors(home.path()));
        return;
    }
    let drop = [
        "setpriv",
        "--reuid",
        NOBODY,
        "--regid",
        NOBODY,
        "--clear-groups",
    ];
    if !available(&[&drop[..], &["true"]].concat()) {
        return;
    }
    // The build directory may be out of reach for others.
    let binary = home.path().join("binary");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    tree::chmod(home.path(), 0o777);
    tree::chmod(&binary, 0o755);
    let mut command = std::process::Command::new(drop[0]);
    command.args(&drop[1..]).arg(&binary);
    crate::children::succeed(crate::children::prepare(
        &mut command,
        "hostile::permission::meets_closed_doors",
        home.path(),
        "",
    ));
}

/// Not a test: has to run as somebody who is not root.
#[test]
#[ignore = "run by what_may_not_be_read_is_listed_and_left_alone"]
fn meets_closed_doors() {
    if let Some((home, _)) = order() {
        within(LIMIT, move || meet_closed_doors(&home));
    }
}

fn meet_closed_doors(home: &Path) {
    let workspace = home.join("workspace");
    fs::create_dir(&workspace).unwrap();
    let vault = open(home, SnapshotLimits::default()).unwrap();
    for directory in ["closed", "listed", "read-only"] {
        fs::create_dir(workspace.join(directory)).unwrap();
        fs::write(workspace.join(directory).join("file"), "inside").unwrap();
    }
    tree::write(&workspace.join("open"), 0o644, b"open");
    tree::write(&workspace.join("unreadable"), 0o000, b"secret");
    tree::write(&workspace.join("unwritable"), 0o444, b"first");
    tree::chmod(&workspace.join("closed"), 0o000);
    tree::chmod(&workspace.join("listed"), 0o444);
    tree::chmod(&workspace.join("read-only"), 0o555);

    let scan = vault.scan(&work(), None).unwrap();
    let listed = vault.left_out(scan.moment).unwrap();
    let unreadable = |path: &str| LeftOut {
        path: path.into(),
        why: LeftOutReason::Unreadable,
    };
    assert!(listed.contains(&unreadable("unreadable")), "{listed:?}");
    assert!(listed.contains(&unreadable("closed")), "{listed:?}");
    assert!(
        listed.iter().any(|left| left.path.starts_with("listed")),
        "{listed:?}"
    );
    vault.begin(THREAD, scan.moment, now(), false).unwrap();

    tree::write(&workspace.join("open"), 0o600, b"changed");
    fs::remove_file(workspace.join("unwritable")).unwrap();
    tree::chmod(&workspace.join("read-only"), 0o755);
    fs::write(workspace.join("read-only/file"), "other").unwrap();
    tree::chmod(&workspace.join("read-only"), 0o555);
    let restored = vault.restore(&work(), THREAD, scan.moment, None).unwrap();
    println!("{:?}", restored.steps);
    for (path, mode) in [("closed", 0o700), ("listed", 0o700), ("unreadable", 0o600)] {
        tree::chmod(&workspace.join(path), mode);
    }
    let mode = 0o644;
    let wanted = [
        ("closed", Node::Directory { mode: 0o700 }),
        ("closed/file", Node::file(mode, b"inside")),
        ("listed", Node::Directory { mode: 0o700 }),
        ("listed/file", Node::file(mode, b"inside")),
        ("open", Node::file(0o644, b"open")),
        ("read-only", Node::Directory { mode: 0o555 }),
        ("read-only/file", Node::file(mode, b"inside")),
        ("unreadable", Node::file(0o600, b"secret")),
        ("unwritable", Node::file(0o444, b"first")),
    ];
    let wanted = wanted.map(|(path, node)| (PathBuf::from(path), node));
    assert_same(&tree::read(&workspace), &wanted.into(), "closed doors");
    assert_eq!(damage(&vault), Vec::<String>::new());
    tree::chmod(&workspace.join("read-only"), 0o755);
}
