//! A WebSocket client that costs next to nothing: it looks for bytes and parses no JSON.

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const READ_BYTES: usize = 64 << 10;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

pub struct Socket {
    stream: TcpStream,
    /// What was read and not looked at yet is `buffer[start..]`.
    buffer: Vec<u8>,
    start: usize,
    pub session: String,
}

impl Socket {
    /// Connects and waits for `server_hello`.
    pub async fn connect(port: u16) -> anyhow::Result<Self> {
        Self::open(port, "/ws").await
    }

    /// Connects to a session that exists and waits for `server_hello`.
    pub async fn resume(port: u16, session: &str) -> anyhow::Result<Self> {
        Self::open(port, &format!("/ws?resumeSessionId={session}")).await
    }

    async fn open(port: u16, path: &str) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: Upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut socket = Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            session: String::new(),
        };
        socket.upgraded().await?;
        let hello = socket.until("\"server_hello\"").await?;
        let hello: serde_json::Value = serde_json::from_str(&hello)?;
        let session = hello["sessionId"].as_str();
        socket.session = session.context("no session in server_hello")?.to_owned();
        Ok(socket)
    }

    async fn upgraded(&mut self) -> anyhow::Result<()> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                if !self.buffer.starts_with(b"HTTP/1.1 101") {
                    bail!("no upgrade: {}", String::from_utf8_lossy(&self.buffer));
                }
                self.start = end + 4;
                return Ok(());
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > READ_BYTES {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.reserve(READ_BYTES);
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the server is gone");
        }
        Ok(())
    }

    /// Says a command of this session; `fields` follow its type.
    pub async fn say(&mut self, kind: &str, fields: &str) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        self.spell(&mut bytes, kind, fields);
        self.write(&bytes).await
    }

    /// Adds a command's frame to `bytes`, for clients that send many at once.
    pub fn spell(&self, bytes: &mut Vec<u8>, kind: &str, fields: &str) {
        let session = &self.session;
        let text = format!(r#"{{"type":"{kind}","sessionId":"{session}"{fields}}}"#);
        frame(bytes, TEXT, text.as_bytes());
    }

    pub async fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    pub async fn user_message(&mut self, text: &str) -> anyhow::Result<()> {
        let text = serde_json::to_string(text)?;
        self.say("user_message", &format!(r#","text":{text}"#))
            .await
    }

    /// Reads up to and with the first frame that has these bytes; says how many frames that were.
    pub async fn count_until(&mut self, needle: &str) -> anyhow::Result<u64> {
        let mut frames = 1;
        loop {
            let payload = self.payload().await?;
            let found = find(&self.buffer[payload], needle.as_bytes()).is_some();
            if found {
                return Ok(frames);
            }
            frames += 1;
        }
    }

    /// The first frame that has these bytes.
    pub async fn until(&mut self, needle: &str) -> anyhow::Result<String> {
        loop {
            let payload = self.payload().await?;
            let payload = &self.buffer[payload];
            if find(payload, needle.as_bytes()).is_some() {
                return Ok(std::str::from_utf8(payload)?.to_owned());
            }
        }
    }

    /// The next frame.
    pub async fn frame(&mut self) -> anyhow::Result<&[u8]> {
        let payload = self.payload().await?;
        Ok(&self.buffer[payload])
    }

    /// Reads to the end of the turn.
    pub async fn turn_end(&mut self) -> anyhow::Result<u64> {
        self.count_until("\"busy\":false").await
    }

    /// Reads the ten frames a connection starts with.
    pub async fn settled(&mut self) -> anyhow::Result<()> {
        self.count_until("\"session_backup_state\"").await?;
        Ok(())
    }

    /// Where the next text frame's payload lies in the buffer.
    async fn payload(&mut self) -> anyhow::Result<std::ops::Range<usize>> {
        loop {
            let Some((opcode, header, length)) = header(&self.buffer[self.start..]) else {
                self.read().await?;
                continue;
            };
            if self.buffer.len() - self.start < header + length {
                self.read().await?;
                continue;
            }
            let payload = self.start + header..self.start + header + length;
            self.start = payload.end;
            match opcode {
                TEXT => return Ok(payload),
                PING => {
                    let mut pong = Vec::new();
                    frame(&mut pong, PONG, &self.buffer[payload]);
                    self.write(&pong).await?;
                }
                CLOSE => bail!(
                    "closed: {}",
                    String::from_utf8_lossy(&self.buffer[payload.start + 2..payload.end])
                ),
                _ => bail!("a frame of opcode {opcode}"),
            }
        }
    }

    /// From here on frames are only counted.
    pub fn into_counter(self) -> Counter {
        let mut counter = Counter {
            stream: self.stream,
            head: Vec::new(),
            skip: 0,
            frames: 0,
        };
        counter.take(&self.buffer[self.start..]);
        counter
    }
}

/// Counts frames and looks at nothing else.
pub struct Counter {
    stream: TcpStream,
    /// A header that has not come whole.
    head: Vec<u8>,
    /// Bytes of the current frame that are still to come.
    skip: usize,
    pub frames: u64,
}

impl Counter {
    /// Reads until so many frames have come in all. `scratch` may be shared between tasks that
    /// take turns: nothing in it outlives a read.
    pub async fn reach(
        &mut self,
        frames: u64,
        scratch: &std::cell::RefCell<Vec<u8>>,
    ) -> anyhow::Result<()> {
        while self.frames < frames || self.skip > 0 {
            self.stream.readable().await?;
            let mut scratch = scratch.borrow_mut();
            match self.stream.try_read(&mut scratch) {
                Ok(0) => bail!("closed after {} of {frames} frames", self.frames),
                Ok(count) => self.take(&scratch[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return;
            }
            if self.head.is_empty()
                && let Some((opcode, size, length)) = header(bytes)
            {
                self.frames += u64::from(opcode == TEXT);
                self.skip = length;
                bytes = &bytes[size..];
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            if let Some((opcode, _, length)) = header(&self.head) {
                self.frames += u64::from(opcode == TEXT);
                self.skip = length;
                self.head.clear();
            }
        }
    }
}

/// Opcode, header size and payload length of a server's frame, once its header is there.
fn header(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let opcode = bytes.first()? & 0x0f;
    match bytes.get(1)? & 0x7f {
        126 => {
            let length = bytes.get(2..4)?.try_into().ok()?;
            Some((opcode, 4, u16::from_be_bytes(length).into()))
        }
        127 => {
            let length = bytes.get(2..10)?.try_into().ok()?;
            Some((opcode, 10, u64::from_be_bytes(length) as usize))
        }
        short => Some((opcode, 2, short.into())),
    }
}

/// A client's frame. Its mask is zero, so that masking costs nothing.
fn frame(bytes: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    bytes.push(0x80 | opcode);
    match payload.len() {
        short @ 0..126 => bytes.push(0x80 | short as u8),
        long => {
            bytes.push(0x80 | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
}

/// Whether a frame has these bytes.
pub fn has(frame: &[u8], needle: &[u8]) -> bool {
    find(frame, needle).is_some()
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        let at = from + at;
        if bytes[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}
