//! A scripted service behind a socket, with a record of every request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{ScriptedService, Vendor};
use crate::http::ReceivedRequest;

pub struct ServedService {
    vendor: Vendor,
    port: u16,
    state: Arc<Mutex<ServiceState>>,
    accepting: JoinHandle<()>,
}

struct ServiceState {
    service: ScriptedService,
    requests: Vec<Value>,
    refusals: Vec<String>,
}

impl ServedService {
    pub async fn start(vendor: Vendor) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(ServiceState {
            service: ScriptedService::new(vendor),
            requests: Vec::new(),
            refusals: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    // A client that goes away is no trouble of ours.
                    let _ = serve(stream, &state).await;
                });
            }
        });
        Ok(Self {
            vendor,
            port,
            state,
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

async fn serve(mut stream: TcpStream, state: &Mutex<ServiceState>) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = ReceivedRequest::read(&mut stream, &mut buffer).await? {
        let answer = answer(&request, state);
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// It lists no models: what a catalog says of them must do.
fn answer(request: &ReceivedRequest, state: &Mutex<ServiceState>) -> String {
    if request.method() != "POST" {
        return response(404, "application/json", "{}");
    }
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        return response(400, "text/plain", "not JSON");
    };
    let mut state = locked(state);
    let outcome = state.service.answer(&body);
    state.requests.push(body);
    match outcome {
        Ok(events) => response(200, "text/event-stream", &events),
        Err(refused) => {
            state.refusals.push(refused.to_string());
            response(
                refused.status,
                "application/json",
                &refused.body.to_string(),
            )
        }
    }
}

fn response(status: u16, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
