//! Stands between the server and a model service: keeps each request as it was written, and may
//! change it on its way.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::http::{self, ReceivedRequest};

pub struct RecordingProxy {
    port: u16,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    accepting: JoinHandle<()>,
}

/// What was asked, before it was changed.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    pub path: String,
    pub body: Value,
}

impl RecordingProxy {
    /// Forwards to this port.
    pub async fn start(to: u16) -> anyhow::Result<Self> {
        Self::editing(to, |_| {}).await
    }

    /// Forwards what `edit` makes of each body.
    pub async fn editing(to: u16, edit: fn(&mut Value)) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let requests = Arc::default();
        let shared = Arc::clone(&requests);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let requests = Arc::clone(&shared);
                tokio::spawn(async move {
                    // Whichever side goes away, the other is told by the end of its connection.
                    let _ = forward(stream, to, edit, &requests).await;
                });
            }
        });
        Ok(Self {
            port,
            requests,
            accepting,
        })
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Those with a JSON body, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for RecordingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One request for each connection: the answer ends with it, and so does the client's wait.
async fn forward(
    mut client: TcpStream,
    to: u16,
    edit: fn(&mut Value),
    requests: &Mutex<Vec<RecordedRequest>>,
) -> anyhow::Result<()> {
    let request = ReceivedRequest::read(&mut client, &mut Vec::new()).await?;
    let request = request.context("no request")?;
    let mut bytes = request.body.clone();
    if let Ok(mut body) = serde_json::from_slice::<Value>(&request.body) {
        let recorded = RecordedRequest {
            path: request.path().to_owned(),
            body: body.clone(),
        };
        let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(recorded);
        drop(requests);
        edit(&mut body);
        bytes = body.to_string().into_bytes();
    }
    let mut service = TcpStream::connect(("127.0.0.1", to)).await?;
    let length = format!("content-length: {}\r\n", bytes.len());
    let head = head(&request.head, &length);
    service.write_all(head.as_bytes()).await?;
    service.write_all(&bytes).await?;
    let (mut asks, mut hears) = client.split();
    let answered = async {
        // Only the head is looked at: whatever body follows goes through as it comes.
        let mut buffer = Vec::new();
        let end = http::head_end(&mut service, &mut buffer).await?;
        let end = end.context("no answer")?;
        let (told, rest) = buffer.split_at(end);
        hears
            .write_all(self::head(&String::from_utf8_lossy(told), "").as_bytes())
            .await?;
        hears.write_all(rest).await?;
        copy(&mut service, &mut hears).await?;
        anyhow::Ok(())
    };
    let mut more = [0];
    tokio::select! {
        answered = answered => answered,
        // It has nothing more to say: this is its end.
        gone = asks.read(&mut more) => Ok(gone.map(|_| ())?),
    }
}

/// The same head with another length, and word that the connection ends with the answer: some
/// services promise to keep it, whatever they were asked.
fn head(head: &str, length: &str) -> String {
    let changed = [
        "connection",
        if length.is_empty() {
            ""
        } else {
            "content-length"
        },
    ];
    let kept = head.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !line.is_empty() && !changed.iter().any(|each| name.eq_ignore_ascii_case(each))
    });
    let kept: String = kept.map(|line| format!("{line}\r\n")).collect();
    format!("{kept}{length}connection: close\r\n\r\n")
}
