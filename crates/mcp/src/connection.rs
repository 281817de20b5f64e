//! One server that is connected: what it has, and calls of it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::Peer;
use rmcp::model::{ClientRequest, PingRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RoleClient, ServiceError};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tools::sandbox::spoken::ErrorTail;

use crate::limits::{CLOSE_MAX, FAILURE_CHARS_MAX, PING_MAX, REQUEST_MAX};
use crate::transport::{EndReason, HttpAuthorizer, secrets, with_causes, without_secrets};
use crate::{ConfiguredServer, Fence, McpPlace};
pub(crate) use calls::CallFailure;
use calls::InFlightCalls;
pub(crate) use listing::{RemoteResource, RemoteTool, ServerLists};

mod calls;
mod client_side;
mod connecting;
mod elicitation;
mod listing;

/// What it takes to connect to a server.
#[derive(Clone)]
pub(crate) struct ConnectOrder {
    pub place: McpPlace,
    pub server: ConfiguredServer,
    /// What stdio servers are started with; without, they are started as they are.
    pub fence: Option<Fence>,
    pub authorizer: Arc<dyn HttpAuthorizer>,
}

/// Why a server is not connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectFailure {
    /// For people and the model, without secrets.
    pub message: String,
    /// Whether it wants to know who comes: trying again does not help.
    pub wants_sign_in: bool,
}

impl ConnectFailure {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            wants_sign_in: false,
        }
    }
}

/// What is known of a connection beside what it says.
#[derive(Clone, Default)]
struct ConnectionNotes {
    /// Why it ended.
    end: EndReason,
    /// Why the last request was refused.
    refused: EndReason,
    errors: ErrorTail,
    /// What must not be shown.
    secrets: Arc<[String]>,
}

impl ConnectionNotes {
    /// What happened, what the server ended with, and the last lines that it wrote.
    fn told(&self, what: &str) -> String {
        let mut text = self.end.get().unwrap_or_else(|| what.to_owned());
        let errors = self.errors.text();
        if !errors.is_empty() {
            text = format!("{text}; it wrote last:\n{errors}");
        }
        without_secrets(&text, &self.secrets, FAILURE_CHARS_MAX)
    }
}

/// A connection. It ends when it is dropped, and by itself when nobody used it for long.
pub(crate) struct McpConnection {
    peer: Peer<RoleClient>,
    lists: Mutex<Arc<ServerLists>>,
    /// The lists are others than before.
    refreshed: Arc<Notify>,
    calls: Arc<InFlightCalls>,
    /// Ends it.
    close: CancellationToken,
    /// It has ended.
    ended: CancellationToken,
    used: Mutex<Instant>,
    pub begun: Instant,
    notes: ConnectionNotes,
    name: String,
}

impl McpConnection {
    /// Connects, and reads what the server has.
    pub async fn connect(
        order: &ConnectOrder,
        time_max: Duration,
    ) -> Result<Arc<Self>, ConnectFailure> {
        let notes = ConnectionNotes {
            secrets: secrets(&order.server).into(),
            ..ConnectionNotes::default()
        };
        let attempt = connecting::attempt(order, &notes);
        let connected = match tokio::time::timeout(time_max, attempt).await {
            Ok(connected) => connected,
            Err(_) => Err(ConnectFailure::new(format!(
                "it did not answer within {} seconds",
                time_max.as_secs()
            ))),
        };
        connected.map_err(|failure| ConnectFailure {
            message: notes.told(&failure.message),
            ..failure
        })
    }

    /// What it has.
    pub fn lists(&self) -> Arc<ServerLists> {
        Arc::clone(&self.lists.lock())
    }

    /// Woken when what it has is something else.
    pub fn refreshed(&self) -> Arc<Notify> {
        Arc::clone(&self.refreshed)
    }

    pub fn is_closed(&self) -> bool {
        self.ended.is_cancelled() || self.peer.is_transport_closed()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cancelled when it has ended.
    pub fn end_token(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Why it ended.
    pub fn end_message(&self) -> String {
        self.notes.told("the connection ended")
    }

    /// Whether it was closed here, and did not end by itself.
    pub fn was_let_go(&self) -> bool {
        self.close.is_cancelled()
    }

    /// Somebody needs it.
    pub fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    pub fn silent_for(&self) -> Duration {
        self.used.lock().elapsed()
    }

    /// Whether it answers. Any answer will do: not every server knows the question.
    pub async fn answers(&self) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answer = self
            .peer
            .send_request_with_option(ping, PeerRequestOptions::with_timeout(PING_MAX));
        let answer = async { answer.await?.await_response().await };
        match tokio::time::timeout(PING_MAX, answer).await {
            Ok(Ok(_) | Err(ServiceError::McpError(_))) => true,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Ends it, and waits for that.
    pub async fn close(&self) {
        self.close.cancel();
        let _ = tokio::time::timeout(CLOSE_MAX, self.ended.cancelled()).await;
    }

    /// The resources that it lists, and how many more there are.
    pub async fn resources(&self) -> Result<(Vec<RemoteResource>, usize), String> {
        self.touch();
        let listed = listing::resources(&self.peer).await;
        listed.map_err(|error| self.say(error))
    }

    /// Makes a request that takes no longer than it should.
    pub async fn request(&self, request: ClientRequest) -> Result<ServerResult, String> {
        self.touch();
        request_of(&self.peer, request)
            .await
            .map_err(|error| self.say(error))
    }

    /// An error of a request in words, without secrets.
    fn say(&self, error: ServiceError) -> String {
        let text = match error {
            ServiceError::McpError(error) => error.message.into_owned(),
            ServiceError::TransportClosed => {
                return self.end_message();
            }
            ServiceError::Timeout { timeout } => {
                format!("it did not answer within {} seconds", timeout.as_secs())
            }
            ServiceError::TransportSend(error) => {
                let text = with_causes(error.error.as_ref());
                let refused = self.notes.refused.get();
                refused
                    .filter(|_| connecting::is_refusal(&text))
                    .unwrap_or(text)
            }
            // The enum is not closed, and the rest says itself.
            other => other.to_string(),
        };
        without_secrets(&text, &self.notes.secrets, FAILURE_CHARS_MAX)
    }
}

impl Drop for McpConnection {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

pub(crate) async fn request_of(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
) -> Result<ServerResult, ServiceError> {
    let options = PeerRequestOptions::with_timeout(REQUEST_MAX);
    let sent = peer.send_request_with_option(request, options).await?;
    sent.await_response().await
}
