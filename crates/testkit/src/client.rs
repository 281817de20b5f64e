//! A WebSocket client for tests: says what it heard when a wait fails.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// How long one frame may take.
pub const LIMIT: Duration = Duration::from_secs(10);
/// As many frames as a failure shows.
const FRAMES_SHOWN: usize = 30;
const FRAME_CHARS_SHOWN: usize = 400;

pub struct Client {
    socket: WebSocketStream<TcpStream>,
    heard: Vec<String>,
    closed: Option<Close>,
    limit: Duration,
}

/// What came over the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Frame(String),
    Closed(Close),
}

/// How the server closed; 1006 stands for a connection that broke without a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    pub code: u16,
    pub reason: String,
}

impl fmt::Display for Close {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.code, self.reason)
    }
}

impl Client {
    pub async fn connect(url: &str) -> anyhow::Result<Self> {
        Self::open(url, TcpSocket::new_v4()?).await
    }

    /// One whose kernel keeps little for it, so that not reading is soon felt by the server.
    /// It is slow only as long as nobody calls `recv`.
    pub async fn connect_narrow(url: &str) -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4096)?;
        Self::open(url, socket).await
    }

    async fn open(url: &str, socket: TcpSocket) -> anyhow::Result<Self> {
        let request = url.into_client_request()?;
        let authority = request.uri().authority().context("the url has no host")?;
        let address = authority
            .as_str()
            .parse()
            .with_context(|| format!("not an address: {authority}"))?;
        let opening = async {
            let stream = socket.connect(address).await?;
            stream.set_nodelay(true)?;
            Ok::<_, anyhow::Error>(client_async(request, stream).await?.0)
        };
        let socket = timeout(LIMIT, opening)
            .await
            .with_context(|| format!("no upgrade within {LIMIT:?}"))?
            .with_context(|| format!("cannot connect to {url}"))?;
        Ok(Self {
            socket,
            heard: Vec::new(),
            closed: None,
            limit: LIMIT,
        })
    }

    /// How long one frame may take from now on.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    pub async fn send(&mut self, frame: impl Into<String>) -> anyhow::Result<()> {
        let frame = frame.into();
        timeout(self.limit, self.socket.send(Message::text(frame)))
            .await
            .context("the server does not take frames")?
            .context("cannot send")
    }

    /// A binary message.
    pub async fn send_bytes(&mut self, bytes: Vec<u8>) -> anyhow::Result<()> {
        timeout(self.limit, self.socket.send(Message::binary(bytes)))
            .await
            .context("the server does not take frames")?
            .context("cannot send")
    }

    pub async fn send_json(&mut self, frame: &Value) -> anyhow::Result<()> {
        self.send(frame.to_string()).await
    }

    /// The next frame, or the close.
    pub async fn recv(&mut self) -> anyhow::Result<Heard> {
        if let Some(close) = &self.closed {
            return Ok(Heard::Closed(close.clone()));
        }
        loop {
            let Ok(message) = timeout(self.limit, self.socket.next()).await else {
                bail!("nothing within {:?}; {}", self.limit, self.so_far());
            };
            let heard = match message {
                Some(Ok(Message::Text(text))) => Heard::Frame(text.as_str().to_owned()),
                Some(Ok(Message::Close(frame))) => Heard::Closed(Close {
                    code: frame.as_ref().map_or(1005, |frame| frame.code.into()),
                    reason: frame.map_or_else(String::new, |frame| frame.reason.to_string()),
                }),
                Some(Ok(Message::Binary(_))) => bail!("a binary frame; {}", self.so_far()),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Err(error)) => Heard::Closed(broken(&error)),
                None => Heard::Closed(broken(&Error::ConnectionClosed)),
            };
            self.note(&heard);
            return Ok(heard);
        }
    }

    fn note(&mut self, heard: &Heard) {
        match heard {
            Heard::Frame(frame) => self.heard.push(frame.clone()),
            Heard::Closed(close) => self.closed = Some(close.clone()),
        }
    }

    /// The next frame as JSON; a close is an error.
    pub async fn json(&mut self) -> anyhow::Result<Value> {
        match self.recv().await? {
            Heard::Frame(frame) => {
                serde_json::from_str(&frame).with_context(|| format!("not JSON: {frame}"))
            }
            Heard::Closed(close) => bail!("closed: {close}; {}", self.so_far()),
        }
    }

    /// The first frame that is meant, which is also the last one read.
    pub async fn until(&mut self, meant: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        loop {
            let frame = self.json().await?;
            if meant(&frame) {
                return Ok(frame);
            }
        }
    }

    /// The first frame of a type.
    pub async fn until_type(&mut self, kind: &str) -> anyhow::Result<Value> {
        self.until(|frame| frame["type"] == kind)
            .await
            .with_context(|| format!("waiting for {kind}"))
    }

    /// Reads to the end and says how the server closed.
    pub async fn until_closed(&mut self) -> anyhow::Result<Close> {
        loop {
            if let Heard::Closed(close) = self.recv().await? {
                return Ok(close);
            }
        }
    }

    /// Says goodbye and goes.
    pub async fn close(mut self) -> anyhow::Result<()> {
        self.hang_up().await
    }

    /// The same, where what was heard is still wanted.
    pub async fn hang_up(&mut self) -> anyhow::Result<()> {
        timeout(self.limit, self.socket.close(None))
            .await
            .context("the server does not take the close")?
            .context("cannot close")
    }

    /// Every frame so far.
    pub fn heard(&self) -> &[String] {
        &self.heard
    }

    fn so_far(&self) -> String {
        let from = self.heard.len().saturating_sub(FRAMES_SHOWN);
        let mut text = format!("heard {} frames", self.heard.len());
        for frame in &self.heard[from..] {
            let cut: String = frame.chars().take(FRAME_CHARS_SHOWN).collect();
            text.push_str("\n  < ");
            text.push_str(&cut);
        }
        text
    }
}

fn broken(error: &Error) -> Close {
    Close {
        code: 1006,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio_tungstenite::accept_async;
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;

    use super::*;

    /// A server that says these frames and then closes.
    async fn server(frames: &'static [&'static str], close: CloseFrame) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await?;
            let mut socket = accept_async(stream).await?;
            for frame in frames {
                socket.send(Message::text(*frame)).await?;
            }
            socket.close(Some(close)).await?;
            while socket.next().await.is_some() {}
            Ok::<_, anyhow::Error>(())
        });
        Ok(format!("ws://{address}/ws"))
    }

    #[tokio::test]
    async fn frames_are_heard_in_order_and_the_close_is_told() -> anyhow::Result<()> {
        let close = CloseFrame {
            code: 1013.into(),
            reason: "too slow".into(),
        };
        let frames = &[r#"{"type":"one"}"#, r#"{"type":"two","n":2}"#];
        let mut client = Client::connect(&server(frames, close).await?).await?;
        assert_eq!(client.until_type("two").await?["n"], 2);
        assert_eq!(client.heard().len(), 2);
        assert_eq!(client.until_closed().await?.to_string(), "1013 too slow");
        Ok(())
    }

    #[tokio::test]
    async fn a_wait_in_vain_tells_what_was_heard() -> anyhow::Result<()> {
        let close = CloseFrame {
            code: 1000.into(),
            reason: "".into(),
        };
        let mut client = Client::connect(&server(&[r#"{"type":"one"}"#], close).await?).await?;
        let error = client.until_type("three").await.expect_err("in vain");
        assert!(format!("{error:#}").contains(r#"< {"type":"one"}"#));
        Ok(())
    }
}
