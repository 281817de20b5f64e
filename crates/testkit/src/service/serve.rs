//! A scripted service behind a socket, with a record of every request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::{ScriptedReply, ScriptedService, Vendor};
use crate::http::ReceivedRequest;

pub struct ServedService {
    vendor: Vendor,
    port: u16,
    state: Arc<Mutex<ServiceState>>,
    holding: Arc<Holding>,
    accepting: JoinHandle<()>,
}

/// Answers that wait until they are let.
struct Holding {
    /// A permit for each that began to wait.
    waiting: Semaphore,
    /// A permit for each that may go.
    released: Semaphore,
}

impl Holding {
    async fn wait(&self) -> anyhow::Result<()> {
        self.waiting.add_permits(1);
        self.released.acquire().await?.forget();
        Ok(())
    }
}

struct ServiceState {
    service: ScriptedService,
    requests: Vec<Value>,
    refusals: Vec<String>,
}

impl ServedService {
    pub async fn start(vendor: Vendor) -> anyhow::Result<Self> {
        Self::serve(ScriptedService::new(vendor)).await
    }

    /// One that answers these, as `ScriptedService::with_script` does.
    pub async fn start_with(
        vendor: Vendor,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> anyhow::Result<Self> {
        Self::serve(ScriptedService::with_script(vendor, replies)).await
    }

    async fn serve(service: ScriptedService) -> anyhow::Result<Self> {
        let vendor = service.vendor;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(ServiceState {
            service,
            requests: Vec::new(),
            refusals: Vec::new(),
        }));
        let holding = Arc::new(Holding {
            waiting: Semaphore::new(0),
            released: Semaphore::new(0),
        });
        let shared = (Arc::clone(&state), Arc::clone(&holding));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, holding) = shared.clone();
                tokio::spawn(async move {
                    // A client that goes away is no trouble of ours.
                    let _ = serve(stream, &state, &holding).await;
                });
            }
        });
        Ok(Self {
            vendor,
            port,
            state,
            holding,
            accepting,
        })
    }

    pub fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// A base URL with a version, as most of them have one.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Waits until an answer is held.
    pub async fn until_held(&self) -> anyhow::Result<()> {
        self.holding.waiting.acquire().await?.forget();
        Ok(())
    }

    /// Lets one held answer go.
    pub fn release(&self) {
        self.holding.released.add_permits(1);
    }

    /// The bodies of all requests so far that were to be answered by the model.
    pub fn requests(&self) -> Vec<Value> {
        locked(&self.state).requests.clone()
    }

    /// What it refused so far, in its words.
    pub fn refusals(&self) -> Vec<String> {
        locked(&self.state).refusals.clone()
    }
}

impl Drop for ServedService {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn locked(state: &Mutex<ServiceState>) -> MutexGuard<'_, ServiceState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(
    mut stream: TcpStream,
    state: &Mutex<ServiceState>,
    holding: &Holding,
) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = ReceivedRequest::read(&mut stream, &mut buffer).await? {
        let (answer, held) = answer(&request, state);
        if held {
            holding.wait().await?;
        }
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// It lists no models: what a catalog says of them must do.
fn answer(request: &ReceivedRequest, state: &Mutex<ServiceState>) -> (String, bool) {
    if request.method() != "POST" {
        return (response(404, "application/json", "{}"), false);
    }
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        return (response(400, "text/plain", "not JSON"), false);
    };
    let mut state = locked(state);
    let outcome = state.service.stream(&body);
    state.requests.push(body);
    match outcome {
        Ok((events, held)) => (response(200, "text/event-stream", &events), held),
        Err(refused) => {
            state.refusals.push(refused.to_string());
            let body = refused.body.to_string();
            (response(refused.status, "application/json", &body), false)
        }
    }
}

fn response(status: u16, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
