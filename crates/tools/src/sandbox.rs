//! The sandbox: what a command can reach, enforced by the kernel.
//!
//! Three modes, the best that works on this machine. All but a bare [`Sandbox::nothing`] run commands
//! through the [`launcher`], which sets limits and leaves nothing behind.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::Scope;
use bubblewrap::{BwrapStart, NetworkNamespace};
use fence::Confinement;
use guard::{By, Guard};
use id_map::Mapping;
use launcher::Orders;
use launcher_file::LauncherFile;
use places::Places;
use temp::OwnFiles;

pub mod attacks;
mod bubblewrap;
pub(crate) mod control;
mod fence;
pub mod ground;
mod guard;
mod id_map;
pub(crate) mod known_places;
pub mod launcher;
mod launcher_file;
mod limits;
mod nested;
mod network;
mod options;
mod piped;
mod placeholder;
mod places;
pub mod probe;
mod protect;
mod record;
mod rules;
pub mod spoken;
mod syscalls;
mod taken;
mod temp;
mod terminal;
mod watch;

pub(crate) use guard::accept as accept_change;
pub use guard::recover;
pub use limits::Limits;
pub use network::SharedNetwork;
pub use piped::{PipedProgram, ProgramInput, ProgramPipes};
pub use protect::HeldPaths;
use protect::Protection;

const NOTICE_ROOT_MAPPED: &str = "YOU RUN THIS AS ROOT: whatever is allowed outside of the sandbox has \
    the whole machine. Commands inside are root only by name and cannot change the kernel's settings, \
    except that on a file system that cannot be mapped (network shares, for example) they keep root's \
    number without its privileges. Run it as an ordinary user if you can.";
const NOTICE_ROOT_KEPT: &str = "YOU RUN THIS AS ROOT, and root's number cannot be mapped to another one \
    here: commands in the sandbox have no privileges, but they own root's files, and only mounts and \
    rules keep them from those and from the kernel's settings. Whatever is allowed outside of the \
    sandbox has the whole machine. Run it as an ordinary user if you can.";
const NOTICE_ROOT_OPEN: &str = "YOU RUN THIS AS ROOT, AND NOTHING HOLDS COMMANDS: each one that is allowed \
    has the whole machine. Run it as an ordinary user.";
const NOTICE_PORTS: &str = "This kernel (before 6.7) cannot close single ports: with the network open, a \
    command reaches the server's own port and could answer its own questions. Give the server a token.";

/// How commands are fenced in on this machine.
#[derive(Clone, Debug)]
pub struct Sandbox {
    mode: Mode,
    /// The binary that can be the launcher; without it, a command is run as it is.
    launcher: Option<LauncherFile>,
    network: bool,
    /// The server's own, which commands never reach.
    ports: Vec<u16>,
    terminal: bool,
    /// Whether a command can be written to.
    input: bool,
    /// Where a command starts, if not in the workspace itself.
    directory: Option<PathBuf>,
    /// The process that holds the network which commands have in common.
    network_holder: Option<u32>,
    limits: Limits,
    own: Arc<OwnFiles>,
    root: Root,
}

/// What root is to commands where root runs the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// Another number, by [`id_map`], wherever the workspace's file system can be mapped.
    Mapped,
    /// Root without privileges, who still owns root's files.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Namespaces, mounts and a filter of system calls.
    Bubblewrap,
    /// Landlock and a filter of system calls. Cannot protect a path inside a writable one: what a
    /// command did there is put back after it.
    Landlock,
    /// Nothing holds: everything is asked for.
    Nothing,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Bubblewrap, Mode::Landlock, Mode::Nothing];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Bubblewrap => "bubblewrap",
            Mode::Landlock => "landlock",
            Mode::Nothing => "nothing",
        }
    }
}

/// How to start a program behind the fence.
pub struct Fenced {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
    /// Whether a launcher listens on its standard input; see [`launcher`].
    pub is_launched: bool,
    /// To be finished, or dropped, when the program has ended.
    pub held: Option<HeldPaths>,
}

