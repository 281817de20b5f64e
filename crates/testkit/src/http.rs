//! One request over a plain socket: for the health pages, and for the switches of test peers.

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(10);
/// A model on a busy machine may think for a while.
const PEER_LIMIT: Duration = Duration::from_secs(60);

/// Status and body of `http://127.0.0.1:port/path`.
pub async fn get(port: u16, path: &str) -> anyhow::Result<(u16, String)> {
    tokio::time::timeout(LIMIT, ask(port, path))
        .await
        .with_context(|| format!("GET {path} was not answered within {LIMIT:?}"))?
}

/// What `http://127.0.0.1:port/path` answers, as JSON; anything but success is an error.
pub async fn json(
    method: &str,
    port: u16,
    path: &str,
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let body = body.map_or_else(String::new, Value::to_string);
    // An older client gets its answer in one piece.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, answer) = tokio::time::timeout(PEER_LIMIT, exchange(port, &request))
        .await
        .with_context(|| format!("{method} {path} was not answered within {PEER_LIMIT:?}"))?
        .with_context(|| format!("{method} {path}"))?;
    if !(200..300).contains(&status) {
        bail!("{method} {path} got {status}: {answer}");
    }
    serde_json::from_str(&answer).with_context(|| format!("{method} {path} got no JSON: {answer}"))
}

async fn ask(port: u16, path: &str) -> anyhow::Result<(u16, String)> {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
    exchange(port, &request)
        .await
        .with_context(|| format!("GET {path}"))
}

async fn exchange(port: u16, request: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .with_context(|| format!("no HTTP answer: {answer:?}"))?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .with_context(|| format!("no status: {head:?}"))?;
    Ok((status, body.to_owned()))
}
