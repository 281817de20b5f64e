//! The key of session ids, in a file of the data directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use engine::ThreadIdKey;
use uuid::Uuid;

const FILE: &str = "session-ids.key";
const FILE_MODE: u32 = 0o600;

/// The key of a data directory, made where there is none. Without one nothing fails but that a session in
/// which nothing happened is not resumed.
pub fn find(home: &Path) -> Option<ThreadIdKey> {
    let file = home.join(FILE);
    let found = match read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&file),
        found => found,
    };
    match found {
        Ok(key) => Some(key),
        Err(error) => {
            let file = file.display();
            tracing::warn!(
                "cannot use {file} ({error}): sessions without messages are not resumed"
            );
            None
        }
    }
}

fn read(file: &Path) -> io::Result<ThreadIdKey> {
    let mut key = [0; ThreadIdKey::BYTES];
    File::open(file)?.read_exact(&mut key)?;
    Ok(ThreadIdKey::new(key))
}

/// It is whole under its name or not there at all; of several processes the first one's counts.
fn make(file: &Path) -> io::Result<ThreadIdKey> {
    let beside = file.with_extension(Uuid::new_v4().to_string());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(FILE_MODE);
    let mut open = options.open(&beside)?;
    let mut hasher = blake3::Hasher::new();
    for _ in 0..4 {
        hasher.update(Uuid::new_v4().as_bytes());
    }
    let written = open.write_all(hasher.finalize().as_bytes());
    let linked = written.and_then(|()| open.sync_all()).and_then(|()| {
        match std::fs::hard_link(&beside, file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    std::fs::remove_file(&beside)?;
    linked?;
    read(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn it_is_made_once_and_for_its_owner_alone() {
        let home = tempfile::tempdir().expect("a directory");
        let bytes = || std::fs::read(home.path().join(FILE)).expect("a key");
        assert!(find(home.path()).is_some());
        let first = bytes();
        assert_eq!(first.len(), ThreadIdKey::BYTES);
        assert!(find(home.path()).is_some());
        assert_eq!(bytes(), first);
        let files: Vec<_> = home.path().read_dir().expect("reads").collect();
        assert_eq!(files.len(), 1, "nothing is left beside it");
        let found = std::fs::metadata(home.path().join(FILE)).expect("a key");
        assert_eq!(found.mode() & 0o777, FILE_MODE);
        std::fs::write(home.path().join(FILE), "short").expect("written");
        assert!(find(home.path()).is_none());
    }
}
