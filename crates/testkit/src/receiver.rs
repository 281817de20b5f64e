//! A receiver of traces behind a socket: keeps what it is sent, and refuses when it is told to.

use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use flate2::read::GzDecoder;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::http::ReceivedRequest;

const LIMIT: Duration = Duration::from_secs(20);

/// What it got with one request.
#[derive(Clone, Debug)]
pub struct ReceivedTraces {
    /// The request line and all headers, in lower case.
    pub head: String,
    /// Unpacked.
    pub body: Vec<u8>,
}

#[derive(Clone, Default)]
struct Taken {
    all: Vec<ReceivedTraces>,
    /// How many it did not take.
    refused: usize,
}

pub struct TraceReceiver {
    port: u16,
    status: Arc<Mutex<&'static str>>,
    taken: Arc<watch::Sender<Taken>>,
    accepting: JoinHandle<()>,
}

impl TraceReceiver {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let status = Arc::new(Mutex::new("200 OK"));
        let taken = Arc::new(watch::Sender::new(Taken::default()));
        let shared = (Arc::clone(&status), Arc::clone(&taken));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (status, taken) = shared.clone();
                tokio::spawn(async move {
                    // A client that goes away is no trouble of ours.
                    let _ = serve(stream, &status, &taken).await;
                });
            }
        });
        Ok(Self {
            port,
            status,
            taken,
            accepting,
        })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Answers with this from now on; what is not answered with 200 is not kept.
    pub fn answer(&self, status: &'static str) {
        *locked(&self.status) = status;
    }

    pub fn received(&self) -> Vec<ReceivedTraces> {
        self.taken.borrow().all.clone()
    }

    /// All that was taken, once it is enough.
    pub async fn until(
        &self,
        enough: impl Fn(&[ReceivedTraces]) -> bool,
    ) -> anyhow::Result<Vec<ReceivedTraces>> {
        let mut changes = self.taken.subscribe();
        let waiting = changes.wait_for(|taken| enough(&taken.all));
        let taken = tokio::time::timeout(LIMIT, waiting).await;
        Ok(taken.context("the traces did not come")??.all.clone())
    }

    /// Waits until so many requests were not taken.
    pub async fn until_refused(&self, count: usize) -> anyhow::Result<()> {
        let mut changes = self.taken.subscribe();
        let waiting = changes.wait_for(|taken| taken.refused >= count);
        let refused = tokio::time::timeout(LIMIT, waiting).await;
        refused.context("no request came that was to be refused")??;
        Ok(())
    }
}

impl Drop for TraceReceiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    status: &Mutex<&'static str>,
    taken: &watch::Sender<Taken>,
) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = ReceivedRequest::read(&mut stream, &mut buffer).await? {
        let status = *locked(status);
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await?;
        let mut body = Vec::new();
        GzDecoder::new(&request.body[..]).read_to_end(&mut body)?;
        let head = request.head.to_ascii_lowercase();
        taken.send_modify(|taken| match status.starts_with("200") {
            true => taken.all.push(ReceivedTraces { head, body }),
            false => taken.refused += 1,
        });
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
