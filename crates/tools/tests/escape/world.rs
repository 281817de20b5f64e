//! The world that an attempt runs in: a workspace, what lies around it, and a server to be attacked.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::{
    Failure, Host, Output, PlanStep, Question, QuestionAnswer, Sandbox, Scope, Stream, ToolCx,
    Toolbox,
};

/// What nobody may read.
const SECRET: &str = "canary-of-the-server";
/// Long enough for a busy machine; only a failing test waits it out.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn launcher() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fence"))
}

/// One world at a time, in whichever process: its sockets are hidden from every sandbox, and must not
/// vanish while one is being set up. Free again when it is dropped.
pub fn alone() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("escape.lock");
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.lock().unwrap();
    file
}

pub struct World {
    base: tempfile::TempDir,
    port: TcpListener,
    datagrams: UdpSocket,
    _socket: UnixListener,
    _abstract_socket: UnixListener,
    name: String,
    before: BTreeMap<PathBuf, String>,
    _alone: File,
}

#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub exit_code: i32,
}

impl Ran {
    pub fn words(&self) -> String {
        format!(
            "{:?} {:?} (exit {})",
            self.stdout, self.stderr, self.exit_code
        )
    }
}

impl World {
    pub fn new() -> World {
        let alone = alone();
        let base = tempfile::Builder::new()
            .prefix("escape-")
            .tempdir_in(somewhere())
            .unwrap();
        let at = |name: &str| base.path().join(name);
        for directory in [
            "ws",
            "ws-secret",
            "outside",
            "private",
            "extra",
            "ws/.agent",
        ] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        let git = std::process::Command::new("git")
            .args(["init", "-q"])
            .arg(at("ws"))
            .status();
        assert!(git.unwrap().success());
        for file in [
            "outside/kept",
            "ws-secret/kept",
            "ws/.agent/kept",
            "ws/.git/hooks/kept",
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), "as it was").unwrap();
        }
        std::fs::write(at("private/token"), SECRET).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("outside/pipe"))
            .status();
        assert!(made.unwrap().success());
        let name = format!("dragoman-{}", uuid(base.path()));
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        port.set_nonblocking(true).unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let mut world = World {
            _socket: UnixListener::bind(at("outside/socket")).unwrap(),
            _abstract_socket: UnixListener::bind_addr(&address).unwrap(),
            base,
            port,
            datagrams,
            name,
            before: BTreeMap::new(),
            _alone: alone,
        };
        world.before = world.look();
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub fn scope(&self) -> Scope {
        Scope {
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            directory: self.path("ws"),
            extra: vec![self.path("extra")],
            private: vec![self.path("private")],
            spill: None,
        }
    }

    pub async fn run(&self, sandbox: &Sandbox, script: &str) -> Ran {
        self.run_in(sandbox, self.scope(), script).await
    }

    pub async fn run_in(&self, sandbox: &Sandbox, scope: Scope, script: &str) -> Ran {
        let cx = self.cx(sandbox, scope, Arc::default());
        let run = self.call(&cx, script);
        let output = tokio::time::timeout(PATIENCE, run).await.expect("it ends");
        ran(output.unwrap())
    }

    pub async fn run_at_terminal(&self, sandbox: &Sandbox, script: &str) -> Ran {
        let cx = self.cx(sandbox, self.scope(), Arc::default());
        let bash = Toolbox::builtin().get("bash").unwrap();
        let run = bash.run(&cx, json!({ "command": script, "pty": true }));
        ran(tokio::time::timeout(PATIENCE, run)
            .await
            .expect("it ends")
            .unwrap())
    }

    /// Runs the tool as it is.
    pub async fn call(&self, cx: &ToolCx, script: &str) -> Result<Output, Failure> {
        self.call_with(cx, script, json!({})).await
    }

    /// As [`World::call`], with further input.
    pub async fn call_with(
        &self,
        cx: &ToolCx,
        script: &str,
        mut input: Value,
    ) -> Result<Output, Failure> {
        let bash = Toolbox::builtin().get("bash").unwrap();
        input["command"] = format!("{}\n{script}", self.variables()).into();
        bash.run(cx, input).await
    }

    pub fn cx(&self, sandbox: &Sandbox, scope: Scope, host: Arc<Person>) -> ToolCx {
        ToolCx {
            scope,
            cancel: CancellationToken::new(),
            host,
            sandbox: Arc::new(sandbox.clone()),
            seen: Arc::default(),
            web: Arc::default(),
        }
    }

    fn variables(&self) -> String {
        let shown = |name: &str| self.path(name).display().to_string();
        let ptrace = if cfg!(target_arch = "x86_64") {
            101
        } else {
            117
        };
        let table = [
            ("OUT", shown("outside")),
            ("WS", shown("ws")),
            ("PRIVATE", shown("private")),
            ("EXTRA", shown("extra")),
            ("SOCKET", shown("outside/socket")),
            ("ABSTRACT", self.name.clone()),
            ("TOKEN", SECRET.replace('-', "_")),
            ("PORT", self.port.local_addr().unwrap().port().to_string()),
            (
                "UDP",
                self.datagrams.local_addr().unwrap().port().to_string(),
            ),
            ("SERVER", std::process::id().to_string()),
            ("PTRACE", ptrace.to_string()),
        ];
        let each = table.map(|(name, value)| format!("export {name}='{value}'"));
        each.join("; ")
    }

    /// What an attempt did that it must not; nothing is good.
    pub fn damage(&self, ran: &Ran) -> Option<String> {
        if ran.stdout.contains("ESCAPED") {
            return Some("it says so itself".to_owned());
        }
        if ran.stdout.contains(SECRET) || ran.stderr.contains(SECRET) {
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
                ".cowork",
                ".agent",
            ] {
                look_at(&self.path(root).join(name), &mut seen);
            }
        }
        seen
    }
}

/// Not below the system's place for temporary files: that is hidden as a whole.
fn somewhere() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    match target.starts_with("/tmp") || target.starts_with("/var/tmp") {
        true => std::env::home_dir().unwrap(),
        false => target,
    }
}

fn uuid(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
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

pub fn ran(output: Output) -> Ran {
    match output {
        Output::Command {
            stdout,
            stderr,
            exit_code,
            ..
        } => Ran {
            stdout,
            stderr,
            exit_code,
        },
        other @ (Output::Text(_) | Output::Files { .. } | Output::Json(_)) => panic!("{other:?}"),
    }
}

/// A person who watches.
#[derive(Default)]
pub struct Person {
    pub heard: Mutex<String>,
    pub heard_more: tokio::sync::Notify,
}

impl Person {
    /// Waits until the output satisfies the condition.
    pub async fn wait_for(&self, condition: impl Fn(&str) -> bool) -> String {
        loop {
            let more = self.heard_more.notified();
            let heard = self.heard.lock().unwrap().clone();
            if condition(&heard) {
                return heard;
            }
            more.await;
        }
    }
}

#[async_trait]
impl Host for Person {
    async fn output(&self, _stream: Stream, text: String) {
        self.heard.lock().unwrap().push_str(&text);
        self.heard_more.notify_one();
    }

    async fn ask(&self, _questions: Vec<Question>) -> Option<Vec<QuestionAnswer>> {
        None
    }

    async fn set_plan(&self, _steps: Vec<PlanStep>) {}

    async fn spawn(&self, _kind: &str, _task: String) -> Result<String, Failure> {
        Err(Failure::Error("nobody to send".to_owned()))
    }
}
