//! The HTTP face: upgrades to WebSocket, health, tickets, and a page that says what this is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use dialects::schemas::{self, DialectSchema};
use dialects::{Hello, RawParts};
use engine::Engine;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, info_span};

use crate::accept::Arrival;
use crate::access::{Access, without_secrets};
use crate::assembly::{Settings, ShutdownReason};
use crate::auth_pages;
use crate::connection;
use crate::door::Door;
use crate::gate::{self, RefusalLog};
use crate::identity::KnownPeople;
use crate::limits::{FRAME_BYTES_MAX, FRAME_BYTES_UNIDENTIFIED_MAX, TICKET_LIFE};
use crate::metrics::{self, OpenConnections};
use crate::page;
use crate::replacing::NamedClients;
use crate::table::{COWORK, TONGUES, Tongue, ZANE};
use crate::upgrade::Upgrade;

type Pairs = Query<Vec<(String, String)>>;

/// What every request may use.
pub struct Site {
    /// There once the store is open.
    pub engine: OnceLock<Engine>,
    /// Who is asked of those who come in; knows nobody before the store is open.
    pub people: Arc<KnownPeople>,
    /// The ids of all providers, one copy for every connection; made when the first one comes.
    pub provider_ids: OnceLock<Arc<[String]>>,
    pub settings: Settings,
    pub access: Access,
    pub refusals: RefusalLog,
    pub started: Instant,
    /// No new client is let in.
    pub closing: CancellationToken,
    /// Every client is told to go.
    pub stop: CancellationToken,
    /// Why; there when they are told.
    pub stop_reason: OnceLock<ShutdownReason>,
    pub connections: TaskTracker,
    /// How many clients there have been; the log tells them apart by it.
    pub connected: AtomicU64,
    /// How many there are now, by dialect.
    pub open: OpenConnections,
    /// What the machine is called.
    pub host: String,
    /// Those that name themselves.
    pub named: NamedClients,
}

impl Site {
    /// Why clients are told to go.
    pub fn stop_reason(&self) -> &'static str {
        let reason = self.stop_reason.get().copied();
        reason.unwrap_or(ShutdownReason::Terminated).word()
    }

    /// The engine, if there is one that takes clients; else why not.
    fn open(&self) -> Result<&Engine, &'static str> {
        if self.closing.is_cancelled() {
            return Err("the server is shutting down; connect again in a moment\n");
        }
        let engine = self.engine.get();
        engine.ok_or("the server is starting; try again in a moment\n")
    }
}

/// The main port: every dialect on a path of its own.
pub fn main_router(site: &Arc<Site>) -> Router {
    let mut dialects = Router::new();
    for tongue in TONGUES {
        dialects = with_dialect(dialects, tongue, tongue.main);
    }
    let late = TONGUES.iter().filter(|tongue| tongue.authenticates);
    let late = late.flat_map(|tongue| tongue.main).copied().collect();
    let pages = pages()
        .route("/", get(front))
        .fallback(page::file)
        .route("/metrics", get(metrics::page))
        .merge(auth_pages::routes(auth_pages::MAIN_PREFIX));
    finish(site, dialects, pages, late)
}

/// A port of one dialect: its clients find the paths they expect.
pub fn own_router(site: &Arc<Site>, tongue: &'static Tongue, port: u16) -> Router {
    let dialects = with_dialect(Router::new(), tongue, tongue.own);
    let pages = match tongue.name {
        ZANE => {
            let health = get(move |site| zane_health(site, port)).options(gate::preflight);
            other_pages()
                .route("/health", health)
                .merge(auth_pages::routes(""))
        }
        _ => pages(),
    };
    let late = match tongue.authenticates {
        true => tongue.own.into(),
        false => Arc::default(),
    };
    finish(site, dialects, pages, late)
}

type Routes = Router<Arc<Site>>;

fn with_dialect(mut routes: Routes, tongue: &'static Tongue, paths: &[&str]) -> Routes {
    for path in paths {
        let enter = get(move |site, arrival, caller, query, request| {
            upgrade(tongue, site, arrival, caller, query, request)
        });
        routes = routes.route(path, enter);
    }
    routes
}

fn pages() -> Routes {
    other_pages().route("/health", get(health))
}

