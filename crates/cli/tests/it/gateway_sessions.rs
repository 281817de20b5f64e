//! Sessions of the gateway: who hears of them, how they wake, and that nothing is left of a deleted one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::{Client, Process};

use crate::{Site, tell};

const LIMIT: Duration = Duration::from_secs(60);
/// Stands in everything that is said, and nowhere else.
const MARK: &str = "zanzibar-is-an-archipelago";

async fn arrive(server: &Process) -> anyhow::Result<Client> {
    let url = format!("ws://127.0.0.1:{}/diminuendo", server.port());
    let mut client = Client::connect(&url).await?;
    client.until_type("authenticated").await?;
    Ok(client)
}

async fn make(client: &mut Client, agent_type: &str, name: &str) -> anyhow::Result<String> {
    let create = json!({"type": "create_session", "agentType": agent_type, "name": name});
    client.send_json(&create).await?;
    let made = client.until_type("session_created").await?;
    let id = made["session"]["id"].as_str().context("no id")?;
    Ok(id.to_owned())
}

async fn status(client: &mut Client, session: &str) -> anyhow::Result<String> {
    let is_it =
        |frame: &Value| frame["type"] == "session_updated" && frame["session"]["id"] == session;
    let updated = client.until(is_it).await?;
    Ok(updated["session"]["status"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

#[test]
fn others_hear_of_a_session_that_is_made_that_wakes_and_that_is_used() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut maker = arrive(&site.server).await?;
        let mut other = arrive(&site.server).await?;
        let session = make(&mut maker, "echo", "Mine").await?;
        assert_eq!(status(&mut other, &session).await?, "inactive");
        let join = json!({"type": "join_session", "sessionId": session});
        maker.send_json(&join).await?;
        maker.until_type("replay_complete").await?;
        assert_eq!(status(&mut other, &session).await?, "ready");
        let run = json!({"type": "run_turn", "sessionId": session, "text": "hello there"});
        maker.send_json(&run).await?;
        let complete = maker.until_type("turn_complete").await?;
        assert_eq!(complete["finalText"], "hello there");
        let was_used = |frame: &Value| frame["session"]["lastActivityAt"].is_number();
        let updated = other.until(was_used).await?;
        assert_eq!(updated["session"]["agentType"], "echo");
        Ok(())
    });
}

/// All files below a directory whose bytes have the mark in them.
fn marked(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let kind = std::fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            found.extend(marked(&path)?);
        } else if kind.is_file() {
            let bytes = std::fs::read(&path)?;
            if bytes
                .windows(MARK.len())
                .any(|each| each == MARK.as_bytes())
            {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[test]
fn nothing_of_a_deleted_session_is_left_on_the_disk() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut client = arrive(&site.server).await?;
        let other = make(&mut client, "echo", "stays").await?;
        let session = make(&mut client, "echo", MARK).await?;
        let join = json!({"type": "join_session", "sessionId": session});
        client.send_json(&join).await?;
        client.until_type("replay_complete").await?;
        for round in 0..3 {
            let text = format!("{MARK} {round} {}", "x".repeat(10_000 * round));
            let run = json!({"type": "run_turn", "sessionId": session, "text": text,
                             "clientTurnId": format!("{MARK}-{round}")});
            client.send_json(&run).await?;
            client.until_type("turn_complete").await?;
        }
        // What did not fit an answer lies in a directory of its own.
        let spill = site.scratch.home().join("spill").join(&session);
        std::fs::create_dir_all(&spill)?;
        std::fs::write(spill.join("rest.txt"), MARK)?;
        ensure!(!marked(site.scratch.home())?.is_empty());

        let delete = json!({"type": "delete_session", "sessionId": session});
        client.send_json(&delete).await?;
        client.until_type("session_deleted").await?;
        let mut left = marked(site.scratch.home())?;
        // Somebody may have been reading just then: the log is emptied after the next write.
        if !left.is_empty() {
            let rename = json!({"type": "rename_session", "sessionId": other, "name": "still"});
            client.send_json(&rename).await?;
            client.until_type("session_updated").await?;
            left = marked(site.scratch.home())?;
        }
        assert_eq!(left, Vec::<PathBuf>::new());
        for message in ["join_session", "delete_session", "get_history"] {
            client
                .send_json(&json!({"type": message, "sessionId": session}))
                .await?;
            let error = client.until_type("error").await?;
            assert_eq!(error["code"], "SessionNotFound", "{message}");
        }
        Ok(())
    });
}

#[test]
fn a_session_that_another_server_takes_is_told_to_sleep_here() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let launch = testkit::process::Launch::new(crate::DRAGOMAN, &site.scratch);
        let right = Process::start(&launch).await?;
        let mut here = arrive(&site.server).await?;
        let session = make(&mut here, "echo", "Wanders").await?;
        let join = json!({"type": "join_session", "sessionId": session});
        here.send_json(&join).await?;
        here.until_type("replay_complete").await?;
        for state in ["activating", "ready"] {
            assert_eq!(here.until_type("session_state").await?["state"], state);
        }
        let mut there = arrive(&right).await?;
        there.send_json(&join).await?;
        let snapshot = there.until_type("state_snapshot").await?;
        assert_eq!(snapshot["session"]["status"], "inactive");
        let mut told = Vec::new();
        for kind in ["session_state", "sandbox_removed", "session_state"] {
            let frame = here.until_type(kind).await?;
            assert_eq!(frame["reason"], "handed_over");
            told.push(frame["state"].clone());
        }
        assert_eq!(
            told,
            [json!("deactivating"), Value::Null, json!("inactive")]
        );
        let run = json!({"type": "run_turn", "sessionId": session, "text": "over here"});
        there.send_json(&run).await?;
        let complete = there.until_type("turn_complete").await?;
        assert_eq!(complete["finalText"], "over here");
        Ok(())
    });
}
