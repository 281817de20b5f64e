//! An MCP server and its sign-in server in one, which behave as a test wants.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, body};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use reqwest::Url;
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub type Fields = BTreeMap<String, String>;

/// What a test sets, and what it looks at afterwards.
#[derive(Default)]
pub struct Script {
    /// Fields of the sign-in server's metadata, instead of the right ones.
    pub metadata: BTreeMap<&'static str, Value>,
    /// Instead of itself.
    pub authorization_servers: Option<Vec<String>>,
    /// Sent back with every code.
    pub iss: Option<String>,
    /// Whether a person says no.
    pub declines: bool,
    pub expires_in: Option<u64>,
    /// Without it, no token is good for the server.
    pub required_scope: String,
    /// Whether the sign-in server has a fault.
    pub broken: bool,

    pub registered: Vec<Value>,
    pub authorized: Vec<Fields>,
    pub token_requests: Vec<Fields>,

    pub codes: BTreeMap<String, Fields>,
    pub refresh_tokens: BTreeSet<String>,
    pub access_tokens: BTreeMap<String, String>,
    pub issued: u32,
}

#[derive(Clone)]
pub struct ScriptedServer {
    pub origin: String,
    pub script: Arc<Mutex<Script>>,
}

impl ScriptedServer {
    pub async fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = Self {
            origin: format!("http://127.0.0.1:{port}"),
            script: Arc::new(Mutex::new(script)),
        };
        let app = Router::new()
            .route("/mcp", post(mcp))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        server
    }

    pub fn url(&self) -> Url {
        Url::parse(&format!("{}/mcp", self.origin)).expect("a URL")
    }

    /// No access token is good any more.
    pub fn revoke_access(&self) {
        self.script.lock().access_tokens.clear();
    }

    pub fn refreshes(&self) -> usize {
        let script = self.script.lock();
        let grants = script.token_requests.iter();
        grants
            .filter(|form| form["grant_type"] == "refresh_token")
            .count()
    }
}

async fn mcp(State(server): State<ScriptedServer>, headers: HeaderMap) -> Response {
    let script = server.script.lock();
    let sent = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let token = sent.and_then(|value| value.strip_prefix("Bearer "));
    let scopes = token.and_then(|token| script.access_tokens.get(token));
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", server.origin);
    let (status, about) = match scopes {
        None => (StatusCode::UNAUTHORIZED, "scope=\"read\"".to_owned()),
        Some(scopes) if !scopes.split(' ').any(|each| each == script.required_scope) => (
            StatusCode::FORBIDDEN,
            format!(
                "error=\"insufficient_scope\", scope=\"{}\"",
                script.required_scope
            ),
        ),
        Some(_) => return reply(json!({ "jsonrpc": "2.0" })),
    };
    let challenge = format!("Bearer {about}, resource_metadata=\"{metadata}\"");
    (status, [("www-authenticate", challenge)]).into_response()
}

async fn resource(State(server): State<ScriptedServer>) -> Response {
    let named = server.script.lock().authorization_servers.clone();
    reply(json!({
        "resource": server.url().as_str(),
        "authorization_servers": named.unwrap_or_else(|| vec![server.origin.clone()]),
    }))
}

async fn metadata(State(server): State<ScriptedServer>) -> Response {
    let origin = &server.origin;
    let mut metadata = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    });
    for (name, value) in &server.script.lock().metadata {
        metadata[*name] = value.clone();
    }
    reply(metadata)
}

async fn register(State(server): State<ScriptedServer>, request: Request) -> Response {
    let body = body::to_bytes(request.into_body(), 64 * 1024).await;
    let asked: Value = serde_json::from_slice(&body.expect("a body")).expect("JSON");
    let answer = json!({
        "client_id": "client-1",
        "client_secret": "client-secret-1",
        "redirect_uris": asked["redirect_uris"],
    });
    server.script.lock().registered.push(asked);
    (StatusCode::CREATED, reply(answer)).into_response()
}

async fn authorize(State(server): State<ScriptedServer>, Query(asked): Query<Fields>) -> Response {
    let mut script = server.script.lock();
    let mut back = Url::parse(&asked["redirect_uri"]).expect("a URL");
    script.issued += 1;
    let code = format!("code-{}", script.issued);
    match script.declines {
        true => back.query_pairs_mut().append_pair("error", "access_denied"),
        false => back.query_pairs_mut().append_pair("code", &code),
    };
    back.query_pairs_mut().append_pair("state", &asked["state"]);
    if let Some(iss) = &script.iss {
        back.query_pairs_mut().append_pair("iss", iss);
    }
    script.authorized.push(asked.clone());
    script.codes.insert(code, asked);
    (StatusCode::FOUND, [("location", back.to_string())]).into_response()
}

async fn token(State(server): State<ScriptedServer>, request: Request) -> Response {
    let sent = request.headers().get("authorization").cloned();
    let body = body::to_bytes(request.into_body(), 64 * 1024).await;
    let body = String::from_utf8_lossy(&body.expect("a body")).into_owned();
    let form = Url::parse(&format!("http://localhost/?{body}")).expect("a form");
    let form: Fields = form.query_pairs().into_owned().collect();
    let mut script = server.script.lock();
    script.token_requests.push(form.clone());
    if script.broken {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let basic = base64::engine::general_purpose::STANDARD.encode("client-1:client-secret-1");
    let known = sent.is_some_and(|sent| sent == format!("Basic {basic}").as_str());
    let scope = match form["grant_type"].as_str() {
        "authorization_code" => script
            .codes
            .remove(&form["code"])
            .filter(|asked| asked["code_challenge"] == hashed(&form["code_verifier"]))
            .map(|asked| asked.get("scope").cloned().unwrap_or_default()),
        _ => {
            let good = script.refresh_tokens.remove(&form["refresh_token"]);
            good.then(|| form.get("scope").cloned().unwrap_or_default())
        }
    };
    let Some(scope) = scope.filter(|_| known) else {
        let error = json!({ "error": "invalid_grant" });
        return (StatusCode::BAD_REQUEST, reply(error)).into_response();
    };
    script.issued += 1;
    let number = script.issued;
    let (access, refresh) = (format!("access-{number}"), format!("refresh-{number}"));
    script.access_tokens.insert(access.clone(), scope);
    script.refresh_tokens.insert(refresh.clone());
    reply(json!({
        "access_token": access,
        "token_type": "Bearer",
        "refresh_token": refresh,
        "expires_in": script.expires_in.unwrap_or(3600),
    }))
}

fn hashed(verifier: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    URL_SAFE_NO_PAD.encode(hash)
}

fn reply(value: Value) -> Response {
    let kind = [("content-type", "application/json")];
    (kind, value.to_string()).into_response()
}