/// Without `/health`, which one dialect has its own words for.
fn other_pages() -> Routes {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/push/vapid", get(push_key).options(gate::preflight))
        .route("/schema", get(schema_list))
        .route("/schema/{name}", get(schema))
        .route("/ticket", post(ticket).options(gate::preflight))
}

fn finish(site: &Arc<Site>, dialects: Routes, pages: Routes, late: gate::LatePaths) -> Router {
    let state = (Arc::clone(site), late);
    let check = middleware::from_fn_with_state(state, gate::check);
    pages
        .merge(dialects)
        .layer(check)
        .with_state(Arc::clone(site))
}

/// Not now, but soon.
fn later(message: &'static str) -> Response {
    let wait = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, wait, message).into_response()
}

async fn ready(State(site): State<Arc<Site>>) -> Response {
    let engine = match site.open() {
        Ok(engine) => engine,
        Err(why) => return later(why),
    };
    match engine.ready().await {
        Ok(()) => "ready\n".into_response(),
        Err(refusal) => {
            tracing::warn!(error = %refusal, "not ready");
            later("the store does not answer\n")
        }
    }
}

/// That we live, as text or, for who asks so, as JSON.
async fn health(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    match accepted.is_some_and(|accepted| accepted.contains("application/json")) {
        true => spelled(&json!({ "status": "ok" })),
        false => "OK".into_response(),
    }
}

/// What Zane's clients look at before they connect.
async fn zane_health(State(site): State<Arc<Site>>, port: u16) -> Response {
    let open = site.open().is_ok();
    spelled(&json!({
        "status": "ok",
        "appServer": open,
        "appServerInitialized": open,
        "orbit": "disabled",
        "uptime": site.started.elapsed().as_secs(),
        "port": port,
    }))
}

/// A ticket costs the token itself: a ticket for a ticket would live for ever.
async fn ticket(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let holder = match site.access.token_holder(&headers).await {
        Ok(Some(holder)) => holder,
        Ok(None) => return gate::no_token(),
        Err(failed) => return gate::not_now(&failed),
    };
    match site.access.tickets.issue(holder, Instant::now()) {
        Some(ticket) => spelled(&json!({
            "ticket": ticket,
            "expiresInMs": TICKET_LIFE.as_millis() as u64,
        })),
        None => later("too many tickets are out; try again in a moment\n"),
    }
}

/// What a browser subscribes to push messages with.
async fn push_key(State(site): State<Arc<Site>>) -> Response {
    let engine = match site.open() {
        Ok(engine) => engine,
        Err(why) => return later(why),
    };
    match engine.push_key().await {
        Ok(public) => spelled(&json!({ "publicKey": public })),
        Err(refusal) => {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            (status, format!("{refusal}\n")).into_response()
        }
    }
}

