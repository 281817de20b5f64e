//! Two servers on one home: each serves its own threads, and a thread has one owner.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Heard, Process, Scratch};

use crate::{DRAGOMAN, Visitor, resume_url, tell};

const LIMIT: Duration = Duration::from_secs(60);
/// How long a dead server's threads may stay its own.
const LEASE_LIMIT: Duration = Duration::from_secs(30);

struct Pair {
    left: Process,
    right: Process,
    /// Kept for its drop.
    _scratch: Scratch,
}

impl Pair {
    async fn open() -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let other = scratch.user().join("other");
        std::fs::create_dir(&other)?;
        let launch = Launch::new(DRAGOMAN, &scratch);
        Ok(Self {
            left: Process::start(&launch).await?,
            right: Process::start(&launch.clone().workspace(&other)).await?,
            _scratch: scratch,
        })
    }
}

#[test]
fn each_serves_its_own_threads_and_lists_all() {
    tell(LIMIT, async {
        let pair = Pair::open().await?;
        let mut left = Visitor::arrive(&pair.left).await?;
        let mut right = Visitor::arrive(&pair.right).await?;
        assert_eq!(left.converse("echo left").await?, "left");
        assert_eq!(right.converse("echo right").await?, "right");
        let mut both = [left.session.clone(), right.session.clone()];
        both.sort();
        for visitor in [&mut left, &mut right] {
            let mut listed = visitor.list().await?;
            listed.sort();
            assert_eq!(listed, both);
        }
        Ok(())
    });
}

#[test]
fn a_thread_that_is_idle_elsewhere_is_handed_over_at_once() {
    tell(LIMIT, async {
        let pair = Pair::open().await?;
        let mut left = Visitor::arrive(&pair.left).await?;
        left.converse("echo first").await?;
        let session = left.session.clone();
        // The line breaks, and the client comes to the other server; and back again.
        drop(left);
        for (server, words) in [(&pair.right, "second"), (&pair.left, "third")] {
            let started = Instant::now();
            let mut visitor = Visitor::resume(server, &session).await?;
            ensure!(started.elapsed() < LEASE_LIMIT, "not at once");
            assert_eq!(visitor.hello["isResume"], true);
            assert_eq!(visitor.converse(&format!("echo {words}")).await?, words);
        }
        let visitor = Visitor::resume(&pair.right, &session).await?;
        assert_eq!(visitor.hello["messageCount"], 6, "{}", visitor.hello);
        Ok(())
    });
}

#[test]
fn those_who_had_it_open_are_told_and_it_stays_with_those_who_have_it_now() {
    tell(LIMIT, async {
        let pair = Pair::open().await?;
        let mut left = Visitor::arrive(&pair.left).await?;
        left.converse("echo mine").await?;
        let mut right = Visitor::resume(&pair.right, &left.session).await?;
        let closed = left.client.until_closed().await?;
        assert_eq!(closed.code, 1013, "{closed}");
        ensure!(closed.reason.contains("another process"), "{closed}");
        // Two who both come back do not take it from each other for ever.
        let refused = resume(&pair.left, &left.session).await?;
        ensure!(matches!(refused, Outcome::Refused(_)), "taken back");
        assert_eq!(right.converse("echo ours").await?, "ours");
        drop(right);
        resumed_in_time(&pair.left, &left.session).await?;
        Ok(())
    });
}

#[test]
fn a_thread_that_runs_elsewhere_is_refused_with_its_owner() {
    tell(LIMIT, async {
        let pair = Pair::open().await?;
        let mut left = Visitor::arrive(&pair.left).await?;
        left.converse("echo mine").await?;
        left.say("slow 100000").await?;
        left.client.until_type("model_stream_chunk").await?;
        let refusal = match resume(&pair.right, &left.session).await? {
            Outcome::Refused(refusal) => refusal,
            Outcome::Resumed(hello) => bail!("resumed a thread of the other process: {hello}"),
        };
        let owner = pair.left.id().context("the left server runs")?.to_string();
        ensure!(refusal.contains(&owner), "does not name {owner}: {refusal}");
        ensure!(refusal.contains("running"), "does not say why: {refusal}");
        // The owner noticed nothing.
        left.send("cancel", json!({})).await?;
        left.rest().await?;
        assert_eq!(left.converse("echo still mine").await?, "still mine");
        Ok(())
    });
}

