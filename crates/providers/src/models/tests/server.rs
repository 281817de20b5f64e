//! A small HTTP server that answers as a test says, and remembers what it was asked.

use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

#[derive(Clone, Debug)]
pub struct Asked {
    pub target: String,
    pub head: String,
    pub body: String,
}

impl Asked {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn form(&self, name: &str) -> Option<String> {
        let url = Url::parse(&format!("http://localhost/?{}", self.body)).ok()?;
        let found = url.query_pairs().find(|(each, _)| each == name)?;
        Some(found.1.into_owned())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (each, value) = line.split_once(':')?;
            each.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

type Reply = (u16, String);

pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let task = tokio::spawn(accept(listener, Arc::new(reply), Arc::clone(&asked)));
        Server { url, asked, task }
    }

    pub fn asked(&self, path: &str) -> Vec<Asked> {
        let asked = self.asked.lock();
        asked
            .iter()
            .filter(|each| each.path() == path)
            .cloned()
            .collect()
    }

    pub fn count(&self, path: &str) -> usize {
        self.asked(path).len()
    }
}

async fn accept<F>(listener: TcpListener, reply: Arc<F>, asked: Arc<Mutex<Vec<Asked>>>)
where
    F: Fn(&Asked) -> Reply + Send + Sync + 'static,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&reply), Arc::clone(&asked)));
    }
}

async fn serve<F>(mut stream: TcpStream, reply: Arc<F>, asked: Arc<Mutex<Vec<Asked>>>)
where
    F: Fn(&Asked) -> Reply,
{
    let Some(request) = read(&mut stream).await else {
        return;
    };
    let (status, body) = reply(&request);
    asked.lock().push(request);
    let kind = if body.starts_with("data:") {
        "text/event-stream"
    } else {
        "application/json"
    };
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|each| each == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut words = head.lines().next()?.split(' ').map(str::to_owned);
    let mut asked = Asked {
        target: words.nth(1)?,
        head,
        body: String::new(),
    };
    let length: usize = asked.header("content-length").unwrap_or("0").parse().ok()?;
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    asked.body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(asked)
}

/// What a browser would show of this address.
pub async fn visit(url: &str) -> std::io::Result<String> {
    let url = Url::parse(url).expect("a URL");
    let port = url.port().expect("a port");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (path, query) = (url.path(), url.query().unwrap_or_default());
    let request = format!("GET {path}?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut page = String::new();
    stream.read_to_string(&mut page).await?;
    Ok(page)
}
