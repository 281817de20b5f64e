//! The fence made of namespaces and mounts: the arguments of `bwrap` for one call.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::places::Places;
use super::protect::Protection;

/// Where the launcher stands inside.
pub const LAUNCHER_INSIDE: &str = "/run/dragoman/fence";
pub const TEMP_INSIDE: &str = "/tmp";
/// Shared memory that a command may make by name.
const SHARED_MEMORY_BYTES: u64 = 1 << 30;
/// Of what is under /run, what programs need: nothing in it listens.
const RUN_KEPT: &[&str] = &["/run/current-system", "/run/opengl-driver"];

/// Where `bwrap` is. Looked up once: a command must not put another one in its place, so neither is a
/// relative entry of PATH followed.
pub fn program() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::env::split_paths(&path).filter(|entry| entry.is_absolute());
        let mut files = directories.map(|directory| directory.join("bwrap"));
        files
            .find(|file| file.is_file())
            .unwrap_or_else(|| PathBuf::from("/usr/bin/bwrap"))
    })
}

/// One mount. Of the same path, the later kind lies on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount {
    Temp,
    Writable,
    ReadOnly,
    Hidden,
}

/// The arguments up to the program to run.
pub fn wrap(
    places: &Places,
    protection: &Protection,
    temp: &Path,
    launcher: &Path,
    network: bool,
) -> Vec<OsString> {
    let mut mounts = vec![
        (PathBuf::from(TEMP_INSIDE), Mount::Temp),
        (PathBuf::from("/var/tmp"), Mount::Temp),
    ];
    mounts.retain(|(path, _)| path.is_dir() && !path.is_symlink());
    let writable = places.writable.iter().chain(&protection.pinned);
    mounts.extend(writable.map(|path| (path.clone(), Mount::Writable)));
    let read_only = protection.read_only.iter();
    mounts.extend(read_only.map(|path| (path.clone(), Mount::ReadOnly)));
    mounts.extend(
        places
            .hidden
            .iter()
            .map(|path| (path.clone(), Mount::Hidden)),
    );
    mounts.extend(
        places
            .spill
            .iter()
            .map(|path| (path.clone(), Mount::ReadOnly)),
    );
    // What lies deeper is mounted later, or it would be covered.
    mounts.sort_by_key(|(path, mount)| (path.components().count(), *mount));

    let mut list = Arguments::default();
    for flag in ["user-try", "ipc", "pid", "uts", "cgroup-try"] {
        list.add([format!("--unshare-{flag}")]);
    }
    if !network {
        list.add(["--unshare-net"]);
    }
    list.add(["--as-pid-1", "--cap-drop", "ALL"]);
    list.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    let shared = SHARED_MEMORY_BYTES.to_string();
    list.add(["--size", shared.as_str(), "--tmpfs", "/dev/shm"]);
    // Sockets of the system live here.
    list.add(["--tmpfs", "/run"]);
    for kept in RUN_KEPT {
        list.add(["--ro-bind-try", kept, kept]);
    }
    if let Some(names) = names_file().filter(|_| network) {
        list.bind("--ro-bind", &names, &names);
    }
    list.bind("--ro-bind", launcher, Path::new(LAUNCHER_INSIDE));
    let mut covers = vec![PathBuf::from("/run")];
    for (path, mount) in &mounts {
        match mount {
            Mount::Temp => list.bind("--bind", temp, path),
            Mount::Writable => list.bind("--bind", path, path),
            Mount::ReadOnly => list.bind("--ro-bind", path, path),
            Mount::Hidden if path.is_dir() => {
                list.add([OsString::from("--tmpfs"), path.into()]);
                covers.push(path.clone());
            }
            Mount::Hidden => list.bind("--ro-bind", Path::new("/dev/null"), path),
        }
    }
    for path in covers {
        list.add([OsString::from("--remount-ro"), path.into()]);
    }
    list.add([OsString::from("--chdir"), places.directory.clone().into()]);
    list.add(["--", LAUNCHER_INSIDE]);
    list.0
}

/// Where names of hosts are looked up, if that is under /run.
fn names_file() -> Option<PathBuf> {
    let file = Path::new("/etc/resolv.conf").canonicalize().ok()?;
    file.starts_with("/run").then_some(file)
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<T: Into<OsString>>(&mut self, words: impl IntoIterator<Item = T>) {
        self.0.extend(words.into_iter().map(Into::into));
    }

    fn bind(&mut self, flag: &str, from: &Path, to: &Path) {
        self.0.extend([flag.into(), from.into(), to.into()]);
    }
}
