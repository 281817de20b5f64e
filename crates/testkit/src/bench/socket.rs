//! A WebSocket client that costs next to nothing: it looks for bytes and parses no JSON.

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const READ_BYTES: usize = 64 << 10;
const CONTINUATION: u8 = 0;
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
        let mut socket = Self::upgrade(port, path).await?;
        let hello = socket.until("\"server_hello\"").await?;
        let hello: serde_json::Value = serde_json::from_str(&hello)?;
        let session = hello["sessionId"].as_str();
        socket.session = session.context("no session in server_hello")?.to_owned();
        Ok(socket)
    }

    /// Connects by whichever dialect the path has; the caller speaks it.
    pub async fn upgrade(port: u16, path: &str) -> anyhow::Result<Self> {
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

    /// Sends one message as it is.
    pub async fn send(&mut self, text: &str) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        frame(&mut bytes, TEXT, text.as_bytes());
        self.write(&bytes).await
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

    /// Where the next text message lies in the buffer.
    async fn payload(&mut self) -> anyhow::Result<std::ops::Range<usize>> {
        // Of a message in several frames, those that have come.
        let mut begun: Vec<u8> = Vec::new();
        loop {
            let Some((opcode, header, length)) = header(&self.buffer[self.start..]) else {
                self.read().await?;
                continue;
            };
            if self.buffer.len() - self.start < header + length {
                self.read().await?;
                continue;
            }
            let is_last = self.buffer[self.start] & 0x80 != 0;
            let payload = self.start + header..self.start + header + length;
            self.start = payload.end;
            match opcode {
                TEXT if is_last => return Ok(payload),
                TEXT | CONTINUATION => {
                    begun.extend_from_slice(&self.buffer[payload]);
                    if is_last {
                        let message = self.start..self.start + begun.len();
                        self.buffer.splice(self.start..self.start, begun);
                        self.start = message.end;
                        return Ok(message);
                    }
                }
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
            start: Vec::new(),
            skip: 0,
            frames: 0,
            busy_frames: 0,
        };
        counter.take(&self.buffer[self.start..]);
        counter
    }
}

/// How the frame begins that tells whether a turn runs.
const BUSY: &[u8] = br#"{"type":"session_busy""#;
/// It is told when a turn begins and when it is over.
const BUSY_PER_TURN: u64 = 2;

/// Counts frames, and looks only at how each begins. Turns are not told in equal numbers of frames:
/// what is thought of a title, or kept of the files, comes when it is ready.
pub struct Counter {
    stream: TcpStream,
    /// The start of a frame that has not come as far as it is looked at.
    start: Vec<u8>,
    /// Bytes of the current frame that are still to come.
    skip: usize,
    frames: u64,
    busy_frames: u64,
}

impl Counter {
    /// Reads until a whole turn has come; says how many frames that were. `scratch` may be shared
    /// between tasks that take turns: nothing in it outlives a read.
    pub async fn whole_turn(
        &mut self,
        scratch: &std::cell::RefCell<Vec<u8>>,
    ) -> anyhow::Result<u64> {
        while self.busy_frames < BUSY_PER_TURN || self.skip > 0 {
            self.stream.readable().await?;
            let mut scratch = scratch.borrow_mut();
            match self.stream.try_read(&mut scratch) {
                Ok(0) => bail!("closed after {} frames", self.frames),
                Ok(count) => self.take(&scratch[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.frames)
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return;
            }
            if self.start.is_empty()
                && let Some(begun) = Begun::of(bytes)
            {
                self.count(begun);
                bytes = &bytes[begun.looked_at..];
                continue;
            }
            self.start.push(bytes[0]);
            bytes = &bytes[1..];
            if let Some(begun) = Begun::of(&self.start) {
                self.count(begun);
                self.start.clear();
            }
        }
    }

    fn count(&mut self, begun: Begun) {
        self.frames += u64::from(begun.is_text);
        self.busy_frames += u64::from(begun.is_busy);
        self.skip = begun.left;
    }
}

/// A frame that has come as far as it is looked at.
#[derive(Clone, Copy)]
struct Begun {
    is_text: bool,
    is_busy: bool,
    looked_at: usize,
    left: usize,
}

impl Begun {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (opcode, header, length) = header(bytes)?;
        let seen = length.min(BUSY.len());
        let payload = bytes.get(header..header + seen)?;
        Some(Self {
            is_text: opcode == TEXT,
            is_busy: payload == BUSY,
            looked_at: header + seen,
            left: length - seen,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_is_counted_to_its_end_however_it_is_cut() -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        let frames = [
            r#"{"type":"session_busy","sessionId":"s","busy":true}"#,
            "{}",
            r#"{"type":"model_stream_chunk","text":"\"session_busy\""}"#,
            r#"{"type":"session_busy","sessionId":"s","busy":false}"#,
        ];
        for text in frames {
            server_frame(&mut bytes, text);
        }
        for piece in [1, 7, bytes.len()] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            let mut counter = Counter {
                stream: TcpStream::connect(listener.local_addr()?).await?,
                start: Vec::new(),
                skip: 0,
                frames: 0,
                busy_frames: 0,
            };
            for part in bytes.chunks(piece) {
                counter.take(part);
            }
            let counted = (counter.frames, counter.busy_frames, counter.skip);
            assert_eq!(counted, (4, 2, 0), "in pieces of {piece}");
        }
        Ok(())
    }

    fn server_frame(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend([0x80 | TEXT, text.len() as u8]);
        bytes.extend(text.as_bytes());
    }
}
