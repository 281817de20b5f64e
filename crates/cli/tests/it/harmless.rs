//! One client never harms another: what ends for one thread, or for one client, ends nothing else.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::client::Heard;
use testkit::tongue::{Deed, Signal};

use crate::together::{Guest, HOST, table};
use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(90);
const WORKSPACE: &str = "000000000000000000000";

fn guest<'a>(guests: &'a mut [Guest], name: &str) -> anyhow::Result<&'a mut Guest> {
    let mut found = guests.iter_mut();
    found
        .find(|guest| guest.name == name)
        .with_context(|| format!("no {name}"))
}

type IsAnswer = fn(&Value) -> bool;

/// How a client of a dialect that follows several threads joins one more, and how it is answered.
fn joining(name: &str, thread: &str) -> Option<(Value, IsAnswer)> {
    let request = json!({ "id": 901, "method": "thread/resume", "params": { "threadId": thread } });
    match name {
        "codex" | "zane" => Some((request, |frame| frame["id"] == 901)),
        "diminuendo" => Some((
            json!({ "type": "join_session", "sessionId": thread, "requestId": "j901" }),
            |frame| frame["requestId"] == "j901",
        )),
        "pioneer" => {
            let params = json!({ "thread_id": thread, "workspace_id": WORKSPACE });
            let id = "another-thread-to-join";
            Some((
                json!({ "jsonrpc": "2.0", "id": id, "method": "thread/start", "params": params }),
                |frame| frame["id"] == "another-thread-to-join",
            ))
        }
        _ => None,
    }
}

/// How it is told that a thread is gone.
fn is_gone(frame: &Value, thread: &str) -> bool {
    let mut told = ["thread/deleted", "thread/closed"].iter();
    let told = told.any(|method| frame["method"] == *method);
    let named = |value: &Value| *value == thread;
    (told && named(&frame["params"]["threadId"]))
        || (frame["type"] == "session_deleted" && named(&frame["sessionId"]))
}

#[test]
fn deleting_one_thread_ends_nothing_else_on_a_socket() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        let mut owner = Visitor::arrive(&site.server).await?;
        owner.converse("echo soon gone").await?;
        let doomed = owner.session.clone();
        for guest in &mut guests {
            if let Some((frame, answered)) = joining(guest.name, &doomed) {
                guest.client.send_json(&frame).await?;
                let answer = guest.client.until(answered).await;
                let answer = answer.with_context(|| format!("{} cannot join", guest.name))?;
                ensure!(answer.get("error").is_none(), "{}: {answer}", guest.name);
            }
        }
        guests[0].say(&Deed::Say("slow 1000".to_owned())).await?;
        let delete = json!({ "type": "delete_session", "sessionId": doomed });
        guest(&mut guests, "diminuendo")?
            .client
            .send_json(&delete)
            .await?;
        for guest in &mut guests {
            if joining(guest.name, &doomed).is_some() {
                let gone = guest.client.until(|frame| is_gone(frame, &doomed)).await;
                gone.with_context(|| format!("{} was not told", guest.name))?;
            }
        }
        // A cowork connection is its session.
        let closed = owner.client.until_closed().await?;
        ensure!(closed.code == 1000, "{closed}");
        guest(&mut guests, "cowork")?.say(&Deed::Cancel).await?;
        for guest in &mut guests {
            guest.hear(&Signal::Rest).await?;
        }
        Ok(())
    });
}

#[test]
fn a_cowork_1_client_that_goes_leaves_the_others_their_turn() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        let cowork = guest(&mut guests, "cowork")?;
        cowork.say(&Deed::Say("slow 60".to_owned())).await?;
        for guest in &mut guests {
            if guest.name != HOST {
                guest.hear(&Signal::Text("w1 ".to_owned())).await?;
            }
        }
        let host = guests.iter().position(|guest| guest.name == HOST);
        // Without a word, as a network breaks.
        drop(guests.remove(host.context("a host")?));
        for guest in &mut guests {
            guest.hear(&Signal::Text("w58 ".to_owned())).await?;
            guest.hear(&Signal::Rest).await?;
        }
        let outcome = guest(&mut guests, "cowork")?.frames.iter().any(|frame| {
            frame.contains(r#""busy":false"#) && frame.contains(r#""outcome":"completed""#)
        });
        ensure!(outcome, "the turn did not complete");
        Ok(())
    });
}

#[test]
fn the_same_steer_twice_is_answered_alike_and_nobody_is_closed() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        let thread = guests[0].tongue.thread().context("a thread")?.to_owned();
        guests[0].say(&Deed::Say("slow 1000".to_owned())).await?;
        let codex = guest(&mut guests, "codex")?;
        let started = |frame: &Value| frame["method"] == "turn/started";
        let started = codex.client.until(started).await?;
        let steer = |id: u64| {
            json!({ "id": id, "method": "turn/steer", "params": {
                "threadId": thread,
                "expectedTurnId": started["params"]["turn"]["id"],
                "clientUserMessageId": "s1",
                "input": [{ "type": "text", "text": "echo and this" }],
            }})
        };
        for id in [901, 902] {
            codex.client.send_json(&steer(id)).await?;
        }
        let mut answers = Vec::new();
        while answers.len() < 2 {
            let Heard::Frame(frame) = codex.client.recv().await? else {
                anyhow::bail!("closed");
            };
            let frame: Value = serde_json::from_str(&frame)?;
            if frame["id"] == 901 || frame["id"] == 902 {
                answers.push(frame["result"].clone());
            }
        }
        ensure!(answers[0] == answers[1], "{answers:?}");
        ensure!(
            answers[0]["turnId"] == started["params"]["turn"]["id"],
            "{answers:?}"
        );
        guest(&mut guests, "cowork")?.say(&Deed::Cancel).await?;
        for guest in &mut guests {
            guest.hear(&Signal::Rest).await?;
        }
        Ok(())
    });
}