fn spelled(value: &Value) -> Response {
    let kind = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (kind, value.to_string()).into_response()
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

/// The page, for browsers; for others what there is. Repeats `Host`, which has passed the gate: a name and
/// digits, nothing that needs escaping.
async fn front(headers: HeaderMap) -> Response {
    if let Some(page) = page::index(&headers) {
        return page;
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let dialect = |tongue: &Tongue| {
        let path = tongue.main.first()?;
        Some(format!("  {:<12} ws://{host}{path}\n", tongue.name))
    };
    let dialects: String = TONGUES.iter().filter_map(dialect).collect();
    let text = format!(
        "Dragoman {}: one agent server, spoken to in every client's language.\n\n\
         {dialects}  {:<12} ws://{host}/ws?protocol=1\n\n\
         To say hello in the first of them: wait for server_hello, then send\n\n  \
         {{\"type\":\"user_message\",\"sessionId\":\"<from server_hello>\",\"text\":\"hello\"}}\n\n\
         What each frame looks like: http://{host}/schema\n",
        env!("CARGO_PKG_VERSION"),
        "cowork1"
    );
    text.into_response()
}

/// The first subprotocol that a client offers. None of the dialects has one, but a browser that offered some
/// and is answered with none fails the handshake.
fn first_subprotocol(headers: &HeaderMap) -> Option<HeaderValue> {
    let offered = headers.get(header::SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    let first = offered.split(',').next()?.trim();
    HeaderValue::from_str(first)
        .ok()
        .filter(|first| !first.is_empty())
}

async fn upgrade(
    tongue: &'static Tongue,
    State(site): State<Arc<Site>>,
    Extension(arrival): Extension<Arrival>,
    Extension(gate::Sender(caller)): Extension<gate::Sender>,
    Query(query): Pairs,
    request: Request,
) -> Response {
    let engine = match site.open() {
        Ok(engine) => engine.clone(),
        Err(why) => {
            gate::log_refusal(
                &site,
                &arrival,
                StatusCode::SERVICE_UNAVAILABLE,
                why.trim_end(),
            );
            return later(why);
        }
    };
    if caller.is_none() && !tongue.authenticates {
        return gate::no_token();
    }
    if let Some(caller) = caller.as_ref().filter(|caller| !caller.speaks(tongue.name)) {
        return gate::other_dialect(caller, tongue.name);
    }
    let (request, _) = request.into_parts();
    let offered = first_subprotocol(&request.headers);
    let Some(mut upgrade) = Upgrade::of(request) else {
        let why = "WebSocket upgrade failed";
        let status = no_upgrade_status(tongue);
        gate::log_refusal(&site, &arrival, status, why);
        return (status, [(header::UPGRADE, "websocket")], why).into_response();
    };
    if let Some(offered) = offered {
        upgrade.select_protocol(offered);
    }
    let tenant = caller.as_ref().map(|caller| &caller.tenant);
    let tenant = tenant.filter(|tenant| !tenant.is_local());
    // Read only for those whose protocol has a place for it, and who own the server's directory.
    let includes_raw = tongue.name == COWORK
        && (site.settings.raw_parts || tenant.is_none() && engine.includes_raw_chunks().await);
    // Asked only for those whose protocol tells it.
    let lone_user = tongue.authenticates && site.access.is_lone_user(caller.as_ref()).await;
    let hello = Hello {
        connection: uuid::Uuid::now_v7().to_string(),
        query: without_secrets(query),
        directory: site.settings.engine.directory.clone(),
        host: site.host.clone(),
        home: match tenant {
            Some(tenant) => engine::TenantTerms::home(&site.settings.engine.home, tenant),
            None => site.settings.engine.home.clone(),
        },
        raw_parts: raw_parts(includes_raw),
        strict_ids: site.settings.pioneer_strict_ids,
        providers: match tenant {
            Some(tenant) => engine.provider_ids_of(tenant),
            None => Arc::clone(site.provider_ids.get_or_init(|| engine.provider_ids())),
        },
        tracing: engine.tracing(),
        lone_user,
    };
    let dialect = (tongue.make)(&hello);
    let frame_bytes_max = match &caller {
        Some(_) => FRAME_BYTES_MAX,
        None => FRAME_BYTES_UNIDENTIFIED_MAX,
    };
    upgrade.serve(frame_bytes_max, move |socket| {
        let (tracked, stop) = (site.connections.clone(), site.stop.clone());
        let peer = arrival.peer;
        let mut door = Door {
            site,
            arrival,
            via: tongue.name,
            caller: None,
            replaced: None,
        };
        if let Some(caller) = caller {
            door.enter(caller);
        }
        let named = door.take_place(&hello);
        let counted = OpenConnections::enter(&door.site, tongue);
        let number = door.site.connected.fetch_add(1, Ordering::Relaxed) + 1;
        let span = info_span!("connection", number, dialect = tongue.name);
        tracked.track_future(
            async move {
                tracing::info!(from = %peer.address, user = peer.user, "connected");
                connection::serve(socket, dialect, hello, door, engine, stop).await;
                drop((counted, named));
            }
            .instrument(span),
        )
    })
}

/// Zane's programs ask without an upgrade first, and go on if they are told that one is needed.
fn no_upgrade_status(tongue: &Tongue) -> StatusCode {
    match tongue.name {
        ZANE => StatusCode::UPGRADE_REQUIRED,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// How much of `rawPart` is sent where it is (docs/protocols/cowork.md, Decision 8).
fn raw_parts(included: bool) -> RawParts {
    const MODE: &str = "COWORK_MODEL_STREAM_RAW_MODE";
    match included {
        false => RawParts::Leave,
        true if std::env::var_os(MODE).is_some_and(|mode| mode == "full") => RawParts::Full,
        true => RawParts::Sanitized,
    }
}
