//! For tests: a web server in raw TCP that answers as told, and remembers what it was asked.

#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::web::{Options, SearchService, Web};

pub enum StationAnswer {
    /// These bytes, then the end.
    Whole(Vec<u8>),
    /// These bytes, then nothing, with the connection left open.
    Hold(Vec<u8>),
    /// The first, then the second for as long as anyone listens.
    Endless(Vec<u8>, Vec<u8>),
}

pub struct Station {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    asked_more: Arc<Notify>,
}

impl Station {
    pub async fn start(answer: impl Fn(&str) -> StationAnswer + Send + Sync + 'static) -> Station {
        Station::start_at("127.0.0.1:0", answer).await
    }

    pub async fn start_at(
        place: &str,
        answer: impl Fn(&str) -> StationAnswer + Send + Sync + 'static,
    ) -> Station {
        let listener = TcpListener::bind(place).await.unwrap();
        let station = Station {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            asked_more: Arc::default(),
        };
        let (asked, asked_more) = (station.asked.clone(), station.asked_more.clone());
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (asked, asked_more) = (asked.clone(), asked_more.clone());
                let answer = answer.clone();
                tokio::spawn(async move {
                    let request = request(&mut stream).await;
                    asked.lock().unwrap().push(request.clone());
                    asked_more.notify_one();
                    // A client that has seen enough may hang up.
                    let _ = send(&mut stream, answer(&request)).await;
                });
            }
        });
        station
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far, whole.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits for the next request.
    pub async fn next_asked(&self) {
        self.asked_more.notified().await;
    }
}

async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = field(head, "content-length").map_or(0, |value| value.parse().unwrap());
            if body.len() >= length {
                return text.into_owned();
            }
        }
        let mut more = [0; 4096];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return String::from_utf8_lossy(&bytes).into_owned(),
            Ok(count) => bytes.extend_from_slice(&more[..count]),
        }
    }
}

/// A header of a request.
pub fn field(request: &str, name: &str) -> Option<String> {
    let fields = request.lines().filter_map(|line| line.split_once(": "));
    let mut values = fields.filter(|(key, _)| key.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.to_owned())
}

async fn send(stream: &mut TcpStream, answer: StationAnswer) -> std::io::Result<()> {
    match answer {
        StationAnswer::Whole(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        StationAnswer::Hold(bytes) => {
            stream.write_all(&bytes).await?;
            std::future::pending().await
        }
        StationAnswer::Endless(first, then) => {
            stream.write_all(&first).await?;
            loop {
                stream.write_all(&then).await?;
            }
        }
    }
}

/// An answer with this status line, these header lines and this body.
pub fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> StationAnswer {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    StationAnswer::Whole([head.as_bytes(), body].concat())
}

pub fn ok(content_type: &str, body: impl AsRef<[u8]>) -> StationAnswer {
    reply("200 OK", &format!("Content-Type: {content_type}"), body)
}

pub fn redirect(to: &str) -> StationAnswer {
    reply("302 Found", &format!("Location: {to}"), "")
}

/// A web without keys.
pub fn web(options: Options) -> Web {
    web_with_keys(options, |_| None)
}

pub fn web_with_keys(
    options: Options,
    keys: impl Fn(SearchService) -> Option<String> + Send + Sync + 'static,
) -> Web {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Web::new(options, Arc::new(move |key| keys(key).map(Into::into)))
}

/// Options that let this station be reached.
pub fn allowing(station: &Station) -> Options {
    Options {
        allow_private: vec![station.address.to_string()],
        ..Options::default()
    }
}
