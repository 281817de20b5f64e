//! A model service that costs next to nothing: it streams numbers, each the time of its sending.
//!
//! A user message orders what comes: `give 500 every 10` is 500 deltas, 10 ms apart, and
//! `give 20000 every 0` is as many as the reader takes. Requests without such an order (a title, a
//! list of models) get one word.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Stands before each time in a text.
const STAMP: &[u8] = b"t=";
/// Nanoseconds since the first use, in so many digits.
const DIGITS: usize = 15;
const REQUEST_BYTES_MAX: usize = 4 << 20;
/// Deltas in one write when nobody wants to know when they came.
const BURST: usize = 32;

/// Speaks the Responses and the Chat Completions format, by the path it is asked on.
pub struct Upstream {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Upstream {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        now();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    // A client that goes away is no trouble of ours.
                    let _ = serve(stream).await;
                });
            }
        });
        Ok(Self { port, accepting })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// As `OPENAI_BASE_URL` has it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Nanoseconds since the first call in this process.
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The times told in these bytes.
pub fn stamps(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        loop {
            let at = bytes.windows(STAMP.len()).position(|at| at == STAMP)?;
            bytes = &bytes[at + STAMP.len()..];
            let digits = bytes.get(..DIGITS)?;
            if digits.iter().all(u8::is_ascii_digit) {
                let number = digits.iter();
                return Some(number.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')));
            }
        }
    })
}

/// What a user message orders.
#[derive(Clone, Copy, Debug)]
struct Order {
    deltas: usize,
    every: Duration,
}

impl Order {
    /// The last one: earlier ones are history. Tools may use the word, too.
    fn find(body: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(body);
        let mut places = text.rmatch_indices("give ");
        places.find_map(|(at, word)| Self::read(&text[at + word.len()..]))
    }

    fn read(order: &str) -> Option<Self> {
        let mut words = order.split([' ', '"', '\\']);
        let deltas = words.next()?.parse().ok()?;
        let every = words.nth(1)?.parse().ok().map(Duration::from_millis)?;
        Some(Self { deltas, every })
    }
}

async fn serve(mut stream: TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let Some(request) = Request::read(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        if !request.streams {
            let nothing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(nothing).await?;
            continue;
        }
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
              transfer-encoding: chunked\r\n\r\n";
        stream.write_all(head).await?;
        request.answer(&mut stream).await?;
        stream.write_all(b"0\r\n\r\n").await?;
    }
}

struct Request {
    format: &'static Format,
    streams: bool,
    order: Option<Order>,
}

impl Request {
    /// The next request of this connection; nothing if it was closed.
    async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> anyhow::Result<Option<Self>> {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|at| at == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let length: usize = match head.split_once("content-length:") {
            Some((_, rest)) => rest.lines().next().unwrap_or_default().trim().parse()?,
            None => 0,
        };
        if length > REQUEST_BYTES_MAX {
            bail!("a request of {length} bytes");
        }
        while buffer.len() < end + length {
            if stream.read_buf(buffer).await? == 0 {
                bail!("half a request");
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default();
        let request = Self {
            format: if path.ends_with("/responses") {
                &RESPONSES
            } else {
                &CHAT
            },
            streams: head.starts_with("post"),
            order: Order::find(&buffer[end..end + length]),
        };
        buffer.drain(..end + length);
        Ok(Some(request))
    }

    async fn answer(&self, stream: &mut TcpStream) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        for event in self.format.before {
            chunk(&mut bytes, &[event.as_bytes()]);
        }
        let [left, right] = self.format.delta.map(str::as_bytes);
        match self.order {
            None => chunk(&mut bytes, &[left, b"Streams", right]),
            Some(order) if order.every.is_zero() => {
                for sent in 0..order.deltas {
                    chunk(&mut bytes, &[left, &stamp(), right]);
                    if sent % BURST == 0 {
                        stream.write_all(&bytes).await?;
                        bytes.clear();
                    }
                }
            }
            Some(order) => {
                stream.write_all(&bytes).await?;
                let mut pace = tokio::time::interval(order.every);
                for _ in 0..order.deltas {
                    pace.tick().await;
                    bytes.clear();
                    chunk(&mut bytes, &[left, &stamp(), right]);
                    stream.write_all(&bytes).await?;
                }
                bytes.clear();
            }
        }
        for event in self.format.after {
            chunk(&mut bytes, &[event.as_bytes()]);
        }
        Ok(stream.write_all(&bytes).await?)
    }
}

/// `t=…` and a space: what a delta says.
fn stamp() -> Vec<u8> {
    let mut text = STAMP.to_vec();
    text.extend(format!("{:0DIGITS$} ", now()).as_bytes());
    text
}

/// Adds one chunk of the transfer encoding.
fn chunk(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    bytes.extend(format!("{length:x}\r\n").as_bytes());
    for part in parts {
        bytes.extend(*part);
    }
    bytes.extend(b"\r\n");
}

/// The events of an answer; a text stands between the two halves of `delta`.
struct Format {
    before: &'static [&'static str],
    delta: [&'static str; 2],
    after: &'static [&'static str],
}

const CHAT: Format = Format {
    before: &[
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
    ],
    delta: [
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"",
        "\"},\"finish_reason\":null}]}\n\n",
    ],
    after: &[
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9,\"total_tokens\":18}}\n\n",
        "data: [DONE]\n\n",
    ],
};

const RESPONSES: Format = Format {
    before: &[
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"object\":\"response\",\"created_at\":1,\"model\":\"m\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
        "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m1\",\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}\n\n",
        "event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"item_id\":\"m1\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}\n\n",
    ],
    delta: [
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m1\",\"output_index\":0,\"content_index\":0,\"delta\":\"",
        "\"}\n\n",
    ],
    after: &[
        "event: response.content_part.done\ndata: {\"type\":\"response.content_part.done\",\"item_id\":\"m1\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}\n\n",
        "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m1\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[]}}\n\n",
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"object\":\"response\",\"created_at\":1,\"model\":\"m\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":9,\"total_tokens\":18}}}\n\n",
    ],
};

/// Asks the service itself and reads to the end, without anyone between: milliseconds from each
/// sending to its arrival. What this machine and this harness cost.
pub async fn directly(port: u16, order: String) -> anyhow::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let request = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {}\r\n\r\n{order}",
        order.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let (mut times, mut buffer) = (Vec::new(), Vec::new());
    while !buffer.ends_with(b"0\r\n\r\n") {
        buffer.clear();
        let count = stream.read_buf(&mut buffer).await?;
        if count == 0 {
            bail!("the stream broke off");
        }
        let arrived = now();
        times.extend(stamps(&buffer).map(|sent| arrived.saturating_sub(sent) as f64 / 1e6));
    }
    times.first().context("no delta came")?;
    Ok(times)
}
