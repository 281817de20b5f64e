//! Tokens, tickets, names and pages.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Door, LIMIT, SECRET, raw, token};
use crate::tell;

#[test]
fn without_the_token_nothing_but_health_answers() {
    tell(LIMIT, async {
        let door = Door::open(|settings| settings.token = token()).await?;
        for path in ["/healthz", "/readyz"] {
            let (status, _) = raw::ask(door.main(), &format!("GET {path}"), &[]).await?;
            assert_eq!(status, 200, "{path}");
        }
        let wrong = "authorization: Bearer planted-token-0123456789abcdeX";
        for headers in [&[][..], &[wrong]] {
            assert_eq!(door.upgrade("/ws", headers).await?, 401);
            let (status, text) = raw::ask(door.main(), "GET /", headers).await?;
            assert_eq!(status, 401);
            ensure!(text.contains("missing or invalid bearer token"), "{text}");
        }
        let bearer = format!("authorization: Bearer {SECRET}");
        assert_eq!(door.upgrade("/ws", &[&bearer]).await?, 101);
        assert_eq!(
            door.upgrade(&format!("/ws?token={SECRET}"), &[]).await?,
            101
        );
        assert_eq!(door.upgrade("/ws?token=", &[]).await?, 401);
        Ok(())
    });
}

#[test]
fn a_ticket_costs_the_token_and_opens_once() {
    tell(LIMIT, async {
        let door = Door::open(|settings| settings.token = token()).await?;
        let ask = "POST /ticket";
        assert_eq!(raw::ask(door.main(), ask, &[]).await?.0, 401);
        let bearer = format!("authorization: Bearer {SECRET}");
        let (status, text) = raw::ask(door.main(), ask, &[&bearer]).await?;
        assert_eq!(status, 200, "{text}");
        let (_, body) = text.split_once("\r\n\r\n").context("a body")?;
        let body: Value = serde_json::from_str(body)?;
        assert_eq!(body["expiresInMs"], 30_000);
        let ticket = body["ticket"].as_str().context("a ticket")?;

        // A ticket buys no ticket, and is spent by trying.
        let chain = format!("POST /ticket?ticket={ticket}");
        assert_eq!(raw::ask(door.main(), &chain, &[]).await?.0, 401);
        let (_, text) = raw::ask(door.main(), ask, &[&bearer]).await?;
        let (_, body) = text.split_once("\r\n\r\n").context("a body")?;
        let body: Value = serde_json::from_str(body)?;
        let path = format!("/ws?ticket={}", body["ticket"].as_str().unwrap_or_default());
        assert_eq!(door.upgrade(&path, &[]).await?, 101);
        assert_eq!(door.upgrade(&path, &[]).await?, 401);
        Ok(())
    });
}

#[test]
fn a_rebound_name_is_turned_away_everywhere() {
    tell(LIMIT, async {
        let open = |settings: &mut server::Settings| {
            settings.allow_hosts.push("team.example".to_owned());
        };
        let door = Door::open(open).await?;
        for host in ["host: rebound.example", "host: ", "host: 10.1.2.3:7337"] {
            assert_eq!(door.upgrade("/ws", &[host]).await?, 421, "{host}");
            assert_eq!(raw::ask(door.main(), "GET /healthz", &[host]).await?.0, 421);
        }
        for host in ["host: team.example", "host: localhost:9", "host: [::1]:9"] {
            assert_eq!(door.upgrade("/ws", &[host]).await?, 101, "{host}");
        }
        Ok(())
    });
}

#[test]
fn pages_of_other_sites_cannot_upgrade() {
    tell(LIMIT, async {
        let open = |settings: &mut server::Settings| {
            settings
                .allow_origins
                .push("https://team.example".to_owned());
        };
        let door = Door::open(open).await?;
        let every = ["/ws", "/diminuendo", "/zane/ws", "/codex", "/pioneer"];
        for path in every {
            for origin in ["origin: https://evil.example", "origin: null"] {
                assert_eq!(door.upgrade(path, &[origin]).await?, 403, "{path} {origin}");
            }
            assert_eq!(
                door.upgrade(path, &["origin: https://team.example"])
                    .await?,
                101
            );
            // A page of this machine, but not to the endpoint that is for programs.
            let expected = if path == "/codex" { 403 } else { 101 };
            let local = "origin: http://localhost:5173";
            assert_eq!(door.upgrade(path, &[local]).await?, expected, "{path}");
        }
        let evil = ["origin: https://evil.example"];
        assert_eq!(raw::ask(door.main(), "POST /ticket", &evil).await?.0, 403);
        Ok(())
    });
}

#[test]
fn a_listed_page_may_ask_for_a_ticket_and_another_may_not() {
    tell(LIMIT, async {
        let open = |settings: &mut server::Settings| {
            settings.token = token();
            settings
                .allow_origins
                .push("https://team.example".to_owned());
        };
        let door = Door::open(open).await?;
        let (ours, evil) = (
            "origin: https://team.example",
            "origin: https://evil.example",
        );
        let asks = "access-control-request-method: POST";
        let (status, text) = raw::ask(door.main(), "OPTIONS /ticket", &[ours, asks]).await?;
        assert_eq!(status, 204, "{text}");
        ensure!(text.contains("access-control-allow-headers: authorization"));
        ensure!(text.contains("access-control-allow-origin: https://team.example"));
        let (status, _) = raw::ask(door.main(), "OPTIONS /ticket", &[evil, asks]).await?;
        assert_eq!(status, 403);
        // To ask whether one may ask opens nothing else.
        assert_eq!(raw::ask(door.main(), "OPTIONS /ws", &[ours]).await?.0, 405);
        let bearer = format!("authorization: Bearer {SECRET}");
        let (status, text) = raw::ask(door.main(), "POST /ticket", &[ours, &bearer]).await?;
        assert_eq!(status, 200);
        ensure!(text.contains("access-control-allow-origin: https://team.example"));
        Ok(())
    });
}
