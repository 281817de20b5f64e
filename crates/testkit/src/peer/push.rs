//! A push service: takes what is sent to a browser, and opens nothing.

use std::time::Duration;

use anyhow::Context;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::http::ReceivedRequest;

const LIMIT: Duration = Duration::from_secs(20);
/// More than a story has sent.
const MESSAGES_KEPT: usize = 64;
/// What of a message's head does not differ from run to run.
const HEADERS_SHOWN: [&str; 3] = ["content-encoding", "ttl", "urgency"];

pub struct PushService {
    host: String,
    messages: mpsc::Receiver<ReceivedRequest>,
    task: AbortHandle,
}

impl PushService {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let host = listener.local_addr()?.to_string();
        let (taken, messages) = mpsc::channel(MESSAGES_KEPT);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Whoever hangs up early is not answered.
                tokio::spawn(serve(stream, taken.clone()));
            }
        });
        let task = task.abort_handle();
        Ok(Self {
            host,
            messages,
            task,
        })
    }

    /// Its address and port.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.host)
    }

    /// The next message, in the order they came: where it went and how, for a transcript.
    pub async fn next(&mut self) -> anyhow::Result<String> {
        let message = tokio::time::timeout(LIMIT, self.messages.recv()).await;
        let message = message.with_context(|| format!("no push message within {LIMIT:?}"))?;
        let message = message.context("the push service has ended")?;
        let mut shown = format!("{} {}", message.method(), message.path());
        for name in HEADERS_SHOWN {
            let mut lines = message.head.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
            let (_, value) = found.with_context(|| format!("a push message without {name}"))?;
            shown = format!("{shown}, {name} {}", value.trim());
        }
        Ok(shown)
    }
}

impl Drop for PushService {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, taken: mpsc::Sender<ReceivedRequest>) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = ReceivedRequest::read(&mut stream, &mut buffer).await? {
        taken.send(request).await?;
        let answer = "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}
