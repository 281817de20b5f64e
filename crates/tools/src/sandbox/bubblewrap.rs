//! The fence made of namespaces and mounts: the arguments of `bwrap` for one call.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::placeholder::{Kind, Placeholder};
use super::places::{self, Places};

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

/// Arguments up to the program to run, and what must be kept until it has ended.
pub struct Wrapped {
    pub arguments: Vec<OsString>,
    pub held: Held,
}

/// What stands in the workspace only while the command runs.
#[derive(Debug, Default)]
pub struct Held {
    placeholders: Vec<Placeholder>,
    /// Would lead git to another configuration, cannot be mounted upon without an effect of its
    /// own, and did not exist: what appears there is taken away.
    unwanted: Vec<PathBuf>,
}

impl Drop for Held {
    fn drop(&mut self) {
        for path in &self.unwanted {
            let _ = std::fs::remove_file(path);
        }
        // The inner ones first.
        while let Some(placeholder) = self.placeholders.pop() {
            drop(placeholder);
        }
    }
}

/// One mount. Of the same path, the later kind lies on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount {
    Temp,
    Writable,
    ReadOnly,
    Hidden,
}

pub fn wrap(places: &Places, temp: &Path, launcher: &Path, network: bool) -> Wrapped {
    let mut held = Held::default();
    let mut mounts = vec![
        (PathBuf::from(TEMP_INSIDE), Mount::Temp),
        (PathBuf::from("/var/tmp"), Mount::Temp),
    ];
    mounts.retain(|(path, _)| path.is_dir() && !path.is_symlink());
    for root in &places.writable {
        mounts.push((root.clone(), Mount::Writable));
        protect(root, &mut mounts, &mut held);
    }
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
    Wrapped {
        arguments: list.0,
        held,
    }
}

/// Where names of hosts are looked up, if that is under /run.
fn names_file() -> Option<PathBuf> {
    let file = Path::new("/etc/resolv.conf").canonicalize().ok()?;
    file.starts_with("/run").then_some(file)
}

/// Makes read-only in a writable directory what makes other programs run something.
fn protect(root: &Path, mounts: &mut Vec<(PathBuf, Mount)>, held: &mut Held) {
    let git = root.join(".git");
    if git.is_dir() {
        if let Ok(real) = git.canonicalize() {
            // A directory that is mounted upon cannot be renamed away with what is in it.
            if real.starts_with(root) {
                mounts.push((real.clone(), Mount::Writable));
            }
            hold(real.join("hooks"), Kind::Directory, mounts, held);
            hold(real.join("config"), Kind::File, mounts, held);
            for name in ["config.worktree", "commondir"] {
                match places::is_there(&real.join(name)) {
                    true => mounts.push((real.join(name), Mount::ReadOnly)),
                    false => held.unwanted.push(real.join(name)),
                }
            }
        }
    } else {
        // The file of a linked worktree, or nothing yet: then no repository can be made here.
        hold(git, Kind::Directory, mounts, held);
    }
    for name in [".cowork", ".agent"] {
        hold(root.join(name), Kind::Directory, mounts, held);
    }
}

fn hold(path: PathBuf, missing: Kind, mounts: &mut Vec<(PathBuf, Mount)>, held: &mut Held) {
    // A placeholder of another call is held as well, so that it outlives that call.
    if !places::is_there(&path) || Placeholder::is_one(&path) {
        match Placeholder::make(&path, missing) {
            Some(placeholder) => held.placeholders.push(placeholder),
            None => return,
        }
    }
    if let Ok(real) = path.canonicalize() {
        mounts.push((real, Mount::ReadOnly));
    }
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
