//! The port of its own: any path, a token at the upgrade, and ids as the original's where that is wanted.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use super::LIMIT;
use crate::guard::raw;
use crate::{DRAGOMAN, tell};

const SECRET: &str = "planted-token-0123456789abcdef";

#[test]
fn its_own_port_takes_any_path_and_wants_the_token_at_the_upgrade() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument("--listen")
            .argument("pioneer=0")
            .variable("DRAGOMAN_TOKEN", SECRET);
        let server = Process::start(&launch).await?;
        let mut listeners = server.listeners().iter();
        let own = listeners.find(|each| each.dialect == "pioneer");
        let own = own.context("no port of its own")?;
        let address = format!("127.0.0.1:{}", own.port).parse()?;
        for path in ["/", "/any/path", "/gateway?x=1"] {
            let (status, text) = raw::ask(address, &format!("GET {path}"), &raw::UPGRADE).await?;
            ensure!(status == 401, "{path}: {text}");
            ensure!(text.contains("content-type: text/plain"), "{text}");
            let (_, body) = text.split_once("\r\n\r\n").context("a body")?;
            ensure!(
                body.starts_with("missing or invalid bearer token"),
                "{body}"
            );
            let wrong = "authorization: Bearer nobody-has-this-token-00000";
            assert_eq!(raw::upgrade_status(address, path, &[wrong]).await?, 401);
            let bearer = format!("authorization: Bearer {SECRET}");
            assert_eq!(raw::upgrade_status(address, path, &[&bearer]).await?, 101);
        }
        // Browsers cannot set headers.
        let url = format!("ws://127.0.0.1:{}/any?token={SECRET}", own.port);
        let mut client = Client::connect(&url).await?;
        client
            .send_json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "workspace/default" }))
            .await?;
        let answer = client.until(|frame| frame["id"] == 1).await?;
        ensure!(
            answer["result"]["workspace"]["is_active"] == true,
            "{answer}"
        );
        Ok(())
    });
}

#[test]
fn strict_ids_are_a_setting() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch).argument("--pioneer-strict-ids");
        let server = Process::start(&launch).await?;
        let url = format!("ws://127.0.0.1:{}/pioneer", server.port());
        let mut client = Client::connect(&url).await?;
        for id in [json!(1), json!("short"), json!("request-0000000000001")] {
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/list" });
            client.send_json(&request).await?;
            let answer = client.until(|frame| frame.get("error").is_some()).await?;
            ensure!(answer["id"] == Value::Null, "{answer}");
            ensure!(answer["error"]["code"] == -32600, "{answer}");
        }
        let id = json!("request00000000000001");
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/list" });
        client.send_json(&request).await?;
        client
            .until(|frame| frame["id"] == id && frame.get("result").is_some())
            .await?;
        Ok(())
    });
}
