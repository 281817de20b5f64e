//! Tenants, members and API tokens as operators and clients meet them: made on the command line, shown at
//! every door, and taken back while sockets are open and turns run.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use crate::{DRAGOMAN, Site, Visitor, command, tell};

const LIMIT: Duration = Duration::from_secs(60);
/// What the server closes with, when what somebody came in by is not good any more.
const POLICY: u16 = 1008;

/// What `dragoman WORDS` said, or why it failed.
async fn dragoman(scratch: &Scratch, words: &[&str]) -> anyhow::Result<String> {
    let (well, said) = command::said(scratch, words).await?;
    ensure!(well, "{said}");
    Ok(said)
}

/// Its id and its secret.
async fn token(scratch: &Scratch, words: &[&str]) -> anyhow::Result<(String, String)> {
    let words = [&["tokens", "create", "--json"], words].concat();
    let made: Value = serde_json::from_str(&dragoman(scratch, &words).await?)?;
    let text = |name: &str| made[name].as_str().map(str::to_owned);
    text("id").zip(text("token")).context("a token")
}

/// A tenant with an owner, alice, and a member, bob; a token for each.
struct Acme {
    alice: (String, String),
    bob: (String, String),
}

impl Acme {
    async fn found(scratch: &Scratch) -> anyhow::Result<Self> {
        let create = ["tenants", "create", "acme", "--owner", "alice"];
        dragoman(scratch, &create).await?;
        let set = [
            "members",
            "set",
            "bob",
            "--tenant",
            "acme",
            "--email",
            "bob@acme.example",
        ];
        dragoman(scratch, &set).await?;
        let of = |member| ["--tenant", "acme", "--member", member];
        Ok(Self {
            alice: token(scratch, &of("alice")).await?,
            bob: token(scratch, &of("bob")).await?,
        })
    }
}

/// A diminuendo client that has said who it is.
async fn diminuendo(server: &Process, token: &str) -> anyhow::Result<Client> {
    let url = format!("ws://127.0.0.1:{}/diminuendo", server.port());
    let mut client = Client::connect(&url).await?;
    client.until_type("connected").await?;
    let shows = json!({"type": "authenticate", "token": token});
    client.send_json(&shows).await?;
    let known = client.until(|frame| frame["type"] != "heartbeat").await?;
    ensure!(known["type"] == "authenticated", "{known}");
    Ok(client)
}

async fn ask(client: &mut Client, message: Value, kind: &str) -> anyhow::Result<Value> {
    client.send_json(&message).await?;
    let answers = |frame: &Value| frame["type"] == kind || frame["type"] == "error";
    let answer = client.until(answers).await?;
    ensure!(answer["type"] == kind, "{answer}");
    Ok(answer)
}

/// The code of the error that a message gets.
async fn refusal(client: &mut Client, message: Value) -> anyhow::Result<Value> {
    client.send_json(&message).await?;
    let error = client.until_type("error").await?;
    Ok(error["code"].clone())
}

/// A new session with a turn that waits for a yes, joined by who started it.
async fn waiting_turn(client: &mut Client) -> anyhow::Result<String> {
    let create = json!({"type": "create_session", "agentType": "coding-agent"});
    let created = ask(client, create, "session_created").await?;
    let session = created["session"]["id"]
        .as_str()
        .context("an id")?
        .to_owned();
    let join = json!({"type": "join_session", "sessionId": session});
    ask(client, join, "replay_complete").await?;
    let run = json!({"type": "run_turn", "sessionId": session, "text": "show me an approval"});
    ask(client, run, "permission_requested").await?;
    Ok(session)
}

async fn joined(client: &mut Client, session: &str) -> anyhow::Result<()> {
    let join = json!({"type": "join_session", "sessionId": session});
    ask(client, join, "replay_complete").await.map(drop)
}

fn path(server: &Process, path: &str, token: &str) -> String {
    format!("ws://127.0.0.1:{}{path}?token={token}", server.port())
}

