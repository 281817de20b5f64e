//! The data directory: made for its owner alone, and kept so.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use store::sqlite::OWNERS;

/// The name that the data directory has by itself.
pub const USUAL_NAME: &str = tools::folders::OWN;

const PRIVATE: u32 = 0o700;
const OTHERS: u32 = 0o077;
/// Of a directory that is meant for many, such as the temporary one.
const STICKY: u32 = 0o1000;

/// What people must know of their data directory, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeNotice {
    /// It was open to others, and is closed now.
    Closed(String),
    /// It is open to others.
    Open(String),
}

/// Makes the directory where there is none, and shuts others out.
pub fn prepare(home: &Path) -> anyhow::Result<Option<HomeNotice>> {
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE)
        .create(home)
        .with_context(|| {
            format!(
                "cannot create the data directory {}; choose another with --home or DRAGOMAN_HOME",
                home.display()
            )
        })?;
    let found = std::fs::metadata(home)
        .with_context(|| format!("cannot look at the data directory {}", home.display()))?;
    let mode = found.mode();
    if mode & OTHERS == 0 {
        return Ok(None);
    }
    let (shown, bits) = (home.display(), mode & 0o7777);
    let is_mine = found.uid() == rustix::process::geteuid().as_raw();
    if is_mine && mode & STICKY == 0 && is_for_data_alone(home) {
        let narrowed = std::fs::set_permissions(home, Permissions::from_mode(PRIVATE));
        if narrowed.is_ok() {
            return Ok(Some(HomeNotice::Closed(format!(
                "{shown} was open to other users (mode {bits:04o}); it is yours alone now"
            ))));
        }
    }
    Ok(Some(HomeNotice::Open(format!(
        "{shown} IS OPEN TO OTHER USERS (mode {bits:04o}), and threads and keys lie there: close it \
         with `chmod 700`, or choose another with --home"
    ))))
}

/// Whether it holds nothing but data, so that shutting others out harms nobody: `--home` may name
/// any directory.
fn is_for_data_alone(home: &Path) -> bool {
    let is_empty = || std::fs::read_dir(home).is_ok_and(|mut files| files.next().is_none());
    home.file_name().is_some_and(|name| name == USUAL_NAME)
        || home.join(OWNERS).is_dir()
        || is_empty()
}

/// What the machine is called, for people.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("is there").mode() & 0o7777
    }

    #[test]
    fn an_open_data_directory_is_closed_and_said_once() {
        let scratch = tempfile::tempdir().expect("a directory");
        let home = scratch.path().join("deep/.cowork");
        assert_eq!(prepare(&home).expect("made"), None);
        assert_eq!(mode(&home), 0o700);
        with_mode(&home, 0o755);
        std::fs::write(home.join("config.toml"), "").expect("written");
        let said = prepare(&home).expect("narrowed").expect("a word");
        let words = "was open to other users (mode 0755); it is yours alone now";
        assert_eq!(
            said,
            HomeNotice::Closed(format!("{} {words}", home.display()))
        );
        assert_eq!(mode(&home), 0o700);
        assert_eq!(prepare(&home).expect("as it should be"), None);
    }

    #[test]
    fn a_directory_that_others_need_is_left_as_it_is_loudly() {
        let scratch = tempfile::tempdir().expect("a directory");
        for (name, bits) in [("project", 0o755), ("owned", 0o1777)] {
            let home = scratch.path().join(name);
            std::fs::create_dir_all(home.join("src")).expect("made");
            if name == "owned" {
                std::fs::create_dir(home.join(OWNERS)).expect("made");
            }
            with_mode(&home, bits);
            let said = prepare(&home).expect("looked").expect("a word");
            assert!(matches!(said, HomeNotice::Open(_)), "{said:?}");
            assert_eq!(mode(&home), bits);
        }
    }
}
