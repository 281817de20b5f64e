//! What must stay inside stays inside.

use std::os::unix::fs::PermissionsExt;

use anyhow::ensure;
use serde_json::json;
use testkit::process::Launch;
use testkit::{Client, Process, Scratch};

use super::{LIMIT, SECRET, raw};
use crate::{DRAGOMAN, Visitor, tell};

const KEY: &str = "sk-planted-key-0123456789";

/// A command that has the token could answer its own questions.
#[test]
fn no_tool_reads_the_token_file() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let file = scratch.workspace().join("token");
        std::fs::write(&file, SECRET)?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument(format!("--token-file={}", file.display()))
            .argument("--yolo");
        let mut server = Process::start(&launch).await?;
        let url = format!("{}?token={SECRET}", server.url());
        let mut visitor = Visitor::greet(Client::connect(&url).await?).await?;
        for call in [
            r#"read {"filePath": "token"}"#,
            r#"grep {"pattern": "."}"#,
            r#"bash {"command": "cat token; cat < token"}"#,
        ] {
            visitor.say(&format!("tool {call}")).await?;
            visitor.rest().await?;
        }
        let heard = visitor.client.heard();
        ensure!(heard.iter().any(|frame| frame.contains("Tool result:")));
        for frame in heard {
            ensure!(!frame.contains(SECRET), "told the token: {frame}");
        }
        server.terminate().await?;
        Ok(())
    });
}

/// With the network open, commands reach other ports of this machine, but never the server's.
#[test]
fn a_command_with_the_network_does_not_reach_the_server() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument("--network")
            .argument("--yolo");
        let mut server = Process::start(&launch).await?;
        let mut visitor = Visitor::greet(Client::connect(server.url()).await?).await?;
        let other = std::net::TcpListener::bind("127.0.0.1:0")?;
        let tried = [server.port(), other.local_addr()?.port()].map(|port| {
            format!(
                "(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached-{}",
                port == server.port()
            )
        });
        let command = json!({ "command": format!("{}; true", tried.join("; ")) });
        let answer = visitor.converse(&format!("tool bash {command}")).await?;
        ensure!(answer.contains("reached-false"), "{answer}");
        ensure!(!answer.contains("reached-true"), "{answer}");
        server.terminate().await?;
        Ok(())
    });
}

#[test]
fn no_secret_is_ever_sent_or_logged() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch)
            .argument("--listen=zane=0")
            .variable("DRAGOMAN_TOKEN", SECRET)
            .variable("OPENAI_API_KEY", KEY)
            .variable("ANTHROPIC_API_KEY", KEY)
            .variable("DRAGOMAN_LOG", "trace");
        let mut server = Process::start(&launch).await?;
        let address = ([127, 0, 0, 1], server.port()).into();
        let mut said = Vec::new();
        let bearer = format!("authorization: Bearer {SECRET}");
        for request in [
            "GET /",
            "GET /ws",
            "GET /nothing",
            "POST /ticket",
            "GET /readyz",
        ] {
            said.push(raw::ask(address, request, &[]).await?.1);
            said.push(raw::ask(address, request, &[&bearer]).await?.1);
        }
        // Half of the token is a wrong token, and a wrong token may be a misspelt right one.
        let half = &SECRET[..SECRET.len() / 2];
        let wrong = format!("GET /ws?token={half}");
        said.push(raw::ask(address, &wrong, &[]).await?.1);

        let url = format!("{}?token={SECRET}&resumeSessionId={KEY}", server.url());
        let mut visitor = Visitor::greet(Client::connect(&url).await?).await?;
        visitor.converse("echo hello").await?;
        visitor.say("show me an error").await?;
        visitor.rest().await?;
        visitor.client.send("{ not json").await?;
        visitor.client.until_type("error").await?;
        visitor.send("read_file", json!({})).await?;
        visitor.client.until_type("error").await?;
        said.extend(visitor.client.heard().iter().cloned());
        server.terminate().await?;

        said.push(server.whole_log());
        for text in &said {
            for secret in [SECRET, half, KEY] {
                ensure!(!text.contains(secret), "told a secret: {text}");
            }
        }
        Ok(())
    });
}
