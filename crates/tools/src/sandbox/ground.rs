//! What attempts to get out are made on: a workspace, what lies around it, and a server to be attacked.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use tempfile::{NamedTempFile, TempDir};

use crate::{Scope, folders};

/// What nobody may read.
const SECRET: &str = "canary-of-the-server";
/// What a script says when it got through.
const ESCAPED: &str = "ESCAPED";
const KEPT: &str = "as it was";
const DIRECTORIES: &[&str] = &[
    "ws/.git/hooks",
    "ws/.git/objects",
    "ws/.git/refs/heads",
    "ws-secret",
    "outside",
    "private",
    "extra",
];
const FILES: &[(&str, &str)] = &[
    ("ws/.git/HEAD", "ref: refs/heads/main\n"),
    (
        "ws/.git/config",
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    ),
    ("ws/.git/hooks/kept", KEPT),
    ("ws-secret/kept", KEPT),
    ("outside/kept", KEPT),
    ("private/token", SECRET),
];

pub struct Ground {
    base: TempDir,
    port: TcpListener,
    datagrams: UdpSocket,
    _socket: UnixListener,
    _abstract_socket: UnixListener,
    name: String,
    /// Where there is no home directory to write to, the server's own data has to do.
    at_home: Option<NamedTempFile>,
    before: BTreeMap<PathBuf, String>,
}

impl Ground {
    /// Makes it in this directory, which should not be one for temporary files: those are hidden as a
    /// whole.
    pub fn new(parent: &Path) -> std::io::Result<Self> {
        let base = tempfile::Builder::new()
            .prefix(".dragoman-check-")
            .tempdir_in(parent)?;
        let at = |name: &str| base.path().join(name);
        for name in DIRECTORIES {
            std::fs::create_dir_all(at(name))?;
        }
        for (name, content) in FILES {
            std::fs::write(at(name), content)?;
        }
        let agents = at("ws").join(folders::OTHER_AGENTS);
        std::fs::create_dir(&agents)?;
        std::fs::write(agents.join("kept"), KEPT)?;
        let keys = at("extra").join(folders::OWN).join(folders::AUTH);
        std::fs::create_dir_all(&keys)?;
        std::fs::write(keys.join("key"), SECRET)?;
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, at("outside/pipe"), FileType::Fifo, mode, 0)?;
        let name = base.path().to_string_lossy().replace('/', "-");
        let address = SocketAddr::from_abstract_name(&name)?;
        let port = TcpListener::bind("127.0.0.1:0")?;
        port.set_nonblocking(true)?;
        let datagrams = UdpSocket::bind("127.0.0.1:0")?;
        datagrams.set_nonblocking(true)?;
        let mut ground = Self {
            _socket: UnixListener::bind(at("outside/socket"))?,
            _abstract_socket: UnixListener::bind_addr(&address)?,
            base,
            port,
            datagrams,
            name,
            at_home: secret_at_home(),
            before: BTreeMap::new(),
        };
        ground.before = ground.look();
        Ok(ground)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub fn port(&self) -> u16 {
        self.port.local_addr().map_or(0, |address| address.port())
    }

    pub fn scope(&self) -> Scope {
        Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: Default::default(),
            directory: self.path("ws"),
            extra: vec![self.path("extra")],
            private: vec![self.path("private")],
            spill: None,
        }
    }

    /// A command line that sets what the scripts name.
    pub fn variables(&self) -> String {
        let shown = |name: &str| self.path(name).display().to_string();
        let ptrace = if cfg!(target_arch = "x86_64") {
            101
        } else {
            117
        };
        let datagrams = self.datagrams.local_addr().map_or(0, |at| at.port());
        let at_home = self.at_home.as_ref().map(|file| file.path().to_owned());
        let at_home = at_home.unwrap_or_else(|| self.path("private/token"));
        let table = [
            ("OUT", shown("outside")),
            ("WS", shown("ws")),
            ("PRIVATE", shown("private")),
            ("EXTRA", shown("extra")),
            ("OWN", folders::OWN.to_owned()),
            ("AUTH", folders::AUTH.to_owned()),
            ("OTHER_AGENTS", folders::OTHER_AGENTS.to_owned()),
            ("SOCKET", shown("outside/socket")),
            ("AT_HOME", at_home.display().to_string()),
            ("ABSTRACT", self.name.clone()),
            ("TOKEN", SECRET.replace('-', "_")),
            ("PORT", self.port().to_string()),
            ("UDP", datagrams.to_string()),
            ("SERVER", std::process::id().to_string()),
            ("PTRACE", ptrace.to_string()),
        ];
        let each = table.map(|(name, value)| format!("export {name}='{value}'"));
        each.join("; ")
    }

    /// What an attempt did that it must not, going by what it said and by what lies around.
    pub fn damage(&self, stdout: &str, stderr: &str) -> Option<String> {
        if stdout.contains(ESCAPED) {
            return Some("it says so itself".to_owned());
        }
        if stdout.contains(SECRET) || stderr.contains(SECRET) {
            return Some("it read the secret".to_owned());
        }
        if self.port.accept().is_ok() {
            return Some("it connected to the server's port".to_owned());
        }
        if self.datagrams.recv(&mut [0; 16]).is_ok() {
            return Some("it sent a datagram to the server".to_owned());
        }
        let (before, after) = (&self.before, self.look());
        let changed = after
            .iter()
            .find(|(path, state)| before.get(*path) != Some(state));
        let lost = before.keys().find(|path| !after.contains_key(*path));
        let path = changed.map(|(path, _)| path).or(lost)?;
        Some(format!("{} is not as it was", path.display()))
    }

    /// All that must stay as it is: the neighbours, and what is protected.
    fn look(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        for root in ["outside", "ws-secret", "private"] {
            look_at(&self.path(root), &mut seen);
        }
        for root in ["ws", "extra"] {
            for name in [
                ".git/hooks",
                ".git/config",
                ".git/commondir",
                folders::OWN,
                folders::OTHER_AGENTS,
            ] {
                look_at(&self.path(root).join(name), &mut seen);
            }
        }
        seen
    }
}

fn secret_at_home() -> Option<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".dragoman-check-")
        .tempfile_in(std::env::home_dir()?)
        .ok()?;
    std::io::Write::write_all(&mut file, SECRET.as_bytes()).ok()?;
    Some(file)
}

fn look_at(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(meta) = path.symlink_metadata() else {
        return;
    };
    let content = match meta.is_file() {
        true => std::fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    };
    let state = format!("{:o} {content}", meta.permissions().mode());
    seen.insert(path.to_owned(), state);
    if meta.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            look_at(&entry.path(), seen);
        }
    }
}
