//! Tokens, tickets and names.

use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{Door, LIMIT, SECRET, ensure_logged_now_and_then, raw, token};
use crate::{DRAGOMAN, tell};

#[test]
fn without_the_token_nothing_but_health_answers() {
    tell(LIMIT, async {
        let door = Door::open(|settings| settings.token = token()).await?;
        for path in ["/health", "/healthz", "/readyz"] {
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
        // The page has no secret; what it speaks to is as closed to it as to others.
        let browser = ["accept: text/html", "origin: null"];
        let (status, text) = raw::ask(door.main(), "GET /", &browser[..1]).await?;
        assert_eq!(status, 200);
        ensure!(
            text.contains("content-security-policy: default-src 'none'"),
            "{text}"
        );
        assert_eq!(raw::ask(door.main(), "GET /icon.svg", &[]).await?.0, 200);
        assert_eq!(
            raw::ask(door.main(), "GET /icon.svg", &browser[1..])
                .await?
                .0,
            403
        );
        assert_eq!(
            raw::ask(door.main(), "GET /codex", &browser[..1]).await?.0,
            401
        );
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
        let rebound = ["host: rebound.example:7337"];
        let (_, text) = raw::ask(door.main(), "GET /", &rebound).await?;
        ensure!(text.contains("--allow-host rebound.example\n"), "{text}");
        let forwarded = "GET http://rebound.example/";
        assert_eq!(raw::ask(door.main(), forwarded, &[]).await?.0, 421);
        for host in ["host: team.example", "host: localhost:9", "host: [::1]:9"] {
            assert_eq!(door.upgrade("/ws", &[host]).await?, 101, "{host}");
        }
        Ok(())
    });
}

#[test]
fn a_name_that_is_none_or_comes_twice_is_refused() {
    tell(LIMIT, async {
        let door = Door::open(|_| {}).await?;
        for host in [
            "host: localhost:evil.example",
            "host: localhost:80@evil.example",
            "host: [::1",
            "host: [::1]evil",
            "host: localhost\"><script>",
        ] {
            assert_eq!(door.upgrade("/ws", &[host]).await?, 421, "{host}");
            let (status, text) = raw::ask(door.main(), "GET /", &[host]).await?;
            assert_eq!(status, 421, "{host}");
            ensure!(!text.contains("evil") && !text.contains("script"), "{text}");
        }
        let (host, page) = ("host: localhost", "origin: file://");
        assert_eq!(door.upgrade("/ws", &[host, page]).await?, 101);
        for twice in [&[host, host][..], &[page, page], &[host, page, page]] {
            assert_eq!(door.upgrade("/ws", twice).await?, 400, "{twice:?}");
        }
        Ok(())
    });
}

#[test]
fn no_answer_may_be_taken_for_something_else() {
    tell(LIMIT, async {
        let door = Door::open(|settings| settings.token = token()).await?;
        let bearer = format!("authorization: Bearer {SECRET}");
        let bearer = bearer.as_str();
        for (request, headers, expected) in [
            ("GET /", &[bearer][..], 200),
            ("GET /healthz", &[], 200),
            ("GET /schema/cowork.json", &[bearer], 200),
            ("POST /ticket", &[bearer], 200),
            ("GET /ws", &[bearer], 400),
            ("GET /metrics", &[bearer], 200),
            ("GET /metrics", &[], 401),
            ("GET /", &[], 401),
            ("GET /", &[bearer, "origin: https://evil.example"], 403),
            ("GET /nothing", &[bearer], 404),
            ("GET /", &[bearer, "host: evil.example"], 421),
        ] {
            let (status, text) = raw::ask(door.main(), request, headers).await?;
            assert_eq!(status, expected, "{request}");
            ensure!(
                text.contains("x-content-type-options: nosniff\r\n"),
                "{text}"
            );
        }
        Ok(())
    });
}

#[test]
fn wrong_tokens_are_slowed_and_logged_once() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch).variable("DRAGOMAN_TOKEN", SECRET);
        let started = Instant::now();
        let mut server = Process::start(&launch).await?;
        let address = ([127, 0, 0, 1], server.port()).into();
        let mut answers = Vec::new();
        for guess in 0..3 * server::limits::GUESSES_BURST {
            let guess = format!("authorization: Bearer guess-{guess}");
            answers.push(raw::ask(address, "GET /", &[&guess]).await?);
        }
        let burst = server::limits::GUESSES_BURST as usize;
        ensure!(answers[..burst].iter().all(|(status, _)| *status == 401));
        let (_, slowed) = answers
            .iter()
            .find(|(status, _)| *status == 429)
            .context("never slowed")?;
        ensure!(slowed.contains("retry-after: 1\r\n"), "{slowed}");
        // Not to have one is no guess.
        assert_eq!(raw::ask(address, "GET /", &[]).await?.0, 401);
        server.terminate().await?;
        let log = server.whole_log();
        ensure_logged_now_and_then(&log, "a wrong token", started)
    });
}
