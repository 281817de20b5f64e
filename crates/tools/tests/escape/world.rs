//! The world that an attempt runs in: a workspace, what lies around it, and a server to be attacked.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use vocabulary::{OutputStream, PlanStep, Question, ToolOutput};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::sandbox::ground::Ground;
use tools::{Failure, Host, QuestionAnswer, Sandbox, Scope, ToolCx, Toolbox};

/// Where worlds are made and the launcher lies, if not where cargo puts them: an ordinary user may not
/// reach that. `cargo xtask test` says so.
const PLACE_VARIABLE: &str = "ESCAPE_PLACE";
/// Long enough for a busy machine; only a failing test waits it out.
pub const PATIENCE: Duration = Duration::from_secs(60);

fn place() -> Option<PathBuf> {
    std::env::var_os(PLACE_VARIABLE).map(PathBuf::from)
}

pub fn launcher() -> &'static Path {
    static LAUNCHER: LazyLock<PathBuf> = LazyLock::new(|| match place() {
        Some(place) => place.join("fence"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_fence")),
    });
    &LAUNCHER
}

/// One world at a time, in whichever process: its sockets are hidden from every sandbox, and must not
/// vanish while one is being set up. Free again when it is dropped.
pub fn alone() -> File {
    let place = place().unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let file = File::options()
        .create(true)
        .append(true)
        .open(place.join("escape.lock"))
        .unwrap();
    file.lock().unwrap();
    file
}

pub struct World {
    ground: Ground,
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
        World {
            ground: Ground::new(&somewhere()).unwrap(),
            _alone: alone,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.ground.path(name)
    }

    pub fn port(&self) -> u16 {
        self.ground.port()
    }

    /// A port that somebody else listens on.
    pub fn port_of_another() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    pub fn scope(&self) -> Scope {
        self.ground.scope()
    }

    /// What an attempt did that it must not; nothing is good.
    pub fn damage(&self, ran: &Ran) -> Option<String> {
        self.ground.damage(&ran.stdout, &ran.stderr)
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
    pub async fn call(&self, cx: &ToolCx, script: &str) -> Result<ToolOutput, Failure> {
        self.call_with(cx, script, json!({})).await
    }

    /// As [`World::call`], with further input.
    pub async fn call_with(
        &self,
        cx: &ToolCx,
        script: &str,
        mut input: Value,
    ) -> Result<ToolOutput, Failure> {
        let bash = Toolbox::builtin().get("bash").unwrap();
        input["command"] = format!("{}\n{script}", self.ground.variables()).into();
        bash.run(cx, input).await
    }

    pub fn cx(&self, sandbox: &Sandbox, scope: Scope, host: Arc<Person>) -> ToolCx {
        ToolCx {
            trusted: tools::Trusted::default(),
            scope,
            cancel: CancellationToken::new(),
            host,
            sandbox: Arc::new(sandbox.clone()),
            seen: Arc::default(),
            jobs: Arc::default(),
            web: Arc::default(),
        }
    }
}

/// Not below the system's place for temporary files: that is hidden as a whole.
fn somewhere() -> PathBuf {
    if let Some(place) = place() {
        return place;
    }
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    match target.starts_with("/tmp") || target.starts_with("/var/tmp") {
        true => std::env::home_dir().unwrap(),
        false => target,
    }
}

pub fn ran(output: ToolOutput) -> Ran {
    match output {
        ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            ..
        } => Ran {
            stdout,
            stderr,
            exit_code,
        },
        other => {
            panic!("{other:?}")
        }
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
    async fn output(&self, _stream: OutputStream, text: String) {
        self.heard.lock().unwrap().push_str(&text);
        self.heard_more.notify_one();
    }

    async fn ask(&self, _questions: Vec<Question>) -> Option<Vec<QuestionAnswer>> {
        None
    }

    async fn set_plan(&self, _steps: Vec<PlanStep>) {}

    async fn spawn(&self, _: tools::SpawnRequest) -> Result<String, Failure> {
        Err(Failure::Error("nobody to send".to_owned()))
    }
}
