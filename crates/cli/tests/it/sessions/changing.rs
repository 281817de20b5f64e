//! Sessions changed by a command while a server has them awake: its clients hear of it.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::tongue::LANGUAGES;
use testkit::{Client, Process};

use super::{LIMIT, badly, json as said_json, sessions, well};
use crate::checkpoints::terminal::{answered, terminal};
use crate::together::{Guest, HOST};
use crate::{Site, Visitor, tell};

/// A client that watches the list, of this dialect.
async fn watcher(server: &Process) -> anyhow::Result<Client> {
    let mut client =
        Client::connect(&format!("ws://127.0.0.1:{}/diminuendo", server.port())).await?;
    client.until_type("authenticated").await?;
    client
        .send_json(&json!({ "type": "list_sessions" }))
        .await?;
    client.until_type("session_list").await?;
    Ok(client)
}

fn is_about(frame: &Value, session: &str) -> bool {
    frame.to_string().contains(session)
}

#[test]
fn clients_of_a_running_server_hear_what_a_command_changes() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.converse("echo one").await?;
        let session = visitor.session.clone();
        let mut watcher = watcher(&site.server).await?;
        // Somebody has it open; it is handed over for the moment.
        for (word, archived) in [("archive", true), ("unarchive", false)] {
            let said = said_json(&site.scratch, &[word, &session]).await?;
            assert_eq!(said[format!("{word}d")], json!([session]), "{said}");
            let changed = |frame: &Value| {
                is_about(frame, &session)
                    && frame
                        .to_string()
                        .contains(&format!("\"archived\":{archived}"))
            };
            watcher.until(changed).await?;
        }
        // It goes on where its clients are.
        let mut visitor = Visitor::resume(&site.server, &session).await?;
        assert_eq!(visitor.converse("echo two").await?, "two");

        visitor.say("slow 100000").await?;
        visitor.client.until_type("model_stream_chunk").await?;
        for words in [&["delete", &session, "--yes"][..], &["archive", &session]] {
            let said = badly(&site.scratch, words).await?;
            ensure!(
                said.contains("a turn of this thread is running in another process"),
                "{said}"
            );
        }
        let listed = said_json(&site.scratch, &["list"]).await?;
        assert_eq!(listed["sessions"][0]["state"], "running");
        visitor.send("cancel", json!({})).await?;
        visitor.rest().await?;

        let said = badly(&site.scratch, &["delete", &session]).await?;
        ensure!(said.contains("--yes deletes without asking"), "{said}");
        well(&site.scratch, &["delete", &session, "--yes"]).await?;
        watcher.until(|frame| is_about(frame, &session)).await?;
        let mut other = Visitor::arrive(&site.server).await?;
        assert_eq!(other.list().await?, Vec::<String>::new());
        site.server.terminate().await?;
        Ok(())
    });
}

#[test]
fn who_has_a_session_open_in_any_dialect_is_told_that_it_left() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        for language in LANGUAGES.iter().filter(|language| language.name != HOST) {
            let mut visitor = Visitor::arrive(&site.server).await?;
            visitor.converse("echo one").await?;
            let session = visitor.session.clone();
            drop(visitor);
            if language.name == "pioneer" {
                Guest::seat(language, &site.server, None).await?;
            }
            let mut guest = Guest::seat(language, &site.server, Some(&session)).await?;
            let heard = guest.frames.len();
            well(&site.scratch, &["delete", &session, "--yes"]).await?;
            // A frame about it, or the end of the connection that was about it.
            loop {
                match guest.listen().await {
                    Err(error) if error.to_string().contains("was closed") => break,
                    heard => heard.map(drop)?,
                }
                let mut told = guest.frames[heard..].iter();
                if told.any(|frame| frame.contains(&session)) {
                    break;
                }
            }
        }
        site.server.terminate().await?;
        Ok(())
    });
}

#[test]
fn a_person_is_asked_and_only_a_yes_deletes() {
    tell(LIMIT, async {
        let mut site = Site::open().await?;
        let mut visitor = Visitor::arrive(&site.server).await?;
        visitor.converse("echo one").await?;
        let session = visitor.session.clone();
        drop(visitor);
        for (answer, left) in [("\n", 1), ("no\n", 1), ("y\n", 0)] {
            let command = sessions(&site.scratch, &["delete", &session]);
            let question = "Delete for good? [y/N] ";
            let output = answered(command, terminal()?, question, answer).await?;
            assert_eq!(output.status.code(), Some(0));
            let out = String::from_utf8(output.stdout)?;
            ensure!(out.contains(&session[session.len() - 6..]), "{out}");
            let listed = said_json(&site.scratch, &["list"]).await?;
            assert_eq!(
                listed["sessions"].as_array().map(Vec::len),
                Some(left),
                "{out}"
            );
        }
        site.server.terminate().await?;
        Ok(())
    });
}
