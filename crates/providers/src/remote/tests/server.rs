//! A scripted HTTP server: says exactly these bytes, stalls, cuts, resets, and remembers who came.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// No test takes this long unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub enum Step {
    Send(Vec<u8>),
    /// Says nothing until the client goes away, and reports that it did.
    Hang,
    /// Goes on when told.
    Await(Arc<Notify>),
    Close,
    Reset,
    /// Waits for the next request on this connection, then closes without a word.
    CloseOnNext,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    pub connection: usize,
    pub head: String,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub struct Server {
    pub port: u16,
    seen: mpsc::UnboundedReceiver<Seen>,
    gone: mpsc::UnboundedReceiver<Instant>,
    task: JoinHandle<()>,
}

type Script = dyn Fn(usize, &str) -> Vec<Step> + Send + Sync;

impl Server {
    /// `script` says what is done about each request, counted from 0 over all connections. A
    /// connection whose script is over waits for its next request.
    pub async fn start(script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Server {
        Server::hearing(move |number, _| script(number)).await
    }

    /// The same, with the body of each request.
    pub async fn hearing(
        script: impl Fn(usize, &str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (seen_out, seen) = mpsc::unbounded_channel();
        let (gone_out, gone) = mpsc::unbounded_channel();
        let script: Arc<Script> = Arc::new(script);
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let task = tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.expect("a client");
                let visit = Visit {
                    connection,
                    stream,
                    buffer: Vec::new(),
                    seen: seen_out.clone(),
                    gone: gone_out.clone(),
                };
                tokio::spawn(visit.run(Arc::clone(&script), Arc::clone(&count)));
            }
        });
        Server {
            port,
            seen,
            gone,
            task,
        }
    }

    /// Always the same.
    pub async fn saying(reply: Vec<u8>) -> Server {
        Server::start(move |_| vec![Step::Send(reply.clone())]).await
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The next request, when it comes.
    pub async fn next(&mut self) -> Seen {
        let next = timeout(PATIENCE, self.seen.recv()).await;
        next.expect("a request in time").expect("a server")
    }

    /// When the client went away from a connection that hangs.
    pub async fn gone(&mut self) -> Instant {
        let gone = timeout(PATIENCE, self.gone.recv()).await;
        gone.expect("the client to go").expect("a server")
    }

    /// Every request so far that nobody has asked for.
    pub fn rest(&mut self) -> Vec<Seen> {
        std::iter::from_fn(|| self.seen.try_recv().ok()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Visit {
    connection: usize,
    stream: TcpStream,
    buffer: Vec<u8>,
    seen: mpsc::UnboundedSender<Seen>,
    gone: mpsc::UnboundedSender<Instant>,
}

impl Visit {
    async fn run(mut self, script: Arc<Script>, count: Arc<std::sync::atomic::AtomicUsize>) {
        while let Some(seen) = self.request().await {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let steps = script(number, &seen.body);
            let _ = self.seen.send(seen);
            for step in steps {
                if !self.step(step).await {
                    return;
                }
            }
        }
    }

    /// Whether the connection goes on.
    async fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Send(bytes) => self.stream.write_all(&bytes).await.is_ok(),
            Step::Await(notify) => {
                notify.notified().await;
                true
            }
            Step::Hang => {
                let mut byte = [0; 1];
                let read = self.stream.read(&mut byte).await;
                assert!(!matches!(read, Ok(1..)), "the client speaks out of turn");
                let _ = self.gone.send(Instant::now());
                false
            }
            Step::Close => false,
            Step::Reset => {
                self.stream.set_zero_linger().expect("a socket");
                false
            }
            Step::CloseOnNext => {
                if let Some(seen) = self.request().await {
                    let _ = self.seen.send(seen);
                }
                false
            }
        }
    }

    async fn request(&mut self) -> Option<Seen> {
        let head_end = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).into_owned();
        let mut seen = Seen {
            at: Instant::now(),
            connection: self.connection,
            head,
            body: String::new(),
        };
        let length: usize = seen
            .header("content-length")
            .map_or(0, |text| text.parse().expect("a length"));
        while self.buffer.len() < head_end + length {
            self.more().await?;
        }
        let rest = self.buffer.split_off(head_end + length);
        let request = std::mem::replace(&mut self.buffer, rest);
        seen.body = String::from_utf8_lossy(&request[head_end..]).into_owned();
        Some(seen)
    }

    async fn more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.buffer).await.ok()?;
        (read > 0).then_some(())
    }
}

/// A whole response with a body.
pub fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// The head of a stream of events.
pub fn events_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
      transfer-encoding: chunked\r\nx-request-id: req_7\r\n\r\n"
        .to_vec()
}

/// One event in one chunk of its own.
pub fn event(data: &str) -> Vec<u8> {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}

/// A stream of events, with its end if `whole`.
pub fn events(data: &[&str], whole: bool) -> Vec<u8> {
    let mut bytes = events_head();
    for data in data {
        bytes.extend(event(data));
    }
    if whole {
        bytes.extend(b"0\r\n\r\n");
    }
    bytes
}
