//! Clients that are let in by the tokens of a real OpenID provider.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::peer::OidcProvider;
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::DRAGOMAN;

const LIMIT: Duration = Duration::from_secs(110);
const DOORS: [&str; 6] = [
    "/ws",
    "/ws?protocol=1",
    "/diminuendo",
    "/zane/ws",
    "/codex",
    "/pioneer",
];

#[test]
fn tokens_of_a_provider_let_clients_in_and_its_keys_may_change() {
    crate::tell(LIMIT, async {
        let mut provider = OidcProvider::start().await?;
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .variable("DRAGOMAN_AUTH_ISSUER", &provider.issuer())
            .variable("DRAGOMAN_AUTH_AUDIENCE", "dragoman");
        let server = Process::start(&launch).await?;

        for algorithm in ["RS256", "ES256", "EdDSA"] {
            let token = provider.token("ada", algorithm).await?;
            let (_, told) = sign_in(&server, &token).await?;
            let identity = json!({
                "userId": "ada", "email": "ada@north.example", "tenantId": "north",
            });
            ensure!(told["identity"] == identity, "{algorithm}: {told}");
        }
        let (ada, bob) = (
            provider.token("ada", "RS256").await?,
            provider.token("bob", "ES256").await?,
        );
        every_door(&server, &ada).await?;
        tenants_are_apart(&server, &ada, &bob).await?;
        let tampered = tampered(&ada)?;
        ensure!(refusal(&server, &tampered).await? == "AUTH_FAILED");

        provider.rotate().await?;
        let fresh = provider.token("ada", "EdDSA").await?;
        let (_, told) = sign_in(&server, &fresh).await?;
        ensure!(told["type"] == "authenticated", "{told}");
        for old in [&ada, &bob] {
            ensure!(refusal(&server, old).await? == "AUTH_FAILED");
        }
        every_door(&server, &fresh).await
    });
}

/// A socket, and what its token was answered with.
async fn sign_in(server: &Process, token: &str) -> anyhow::Result<(Client, Value)> {
    let url = format!("ws://127.0.0.1:{}/diminuendo", server.port());
    let mut client = Client::connect(&url).await?;
    let welcome = client.until_type("welcome").await?;
    ensure!(welcome["requiresAuth"] == true, "{welcome}");
    client.until_type("connected").await?;
    let shows = json!({"type": "authenticate", "token": token});
    client.send_json(&shows).await?;
    let told = client.json().await?;
    Ok((client, told))
}

async fn refusal(server: &Process, token: &str) -> anyhow::Result<String> {
    let (_, told) = sign_in(server, token).await?;
    Ok(told["code"].as_str().unwrap_or_default().to_owned())
}

/// In every dialect the token opens the door, and nobody comes in without.
async fn every_door(server: &Process, token: &str) -> anyhow::Result<()> {
    for path in DOORS {
        let url = format!("ws://127.0.0.1:{}{path}", server.port());
        let mark = if path.contains('?') { '&' } else { '?' };
        let client = Client::connect(&format!("{url}{mark}token={token}")).await;
        client.with_context(|| format!("{path} with the token"))?;
        if path != "/diminuendo" {
            let without = Client::connect(&url).await;
            ensure!(without.is_err(), "{path} is open to all");
        }
    }
    Ok(())
}

/// What one makes is not in the other's list.
async fn tenants_are_apart(server: &Process, ada: &str, bob: &str) -> anyhow::Result<()> {
    let (mut ada, _) = sign_in(server, ada).await?;
    let (mut bob, _) = sign_in(server, bob).await?;
    let create = json!({"type": "create_session", "agentType": "coding-agent", "name": "Hers"});
    ada.send_json(&create).await?;
    let made = ada.until_type("session_created").await?;
    ensure!(made["session"]["tenantId"] == "north", "{made}");
    bob.send_json(&json!({"type": "list_sessions"})).await?;
    let list = bob.until_type("session_list").await?;
    ensure!(list["sessions"] == json!([]), "{list}");
    let join = json!({"type": "join_session", "sessionId": made["session"]["id"]});
    bob.send_json(&join).await?;
    let refused = bob.until_type("error").await?;
    ensure!(refused["code"] == "SessionNotFound", "{refused}");
    Ok(())
}

/// Its last part begins with another letter.
fn tampered(token: &str) -> anyhow::Result<String> {
    let (signed, signature) = token.rsplit_once('.').context("no signature")?;
    let other = if signature.starts_with('A') { 'B' } else { 'A' };
    Ok(format!("{signed}.{other}{}", &signature[1..]))
}
