//! The npm package `oidc-provider`: a real OpenID provider, whose tokens let clients in.

use anyhow::Context;
use tokio::process::Command;

use super::{Peer, folder, free_port};
use crate::http;

const FOLDER: &str = "DRAGOMAN_PEER_OIDC_PROVIDER";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/peer/oidc_provider.mjs");
const MARK: &str = "listening on ";

pub struct OidcProvider {
    peer: Peer,
    port: u16,
}

impl OidcProvider {
    pub async fn start() -> anyhow::Result<Self> {
        // Its address is part of what it signs, so it must be known before.
        let port = free_port()?;
        let peer = run(port).await?;
        Ok(Self { peer, port })
    }

    /// As its tokens name it.
    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A token of this user, signed in this way. There are `ada` of the tenant `north` and `bob` of `south`.
    pub async fn token(&self, user: &str, algorithm: &str) -> anyhow::Result<String> {
        let form = format!(
            "grant_type=client_credentials&client_id={user}&client_secret=secret-of-{user}\
             &resource=urn:dragoman:{algorithm}"
        );
        let answer = http::form(self.port, "/token", &form).await?;
        let token = answer["access_token"].as_str();
        Ok(token.context("no token in the answer")?.to_owned())
    }

    /// Stops and starts again under the same name, with other keys.
    pub async fn rotate(&mut self) -> anyhow::Result<()> {
        self.peer.kill9().await?;
        self.peer = run(self.port).await?;
        Ok(())
    }
}

async fn run(port: u16) -> anyhow::Result<Peer> {
    let mut command = Command::new("node");
    command
        .arg(SCRIPT)
        .arg(folder(FOLDER)?)
        .arg(port.to_string());
    Peer::start(command, MARK).await
}
