//! MCP servers by script: what they are, when they are there, and what was wanted of them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::McpTools;
use mcp::{ConfiguredServer, McpPlace, Offer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tools::{Failure, Judgement, Risk, Scope, Tool, ToolCx};
use vocabulary::{ContentBlock, Effects, McpLayer, McpServer, McpTransport, Subject, ToolOutput};

/// How long a server that is required is waited for.
const REQUIRED_WAIT: Duration = Duration::from_secs(10);

/// How a server behaves.
#[derive(Clone)]
pub enum Behaviour {
    Ready(Vec<Arc<dyn Tool>>),
    /// Never there.
    Dead,
    /// Does not answer for so long.
    Slow(Duration, Vec<Arc<dyn Tool>>),
}

#[derive(Default)]
pub struct ScriptedServers(Mutex<ServerScript>);

#[derive(Default)]
struct ServerScript {
    servers: Vec<(ConfiguredServer, Behaviour)>,
    offers: Vec<Vec<String>>,
    warmed: Vec<String>,
}

impl ScriptedServers {
    pub fn new(servers: impl IntoIterator<Item = (ConfiguredServer, Behaviour)>) -> Arc<Self> {
        let scripted = Arc::new(Self::default());
        scripted.configure(servers);
        scripted
    }

    pub fn configure(&self, servers: impl IntoIterator<Item = (ConfiguredServer, Behaviour)>) {
        self.0.lock().servers = servers.into_iter().collect();
    }

    /// The names of the servers in each offer that was asked for.
    pub fn offers(&self) -> Vec<Vec<String>> {
        self.0.lock().offers.clone()
    }

    pub fn warmed(&self) -> Vec<String> {
        self.0.lock().warmed.clone()
    }

    fn behaviour(&self, server: &ConfiguredServer) -> Option<Behaviour> {
        let script = self.0.lock();
        let mut servers = script.servers.iter();
        let found = servers.find(|(known, _)| known.server == server.server);
        found.map(|(_, behaviour)| behaviour.clone())
    }
}

#[async_trait]
impl McpTools for ScriptedServers {
    async fn configured(&self, _place: &McpPlace) -> Arc<[ConfiguredServer]> {
        let script = self.0.lock();
        let servers = script.servers.iter();
        servers.map(|(server, _)| server.clone()).collect()
    }

    fn warm(&self, _place: &McpPlace, servers: &[ConfiguredServer]) {
        let names = servers.iter().map(|each| each.server.name.clone());
        self.0.lock().warmed.extend(names);
    }

    async fn offer(
        &self,
        _place: &McpPlace,
        servers: &[ConfiguredServer],
        wait: Duration,
    ) -> Offer {
        let names = servers.iter().map(|each| each.server.name.clone());
        self.0.lock().offers.push(names.collect());
        let mut offer = Offer::default();
        let mut waited = Duration::ZERO;
        for server in servers {
            let (name, missing) = (&server.server.name, server.server.required == Some(true));
            // As it is with real ones.
            let wait = if missing { REQUIRED_WAIT } else { wait };
            let why = match self.behaviour(server) {
                Some(Behaviour::Ready(tools)) => {
                    offer.tools.extend(tools);
                    continue;
                }
                Some(Behaviour::Slow(needs, tools)) if needs <= wait => {
                    waited = waited.max(needs);
                    offer.tools.extend(tools);
                    continue;
                }
                Some(Behaviour::Slow(..)) => {
                    waited = wait;
                    "it is not there yet"
                }
                Some(Behaviour::Dead) | None => "connection refused",
            };
            offer.notes.push(format!("{name}: {why}"));
            if missing {
                offer.missing.push((name.clone(), why.to_owned()));
            }
        }
        tokio::time::sleep(waited).await;
        offer
    }
}

/// A server that runs a program.
pub fn server(name: &str, layer: McpLayer) -> ConfiguredServer {
    let transport = McpTransport::Stdio {
        command: format!("{}-server", name.trim()),
        args: vec!["--quiet".to_owned()],
        env: [("TOKEN".to_owned(), "hush".to_owned())].into(),
        cwd: None,
    };
    ConfiguredServer {
        server: McpServer {
            name: name.to_owned(),
            transport,
            required: None,
            retries: None,
            auth: None,
        },
        layer,
    }
}

/// A tool of a server. With `write` in its input it writes that file into the workspace.
pub struct ServerTool {
    name: String,
    server: String,
    tool: String,
    effects: Effects,
    asks: bool,
}

impl ServerTool {
    pub fn new(server: &str, tool: &str, effects: Effects) -> Self {
        Self {
            name: format!("mcp__{server}__{tool}"),
            server: server.to_owned(),
            tool: tool.to_owned(),
            effects,
            asks: false,
        }
    }

    pub fn asking(self) -> Self {
        Self { asks: true, ..self }
    }

    pub fn ready(self) -> Behaviour {
        Behaviour::Ready(vec![Arc::new(self)])
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "A server's tool."
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn effects(&self) -> Effects {
        self.effects
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Mcp {
            server: self.server.clone(),
            tool: self.tool.clone(),
        }
    }

    fn judge(&self, _scope: &Scope, input: &Value) -> Judgement {
        match self.asks {
            false => Judgement::Allow,
            true => Judgement::Ask {
                command: format!("mcp {}.{} {input}", self.server, self.tool),
                dangerous: false,
                risk: Risk::ManualReview,
                why: "a server does this".to_owned(),
            },
        }
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        cx.host.progress("half of it".to_owned()).await;
        if let Some(path) = input["write"].as_str() {
            let path = cx.scope.directory.join(path);
            std::fs::write(path, "by a server\n").expect("written");
        }
        Ok(ToolOutput::Content(vec![
            ContentBlock::Text("found it".to_owned()),
            ContentBlock::Structured(json!({ "hits": 1 })),
        ]))
    }
}
