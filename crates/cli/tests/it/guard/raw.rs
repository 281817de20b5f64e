//! HTTP and WebSocket by hand: what no well-behaved client library would send.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(20);

/// What asks for a WebSocket.
pub const UPGRADE: [&str; 4] = [
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
];

/// The head of a request; a `host` line is added unless one is given.
pub fn head(address: SocketAddr, request: &str, headers: &[&str]) -> String {
    let mut text = format!("{request} HTTP/1.1\r\n");
    if !headers.iter().any(|line| line.starts_with("host:")) {
        text.push_str(&format!("host: {address}\r\n"));
    }
    for line in headers {
        text.push_str(line);
        text.push_str("\r\n");
    }
    text + "\r\n"
}

/// Status and everything else of one answer.
pub async fn ask(
    address: SocketAddr,
    request: &str,
    headers: &[&str],
) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let text = head(
        address,
        request,
        &[headers, &["connection: close"]].concat(),
    );
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    timeout(LIMIT, stream.read_to_string(&mut answer))
        .await
        .with_context(|| format!("{request} was not answered"))??;
    Ok((status(&answer)?, answer))
}

/// An upgraded socket, or the status that refused it.
pub async fn upgrade(
    address: SocketAddr,
    path: &str,
    headers: &[&str],
) -> anyhow::Result<Result<TcpStream, u16>> {
    let mut stream = TcpStream::connect(address).await?;
    let text = head(
        address,
        &format!("GET {path}"),
        &[headers, &UPGRADE].concat(),
    );
    stream.write_all(text.as_bytes()).await?;
    let answer = timeout(LIMIT, until_blank_line(&mut stream))
        .await
        .with_context(|| format!("the upgrade of {path} was not answered"))??;
    Ok(match status(&answer)? {
        101 => Ok(stream),
        other => Err(other),
    })
}

pub async fn upgrade_status(
    address: SocketAddr,
    path: &str,
    headers: &[&str],
) -> anyhow::Result<u16> {
    Ok(upgrade(address, path, headers).await?.err().unwrap_or(101))
}

async fn until_blank_line(stream: &mut TcpStream) -> anyhow::Result<String> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The status of an answer.
pub fn status(answer: &str) -> anyhow::Result<u16> {
    let word = answer.split(' ').nth(1).unwrap_or_default();
    word.parse()
        .with_context(|| format!("not an HTTP answer: {answer:?}"))
}

/// A masked frame: first byte, then the payload with a mask of zeros.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame_head(first, payload.len() as u64);
    bytes.extend_from_slice(payload);
    bytes
}

/// The head of a frame that claims so many bytes.
pub fn frame_head(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..126 => bytes.push(0x80 | length as u8),
        126..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&length.to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes
}
