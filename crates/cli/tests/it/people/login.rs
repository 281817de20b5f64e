//! `dragoman auth login` and `dragoman models` with providers that answer, refuse, or are not there.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::Scratch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{LIMIT, dragoman, err, out};
use crate::tell;

const KEY: &str = "sk-test-0123456789abcdef";
const NOBODY: &str = "http://127.0.0.1:1/v1";

/// A provider that answers everything with this. Its address.
pub(super) async fn provider(status: u16, body: String) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
            let mut head = [0; 4096];
            // A request of these programs comes in one piece.
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Ok(url)
}

/// How `auth login openai` ends, and what it says.
async fn login(scratch: &Scratch, url: &str) -> anyhow::Result<(Option<i32>, String, String)> {
    let key = scratch.user().join("key");
    std::fs::write(&key, KEY)?;
    let output = dragoman(scratch, &["auth", "login", "openai", "--key-stdin"])
        .env("OPENAI_BASE_URL", url)
        .stdin(std::fs::File::open(&key)?)
        .output()
        .await?;
    Ok((output.status.code(), out(&output), err(&output)))
}

fn saved_key(scratch: &Scratch) -> anyhow::Result<Value> {
    let text = std::fs::read(scratch.home().join("auth/connections.json"))?;
    let saved: Value = serde_json::from_slice(&text)?;
    Ok(saved["services"]["openai"]["apiKey"].clone())
}

#[test]
fn a_key_that_could_not_be_checked_is_saved_and_that_is_no_failure() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let (code, out, err) = login(&scratch, NOBODY).await?;
        assert_eq!(code, Some(0), "{out}{err}");
        ensure!(
            out.contains("It was saved, but could not be checked: "),
            "{out}"
        );
        ensure!(out.contains("dragoman auth status"), "{out}");
        assert_eq!(saved_key(&scratch)?, KEY);
        Ok(())
    });
}

#[test]
fn a_key_that_was_refused_is_a_failure() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let refusal = json!({ "error": { "message": "Incorrect API key provided" } });
        let url = provider(401, refusal.to_string()).await?;
        let (code, out, err) = login(&scratch, &url).await?;
        assert_eq!(code, Some(1), "{out}{err}");
        ensure!(err.contains("OpenAI does not accept it"), "{err}");
        Ok(())
    });
}

#[test]
fn what_a_provider_calls_its_models_cannot_command_a_terminal() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let evil = "gpt-\u{1b}]0;owned\u{7}\u{202e}evil";
        let list = json!({ "object": "list", "data": [{ "id": evil }] });
        let url = provider(200, list.to_string()).await?;
        let (code, out, err) = login(&scratch, &url).await?;
        assert_eq!(code, Some(0), "{out}{err}");
        let output = dragoman(&scratch, &["models", "openai"])
            .env("OPENAI_BASE_URL", &url)
            .output()
            .await?;
        let shown = super::out(&output);
        ensure!(
            shown.contains("openai/gpt-\\u{1b}]0;owned\\u{7}\\u{202e}evil"),
            "{shown}"
        );
        ensure!(
            !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{shown:?}"
        );
        Ok(())
    });
}

#[test]
fn a_server_of_this_machine_needs_no_key() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let output = dragoman(&scratch, &["auth", "login", "ollama"])
            .env("OLLAMA_BASE_URL", NOBODY)
            .output()
            .await?;
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let said = out(&output);
        ensure!(said.contains("Ollama needs no key"), "{said}");
        ensure!(said.contains("Not running: no answer at"), "{said}");
        Ok(())
    });
}
