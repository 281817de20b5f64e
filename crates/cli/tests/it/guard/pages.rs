//! Which web pages may speak to the server.

use std::time::Instant;

use anyhow::ensure;
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{Door, LIMIT, SECRET, ensure_logged_now_and_then, raw, token};
use crate::{DRAGOMAN, tell};

#[test]
fn a_page_is_our_own_a_desktop_shells_or_named_in_every_dialect() {
    tell(LIMIT, async {
        let open = |settings: &mut server::Settings| {
            settings
                .allow_origins
                .push("https://team.example".to_owned());
        };
        let door = Door::open(open).await?;
        let own = format!("http://{}", door.main());
        for tongue in server::table::TONGUES {
            for path in tongue.main {
                for origin in [
                    &own,
                    "file://",
                    "tauri://localhost",
                    "http://tauri.localhost",
                    "https://tauri.localhost",
                    "https://team.example",
                ] {
                    let origin = format!("origin: {origin}");
                    assert_eq!(
                        door.upgrade(path, &[&origin]).await?,
                        101,
                        "{path} {origin}"
                    );
                }
                for origin in [
                    "https://evil.example",
                    "null",
                    "http://localhost:5173",
                    "http://127.0.0.1:5173",
                    "http://localhost:80@evil.example",
                    "http://localhost:1420.evil.com",
                ] {
                    let origin = format!("origin: {origin}");
                    assert_eq!(
                        door.upgrade(path, &[&origin]).await?,
                        403,
                        "{path} {origin}"
                    );
                }
            }
        }
        let evil = ["origin: https://evil.example"];
        assert_eq!(raw::ask(door.main(), "POST /ticket", &evil).await?.0, 403);
        Ok(())
    });
}

#[test]
fn a_refusal_says_which_flag_would_allow_it_there_and_in_the_log() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let page = ["origin: http://localhost:5173"];
        let advice = "--allow-origin http://localhost:5173";
        let host = ["host: box.example"];
        let started = Instant::now();
        let mut server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        let address = ([127, 0, 0, 1], server.port()).into();
        for _ in 0..50 {
            let (status, text) = raw::ask(address, "GET /ws", &page).await?;
            assert_eq!(status, 403);
            ensure!(text.contains(advice), "{text}");
        }
        assert_eq!(raw::ask(address, "GET /ws", &host).await?.0, 421);
        server.terminate().await?;
        let log = server.whole_log();
        // Whoever asks often does not fill it.
        ensure_logged_now_and_then(&log, advice, started)?;
        ensure!(log.contains("--allow-host box.example"), "{log}");

        let words: Vec<&str> = advice.split(' ').collect();
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument(words[0])
            .argument(words[1])
            .argument("--allow-host=box.example");
        let server = Process::start(&launch).await?;
        let address = ([127, 0, 0, 1], server.port()).into();
        let both = [page[0], host[0]];
        assert_eq!(raw::upgrade_status(address, "/ws", &both).await?, 101);
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
