//! A workspace, servers by script in it, and a person who answers.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mcp::{ConfiguredServer, Fence, HttpAuthorizer, McpOptions, McpPlace, Offer, Servers};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::{Failure, Host, QuestionAnswer, Sandbox, Scope, SpawnRequest, Tool, ToolCx};
use vocabulary::{
    McpLayer, McpServer, McpTransport, OutputStream, PlanStep, Question, TenantId, ToolOutput,
};

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn scripted() -> PathBuf {
    env!("CARGO_BIN_EXE_scripted-mcp").into()
}

pub struct Workshop {
    pub servers: Servers,
    pub place: McpPlace,
    pub directory: TempDir,
}

impl Workshop {
    pub fn new() -> Self {
        Self::with(Servers::new, Sandbox::nothing())
    }

    pub fn fenced(sandbox: Sandbox) -> Self {
        Self::with(Servers::new, sandbox)
    }

    pub fn with_authorizer(authorizer: Arc<dyn HttpAuthorizer>) -> Self {
        let make = |options| Servers::with_authorizer(options, authorizer);
        Self::with(make, Sandbox::nothing())
    }

    fn with(make: impl FnOnce(McpOptions) -> Servers, sandbox: Sandbox) -> Self {
        // Who speaks HTTP needs one; another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        let servers = make(McpOptions {
            home: directory.path().join(".home"),
            user: None,
            system: directory.path().join("none.json"),
            fenced: true,
        });
        let place = McpPlace {
            tenant: TenantId::new("local"),
            directory: directory.path().canonicalize().unwrap(),
        };
        let sandbox = Arc::new(sandbox);
        servers.fence_with(move || {
            let fence = Fence::new(Arc::clone(&sandbox), Vec::new());
            Box::pin(async move { fence })
        });
        Self {
            servers,
            place,
            directory,
        }
    }

    pub async fn offer(&self, servers: &[ConfiguredServer]) -> Offer {
        self.servers.offer(&self.place, servers, PATIENCE).await
    }

    pub fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.place.directory.join(name)).ok()
    }

    pub fn cx(&self, person: &Arc<Person>) -> ToolCx {
        ToolCx {
            scope: Scope {
                directory: self.place.directory.clone(),
                extra: Vec::new(),
                private: Vec::new(),
                spill: Some(self.place.directory.join("spill")),
                skills: Vec::new(),
                trusted: false,
                read_only: false,
                outside: tools::OutsideAccess::default(),
            },
            trusted: tools::Trusted::nothing("a test"),
            cancel: CancellationToken::new(),
            host: Arc::clone(person) as Arc<dyn Host>,
            sandbox: Arc::new(Sandbox::nothing()),
            seen: Arc::default(),
            jobs: Arc::default(),
            web: Arc::default(),
        }
    }

    pub async fn call(
        &self,
        offer: &Offer,
        name: &str,
        input: Value,
    ) -> Result<ToolOutput, Failure> {
        let cx = self.cx(&Person::new([]));
        tool(offer, name).run(&cx, input).await
    }
}

pub fn tool(offer: &Offer, name: &str) -> Arc<dyn Tool> {
    let mut tools = offer.tools.iter();
    let found = tools.find(|tool| tool.name() == name).cloned();
    found.unwrap_or_else(|| panic!("no {name} in {:?}: {:?}", names(offer), offer.notes))
}

pub fn names(offer: &Offer) -> Vec<&str> {
    offer.tools.iter().map(|tool| tool.name()).collect()
}

pub fn server(name: &str, transport: McpTransport) -> ConfiguredServer {
    ConfiguredServer {
        server: McpServer {
            name: name.to_owned(),
            transport,
            required: None,
            retries: Some(0),
            auth: None,
        },
        layer: McpLayer::User,
    }
}

/// A server by script, with what it is to do.
pub fn script(name: &str, arguments: &[&str]) -> ConfiguredServer {
    let transport = McpTransport::Stdio {
        command: scripted().to_string_lossy().into_owned(),
        args: arguments.iter().map(|each| (*each).to_owned()).collect(),
        env: BTreeMap::from([("SCRIPT_SECRET".to_owned(), "hush-hush".to_owned())]),
        cwd: None,
    };
    server(name, transport)
}

pub fn text(output: Result<ToolOutput, Failure>) -> String {
    output.unwrap().words().into_owned()
}

pub fn error(output: Result<ToolOutput, Failure>) -> String {
    match output {
        Err(Failure::Error(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Answers what it is asked, and keeps what it is told.
#[derive(Default)]
pub struct Person {
    answers: Mutex<VecDeque<Option<Vec<QuestionAnswer>>>>,
    pub asked: Mutex<Vec<Question>>,
    pub told: Mutex<Vec<String>>,
    pub was_told: Notify,
}

impl Person {
    pub fn new(answers: impl IntoIterator<Item = Option<Vec<QuestionAnswer>>>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            ..Self::default()
        })
    }
}

#[async_trait]
impl Host for Person {
    async fn output(&self, _stream: OutputStream, _text: String) {}

    async fn progress(&self, message: String) {
        self.told.lock().push(message);
        self.was_told.notify_one();
    }

    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<QuestionAnswer>> {
        self.asked.lock().extend(questions);
        let answer = self.answers.lock().pop_front();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    async fn set_plan(&self, _steps: Vec<PlanStep>) {}

    async fn spawn(&self, _request: SpawnRequest) -> Result<String, Failure> {
        Err(Failure::Error("nobody".to_owned()))
    }
}
