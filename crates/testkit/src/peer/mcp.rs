//! The packages of the MCP project: its conformance suite, and the server of its SDK's examples that
//! one must sign in to.

use std::path::PathBuf;

use tokio::process::Command;

use super::{Peer, folder, free_port};

const FOLDER: &str = "DRAGOMAN_PEER_MCP_CONFORMANCE";
const EXAMPLE: &str =
    "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js";
/// Ends the process when its standard input does.
const END_WITH_INPUT: &str =
    "data:text/javascript,process.stdin.resume().on(\"end\",()=>process.exit())";
const MARK: &str = "MCP Streamable HTTP Server listening on port ";

/// Where the suite lies, with the Node.js that it needs.
pub fn mcp_conformance_folder() -> anyhow::Result<PathBuf> {
    folder(FOLDER)
}

/// An MCP server, and beside it the server that signs people in to it; it asks nobody who they are.
pub struct McpOAuthServer {
    peer: Peer,
}

impl McpOAuthServer {
    pub async fn start() -> anyhow::Result<Self> {
        let example = folder(FOLDER)?.join(EXAMPLE);
        // Both ports must be known before it starts.
        let (server, sign_in) = (free_port()?, free_port()?);
        let mut command = Command::new("env");
        command
            .arg(format!("MCP_PORT={server}"))
            .arg(format!("MCP_AUTH_PORT={sign_in}"))
            .args(["node", "--import", END_WITH_INPUT])
            .arg(example)
            // It takes only tokens that were asked for with its own address.
            .args(["--oauth", "--oauth-strict"]);
        let peer = Peer::start(command, MARK).await?;
        Ok(Self { peer })
    }

    /// As its metadata spells it.
    pub fn url(&self) -> String {
        format!("http://localhost:{}/mcp", self.peer.port)
    }
}
