//! The HTTP face: upgrades to WebSocket, health, and a page that says what this is.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dialects::Hello;
use dialects::schemas::{self, DialectSchema};
use engine::Engine;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vocabulary::Caller;

use crate::assembly::Settings;
use crate::limits::{FRAME_BYTES_MAX, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES};
use crate::{connection, origin, table};

/// What every request may use.
#[derive(Clone)]
pub struct Site {
    pub engine: Engine,
    pub settings: Arc<Settings>,
    pub stop: CancellationToken,
    pub connections: TaskTracker,
}

pub fn router(site: Site) -> Router {
    let mut router = Router::new();
    for &(path, make) in table::PATHS {
        router = router.route(
            path,
            get(move |site, query, socket| upgrade(make, site, query, socket)),
        );
    }
    router
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/schema", get(schema_list))
        .route("/schema/{name}", get(schema))
        .route("/", get(front))
        .layer(middleware::from_fn(check_sender))
        .with_state(site)
}

async fn check_sender(request: Request, next: Next) -> Response {
    match refused(request.headers()) {
        Some((status, message)) => (status, message).into_response(),
        None => next.run(request).await,
    }
}

/// Refuses what comes from a page of another site, or by a name that is not this machine's.
fn refused(headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let header = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    if !header(header::HOST).is_some_and(origin::host_allowed) {
        let message = "this server answers on the loopback address only\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, message));
    }
    if header(header::ORIGIN).is_some_and(|origin| !origin::origin_allowed(origin)) {
        let message = "pages of other sites may not use this server\n";
        return Some((StatusCode::FORBIDDEN, message));
    }
    None
}

async fn ready(State(site): State<Site>) -> Response {
    match site.engine.ready().await {
        Ok(()) => "ready\n".into_response(),
        Err(refusal) => (StatusCode::SERVICE_UNAVAILABLE, format!("{refusal}\n")).into_response(),
    }
}

/// The dialects whose frames are described, one address each.
async fn schema_list() -> String {
    let address = |schema: &DialectSchema| format!("/schema/{}.json\n", schema.dialect);
    schemas::all().iter().map(address).collect()
}

async fn schema(Path(name): Path<String>) -> Response {
    let wanted = name.strip_suffix(".json").unwrap_or(&name);
    match schemas::all()
        .iter()
        .find(|schema| schema.dialect == wanted)
    {
        Some(schema) => {
            let json = [(header::CONTENT_TYPE, "application/schema+json")];
            (json, schema.document().to_string()).into_response()
        }
        None => {
            let message = "there is no such schema; /schema lists them\n";
            (StatusCode::NOT_FOUND, message).into_response()
        }
    }
}

async fn front(headers: HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    format!(
        "Dragoman {}: one agent server, spoken to in every client's language.\n\n\
         Connect a WebSocket client to ws://{host}/ws (agent-coworker protocol 7.0),\n\
         wait for server_hello, and send\n\n  \
         {{\"type\":\"user_message\",\"sessionId\":\"<from server_hello>\",\"text\":\"hello\"}}\n",
        env!("CARGO_PKG_VERSION")
    )
}

async fn upgrade(
    make: table::Make,
    State(site): State<Site>,
    Query(query): Query<Vec<(String, String)>>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return (StatusCode::BAD_REQUEST, "WebSocket upgrade failed").into_response();
    };
    let hello = Hello {
        connection: uuid::Uuid::now_v7().to_string(),
        query,
        directory: site.settings.directory.clone(),
        home: site.settings.home.clone(),
        raw_parts: site.settings.raw_parts,
    };
    let dialect = make(&hello);
    upgrade
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .on_upgrade(move |socket| {
            let tracked = site.connections.clone();
            let serve = connection::serve(
                socket,
                dialect,
                hello,
                Caller::local(),
                site.engine,
                site.stop,
            );
            tracked.track_future(serve)
        })
}