#[test]
fn what_a_killed_server_owned_is_resumed_by_the_other() {
    tell(LIMIT, async {
        let mut pair = Pair::open().await?;
        let mut left = Visitor::arrive(&pair.left).await?;
        left.converse("echo kept").await?;
        pair.left.kill9().await?;
        let hello = resumed_in_time(&pair.right, &left.session).await?;
        assert_eq!(hello["messageCount"], 2, "{hello}");
        let mut heir = Visitor::resume(&pair.right, &left.session).await?;
        assert_eq!(heir.converse("echo inherited").await?, "inherited");
        Ok(())
    });
}

/// A client that watches the lists of a server.
async fn watcher(server: &Process) -> anyhow::Result<Client> {
    let url = format!("ws://127.0.0.1:{}/diminuendo", server.port());
    let mut client = Client::connect(&url).await?;
    client.until_type("authenticated").await?;
    Ok(client)
}

/// Sends a message and gives the session that the answer of this type shows.
async fn change(client: &mut Client, message: Value, answer: &str) -> anyhow::Result<Value> {
    client.send_json(&message).await?;
    client.until_type(answer).await
}

/// Waits until a list shows a session under this name.
async fn shows(client: &mut Client, id: &Value, name: &str) -> anyhow::Result<()> {
    let meant = |frame: &Value| {
        let session = &frame["session"];
        frame["type"] == "session_updated" && session["id"] == *id && session["name"] == name
    };
    client.until(meant).await.map(drop)
}

#[test]
fn what_one_changes_in_its_lists_the_clients_of_the_other_see() {
    tell(LIMIT, async {
        let pair = Pair::open().await?;
        let mut left = watcher(&pair.left).await?;
        let mut right = watcher(&pair.right).await?;
        // Either way: one of them was alone when it came.
        for (here, there) in [(0, 1), (1, 0)] {
            let both = [&mut left, &mut right];
            let new =
                json!({"type": "create_session", "agentType": "coding-agent", "name": "first"});
            let made = change(both[here], new, "session_created").await?;
            let id = made["session"]["id"].clone();
            shows(both[there], &id, "first").await?;
            let rename = json!({"type": "rename_session", "sessionId": id, "name": "second"});
            change(both[here], rename, "session_updated").await?;
            shows(both[there], &id, "second").await?;
            let delete = json!({"type": "delete_session", "sessionId": id});
            change(both[here], delete, "session_deleted").await?;
            let gone = both[there].until_type("session_deleted").await?;
            assert_eq!(gone["sessionId"], id);
        }
        Ok(())
    });
}

#[test]
fn what_a_server_did_before_it_was_killed_is_seen_elsewhere() {
    tell(LIMIT, async {
        let mut pair = Pair::open().await?;
        let mut left = watcher(&pair.left).await?;
        let mut right = watcher(&pair.right).await?;
        let new = json!({"type": "create_session", "agentType": "coding-agent", "name": "last"});
        let made = change(&mut left, new, "session_created").await?;
        pair.left.kill9().await?;
        shows(&mut right, &made["session"]["id"], "last").await
    });
}

enum Outcome {
    Resumed(Value),
    /// All that was said about it: frames and close reason.
    Refused(String),
}

async fn resume(server: &Process, session: &str) -> anyhow::Result<Outcome> {
    let mut client = Client::connect(&resume_url(server, session)).await?;
    let mut said = String::new();
    loop {
        match client.recv().await? {
            Heard::Closed(close) => {
                said.push_str(&close.to_string());
                return Ok(Outcome::Refused(said));
            }
            Heard::Frame(frame) => {
                let value: Value = serde_json::from_str(&frame)?;
                if value["type"] == "server_hello" && value["sessionId"] == session {
                    return Ok(Outcome::Resumed(value));
                }
                said.push_str(&frame);
                said.push('\n');
                if value["type"] == "error" {
                    return Ok(Outcome::Refused(said));
                }
            }
        }
    }
}

/// A lease may have to run out first; how long that takes is the server's promise.
async fn resumed_in_time(server: &Process, session: &str) -> anyhow::Result<Value> {
    let started = Instant::now();
    loop {
        match resume(server, session).await? {
            Outcome::Resumed(hello) => return Ok(hello),
            Outcome::Refused(said) if started.elapsed() > LEASE_LIMIT => {
                bail!("still refused after {LEASE_LIMIT:?}: {said}")
            }
            Outcome::Refused(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
