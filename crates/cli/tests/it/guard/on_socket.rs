//! Clients that say on the socket who they are.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::{Client, Heard};

use super::{Door, LIMIT, SECRET, raw, token};
use crate::tell;

async fn guarded() -> anyhow::Result<Door> {
    Door::open(|settings| settings.token = token()).await
}

async fn stranger(door: &Door) -> anyhow::Result<Client> {
    let mut client = Client::connect(&format!("ws://{}/diminuendo", door.main())).await?;
    let welcome = client.until_type("welcome").await?;
    ensure!(welcome["requiresAuth"] == true, "{welcome}");
    client.until_type("connected").await?;
    Ok(client)
}

/// Says something, and hears the answer.
async fn answer(client: &mut Client, message: Value) -> anyhow::Result<Value> {
    client.send(&message.to_string()).await?;
    match client.recv().await? {
        Heard::Frame(frame) => Ok(serde_json::from_str(&frame)?),
        Heard::Closed(close) => anyhow::bail!("closed: {close}"),
    }
}

fn shows(token: &str) -> Value {
    json!({"type": "authenticate", "token": token})
}

#[test]
fn only_a_dialect_that_authenticates_opens_without_the_token() {
    tell(LIMIT, async {
        let door = guarded().await?;
        for (path, headers, expected) in [
            ("/diminuendo", &[][..], 101),
            ("/diminuendo?token=wrong", &[], 401),
            ("/diminuendo", &["authorization: Bearer wrong"], 401),
            ("/diminuendo", &["origin: https://evil.example"], 403),
            ("/diminuendo", &["host: rebound.example"], 421),
            ("/diminuendo/", &[], 401),
            ("/ws", &[], 401),
            ("/codex", &[], 401),
            ("/zane/ws", &[], 401),
            ("/pioneer", &[], 401),
        ] {
            let status = door.upgrade(path, headers).await?;
            assert_eq!(status, expected, "{path} {headers:?}");
        }
        // Without an upgrade there is nothing to see either.
        let (status, _) = raw::ask(door.main(), "GET /diminuendo", &[]).await?;
        assert_eq!(status, 400);
        Ok(())
    });
}

#[test]
fn who_is_not_known_can_do_nothing_and_who_is_can_go_on() {
    tell(LIMIT, async {
        let door = guarded().await?;
        let mut client = stranger(&door).await?;
        let list = json!({"type": "list_sessions"});
        let refused = answer(&mut client, list.clone()).await?;
        assert_eq!(refused["code"], "Unauthenticated");
        let refused = answer(&mut client, shows("wrong")).await?;
        assert_eq!(refused["code"], "AUTH_FAILED");
        let known = answer(&mut client, shows(SECRET)).await?;
        let identity = json!({"userId": "owner", "email": "", "tenantId": "local"});
        assert_eq!(known["identity"], identity, "no dev mode beside a token");
        assert_eq!(answer(&mut client, list).await?["type"], "session_list");
        Ok(())
    });
}

#[test]
fn who_is_known_may_show_a_token_again_and_a_wrong_one_changes_nothing() {
    tell(LIMIT, async {
        let door = guarded().await?;
        let mut client = stranger(&door).await?;
        for (token, expected) in [
            (SECRET, "authenticated"),
            (SECRET, "authenticated"),
            ("wrong", "error"),
            (SECRET, "authenticated"),
        ] {
            assert_eq!(answer(&mut client, shows(token)).await?["type"], expected);
        }
        let list = answer(&mut client, json!({"type": "list_sessions"})).await?;
        assert_eq!(list["type"], "session_list");
        Ok(())
    });
}

#[test]
fn guesses_on_sockets_count_like_those_of_requests() {
    tell(LIMIT, async {
        let door = guarded().await?;
        let mut client = stranger(&door).await?;
        for _ in 0..server::limits::GUESSES_BURST {
            answer(&mut client, shows("guess")).await?;
        }
        let slowed = answer(&mut client, shows(SECRET)).await?;
        assert_eq!(slowed["code"], "AUTH_RATE_LIMITED");
        ensure!(slowed["retryAfterMs"].as_i64() > Some(0), "{slowed}");
        let bearer = format!("authorization: Bearer {SECRET}");
        assert_eq!(door.upgrade("/ws", &[&bearer]).await?, 429);
        Ok(())
    });
}

#[test]
fn who_does_not_say_it_in_time_is_closed() {
    super::limits::fly(async {
        let door = guarded().await?;
        let mut silent = stranger(&door).await?;
        let mut known = stranger(&door).await?;
        answer(&mut known, shows(SECRET)).await?;
        // Longer than the server waits: both clocks are the same one here.
        silent.set_limit(2 * server::limits::AUTHENTICATE_MAX);
        tokio::time::pause();
        let Heard::Closed(close) = silent.recv().await? else {
            anyhow::bail!("it was told something");
        };
        assert_eq!(close.code, 1008);
        let list = answer(&mut known, json!({"type": "list_sessions"})).await?;
        list["sessions"].as_array().context("still served")?;
        Ok(())
    });
}
