//! MCP servers: how they are configured, how they stand, and what a client can want of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Challenge, Secret, SignedIn, Timestamp};

/// One server, as a file configures it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
    /// Whether a turn is not to begin without it.
    pub required: Option<bool>,
    /// How often it is tried again when it does not start.
    pub retries: Option<u32>,
    pub auth: Option<McpAuth>,
}

/// How a server is reached. What its environment and its headers say is shown to nobody by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpTransport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Relative to the workspace.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
    /// The older one, of two connections.
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpTransport::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys())
                .field("cwd", cwd)
                .finish(),
            McpTransport::Http { url, headers } => remote(f, "Http", url, headers),
            McpTransport::Sse { url, headers } => remote(f, "Sse", url, headers),
        }
    }
}

fn remote(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> fmt::Result {
    f.debug_struct(name)
        .field("url", &url)
        .field("headers", &headers.keys())
        .finish()
}

/// How a server wants to know who comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpAuth {
    None,
    ApiKey {
        header: Option<String>,
        prefix: Option<String>,
        key_id: Option<String>,
    },
    OAuth {
        scope: Option<String>,
        resource: Option<String>,
        /// `auto` or `code`.
        mode: Option<String>,
    },
}

/// Where MCP servers are configured, and what stands there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpSnapshot {
    /// Those that count, by name.
    pub servers: Vec<McpServerState>,
    pub files: Vec<McpFile>,
    /// What is wrong with the files, for people.
    pub warnings: Vec<String>,
    /// Grows with every change that is made through this server, and with every server that starts or ends.
    #[serde(default)]
    pub version: u64,
    #[serde(default)]
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpServerState {
    pub server: McpServer,
    pub layer: McpLayer,
    pub auth: McpAuthState,
    /// How it runs; told to those who can show it.
    pub running: McpRunning,
    /// A person took it out of use in this workspace.
    #[serde(default)]
    pub switched_off: bool,
}

/// How it stands with what a server asks of those who come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpAuthState {
    pub mode: McpAuthMode,
    /// Whose credentials count.
    pub scope: McpScope,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpAuthMode {
    None,
    Missing,
    ApiKey,
    OAuth,
    OAuthPending,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum McpScope {
    Workspace,
    User,
}

/// How a server runs right now. Looking starts nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum McpRunning {
    /// Nobody needed it yet.
    #[default]
    NotStarted,
    /// Came with the workspace, and nobody has trusted it.
    WaitsForTrust,
    Starting,
    Ready {
        /// What it calls itself.
        title: Option<String>,
        version: Option<String>,
        tools: Vec<McpToolInfo>,
        /// Definitions that are not told to models, because all together are too long.
        tools_left_out: usize,
    },
    Failed {
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolInfo {
    /// As the server calls it.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub parameters: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpFile {
    pub layer: McpLayer,
    pub path: PathBuf,
    pub exists: bool,
    /// Why nothing of it counts.
    pub parse_error: Option<String>,
    pub server_count: u32,
}

/// In the order in which files are listed. What counts first: the workspace, its older file, the user,
/// their older file, the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum McpLayer {
    Workspace,
    User,
    System,
    WorkspaceLegacy,
    UserLegacy,
}

impl McpLayer {
    /// Whether it came with the workspace.
    pub fn is_of_workspace(self) -> bool {
        matches!(self, McpLayer::Workspace | McpLayer::WorkspaceLegacy)
    }
}

/// What a client can want of the MCP servers of a thread's workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum McpCall {
    /// Answered with `McpReply::Servers`, as are the next two and the last.
    Get,
    /// Writes a server into the workspace's own file, in the place of `previous_name`. Who saves it
    /// trusts it.
    Save {
        server: Box<McpServer>,
        previous_name: Option<String>,
    },
    Delete {
        name: String,
    },
    /// Connects and lists its tools. Answered with `McpReply::Checked`.
    Check {
        name: String,
    },
    /// Answered with `McpReply::Challenge`.
    Authorize {
        name: String,
    },
    /// Waits for the person, or completes with the code they entered. Answered with
    /// `McpReply::SignedIn`, as is the next.
    FinishSignIn {
        name: String,
        code: Option<Secret>,
    },
    SetKey {
        name: String,
        key: Secret,
    },
    /// Takes what older files have over into ours.
    Migrate {
        scope: McpScope,
    },
    /// Writes all servers of a configuration into a file of ours, each in the place of the one of its name. Who
    /// installs them trusts them. Answered with `McpReply::Installed`.
    Install {
        /// JSON; it may have keys in it.
        config: Secret,
        scope: McpScope,
        enabled: bool,
    },
    /// Out of the file of this scope. Answered with `McpReply::Servers`, as are the next two.
    Uninstall {
        name: String,
        scope: McpScope,
    },
    /// Whether a server is used in this workspace, wherever it is configured. Who switches it on trusts it.
    SetEnabled {
        name: String,
        enabled: bool,
    },
    /// Ends the connection, and begins a new one.
    Restart {
        name: String,
    },
}

impl McpCall {
    /// Whether it only looks.
    pub fn only_reads(&self) -> bool {
        *self == McpCall::Get
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum McpReply {
    Servers(McpSnapshot),
    Migrated {
        imported: u32,
        /// Already there under the same name.
        skipped: u32,
        /// Where the older file lies now.
        archived: Option<PathBuf>,
        now: McpSnapshot,
    },
    Installed {
        servers: Vec<McpInstalled>,
        now: McpSnapshot,
    },
    Checked(McpCheck),
    Challenge(Box<Challenge>),
    SignedIn {
        result: SignedIn,
        mode: McpAuthMode,
    },
}

/// What became of one server of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpInstalled {
    pub name: String,
    pub outcome: McpInstallOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpInstallOutcome {
    Installed,
    /// There was one of its name.
    Updated,
    /// What is wrong with it.
    Refused(String),
}

/// What became of a server's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpChangeKind {
    Installed,
    Updated,
    Uninstalled,
    /// On or off.
    Switched,
}

/// What connecting to a server gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpCheck {
    pub ok: bool,
    pub mode: McpAuthMode,
    pub message: String,
    pub tool_count: Option<u32>,
    pub latency_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_key_is_not_shown() {
        let secrets = BTreeMap::from([("TOKEN".to_owned(), "sk-secret".to_owned())]);
        let stdio = McpTransport::Stdio {
            command: "node".to_owned(),
            args: vec!["server.js".to_owned()],
            env: secrets.clone(),
            cwd: None,
        };
        let http = McpTransport::Http {
            url: "https://mcp.example".to_owned(),
            headers: secrets,
        };
        let shown = format!("{stdio:?} {http:?}");
        assert!(!shown.contains("secret"));
        for told in ["node", "server.js", "TOKEN", "https://mcp.example"] {
            assert!(shown.contains(told), "{told} in {shown}");
        }
    }
}