impl Sandbox {
    /// The best mode that works here, with this very binary as the launcher. Tried once.
    pub fn detect() -> Self {
        static FOUND: OnceLock<Sandbox> = OnceLock::new();
        let find = || match std::env::current_exe() {
            // What the trial made goes with it: nothing drops a static.
            Ok(launcher) => Self::best(&launcher).with_files_of_its_own(),
            Err(_) => Self::nothing(),
        };
        FOUND.get_or_init(find).clone().with_files_of_its_own()
    }

    fn with_files_of_its_own(self) -> Self {
        Self {
            own: Arc::default(),
            ..self
        }
    }

    /// This mode, with this very binary as the launcher; nothing where it does not work.
    pub fn only(mode: Mode) -> Self {
        let Ok(launcher) = std::env::current_exe() else {
            return Self::nothing();
        };
        let wanted = Self::with_mode(mode, &launcher);
        let mut works = [wanted.clone(), wanted.with_root_kept()]
            .into_iter()
            .filter(Self::works);
        works.next().unwrap_or_else(Self::nothing)
    }

    /// The best mode that works with this launcher, by really trying.
    pub fn best(launcher: &Path) -> Self {
        let modes = Mode::ALL.map(|mode| Self::with_mode(mode, launcher));
        let each = modes.into_iter().flat_map(|mode| match mode.root {
            Root::Mapped => vec![mode.clone(), mode.with_root_kept()],
            Root::Kept => vec![mode],
        });
        let mut works = each.filter(Self::works);
        works.next().unwrap_or_else(Self::nothing)
    }

