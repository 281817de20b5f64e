//! The sandbox: what a command can reach, enforced by the kernel.
//!
//! Three modes, the best that works on this machine. All but a bare [`Sandbox::nothing`] run commands
//! through the [`launcher`], which sets limits and leaves nothing behind.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::Scope;
use fence::Fence;
use launcher::Orders;
use places::Places;
use temp::Temps;

mod bubblewrap;
mod fence;
pub mod launcher;
mod limits;
mod placeholder;
mod places;
pub mod probe;
mod rules;
mod syscalls;
mod temp;
mod terminal;
mod watch;

pub use bubblewrap::Held;
pub use limits::Limits;

/// How commands are fenced in on this machine.
#[derive(Clone, Debug)]
pub struct Sandbox {
    mode: Mode,
    /// The binary that can be the launcher; without it, a command is run as it is.
    launcher: Option<PathBuf>,
    network: bool,
    terminal: bool,
    limits: Limits,
    temps: Arc<Temps>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Namespaces, mounts and a filter of system calls.
    Bubblewrap,
    /// Landlock and a filter of system calls. Cannot protect a path inside a writable one.
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
    /// To be dropped when the program has ended.
    pub held: Option<Held>,
}

impl Sandbox {
    /// The best mode that works here, with this very binary as the launcher. Tried once.
    pub fn detect() -> Self {
        static FOUND: OnceLock<Sandbox> = OnceLock::new();
        let find = || match std::env::current_exe() {
            Ok(launcher) => Self::best(&launcher),
            Err(_) => Self::nothing(),
        };
        FOUND.get_or_init(find).clone()
    }

    /// This mode, with this very binary as the launcher; nothing where it does not work.
    pub fn only(mode: Mode) -> Self {
        let wanted = std::env::current_exe().map(|launcher| Self::with_mode(mode, &launcher));
        wanted
            .ok()
            .filter(Self::works)
            .unwrap_or_else(Self::nothing)
    }

    /// The best mode that works with this launcher, by really trying.
    pub fn best(launcher: &Path) -> Self {
        let modes = Mode::ALL
            .iter()
            .map(|mode| Self::with_mode(*mode, launcher));
        let mut works = modes.filter(Self::works);
        works.next().unwrap_or_else(Self::nothing)
    }

    /// A mode, whether or not it works here.
    pub fn with_mode(mode: Mode, launcher: &Path) -> Self {
        Self {
            mode,
            launcher: Some(launcher.to_owned()),
            ..Self::nothing()
        }
    }

    /// No fence at all, and no launcher either.
    pub fn nothing() -> Self {
        Self {
            mode: Mode::Nothing,
            launcher: None,
            network: false,
            terminal: false,
            limits: Limits::default(),
            temps: Arc::default(),
        }
    }

    /// Whether it works here, by really trying.
    pub fn works(&self) -> bool {
        probe::works(self)
    }

    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Opens the network to commands, or closes it.
    pub fn with_network(self, network: bool) -> Self {
        Self { network, ..self }
    }

    /// Gives commands a terminal, or none. Without a launcher there is none.
    pub fn with_terminal(self, terminal: bool) -> Self {
        Self { terminal, ..self }
    }

    pub fn has_launcher(&self) -> bool {
        self.launcher.is_some()
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
        match self.mode {
            Mode::Bubblewrap => places::protected_link(scope).map(|link| {
                format!(
                    "{} is a symbolic link, which the sandbox cannot hold in place",
                    link.display()
                )
            }),
            Mode::Landlock => Some(
                "this machine's sandbox (Landlock) cannot protect .git/hooks, .git/config, .cowork \
                 and .agent inside a directory that the command may write"
                    .to_owned(),
            ),
            Mode::Nothing => Some("no sandbox holds commands on this machine".to_owned()),
        }
    }

    /// What people must know about this mode, if anything.
    pub fn notice(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Bubblewrap => None,
            Mode::Landlock => Some(
                "The sandbox is Landlock: it cannot protect .git/hooks, .git/config, .cowork and \
                 .agent inside the workspace, so every command that writes is asked for; nor the \
                 times and modes of your files elsewhere. Install bubblewrap (bwrap) to have more \
                 safety and fewer questions.",
            ),
            Mode::Nothing => Some(
                "THERE IS NO SANDBOX on this machine: a command that is allowed can read, change \
                 and send anything that you can. Every command is asked for. Install bubblewrap \
                 (bwrap), or use a kernel with Landlock; `dragoman sandbox check` tells more.",
            ),
        }
    }

    /// How to start a program behind the fence.
    pub fn fence(&self, scope: &Scope, program: &[&OsStr]) -> Result<Fenced, String> {
        let Some(launcher) = &self.launcher else {
            return Ok(bare(program));
        };
        if self.mode == Mode::Nothing {
            return self.open(program);
        }
        let unusable = |error: std::io::Error| format!("the sandbox cannot be set up: {error}");
        let places = Places::of(scope).map_err(unusable)?;
        let temp = self.temps.of(&places.directory).map_err(unusable)?;
        match self.mode {
            Mode::Bubblewrap => {
                let mut wrapped = bubblewrap::wrap(&places, &temp, launcher, self.network);
                let orders = self.orders(Fence::Within {
                    writable: places.writable.clone(),
                });
                wrapped.arguments.extend(orders.arguments(program)?);
                Ok(Fenced {
                    program: bubblewrap::program().into(),
                    arguments: wrapped.arguments,
                    environment: vec![("TMPDIR", bubblewrap::TEMP_INSIDE.into())],
                    is_launched: true,
                    held: Some(wrapped.held),
                })
            }
            Mode::Landlock | Mode::Nothing => {
                let mut writable = places.writable_around_hidden();
                writable.push(temp.clone());
                let mut readable = places.readable();
                readable.push(launcher.clone());
                let orders = self.orders(Fence::Paths { writable, readable });
                Ok(Fenced {
                    environment: vec![("TMPDIR", temp.into())],
                    ..launched(launcher, orders.arguments(program)?)
                })
            }
        }
    }

    /// How to start a program outside of the fence, after a person allowed it: limits hold, and nothing
    /// is left behind.
    pub fn open(&self, program: &[&OsStr]) -> Result<Fenced, String> {
        match &self.launcher {
            Some(launcher) => Ok(launched(
                launcher,
                self.orders(Fence::Open).arguments(program)?,
            )),
            None => Ok(bare(program)),
        }
    }

    fn orders(&self, fence: Fence) -> Orders {
        Orders {
            fence,
            network: self.network,
            limits: self.limits.clone(),
            terminal: self.terminal,
            server: std::process::id().cast_signed(),
        }
    }
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
