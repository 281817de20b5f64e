//! Listeners: one dialect on a port of its own, and addresses that others can reach.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, ensure};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::{Door, LIMIT, SECRET, raw, settings, token};
use crate::{DRAGOMAN, tell};

async fn with_every_dialect() -> anyhow::Result<Door> {
    Door::open(|settings| {
        let names = server::table::TONGUES.iter().map(|tongue| tongue.name);
        let wishes = names.map(|name| format!("{name}=0").parse());
        settings.listen = wishes.collect::<Result<_, _>>().expect("known names");
    })
    .await
}

fn port_of(door: &Door, name: &str) -> anyhow::Result<SocketAddr> {
    let found = door.running.others.iter().find(|(known, _)| *known == name);
    Ok(found.with_context(|| format!("no listener {name}"))?.1)
}

#[test]
fn each_dialect_is_found_where_its_clients_look() {
    tell(LIMIT, async {
        let door = with_every_dialect().await?;
        for (name, path, expected) in [
            ("cowork", "/ws", 101),
            ("cowork", "/codex", 404),
            ("cowork1", "/ws", 101),
            ("diminuendo", "/ws", 101),
            ("zane", "/ws", 101),
            ("zane", "/ws/client?clientId=1", 101),
            ("zane", "/ws/anchor", 101),
            ("codex", "/", 101),
            ("codex", "/ws", 404),
            ("pioneer", "/", 101),
            ("pioneer", "/any/path?x=1", 101),
        ] {
            let status = raw::upgrade_status(port_of(&door, name)?, path, &[]).await?;
            assert_eq!(status, expected, "{name} {path}");
        }
        let zane = port_of(&door, "zane")?;
        let (status, text) = raw::ask(zane, "GET /health", &[]).await?;
        assert_eq!(status, 200);
        ensure!(
            text.contains(&format!("\"port\":{}", zane.port())),
            "{text}"
        );
        let mut client = Client::connect(&format!("ws://{}/ws", port_of(&door, "cowork")?)).await?;
        client.until_type("server_hello").await?;
        Ok(())
    });
}

#[test]
fn the_first_subprotocol_of_an_offer_is_taken_in_every_dialect() {
    tell(LIMIT, async {
        let door = Door::open(|_| {}).await?;
        let main = server::table::TONGUES.iter().flat_map(|tongue| tongue.main);
        for path in main {
            let url = format!("ws://{}{path}", door.main());
            let mut request = url.clone().into_client_request()?;
            let headers = request.headers_mut();
            headers.insert("sec-websocket-protocol", "zeta, alpha".parse()?);
            let (_, response) = tokio_tungstenite::connect_async(request).await?;
            assert_eq!(response.headers()["sec-websocket-protocol"], "zeta");
            let (_, response) = tokio_tungstenite::connect_async(url).await?;
            let echoed = response.headers().get("sec-websocket-protocol");
            assert_eq!(echoed, None, "{path}: nothing was offered");
        }
        Ok(())
    });
}

#[test]
fn health_is_a_word_or_json_as_one_asks() {
    tell(LIMIT, async {
        let door = with_every_dialect().await?;
        for address in [door.main(), port_of(&door, "cowork")?] {
            let (_, text) = raw::ask(address, "GET /health", &[]).await?;
            ensure!(text.ends_with("\r\n\r\nOK"), "{text}");
            let json = ["accept: application/json"];
            let (_, text) = raw::ask(address, "GET /health", &json).await?;
            ensure!(text.ends_with("\r\n\r\n{\"status\":\"ok\"}"), "{text}");
        }
        Ok(())
    });
}

#[test]
fn all_listeners_are_in_the_one_line_for_programs() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument("--listen=cowork=0")
            .argument("--listen=pioneer=0");
        let mut server = Process::start(&launch).await?;
        let listeners = server.listeners().to_vec();
        let names: Vec<&str> = listeners.iter().map(|each| each.dialect.as_str()).collect();
        assert_eq!(names, ["cowork", "pioneer"]);
        for each in &listeners {
            let address = format!("ws://127.0.0.1:{}/", each.port);
            ensure!(each.url.starts_with(&address), "{each:?}");
        }
        let mut client = Client::connect(&listeners[0].url).await?;
        client.until_type("server_hello").await?;
        drop(client);
        // It fails when there is a second line on stdout.
        assert_eq!(server.terminate().await?.code(), Some(0));
        Ok(())
    });
}

#[test]
fn an_address_for_others_needs_a_token() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let mut open = settings(&scratch);
        open.host = Ipv4Addr::UNSPECIFIED.into();
        let refused = server::start(open.clone())
            .await
            .err()
            .context("it started")?;
        let refused = refused.to_string();
        ensure!(
            refused.contains("--token-file") && refused.contains("DRAGOMAN_TOKEN"),
            "{refused}"
        );

        open.token = token();
        let running = server::start(open).await?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, running.address.port()));
        assert_eq!(raw::upgrade_status(address, "/ws", &[]).await?, 401);
        let path = format!("/ws?token={SECRET}");
        assert_eq!(raw::upgrade_status(address, &path, &[]).await?, 101);
        assert_eq!(
            raw::upgrade_status(address, &path, &["host: rebound.example"]).await?,
            421
        );
        Ok(())
    });
}
