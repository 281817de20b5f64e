//! What the client of the first versions asks over HTTP before it connects.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{LIMIT, Page};
use crate::guard::raw;
use crate::{DRAGOMAN, tell};

const PAGE: &str = "origin: http://localhost:5173";

/// A server with a port of its own for that client, and a page that is named.
async fn serve(scratch: &Scratch, more: &[&str]) -> anyhow::Result<Process> {
    let launch = Launch::new(DRAGOMAN, scratch)
        .argument("--listen=zane=0")
        .argument("--allow-origin=http://localhost:5173");
    let launch = more
        .iter()
        .fold(launch, |launch, word| launch.argument(*word));
    Process::start(&launch).await
}

fn own(server: &Process) -> anyhow::Result<SocketAddr> {
    let zane = server.listeners().first().context("a listener")?;
    Ok(([127, 0, 0, 1], zane.port).into())
}

async fn json(
    address: SocketAddr,
    request: &str,
    headers: &[&str],
) -> anyhow::Result<(u16, Value)> {
    let (status, answer) = raw::ask(address, request, headers).await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("a body")?;
    let value = serde_json::from_str(body);
    Ok((
        status,
        value.with_context(|| format!("not JSON: {answer}"))?,
    ))
}

/// B2: without `/auth/session` the client of the seed's date says "Orbit unavailable" and never connects.
#[test]
fn b2_a_lone_user_is_signed_in_and_goes_on_to_the_socket() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = serve(&scratch, &[]).await?;
        let own = own(&server)?;
        let asks = [
            PAGE,
            "access-control-request-method: GET",
            "access-control-request-headers: authorization",
        ];
        let (status, text) = raw::ask(own, "OPTIONS /auth/session", &asks).await?;
        assert_eq!(status, 204);
        ensure!(
            text.contains("access-control-allow-origin: http://localhost:5173"),
            "{text}"
        );
        ensure!(text.contains("access-control-allow-headers: authorization, content-type"));
        for (address, path) in [
            (own, "/auth/session"),
            (([127, 0, 0, 1], server.port()).into(), "/zane/auth/session"),
        ] {
            let (status, session) = json(address, &format!("GET {path}"), &[PAGE]).await?;
            assert_eq!(status, 200, "{session}");
            assert_eq!(session["authenticated"], true);
            assert_eq!(session["user"]["id"], "owner");
            ensure!(session["user"]["name"].is_string());
            assert_eq!(session["systemHasUsers"], true);
            ensure!(session["hasPasskey"].is_boolean());
        }
        // What a page may read of it is decided as everywhere.
        let evil = ["origin: https://evil.example"];
        assert_eq!(raw::ask(own, "GET /auth/session", &evil).await?.0, 403);
        let host = ["host: rebound.example"];
        assert_eq!(raw::ask(own, "GET /auth/session", &host).await?.0, 421);
        let mut page = Page::at(&format!("ws://{own}/ws/client?clientId=tab-1")).await?;
        page.ask("model/list", serde_json::json!({})).await?;
        Ok(())
    });
}

#[test]
fn with_tokens_one_is_asked_for_and_a_wrong_one_is_nobodys() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let secret = "a-token-of-this-test-0123456789";
        let file = scratch.write("token", secret)?;
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let word = format!("--token-file={}", file.display());
        let server = serve(&scratch, &[&word]).await?;
        let own = own(&server)?;
        let bearer = format!("authorization: Bearer {secret}");
        let (status, session) = json(own, "GET /auth/session", &[&bearer]).await?;
        assert_eq!(
            (status, &session["authenticated"]),
            (200, &Value::Bool(true))
        );
        for headers in [&[][..], &["authorization: Bearer of-somebody-else"]] {
            let (status, session) = json(own, "GET /auth/session", headers).await?;
            assert_eq!(status, 200, "anything else is an error page to its client");
            assert_eq!(session["authenticated"], false);
            assert_eq!(session["user"], Value::Null);
            assert_eq!(
                session["systemHasUsers"], true,
                "else it offers to make the first user"
            );
        }
        // The socket takes it as the client sends it, and nobody without it.
        Page::at(&format!("ws://{own}/ws/client?token={secret}&clientId=x")).await?;
        assert_eq!(
            raw::upgrade_status(own, "/ws/client?clientId=x", &[]).await?,
            401
        );
        Ok(())
    });
}

#[test]
fn who_guesses_tokens_on_the_page_is_not_heard_for_a_while() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let file = scratch.write("token", "a-token-of-this-test-0123456789")?;
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let word = format!("--token-file={}", file.display());
        let server = serve(&scratch, &[&word]).await?;
        let own = own(&server)?;
        let mut last = 0;
        for _ in 0..2 * server::limits::GUESSES_BURST {
            let wrong = ["authorization: Bearer wrong"];
            let (status, answer) = json(own, "GET /auth/session", &wrong).await?;
            last = status;
            if status == 429 {
                ensure!(answer["error"].is_string());
                break;
            }
        }
        assert_eq!(last, 429);
        Ok(())
    });
}

#[test]
fn what_there_is_not_says_so_in_json_and_what_to_do() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = serve(&scratch, &[]).await?;
        let own = own(&server)?;
        for (path, expected, words) in [
            ("login/options", 501, "zane_auth_token"),
            ("login/verify", 501, "tokens create"),
            ("register/options", 501, "no passkeys"),
            ("register/verify", 501, "no passkeys"),
            ("refresh", 401, "refresh tokens"),
            ("device/code", 501, "its own anchor"),
            ("device/token", 501, "its own anchor"),
            ("device/authorise", 501, "its own anchor"),
        ] {
            let kind = "content-type: application/json";
            let post = format!("POST /auth/{path}");
            let (status, answer) = json(own, &post, &[PAGE, kind, "content-length: 0"]).await?;
            assert_eq!(status, expected, "{path}");
            let error = answer["error"].as_str().unwrap_or_default();
            ensure!(error.contains(words), "{path}: {error}");
            let options = format!("OPTIONS /auth/{path}");
            assert_eq!(raw::ask(own, &options, &[PAGE]).await?.0, 204, "{path}");
        }
        assert_eq!(
            raw::ask(own, "POST /auth/logout", &["content-length: 0"])
                .await?
                .0,
            204
        );
        Ok(())
    });
}

/// W12: the program beside that client asks for the socket's path without an upgrade first.
#[test]
fn w12_a_socket_path_without_an_upgrade_says_that_one_is_needed() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = serve(&scratch, &[]).await?;
        let own = own(&server)?;
        for path in ["/ws", "/ws/client", "/ws/anchor"] {
            let (status, text) = raw::ask(own, &format!("GET {path}"), &[]).await?;
            assert_eq!(status, 426, "{path}");
            ensure!(text.to_lowercase().contains("upgrade: websocket"), "{text}");
        }
        let (status, health) = json(own, "GET /health", &[]).await?;
        assert_eq!((status, &health["appServer"]), (200, &Value::Bool(true)));
        Ok(())
    });
}
