//! Servers over HTTP, by script.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use mcp::{ConfiguredServer, HttpAuthorizer, HttpCredential, HttpRefused, McpPlace};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use vocabulary::{McpAuth, McpAuthMode, McpLayer, McpRunning, McpTransport, Secret};

use crate::workshop::{Workshop, names, server, text};

/// What a server was sent, and where it says things.
#[derive(Clone, Default)]
struct HttpScript {
    heads: Arc<Mutex<Vec<HeaderMap>>>,
    events: Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>,
    /// Wants this bearer token.
    token: Option<&'static str>,
    endpoint: &'static str,
}

impl HttpScript {
    /// Whether who comes is let in.
    fn lets_in(&self, head: &HeaderMap) -> bool {
        self.heads.lock().push(head.clone());
        let wanted = self.token.map(|token| format!("Bearer {token}"));
        let shown = head
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        wanted.is_none() || wanted.as_deref() == shown
    }
}

fn answer(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [message["params"]["arguments"]["block"]]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn respond(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let response = Response::builder().status(status);
    let response = response.header("content-type", "application/json");
    response.body(body.into()).unwrap()
}

async fn streamable(
    State(script): State<HttpScript>,
    head: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    if !script.lets_in(&head) {
        let mut refused = respond(StatusCode::UNAUTHORIZED, "{}");
        let challenge = "Bearer realm=\"test\"".parse().unwrap();
        refused.headers_mut().insert("www-authenticate", challenge);
        return refused;
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    match answer(&message) {
        Some(answer) => respond(StatusCode::OK, answer.to_string()),
        None => respond(StatusCode::ACCEPTED, ""),
    }
}

async fn stream(State(script): State<HttpScript>, head: HeaderMap) -> Response<Body> {
    if !script.lets_in(&head) {
        return respond(StatusCode::UNAUTHORIZED, "{}");
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let endpoint = script.endpoint;
    sender
        .send(format!("event: endpoint\ndata: {endpoint}\n\n"))
        .unwrap();
    *script.events.lock() = Some(sender);
    let next = async |mut receiver: mpsc::UnboundedReceiver<String>| {
        let event = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(event), receiver))
    };
    let body = Body::from_stream(futures_util::stream::unfold(receiver, next).boxed());
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(body).unwrap()
}

async fn messages(
    State(script): State<HttpScript>,
    head: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    script.heads.lock().push(head);
    let message: Value = serde_json::from_slice(&body).unwrap();
    if let (Some(answer), Some(events)) = (answer(&message), &*script.events.lock()) {
        events
            .send(format!("event: message\ndata: {answer}\n\n"))
            .unwrap();
    }
    respond(StatusCode::ACCEPTED, "")
}

async fn serve(script: &HttpScript) -> String {
    let router = Router::new()
        .route("/mcp", post(streamable))
        .route("/sse", get(stream))
        .route("/messages", post(messages))
        .route(
            "/moved",
            get(async || {
                let to = Response::builder()
                    .status(307)
                    .header("location", "http://localhost:1/sse");
                to.body(Body::empty()).unwrap()
            }),
        )
        .with_state(script.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn headers() -> BTreeMap<String, String> {
    BTreeMap::from([("x-own".to_owned(), "mine-mine".to_owned())])
}

fn http(url: String) -> ConfiguredServer {
    let headers = headers();
    server("web", McpTransport::Http { url, headers })
}

fn sse(url: String) -> ConfiguredServer {
    let headers = headers();
    server("web", McpTransport::Sse { url, headers })
}

async fn echo(workshop: &Workshop, server: ConfiguredServer) -> String {
    let offer = workshop.offer(&[server]).await;
    assert_eq!(names(&offer), ["mcp__web__echo"], "{:?}", offer.notes);
    let block = json!({"type": "text", "text": "over the web"});
    text(
        workshop
            .call(&offer, "mcp__web__echo", json!({"block": block}))
            .await,
    )
}

#[tokio::test]
async fn a_tool_is_called_by_both_transports_with_the_configured_headers() {
    let script = HttpScript {
        endpoint: "/messages?id=1",
        ..HttpScript::default()
    };
    let url = serve(&script).await;
    let workshop = Workshop::new();
    assert_eq!(
        echo(&workshop, http(format!("{url}/mcp"))).await,
        "over the web"
    );
    assert_eq!(
        echo(&workshop, sse(format!("{url}/sse"))).await,
        "over the web"
    );
    // One that is configured for the newer and speaks the older only.
    assert_eq!(
        echo(&workshop, http(format!("{url}/sse"))).await,
        "over the web"
    );
    let heads = script.heads.lock();
    assert!(
        heads.iter().all(|head| head["x-own"] == "mine-mine"),
        "{heads:?}"
    );
}

#[tokio::test]
async fn messages_go_to_the_origin_of_the_stream_only_and_credentials_follow_no_redirect() {
    let elsewhere = serve(&HttpScript::default()).await;
    let script = HttpScript {
        endpoint: Box::leak(format!("{elsewhere}/messages").into_boxed_str()),
        ..HttpScript::default()
    };
    let url = serve(&script).await;
    let workshop = Workshop::new();
    let offer = workshop.offer(&[sse(format!("{url}/sse"))]).await;
    assert!(
        offer.notes[0].contains("another server"),
        "{:?}",
        offer.notes
    );
    let offer = workshop.offer(&[sse(format!("{url}/moved"))]).await;
    assert!(offer.notes[0].contains("HTTP 307"), "{:?}", offer.notes);
}

/// Shows a stale token first, and a good one when that is refused.
struct Renewing(&'static str);

#[async_trait]
impl HttpAuthorizer for Renewing {
    async fn credential(&self, _: &McpPlace, _: &ConfiguredServer) -> Option<HttpCredential> {
        Some(HttpCredential::Bearer("stale".into()))
    }

    async fn refused(
        &self,
        _: &McpPlace,
        _: &ConfiguredServer,
        refused: HttpRefused<'_>,
    ) -> Result<HttpCredential, String> {
        assert_eq!(refused.status, 401);
        assert!(matches!(refused.sent, Some(HttpCredential::Bearer(_))));
        match self.0 {
            "" => Err("sign in again".to_owned()),
            token => Ok(HttpCredential::Bearer(token.into())),
        }
    }
}

#[tokio::test]
async fn a_refused_request_is_made_again_with_another_token() {
    let script = HttpScript {
        token: Some("fresh"),
        endpoint: "/messages",
        ..HttpScript::default()
    };
    let url = serve(&script).await;
    let workshop = Workshop::with_authorizer(Arc::new(Renewing("fresh")));
    for server in [http(format!("{url}/mcp")), sse(format!("{url}/sse"))] {
        assert_eq!(echo(&workshop, server).await, "over the web");
    }
    let workshop = Workshop::with_authorizer(Arc::new(Renewing("")));
    for server in [http(format!("{url}/mcp")), sse(format!("{url}/sse"))] {
        let offer = workshop.offer(std::slice::from_ref(&server)).await;
        assert_eq!(offer.notes, ["MCP server web is not there: sign in again"]);
        let check = workshop.servers.check(&workshop.place, &server).await;
        assert_eq!((check.ok, check.mode), (false, McpAuthMode::Missing));
    }
}

#[tokio::test]
async fn a_key_that_is_set_counts_at_once_and_a_deleted_server_is_let_go() {
    let script = HttpScript {
        token: Some("my-key"),
        endpoint: "/messages",
        ..HttpScript::default()
    };
    let url = serve(&script).await;
    let workshop = Workshop::new();
    let mut server = http(format!("{url}/mcp"));
    server.layer = McpLayer::Workspace;
    server.server.auth = Some(McpAuth::ApiKey {
        header: None,
        prefix: None,
        key_id: None,
    });
    let place = &workshop.place;
    workshop
        .servers
        .save(place, server.server.clone(), None)
        .await
        .unwrap();
    let configured = workshop.servers.configured(place).await;
    let offer = workshop.offer(&configured).await;
    assert!(
        offer.notes[0].contains("web is not there"),
        "{:?}",
        offer.notes
    );
    let key = Secret::new("my-key");
    workshop
        .servers
        .set_key(place, &configured[0], key)
        .await
        .unwrap();
    assert_eq!(echo(&workshop, configured[0].clone()).await, "over the web");
    workshop.servers.delete(place, "web").await.unwrap();
    let running = workshop.servers.running(place, &configured[0]);
    assert_eq!(running, McpRunning::NotStarted);
}

#[tokio::test]
async fn a_server_that_is_not_there_says_so_without_its_secrets() {
    let workshop = Workshop::new();
    let nobody = http("http://127.0.0.1:1/mcp?key=hush-hush".to_owned());
    let offer = workshop.offer(&[nobody]).await;
    let note = &offer.notes[0];
    assert!(note.contains("refused") && !note.contains("hush"), "{note}");
    let odd = http("ftp://example.com/".to_owned());
    let offer = workshop.offer(&[odd]).await;
    assert!(
        offer.notes[0].contains("must be http or https"),
        "{:?}",
        offer.notes
    );
}

/// Gives its clients a session, takes its time to open their stream, and says at a call whether it did.
async fn slow_to_open() -> String {
    let open = Arc::new(AtomicBool::new(false));
    let opened = Arc::clone(&open);
    let stream = async move || {
        // What it takes to open: the call must wait for it.
        tokio::time::sleep(Duration::from_millis(100)).await;
        opened.store(true, Ordering::SeqCst);
        let body = Body::from_stream(futures_util::stream::pending::<std::io::Result<Bytes>>());
        let response = Response::builder().header("content-type", "text/event-stream");
        response.body(body).unwrap()
    };
    let asked = async move |body: Bytes| {
        let mut message: Value = serde_json::from_slice(&body).unwrap();
        if message["method"] == "tools/call" {
            let words = format!("open: {}", open.load(Ordering::SeqCst));
            message["params"]["arguments"]["block"]["text"] = json!(words);
        }
        let mut response = match answer(&message) {
            Some(answer) => respond(StatusCode::OK, answer.to_string()),
            None => respond(StatusCode::ACCEPTED, ""),
        };
        let session = "session-1".parse().unwrap();
        response.headers_mut().insert("mcp-session-id", session);
        response
    };
    let router = Router::new().route("/mcp", get(stream).post(asked));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

#[tokio::test]
async fn a_call_waits_for_the_stream_on_which_the_server_may_ask_back() {
    let url = slow_to_open().await;
    let workshop = Workshop::new();
    assert_eq!(echo(&workshop, http(url)).await, "open: true");
}
