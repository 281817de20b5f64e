//! One GET over a plain socket, for the health pages.

use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(10);

/// Status and body of `http://127.0.0.1:port/path`.
pub async fn get(port: u16, path: &str) -> anyhow::Result<(u16, String)> {
    tokio::time::timeout(LIMIT, ask(port, path))
        .await
        .with_context(|| format!("GET {path} was not answered within {LIMIT:?}"))?
}

async fn ask(port: u16, path: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .with_context(|| format!("GET {path} got no HTTP answer: {answer:?}"))?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .with_context(|| format!("GET {path} got no status: {head:?}"))?;
    Ok((status, body.to_owned()))
}
