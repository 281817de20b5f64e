//! One server that is connected: what it has, and calls of it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::Peer;
use rmcp::model::{ClientRequest, PingRequest, ServerResult};
use rmcp::service::{
    ClientInitializeError, PeerRequestOptions, RoleClient, RunningService, ServiceError,
    serve_client_with_ct,
};
use rmcp::transport::IntoTransport;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vocabulary::McpTransport;

use crate::limits::{CLOSE_MAX, FAILURE_CHARS_MAX, IDLE_MAX, PING_MAX, REQUEST_MAX};
use crate::transport::http::{self, HttpAccess, HttpHeaders};
use crate::transport::sse::{SseFailure, SseTransport};
use crate::transport::stdio::{ErrorTail, StdioTransport};
use crate::transport::{Authorizer, EndReason, secrets, with_causes, without_secrets};
use crate::{ConfiguredServer, Fence, Place};
pub(crate) use calls::CallFailure;
use calls::InFlightCalls;
use client_side::ClientSide;
pub(crate) use listing::{RemoteResource, RemoteTool, ServerLists};

mod calls;
mod client_side;
mod elicitation;
mod listing;

/// What it takes to connect to a server.
#[derive(Clone)]
pub(crate) struct ConnectOrder {
    pub place: Place,
    pub server: ConfiguredServer,
    /// What stdio servers are started with; without, they are started as they are.
    pub fence: Option<Fence>,
    pub authorizer: Arc<dyn Authorizer>,
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
        let attempt = attempt(order, &notes);
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
                refused.filter(|_| is_refusal(&text)).unwrap_or(text)
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

async fn attempt(
    order: &ConnectOrder,
    notes: &ConnectionNotes,
) -> Result<Arc<McpConnection>, ConnectFailure> {
    let (place, server) = (&order.place, &order.server);
    match &server.server.transport {
        McpTransport::Stdio { .. } => {
            let (fence, end) = (order.fence.as_ref(), notes.end.clone());
            let errors = notes.errors.clone();
            let transport = StdioTransport::start(place, server, fence, end, errors)
                .await
                .map_err(ConnectFailure::new)?;
            serve(order, transport, notes).await
        }
        McpTransport::Http { url, headers } => {
            let (access, url, headers) = http_parts(order, notes, url, headers)?;
            let transport = http::transport(access.clone(), &url, headers.clone());
            match serve(order, transport, notes).await {
                Err(failure) if speaks_older(&failure) => {
                    match connect_sse(access, &url, headers, notes).await {
                        Ok(transport) => serve(order, transport, notes).await,
                        // What the first said is about what is configured.
                        Err(_) => Err(failure),
                    }
                }
                connected => connected,
            }
        }
        McpTransport::Sse { url, headers } => {
            let (access, url, headers) = http_parts(order, notes, url, headers)?;
            let transport = connect_sse(access, &url, headers, notes).await?;
            serve(order, transport, notes).await
        }
    }
}

type HttpParts = (HttpAccess, reqwest::Url, HttpHeaders);

fn http_parts(
    order: &ConnectOrder,
    notes: &ConnectionNotes,
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HttpParts, ConnectFailure> {
    let url = http::parse_url(url).map_err(ConnectFailure::new)?;
    let headers = http::parse_headers(headers).map_err(ConnectFailure::new)?;
    let access = HttpAccess {
        client: http::client(&url).map_err(ConnectFailure::new)?,
        place: order.place.clone(),
        server: order.server.clone(),
        authorizer: Arc::clone(&order.authorizer),
        refused: notes.refused.clone(),
    };
    Ok((access, url, headers))
}

async fn connect_sse(
    access: HttpAccess,
    url: &reqwest::Url,
    headers: HttpHeaders,
    notes: &ConnectionNotes,
) -> Result<SseTransport, ConnectFailure> {
    let end = notes.end.clone();
    let connected = SseTransport::connect(access, url, headers, end).await;
    connected.map_err(|failure| match failure {
        SseFailure::Refused { .. } => wants_sign_in(notes),
        failure @ (SseFailure::Http(_) | SseFailure::Status(_) | SseFailure::Protocol(_)) => {
            ConnectFailure::new(with_causes(&failure))
        }
    })
}

/// Whether a server may only know the transport before streamable HTTP.
fn speaks_older(failure: &ConnectFailure) -> bool {
    ["HTTP 404", "HTTP 405"]
        .iter()
        .any(|status| failure.message.contains(status))
}

/// Whether an error says that the server wants to know who comes.
fn is_refusal(text: &str) -> bool {
    [
        "HTTP 401",
        "HTTP 403",
        "Auth required",
        "Insufficient scope",
    ]
    .iter()
    .any(|words| text.contains(words))
}

fn wants_sign_in(notes: &ConnectionNotes) -> ConnectFailure {
    let message = notes.refused.get();
    ConnectFailure {
        message: message.unwrap_or_else(|| "it does not let us in".to_owned()),
        wants_sign_in: true,
    }
}

async fn serve<T, E, A>(
    order: &ConnectOrder,
    transport: T,
    notes: &ConnectionNotes,
) -> Result<Arc<McpConnection>, ConnectFailure>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let name = order.server.server.name.clone();
    let calls = Arc::new(InFlightCalls::default());
    let client_side = ClientSide::new(name.clone(), &order.place.directory, Arc::clone(&calls));
    let changed = client_side.changed();
    let close = CancellationToken::new();
    // Ends what was begun if the rest fails or takes too long.
    let guard = close.clone().drop_guard();
    let service = serve_client_with_ct(client_side, transport, close.clone())
        .await
        .map_err(|error| not_initialized(notes, &error))?;
    let peer = service.peer().clone();
    let lists = listing::read_all(&peer)
        .await
        .map_err(|error| match error {
            ServiceError::McpError(error) => ConnectFailure::new(error.message.into_owned()),
            other => ConnectFailure::new(other.to_string()),
        })?;
    let connection = Arc::new(McpConnection {
        peer,
        lists: Mutex::new(Arc::new(lists)),
        calls,
        close: guard.disarm(),
        ended: CancellationToken::new(),
        used: Mutex::new(Instant::now()),
        begun: Instant::now(),
        notes: notes.clone(),
        name,
    });
    tokio::spawn(watch(service, connection.ended.clone()));
    tokio::spawn(look_after(
        Arc::downgrade(&connection),
        connection.ended.clone(),
    ));
    tokio::spawn(listing::keep_fresh(Arc::downgrade(&connection), changed));
    Ok(connection)
}

fn not_initialized(notes: &ConnectionNotes, error: &ClientInitializeError) -> ConnectFailure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return wants_sign_in(notes);
    }
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            let text = with_causes(error.error.as_ref());
            match is_refusal(&text) {
                true => wants_sign_in(notes),
                false => ConnectFailure::new(text),
            }
        }
        ClientInitializeError::ConnectionClosed(_) => {
            ConnectFailure::new("the connection ended before it answered")
        }
        ClientInitializeError::JsonRpcError(error) => {
            ConnectFailure::new(format!("it refused to begin: {}", error.message))
        }
        // The enum is not closed, and the rest says itself.
        other => ConnectFailure::new(other.to_string()),
    }
}

async fn watch(service: RunningService<RoleClient, ClientSide>, ended: CancellationToken) {
    // How it quit is told by the transport.
    let _ = service.waiting().await;
    ended.cancel();
}

/// Lets a connection go that nobody used for long.
async fn look_after(connection: std::sync::Weak<McpConnection>, ended: CancellationToken) {
    loop {
        let Some(silent) = connection
            .upgrade()
            .map(|each| match each.calls.is_empty() {
                true => each.silent_for(),
                false => Duration::ZERO,
            })
        else {
            return;
        };
        if silent >= IDLE_MAX {
            if let Some(connection) = connection.upgrade() {
                connection.close.cancel();
            }
            return;
        }
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(IDLE_MAX - silent) => {}
        }
    }
}
