//! Stands between a WebSocket client and the server, keeps every frame, and can be led to another server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};

/// How long a frame may take to come by.
const LIMIT: Duration = Duration::from_secs(20);

pub struct SocketTap {
    port: u16,
    state: Arc<Mutex<TapState>>,
    accepting: JoinHandle<()>,
}

struct TapState {
    /// Where the next connection goes.
    to: u16,
    path: String,
    connections: usize,
    frames: Vec<TappedFrame>,
    /// How many there are.
    count: watch::Sender<usize>,
}

/// One frame, and who sent it.
#[derive(Clone, Debug)]
pub struct TappedFrame {
    /// Which of the connections, from 1.
    pub connection: usize,
    pub by_server: bool,
    pub frame: Value,
}

impl SocketTap {
    /// Leads to this port of this machine.
    pub async fn start(to: u16, path: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(TapState {
            to,
            path: path.to_owned(),
            connections: 0,
            frames: Vec::new(),
            count: watch::Sender::new(0),
        }));
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    // Whichever side goes away, the other is told by the end of its connection.
                    let _ = tap(stream, &state).await;
                });
            }
        });
        Ok(Self {
            port,
            state,
            accepting,
        })
    }

    pub fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// Connections from now on go there.
    pub fn lead_to(&self, port: u16) {
        locked(&self.state).to = port;
    }

    /// All frames so far, in the order in which they came by.
    pub fn frames(&self) -> Vec<TappedFrame> {
        locked(&self.state).frames.clone()
    }

    /// Waits for a frame that came by or will.
    pub async fn sees(
        &self,
        what: &str,
        wanted: impl Fn(&TappedFrame) -> bool,
    ) -> anyhow::Result<()> {
        let mut count = locked(&self.state).count.subscribe();
        let is_there = |_: &usize| locked(&self.state).frames.iter().any(&wanted);
        let seen = timeout(LIMIT, count.wait_for(is_there)).await;
        seen.with_context(|| format!("{what}: not within {LIMIT:?}"))??;
        Ok(())
    }
}

impl Drop for SocketTap {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn locked(state: &Mutex<TapState>) -> std::sync::MutexGuard<'_, TapState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn tap(stream: TcpStream, state: &Mutex<TapState>) -> anyhow::Result<()> {
    let (to, path, connection) = {
        let mut state = locked(state);
        state.connections += 1;
        (state.to, state.path.clone(), state.connections)
    };
    // First the server: a client is not let in where there is none.
    let upstream = TcpStream::connect(("127.0.0.1", to)).await?;
    upstream.set_nodelay(true)?;
    stream.set_nodelay(true)?;
    let url = format!("ws://127.0.0.1:{to}{path}");
    let (server, _) = client_async(url, upstream).await?;
    let client = accept_async(stream).await?;
    let (mut to_client, mut from_client) = client.split();
    let (mut to_server, mut from_server) = server.split();
    let keep = |by_server: bool, message: &Message| {
        let Ok(Ok(frame)) = message.to_text().map(serde_json::from_str::<Value>) else {
            return;
        };
        let mut state = locked(state);
        state.frames.push(TappedFrame {
            connection,
            by_server,
            frame,
        });
        let (count, frames) = (state.count.clone(), state.frames.len());
        // Who waits looks at the frames.
        drop(state);
        count.send_replace(frames);
    };
    let up = async {
        while let Some(Ok(message)) = from_client.next().await {
            keep(false, &message);
            to_server.send(message).await?;
        }
        anyhow::Ok(())
    };
    let down = async {
        while let Some(Ok(message)) = from_server.next().await {
            keep(true, &message);
            to_client.send(message).await?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        over = up => over,
        over = down => over,
    }
}