#[test]
fn a_token_opens_every_door_and_none_when_it_is_revoked() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        // A lone user needs nothing; the first token changes that, at once.
        let mut lone = Visitor::arrive(&site.server).await?;
        let acme = Acme::found(&site.scratch).await?;
        let (id, secret) = &acme.bob;
        let mut open = Vec::new();
        for door in ["/ws", "/codex", "/zane/ws", "/pioneer", "/diminuendo"] {
            open.push(Client::connect(&path(&site.server, door, secret)).await?);
            let wrong = format!("{secret}0");
            let refused = Client::connect(&path(&site.server, door, &wrong)).await;
            ensure!(refused.is_err(), "{door} let a wrong token in");
        }
        ensure!(
            Client::connect(site.server.url()).await.is_err(),
            "no token was asked for"
        );
        let mut bob = diminuendo(&site.server, secret).await?;
        let session = waiting_turn(&mut bob).await?;
        let mut alice = diminuendo(&site.server, &acme.alice.1).await?;
        joined(&mut alice, &session).await?;
        dragoman(&site.scratch, &["tokens", "revoke", id]).await?;
        let error = bob.until_type("error").await?;
        ensure!(error["code"] == "Unauthenticated", "{error}");
        for client in open.iter_mut().chain([&mut bob]) {
            ensure!(client.until_closed().await?.code == POLICY, "another close");
        }
        let stopped =
            |frame: &Value| frame["type"] == "session_state" && frame["reason"] == "user_stopped";
        alice.until(stopped).await.context("bob's turn goes on")?;
        let refused = Client::connect(&path(&site.server, "/ws", secret)).await;
        ensure!(refused.is_err(), "a revoked token was let in");
        // Who was in without one is who runs the server.
        lone.converse("hello").await?;
        Ok(())
    });
}

#[test]
fn a_changed_role_counts_from_the_next_message_on() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let acme = Acme::found(&site.scratch).await?;
        let mut alice = diminuendo(&site.server, &acme.alice.1).await?;
        let mut bob = diminuendo(&site.server, &acme.bob.1).await?;
        let session = waiting_turn(&mut bob).await?;
        let list = json!({"type": "manage_members", "action": "list"});
        ensure!(refusal(&mut bob, list.clone()).await? == "Forbidden");
        let members = ask(&mut alice, list, "member_list").await?;
        ensure!(members["members"][0]["userId"] == "alice", "{members}");
        ensure!(
            members["members"][1]["email"] == "bob@acme.example",
            "{members}"
        );
        let role = |who, role| json!({"type": "manage_members", "action": "set_role", "userId": who, "role": role});
        ensure!(refusal(&mut alice, role("alice", "viewer")).await? == "Forbidden");
        let updated = ask(&mut alice, role("bob", "viewer"), "member_updated").await?;
        ensure!(updated["role"] == "viewer", "{updated}");
        // The turn of who may not write any more ends; who may read still hears it.
        let stopped =
            |frame: &Value| frame["type"] == "session_state" && frame["reason"] == "user_stopped";
        bob.until(stopped).await?;
        let run = json!({"type": "run_turn", "sessionId": session, "text": "again"});
        ensure!(refusal(&mut bob, run.clone()).await? == "Forbidden");
        // In another process, and back.
        let set = [
            "members", "set", "bob", "--tenant", "acme", "--role", "member",
        ];
        dragoman(&site.scratch, &set).await?;
        let again = async {
            loop {
                bob.send_json(&run).await?;
                let heard =
                    |frame: &Value| frame["type"] == "turn_started" || frame["code"] == "Forbidden";
                if bob.until(heard).await?["type"] == "turn_started" {
                    return anyhow::Ok(());
                }
            }
        };
        again.await?;
        let remove = json!({"type": "manage_members", "action": "remove", "userId": "bob"});
        let removed = ask(&mut alice, remove, "member_removed").await?;
        ensure!(removed["userId"] == "bob", "{removed}");
        ensure!(bob.until_closed().await?.code == POLICY);
        Ok(())
    });
}

#[test]
fn a_token_is_for_its_dialects_its_tenant_and_its_time() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let scratch = &site.scratch;
        let acme = Acme::found(scratch).await?;
        let words = ["--dialect", "codex", "--expires", "1h", "--name", "phone"];
        let (id, secret) = token(scratch, &words).await?;
        Client::connect(&path(&site.server, "/codex", &secret)).await?;
        let refused = Client::connect(&path(&site.server, "/ws", &secret)).await;
        ensure!(
            refused.is_err_and(|error| format!("{error:#}").contains("403")),
            "a door too many"
        );
        let url = format!("ws://127.0.0.1:{}/diminuendo", site.server.port());
        let mut client = Client::connect(&url).await?;
        let shows = json!({"type": "authenticate", "token": secret});
        ensure!(refusal(&mut client, shows).await? == "AUTH_FAILED");
        // One tenant sees nothing of another's.
        let mut alice = diminuendo(&site.server, &acme.alice.1).await?;
        let session = waiting_turn(&mut alice).await?;
        let (_, own) = token(scratch, &[]).await?;
        let mut own = diminuendo(&site.server, &own).await?;
        let join = json!({"type": "join_session", "sessionId": session});
        ensure!(refusal(&mut own, join).await? == "SessionNotFound");
        let listed = ask(&mut own, json!({"type": "list_sessions"}), "session_list").await?;
        ensure!(listed["sessions"] == json!([]), "{listed}");
        let listed: Value = serde_json::from_str(&dragoman(scratch, &["tokens", "--json"]).await?)?;
        let listed = listed.as_array().context("a list")?;
        let phone = listed
            .iter()
            .find(|token| token["id"] == id.as_str())
            .context("it is listed")?;
        ensure!(
            phone["name"] == "phone" && phone["dialects"] == json!(["codex"]),
            "{phone}"
        );
        ensure!(
            phone["lastUsedAt"].is_string() && phone["expiresAt"].is_string(),
            "{phone}"
        );
        ensure!(
            !listed
                .iter()
                .any(|token| token.to_string().contains(&secret)),
            "a secret"
        );
        Ok(())
    });
}

