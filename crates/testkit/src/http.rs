//! HTTP over a plain socket, without a library that might forgive what it should not: requests to
//! health pages and to the switches of test peers, and the other side for services of our own.

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
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
    answered_json(method, port, path, ("application/json", &body)).await
}

/// What a form is answered with at `http://127.0.0.1:port/path`, likewise.
pub async fn form(port: u16, path: &str, form: &str) -> anyhow::Result<Value> {
    let body = ("application/x-www-form-urlencoded", form);
    answered_json("POST", port, path, body).await
}

async fn answered_json(
    method: &str,
    port: u16,
    path: &str,
    (kind, body): (&str, &str),
) -> anyhow::Result<Value> {
    // An older client gets its answer in one piece.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\n\
         content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
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

/// Where a page on this machine sends a browser.
pub async fn location(url: &str) -> anyhow::Result<String> {
    let (port, path) = place(url)?;
    let request = format!("GET {path} HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\n\r\n");
    let answer = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        anyhow::Ok(answer)
    };
    let answer = tokio::time::timeout(LIMIT, answer).await??;
    let location = header(&answer, "location");
    location
        .map(str::to_owned)
        .with_context(|| format!("leads nowhere: {answer}"))
}

/// Opens a page on this machine, which must be there.
pub async fn visit(url: &str) -> anyhow::Result<()> {
    let (port, path) = place(url)?;
    let (status, body) = get(port, &path).await?;
    if status != 200 {
        bail!("{url} answered {status}: {body}");
    }
    Ok(())
}

/// The port and the path of a page on this machine.
fn place(url: &str) -> anyhow::Result<(u16, String)> {
    let (_, rest) = url.split_once("://").context("not a URL")?;
    let (host, path) = rest.split_once('/').context("a URL without a path")?;
    let (_, port) = host.split_once(':').context("a URL without a port")?;
    Ok((port.parse()?, format!("/{path}")))
}

/// A request as a service gets it.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The request line and all headers, up to the empty line.
    pub head: String,
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The next of this connection; nothing if it was closed. `buffer` keeps what came too early.
    pub async fn read(
        stream: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(end) = head_end(stream, buffer).await? else {
            return Ok(None);
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let length = match header(&head, "content-length") {
            Some(length) => length.parse().context("not a length")?,
            None => 0,
        };
        while buffer.len() < end + length {
            if stream.read_buf(buffer).await? == 0 {
                bail!("half a request");
            }
        }
        let body = buffer[end..end + length].to_vec();
        buffer.drain(..end + length);
        Ok(Some(Self { head, body }))
    }

    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    /// With its query.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// Where the head in front of the buffer ends, read as far as it takes; nothing if it never does.
pub(crate) async fn head_end(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> anyhow::Result<Option<usize>> {
    loop {
        if let Some(at) = buffer.windows(4).position(|at| at == b"\r\n\r\n") {
            return Ok(Some(at + 4));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
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
