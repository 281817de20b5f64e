//! How a connection is made, by whichever transport, and looked after.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::service::{
    ClientInitializeError, RoleClient, RunningService, ServiceError, serve_client_with_ct,
};
use rmcp::transport::IntoTransport;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vocabulary::McpTransport;

use super::calls::InFlightCalls;
use super::client_side::ClientSide;
use super::{ConnectFailure, ConnectOrder, ConnectionNotes, McpConnection, listing};
use crate::limits::IDLE_MAX;
use crate::transport::http::{self, HttpAccess, HttpHeaders};
use crate::transport::sse::{SseFailure, SseTransport};
use crate::transport::stdio::StdioTransport;
use crate::transport::with_causes;

pub(super) async fn attempt(
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
    headers: &BTreeMap<String, String>,
) -> Result<HttpParts, ConnectFailure> {
    let url = http::parse_url(url).map_err(ConnectFailure::new)?;
    let headers = http::parse_headers(headers).map_err(ConnectFailure::new)?;
    let access = HttpAccess {
        client: http::client(&url).map_err(ConnectFailure::new)?,
        place: order.place.clone(),
        server: order.server.clone(),
        authorizer: Arc::clone(&order.authorizer),
        refused: notes.refused.clone(),
        stream_answered: Arc::default(),
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
pub(super) fn is_refusal(text: &str) -> bool {
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
        refreshed: Arc::default(),
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
async fn look_after(connection: Weak<McpConnection>, ended: CancellationToken) {
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

#[cfg(test)]
mod tests;