#[test]
fn what_cannot_be_done_is_said_with_what_can() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        Acme::found(&scratch).await?;
        for (words, expected) in [
            (
                &[
                    "members", "set", "alice", "--tenant", "acme", "--role", "viewer",
                ][..],
                "last owner",
            ),
            (
                &["members", "remove", "alice", "--tenant", "acme"],
                "last owner",
            ),
            (
                &["members", "--tenant", "nowhere"],
                "`dragoman tenants` lists them",
            ),
            (
                &["members", "set", "bob", "--role", "king"],
                "there are owner, admin",
            ),
            (&["members", "remove", "owner"], "stays the owner"),
            (&["tenants", "create", "Acme", "--owner", "eve"], "a-z, 0-9"),
            (
                &["tenants", "create", "acme", "--owner", "eve"],
                "ids are not given twice",
            ),
            (&["tenants", "delete", "local"], "stays the owner"),
            (&["tokens", "create", "--tenant", "acme"], "--member"),
            (&["tokens", "create", "--member", "eve"], "is no member"),
            (
                &["tokens", "create", "--dialect", "klingon"],
                "there are cowork",
            ),
            (&["tokens", "create", "--expires", "soon"], "12h or 30d"),
            (
                &["tokens", "revoke", "0123"],
                "`dragoman tokens` lists them",
            ),
        ] {
            let said = dragoman(&scratch, words).await;
            let error = said.err().with_context(|| format!("{words:?} was done"))?;
            ensure!(error.to_string().contains(expected), "{words:?}: {error}");
        }
        let told = dragoman(&scratch, &["members", "--tenant", "acme"]).await?;
        ensure!(
            told.contains("alice") && told.contains("bob@acme.example"),
            "{told}"
        );
        dragoman(&scratch, &["tenants", "delete", "acme"]).await?;
        let told = dragoman(&scratch, &["tenants"]).await?;
        ensure!(!told.contains("acme") && told.contains("local"), "{told}");
        ensure!(
            dragoman(&scratch, &["tokens"])
                .await?
                .contains("there is no token")
        );
        // And then nobody needs one.
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        Visitor::arrive(&server).await?;
        Ok(())
    });
}

#[test]
fn a_tenant_is_erased_with_its_data_while_the_server_runs() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let (scratch, server) = (&site.scratch, &site.server);
        let acme = Acme::found(scratch).await?;
        let mut alice = diminuendo(server, &acme.alice.1).await?;
        let waiting = waiting_turn(&mut alice).await?;
        let create = json!({"type": "create_session", "agentType": "coding-agent"});
        ask(&mut alice, create, "session_created").await?;
        let own = scratch.home().join("tenants/acme");
        let workspace = own.join("workspaces").join(&waiting);
        ensure!(workspace.is_dir(), "{}", workspace.display());
        // A turn of somebody who is shut out ends, and the server gives the thread back.
        let erase = ["tenants", "delete", "acme", "--data", "--json"];
        let said: Value = serde_json::from_str(&dragoman(scratch, &erase).await?)?;
        ensure!(
            said == json!({"deleted": "acme", "threadsErased": 2}),
            "{said}"
        );
        ensure!(!own.exists(), "its directory is left");
        let again: Value = serde_json::from_str(&dragoman(scratch, &erase).await?)?;
        ensure!(again["threadsErased"] == 0, "{again}");
        let unknown = ["tenants", "delete", "acne", "--data"];
        let refused = dragoman(scratch, &unknown).await;
        ensure!(refused.is_err_and(|why| why.to_string().contains("lists them")));
        Ok(())
    });
}