    /// A mode, whether or not it works here.
    pub fn with_mode(mode: Mode, launcher: &Path) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        Self {
            mode,
            launcher: Some(LauncherFile::new(launcher)),
            root: match is_root && mode == Mode::Bubblewrap {
                true => Root::Mapped,
                false => Root::Kept,
            },
            ..Self::nothing()
        }
    }

    /// Root keeps its number: for machines where it cannot be mapped.
    pub fn with_root_kept(self) -> Self {
        Self {
            root: Root::Kept,
            ..self
        }
    }

    /// No fence at all, and no launcher either.
    pub fn nothing() -> Self {
        Self {
            mode: Mode::Nothing,
            launcher: None,
            network: false,
            ports: Vec::new(),
            terminal: false,
            input: false,
            directory: None,
            network_holder: None,
            limits: Limits::default(),
            own: Arc::default(),
            root: Root::Kept,
        }
    }

    /// Whether it works here, by really trying.
    pub fn works(&self) -> bool {
        self.maps_root() && probe::works(self)
    }

    /// Keeps its own files with the server's data. Call [`recover`] on it first.
    pub fn with_home(self, home: &Path) -> Self {
        Self {
            own: Arc::new(OwnFiles::in_home(home)),
            ..self
        }
    }

    /// Removes the temporary files of all commands.
    pub fn remove_temporary(&self) {
        self.own.remove_temporary();
    }

    /// The ports that the server itself listens on: closed to commands, also where the network is open.
    pub fn with_ports(self, ports: Vec<u16>) -> Self {
        Self { ports, ..self }
    }

    pub fn has_launcher(&self) -> bool {
        self.launcher.is_some()
    }

    /// The binary that can be started as a helper of the server, where it lies at this moment.
    pub(crate) fn launcher(&self) -> std::io::Result<Option<PathBuf>> {
        let launcher = self.launcher.as_ref();
        launcher.map(|file| file.path(&self.own)).transpose()
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn network(&self) -> bool {
        self.network
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether protected paths inside the workspace are safe from commands. Where they are not, every
    /// command that writes must be asked for; [`Sandbox::why_it_asks`] says why.
    pub fn protects_inside(&self, scope: &Scope) -> bool {
        self.why_it_asks(scope).is_none()
    }

    /// Why every writing command must be asked for, for people.
    pub fn why_it_asks(&self, scope: &Scope) -> Option<String> {
        if scope.read_only && self.mode != Mode::Nothing {
            return None;
        }
        match self.mode {
            Mode::Bubblewrap => linked(scope),
            Mode::Landlock => linked(scope).or_else(|| {
                // A scope without places cannot be run in either.
                let cause = guard::cannot_hold(&Places::of(scope).ok()?)?;
                Some(format!(
                    "this machine's sandbox (Landlock) can only put back what a command changed in \
                     a protected path, and this one cannot be recorded: {cause}"
                ))
            }),
            Mode::Nothing => Some("no sandbox holds commands on this machine".to_owned()),
        }
    }

    /// What people must know about this mode, if anything.
    pub fn notice(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Bubblewrap => None,
            Mode::Landlock => Some(
                "The sandbox is Landlock: what a command changes in .git/hooks, .git/config and other \
                 paths that programs run by themselves is only put back when it has ended, and the \
                 times and modes of your files elsewhere are open. Install bubblewrap (bwrap) to \
                 have more safety.",
            ),
            Mode::Nothing => Some(
                "THERE IS NO SANDBOX on this machine: a command that is allowed can read, change \
                 and send anything that you can. Every command is asked for. Install bubblewrap \
                 (bwrap), or use a kernel with Landlock; `dragoman sandbox check` tells more.",
            ),
        }
    }

    /// All that people must know before commands run: of the mode, of root, and of the network.
    pub fn notices(&self) -> Vec<String> {
        let mut notices: Vec<String> = self.notice().map(str::to_owned).into_iter().collect();
        if rustix::process::geteuid().is_root() {
            notices.push(match (self.mode, self.root) {
                (Mode::Nothing, _) => NOTICE_ROOT_OPEN.to_owned(),
                (Mode::Bubblewrap | Mode::Landlock, Root::Mapped) => NOTICE_ROOT_MAPPED.to_owned(),
                (Mode::Bubblewrap | Mode::Landlock, Root::Kept) => NOTICE_ROOT_KEPT.to_owned(),
            });
        }
        let fenced = self.mode != Mode::Nothing;
        if fenced && self.network && !self.ports.is_empty() && !fence::can_close_ports() {
            notices.push(NOTICE_PORTS.to_owned());
        }
        notices
    }

    /// How to start a program behind the fence.
    pub fn fence(&self, scope: &Scope, program: &[&OsStr]) -> Result<Fenced, String> {
        if self.mode == Mode::Nothing && scope.outside.held {
            return Err(HELD.to_owned());
        }
        if self.mode == Mode::Nothing {
            return self.open(program);
        }
        let Some(launcher) = self.launcher().map_err(unusable)? else {
            return Ok(bare(program));
        };
        let places = Places::of(scope).map_err(unusable)?;
        let temp = self.own.temp_of(&places.directory).map_err(unusable)?;
        // Before anything is put there to hold a place.
        let own = self.own.directory().map_err(unusable)?;
        let by = match self.mode {
            Mode::Bubblewrap => By::Mounts,
            Mode::Landlock | Mode::Nothing => By::PuttingBack,
        };
        let guard = Guard::hold(&places, &own, by).map_err(unusable)?;
        match self.mode {
            Mode::Bubblewrap => {
                let protection = protect::protect(&places, &guard);
                let (program, arguments) =
                    self.wrapped(&places, &protection, &temp, &launcher, program)?;
                Ok(Fenced {
                    program,
                    arguments,
                    environment: vec![("TMPDIR", bubblewrap::TEMP_INSIDE.into())],
                    is_launched: true,
                    held: Some(HeldPaths::new(protection.placeholders, guard)),
                })
            }
            Mode::Landlock | Mode::Nothing => {
                let mut writable = places.writable_around_hidden();
                writable.push(temp.clone());
                let mut readable = places.readable();
                readable.push(launcher.clone());
                let orders = self.orders(Confinement::Paths { writable, readable });
                Ok(Fenced {
                    environment: vec![("TMPDIR", temp.into())],
                    held: Some(HeldPaths::new(Vec::new(), guard)),
                    ..launched(&launcher, orders.arguments(program)?)
                })
            }
        }
    }

    /// What is to be started, and with which arguments.
    fn wrapped(
        &self,
        places: &Places,
        protection: &Protection,
        temp: &Path,
        launcher: &Path,
        program: &[&OsStr],
    ) -> Result<(OsString, Vec<OsString>), String> {
        let bwrap = bubblewrap::program(&places.writable)
            .ok_or("the sandbox cannot be set up: there is no bwrap that can be trusted")?;
        let (network, holder) = match (self.network, self.network_holder) {
            (true, _) => (NetworkNamespace::Machine, None),
            (false, Some(holder)) => (NetworkNamespace::Shared, Some(holder)),
            (false, None) => (NetworkNamespace::Own, None),
        };
        let directory = self.directory.as_ref().unwrap_or(&places.directory);
        let start = BwrapStart { directory, network };
        let mut wrapped = bubblewrap::wrap(places, protection, temp, launcher, start);
        let orders = self.orders(Confinement::Within {
            writable: places.writable.clone(),
        });
        wrapped.extend(orders.arguments(program)?);
        let (program, arguments) = match self.root {
            Root::Kept => (bwrap, wrapped),
            Root::Mapped => {
                let mut writable = places.writable.clone();
                writable.push(temp.to_owned());
                let mapping = Mapping {
                    writable,
                    mount_point: temp.to_owned(),
                };
                let mut arguments = mapping.arguments(bwrap)?;
                arguments.append(&mut wrapped);
                (launcher, arguments)
            }
        };
        Ok(match holder {
            Some(holder) => (
                launcher.into(),
                network::joining(holder, program, arguments),
            ),
            None => (program.into(), arguments),
        })
    }

    /// Whether root's number is mapped, if it has to be.
    fn maps_root(&self) -> bool {
        if self.root != Root::Mapped {
            return true;
        }
        let (Ok(launcher), Ok(scratch)) = (self.launcher(), tempfile::tempdir()) else {
            return false;
        };
        let Some(launcher) = launcher else {
            return true;
        };
        let place = scratch.path().to_owned();
        let mapping = Mapping {
            writable: vec![place.clone()],
            mount_point: place,
        };
        mapping.works(&launcher)
    }

    /// How to start a program outside of the fence, after a person allowed it: limits hold, and nothing
    /// is left behind.
    pub fn open(&self, program: &[&OsStr]) -> Result<Fenced, String> {
        match self.launcher().map_err(unusable)? {
            Some(launcher) => Ok(launched(
                &launcher,
                self.orders(Confinement::Open).arguments(program)?,
            )),
            None => Ok(bare(program)),
        }
    }

    fn orders(&self, fence: Confinement) -> Orders {
        Orders {
            fence,
            network: self.network,
            ports: self.ports.clone(),
            limits: self.limits.clone(),
            terminal: self.terminal,
            input: self.input,
            server: std::process::id().cast_signed(),
        }
    }
}

/// Why a program does not run that only a sandbox may hold.
pub const HELD: &str = "not run: your tenant shares this server with others, so its programs run in \
                        the sandbox or not at all";

fn unusable(error: std::io::Error) -> String {
    format!("the sandbox cannot be set up: {error}")
}

/// Why every writing command must be asked for where a protected path is a link.
fn linked(scope: &Scope) -> Option<String> {
    let link = places::protected_link(scope)?;
    let shown = link.display();
    Some(format!(
        "{shown} is a symbolic link, which the sandbox cannot hold in place"
    ))
}

fn launched(launcher: &Path, arguments: Vec<OsString>) -> Fenced {
    Fenced {
        program: launcher.into(),
        arguments,
        environment: Vec::new(),
        is_launched: true,
        held: None,
    }
}

fn bare(program: &[&OsStr]) -> Fenced {
    let mut words = program.iter().map(|&word| word.to_owned());
    Fenced {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        environment: Vec::new(),
        is_launched: false,
        held: None,
    }
}
