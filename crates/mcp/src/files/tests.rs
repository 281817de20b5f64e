//! What lies where a file should be, and how one is written.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

#[test]
fn what_is_no_small_file_is_told_apart() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    assert!(read(&at("none")).expect("no file").is_none());
    assert!(read(&at("none/deeper")).expect("no file").is_none());

    symlink(at("b"), at("a")).expect("a link");
    symlink(at("a"), at("b")).expect("a link");
    assert!(matches!(read(&at("a")), Err(SmallFileError::Circle)));

    std::fs::create_dir(at("directory")).expect("a directory");
    assert!(matches!(
        read(&at("directory")),
        Err(SmallFileError::NotAFile)
    ));

    rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .expect("a pipe");
    assert!(matches!(read(&at("pipe")), Err(SmallFileError::NotAFile)));

    let socket = std::os::unix::net::UnixListener::bind(at("socket"));
    let _socket = socket.expect("a socket");
    assert!(matches!(read(&at("socket")), Err(SmallFileError::NotAFile)));

    let large = File::create(at("large")).expect("a file");
    large.set_len(FILE_BYTES_MAX).expect("its size");
    assert_eq!(
        read(&at("large")).expect("fits").map(|bytes| bytes.len()),
        Some(FILE_BYTES_MAX as usize)
    );
    large.set_len(10 * FILE_BYTES_MAX).expect("its size");
    assert!(matches!(read(&at("large")), Err(SmallFileError::TooLarge)));
}

#[test]
fn nothing_is_written_or_read_through_a_link() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    std::fs::create_dir(at("elsewhere")).expect("a directory");
    std::fs::write(at("elsewhere/file"), "theirs").expect("a file");
    symlink(at("elsewhere"), at("linked")).expect("a link");
    let opened = HeldDirectory::open(scratch.path(), &["linked"]);
    assert!(matches!(opened, Err(SmallFileError::NoDirectory(path)) if path == at("linked")));
    let made = HeldDirectory::create(scratch.path(), &["linked", "inner"], 0o700);
    assert!(matches!(made, Err(SmallFileError::NoDirectory(_))));

    let own = HeldDirectory::create(scratch.path(), &["own"], 0o700).expect("a directory");
    symlink(at("elsewhere/file"), at("own/file")).expect("a link");
    assert!(matches!(own.read("file"), Err(SmallFileError::Link)));
    assert!(matches!(
        own.write("file", b"ours", 0o600),
        Err(SmallFileError::Link)
    ));
    let theirs = std::fs::read_to_string(at("elsewhere/file"));
    assert_eq!(theirs.expect("still there"), "theirs");
    assert!(!at("elsewhere/inner").exists());
}

#[test]
fn a_file_is_written_whole_and_with_its_mode() {
    let scratch = tempfile::tempdir().expect("a directory");
    let held = HeldDirectory::create(scratch.path(), &["a", "b"], 0o755).expect("a directory");
    // What a process that was killed left behind.
    let directory = scratch.path().join("a/b");
    std::fs::write(directory.join(".file.new"), "half").expect("a file");
    held.write("file", b"one", 0o644).expect("written");
    assert_eq!(mode(&directory.join("file")), 0o644);
    held.write("file", b"two", 0o600).expect("written");
    let read = held.read("file").expect("read").expect("there");
    assert_eq!(read, (b"two".to_vec(), 0o600));
    assert!(!directory.join(".file.new").exists());

    std::fs::write(directory.join("taken"), "").expect("a file");
    assert!(!held.rename("file", "taken").expect("tried"));
    assert!(held.rename("file", "free").expect("tried"));
    assert!(held.read("file").expect("read").is_none());
}

#[test]
fn only_one_at_a_time_holds_the_lock() {
    let scratch = tempfile::tempdir().expect("a directory");
    let held = HeldDirectory::create(scratch.path(), &["a"], 0o700).expect("a directory");
    let again = HeldDirectory::open(scratch.path(), &["a"])
        .expect("opened")
        .expect("there");
    let lock = held.lock().expect("the first");
    let (entered, wait) = std::sync::mpsc::channel();
    let second = std::thread::spawn(move || {
        let lock = again.lock();
        entered.send(()).expect("told");
        lock.map(|_| ())
    });
    assert!(wait.try_recv().is_err());
    drop(lock);
    wait.recv().expect("it came");
    second.join().expect("no panic").expect("the second");
}
