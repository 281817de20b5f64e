//! The older transport over HTTP: a stream of events that stays open, and an address that it names for
//! what is sent.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use thiserror::Error;

use super::EndReason;
use super::http::{HttpAccess, HttpHeaders, with_credential};
use super::stdio::is_log;
use crate::limits::{MESSAGE_BYTES_MAX, WRITE_MAX};

#[derive(Debug, Error)]
pub(crate) enum SseFailure {
    #[error("{0}")]
    Http(#[from] reqwest::Error),
    #[error("it answered with HTTP {status}")]
    Refused {
        status: u16,
        challenge: Option<String>,
    },
    #[error("it answered with HTTP {0}")]
    Status(u16),
    #[error("{0}")]
    Protocol(&'static str),
}

pub(crate) struct SseTransport {
    access: HttpAccess,
    headers: Arc<HttpHeaders>,
    /// Where messages are sent to.
    endpoint: Url,
    events: EventStream,
    end: EndReason,
}

impl SseTransport {
    /// Opens the stream and waits until it names the address.
    pub async fn connect(
        access: HttpAccess,
        url: &Url,
        headers: HttpHeaders,
        end: EndReason,
    ) -> Result<Self, SseFailure> {
        let opened = attempt(&access, &headers, |request| {
            let request = request(access.client.get(url.clone()));
            request.header(ACCEPT, "text/event-stream")
        });
        let mut events = EventStream::new(opened.await?);
        loop {
            let event = events.next().await?;
            let event = event.ok_or(SseFailure::Protocol(
                "its stream ended before it named an address for messages",
            ))?;
            if event.name != "endpoint" {
                continue;
            }
            let endpoint = url.join(event.data.trim()).ok();
            let endpoint = endpoint.filter(|endpoint| endpoint.origin() == url.origin());
            let endpoint = endpoint.ok_or(SseFailure::Protocol(
                "it wants messages sent to another server, where the credentials must not go",
            ))?;
            return Ok(Self {
                access,
                headers: Arc::new(headers),
                endpoint,
                events,
                end,
            });
        }
    }
}

/// Makes a request, and once more where the server refused and there is something else to show.
async fn attempt(
    access: &HttpAccess,
    headers: &HttpHeaders,
    make: impl Fn(&dyn Fn(RequestBuilder) -> RequestBuilder) -> RequestBuilder,
) -> Result<reqwest::Response, SseFailure> {
    let credential = access.credential().await;
    let request = make(&|request| with_credential(request, credential.as_ref(), headers));
    let (status, challenge) = match checked(request.send().await?) {
        Err(SseFailure::Refused { status, challenge }) => (status, challenge),
        outcome => return outcome,
    };
    let sent = credential.as_ref();
    match access.another(status, challenge.as_deref(), sent).await {
        Some(another) => {
            let request = make(&|request| with_credential(request, Some(&another), headers));
            checked(request.send().await?)
        }
        None => Err(SseFailure::Refused { status, challenge }),
    }
}

fn checked(response: reqwest::Response) -> Result<reqwest::Response, SseFailure> {
    let status = response.status();
    match status.as_u16() {
        _ if status.is_success() => Ok(response),
        status @ (401 | 403) => {
            let challenge = response.headers().get(WWW_AUTHENTICATE);
            let challenge = challenge.and_then(|value| value.to_str().ok());
            Err(SseFailure::Refused {
                status,
                challenge: challenge.map(str::to_owned),
            })
        }
        status => Err(SseFailure::Status(status)),
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseFailure;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (access, endpoint) = (self.access.clone(), self.endpoint.clone());
        let headers = Arc::clone(&self.headers);
        async move {
            let sent = attempt(&access, &headers, |request| {
                let request = request(access.client.post(endpoint.clone()));
                request.json(&item).timeout(WRITE_MAX)
            });
            sent.await.map(drop)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.events.next().await {
                Ok(event) => event?,
                Err(failure) => {
                    self.end.set(failure.to_string());
                    return None;
                }
            };
            if event.name != "message" {
                continue;
            }
            // What is no message is passed over.
            if let Ok(message) = serde_json::from_str(&event.data)
                && !is_log(&message)
            {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events.stop();
        Ok(())
    }
}

/// One event of a stream.
#[derive(Debug, PartialEq, Eq)]
struct ServerSentEvent {
    name: String,
    data: String,
}

/// Reads events off a response. Safe to be left and called again.
struct EventStream {
    bytes: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    parser: EventParser,
}

impl EventStream {
    fn new(response: reqwest::Response) -> Self {
        let bytes = response.bytes_stream();
        Self {
            bytes: bytes.map(|piece| piece.map(Vec::from)).boxed(),
            parser: EventParser::default(),
        }
    }

    async fn next(&mut self) -> Result<Option<ServerSentEvent>, SseFailure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            if self.parser.is_too_long() {
                return Err(SseFailure::Protocol("it sent a message longer than 16 MB"));
            }
            match self.bytes.next().await {
                Some(piece) => self.parser.push(&piece?),
                None => return Ok(None),
            }
        }
    }

    fn stop(&mut self) {
        self.bytes = futures_util::stream::empty().boxed();
    }
}

/// The format of events: fields on lines, an empty line after each event.
#[derive(Default)]
struct EventParser {
    pending: Vec<u8>,
    /// How far the bytes that are pending have no end of a line.
    searched: usize,
    name: String,
    data: String,
}

impl EventParser {
    fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    fn is_too_long(&self) -> bool {
        self.pending.len() + self.data.len() > MESSAGE_BYTES_MAX
    }

    fn next(&mut self) -> Option<ServerSentEvent> {
        while let Some(line) = self.line() {
            if !line.is_empty() {
                self.take_field(&line);
                continue;
            }
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            if !data.is_empty() {
                let name = if name.is_empty() {
                    "message".to_owned()
                } else {
                    name
                };
                return Some(ServerSentEvent { name, data });
            }
        }
        None
    }

    fn line(&mut self) -> Option<String> {
        let unsearched = &self.pending[self.searched..];
        let Some(place) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.pending.len();
            return None;
        };
        let end = self.searched + place;
        let line = String::from_utf8_lossy(&self.pending[..end]).into_owned();
        self.pending.drain(..=end);
        self.searched = 0;
        Some(line.trim_end_matches('\r').to_owned())
    }

    fn take_field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments, ids and the time after which to come again.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pieces: &[&str]) -> Vec<(String, String)> {
        let mut parser = EventParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece.as_bytes());
            while let Some(event) = parser.next() {
                events.push((event.name, event.data));
            }
        }
        events
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let whole =
            ": hello\r\nevent: endpoint\r\ndata: /a?b=c\r\n\r\ndata:{\ndata: }\nid: 7\n\n\n";
        let expected = vec![event("endpoint", "/a?b=c"), event("message", "{\n}")];
        assert_eq!(parsed(&[whole]), expected);
        let pieces: Vec<String> = whole.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(parsed(&pieces), expected);
    }

    #[test]
    fn an_event_without_an_end_is_not_waited_for_for_ever() {
        let mut parser = EventParser::default();
        parser.push(b"data: x");
        assert!(!parser.is_too_long());
        parser.push(&vec![b'x'; MESSAGE_BYTES_MAX]);
        assert_eq!(parser.next(), None);
        assert!(parser.is_too_long());
    }
}
