//! A history has its place among what a thread tells: all that was told before it is in it, and
//! nothing of it is told again.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);
const TURNS: usize = 45;

fn is(frame: &Value, kind: &str) -> bool {
    frame["type"] == kind
}

/// What the user said, by a history.
fn said(messages: &Value) -> Vec<String> {
    let all = messages["messages"].as_array().into_iter().flatten();
    let users = all.filter(|message| message["role"] == "user");
    users
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn what_was_told_is_in_the_history_and_what_is_in_it_is_not_told_again() {
    tell(LIMIT, async {
        let site = Site::open().await?;
        let mut speaker = Visitor::arrive(&site.server).await?;
        speaker.converse("echo first").await?;
        let mut reader = Visitor::resume(&site.server, &speaker.session).await?;
        let speaking = tokio::spawn(async move {
            for turn in 0..TURNS {
                speaker.converse(&format!("echo {turn}")).await?;
            }
            speaker.say("echo last").await?;
            anyhow::Ok(speaker)
        });
        let mut known: Vec<String> = vec!["echo first".to_owned()];
        let mut histories = 0;
        reader.send("get_messages", json!({})).await?;
        while known.last().is_none_or(|last| last != "echo last") {
            let frame = reader.client.json().await?;
            if is(&frame, "user_message") {
                let text = frame["text"].as_str().unwrap_or_default().to_owned();
                ensure!(!known.contains(&text), "told again: {text}");
                known.push(text);
            } else if is(&frame, "messages") {
                ensure!(
                    frame["total"].as_u64()
                        == frame["messages"].as_array().map(|all| all.len() as u64)
                );
                let history = said(&frame);
                ensure!(
                    history == known,
                    "{known:?} was told, and the history has {history:?}"
                );
                known = history;
                histories += 1;
                reader.send("get_messages", json!({})).await?;
            }
        }
        ensure!(histories > 10, "only {histories} histories");
        speaking.await??;
        Ok(())
    });
}
