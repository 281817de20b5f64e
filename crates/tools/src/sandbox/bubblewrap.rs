//! The fence made of namespaces and mounts: the arguments of `bwrap` for one call.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::known_places::{PROC_COVERED, PROC_READ_ONLY};
use super::places::Places;
use super::protect::Protection;

/// Where the launcher stands inside.
pub const LAUNCHER_INSIDE: &str = "/run/dragoman/fence";
pub const TEMP_INSIDE: &str = "/tmp";
/// Shared memory that a command may make by name.
const SHARED_MEMORY_BYTES: u64 = 1 << 30;
/// Of what is under /run, what programs need: nothing in it listens.
const RUN_KEPT: &[&str] = &["/run/current-system", "/run/opengl-driver"];

/// Where `bwrap` is: the first one on PATH that no command can have put there.
///
/// Looked up once. A relative entry is not followed, nor one that others than root and the user can
/// change, nor one in a place that commands write: direnv and its like add such entries.
pub fn program(writable: &[PathBuf]) -> Option<&'static Path> {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let usual = PathBuf::from("/usr/bin");
        let directories = std::env::split_paths(&path).chain([usual]);
        let absolute = directories.filter(|entry| entry.is_absolute());
        let files = absolute.filter_map(|entry| entry.join("bwrap").canonicalize().ok());
        files.filter(|file| is_ours(file)).collect()
    });
    let mut safe = found
        .iter()
        .filter(|file| !writable.iter().any(|root| file.starts_with(root)));
    safe.next().map(PathBuf::as_path)
}

/// Whether nobody but root and this user can put something else there.
fn is_ours(file: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let safe = |path: &Path| {
        path.metadata().is_ok_and(|meta| {
            let by_others = meta.mode() & 0o022 != 0;
            // In a directory with this bit, only the owner of a file can replace it.
            let kept = meta.is_dir() && meta.mode() & 0o1000 != 0;
            [0, own].contains(&meta.uid()) && (!by_others || kept)
        })
    };
    file.is_file() && file.ancestors().all(safe)
}

/// One mount. Of the same path, the later kind lies on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount {
    /// Shown in the home directory, which is covered.
    AtHome,
    Temp,
    Writable,
    ReadOnly,
    Hidden,
}

/// Whose network a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkNamespace {
    Machine,
    Own,
    /// That of its thread, which it is started in.
    Shared,
}

/// Where a command starts.
#[derive(Clone, Copy)]
pub struct BwrapStart<'a> {
    pub directory: &'a Path,
    pub network: NetworkNamespace,
}

/// The arguments up to the program to run.
pub fn wrap(
    places: &Places,
    protection: &Protection,
    temp: &Path,
    launcher: &Path,
    start: BwrapStart<'_>,
) -> Vec<OsString> {
    let mut mounts = vec![
        (PathBuf::from(TEMP_INSIDE), Mount::Temp),
        (PathBuf::from("/var/tmp"), Mount::Temp),
    ];
    mounts.retain(|(path, _)| path.is_dir() && !path.is_symlink());
    let at_home = places
        .home_readable
        .iter()
        .filter(|_| places.home.is_some());
    mounts.extend(at_home.map(|path| (path.clone(), Mount::AtHome)));
    let writable = places.writable.iter().chain(&protection.pinned);
    mounts.extend(writable.map(|path| (path.clone(), Mount::Writable)));
    let read_only = places
        .roots
        .iter()
        .filter(|root| !places.writable.contains(root))
        .chain(&protection.read_only);
    mounts.extend(read_only.map(|path| (path.clone(), Mount::ReadOnly)));
    let covered = places.covered().into_iter();
    mounts.extend(covered.map(|path| (path, Mount::Hidden)));
    let open = places.open.iter().cloned();
    mounts.extend(open.map(|path| (path, Mount::ReadOnly)));
    // What lies deeper is mounted later, or it would be covered.
    mounts.sort_by_key(|(path, mount)| (path.components().count(), *mount));

    let mut list = BwrapArguments::default();
    show_the_system(&mut list, start.network);
    list.bind("--ro-bind", launcher, Path::new(LAUNCHER_INSIDE));
    let mut covers = vec![PathBuf::from("/run")];
    for (path, mount) in &mounts {
        match mount {
            // What a link leads to is shown under the link's name.
            Mount::AtHome => {
                if let Ok(real) = path.canonicalize() {
                    list.bind("--ro-bind-try", &real, path);
                }
            }
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
    list.add([OsString::from("--chdir"), start.directory.into()]);
    list.add(["--", LAUNCHER_INSIDE]);
    list.0
}

/// Namespaces, and the machine as a command sees it before anything of the workspace.
fn show_the_system(list: &mut BwrapArguments, network: NetworkNamespace) {
    for flag in ["user-try", "ipc", "pid", "uts", "cgroup-try"] {
        list.add([format!("--unshare-{flag}")]);
    }
    if network == NetworkNamespace::Own {
        list.add(["--unshare-net"]);
    }
    list.add(["--as-pid-1", "--cap-drop", "ALL"]);
    list.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    // Settings of the kernel belong to root by its number, whatever it was deprived of; `--proc` covers
    // them only where they look writable, which the directory itself never does.
    for path in PROC_READ_ONLY {
        list.add(["--ro-bind-try", path, path]);
    }
    for path in PROC_COVERED.iter().filter(|path| Path::new(path).exists()) {
        list.add(["--ro-bind", "/dev/null", path]);
    }
    let shared = SHARED_MEMORY_BYTES.to_string();
    list.add(["--size", shared.as_str(), "--tmpfs", "/dev/shm"]);
    // Sockets of the system live here.
    list.add(["--tmpfs", "/run"]);
    for kept in RUN_KEPT {
        list.add(["--ro-bind-try", kept, kept]);
    }
    if let Some(names) = names_file().filter(|_| network == NetworkNamespace::Machine) {
        list.bind("--ro-bind", &names, &names);
    }
}

/// Where names of hosts are looked up, if that is under /run.
fn names_file() -> Option<PathBuf> {
    let file = Path::new("/etc/resolv.conf").canonicalize().ok()?;
    file.starts_with("/run").then_some(file)
}

#[derive(Default)]
struct BwrapArguments(Vec<OsString>);

impl BwrapArguments {
    fn add<T: Into<OsString>>(&mut self, words: impl IntoIterator<Item = T>) {
        self.0.extend(words.into_iter().map(Into::into));
    }

    fn bind(&mut self, flag: &str, from: &Path, to: &Path) {
        self.0.extend([flag.into(), from.into(), to.into()]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_that_others_can_replace_is_not_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().canonicalize().unwrap().join("bin");
        std::fs::create_dir(&directory).unwrap();
        let file = directory.join("bwrap");
        std::fs::write(&file, "").unwrap();
        let table = [
            (0o755, 0o755, true),
            (0o755, 0o775, false),
            (0o755, 0o757, false),
            (0o777, 0o755, false),
            // Only its owner can replace it there.
            (0o1777, 0o755, true),
        ];
        for (of_directory, of_file, expected) in table {
            std::fs::set_permissions(&directory, Permissions::from_mode(of_directory)).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(of_file)).unwrap();
            assert_eq!(is_ours(&file), expected, "{of_directory:o} {of_file:o}");
        }
        assert!(!is_ours(&directory.join("missing")));
    }

    #[test]
    fn a_program_in_a_writable_place_is_not_taken() {
        assert_eq!(program(&[PathBuf::from("/")]), None);
    }
}
