//! A server that people sign in to: an MCP server with OAuth, and the sign-in server of a provider.
//!
//! It gives tokens for any code, and remembers nothing: stories show what crosses our own sockets.

use anyhow::Context;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::http::ReceivedRequest;

pub struct SignInServer {
    url: String,
    task: AbortHandle,
}

impl SignInServer {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let origin = url.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Whoever hangs up early is not answered.
                tokio::spawn(serve(stream, origin.clone()));
            }
        });
        let task = task.abort_handle();
        Ok(Self { url, task })
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for SignInServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, origin: String) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = ReceivedRequest::read(&mut stream, &mut buffer).await? {
        let path = request.path().split('?').next().context("a path")?;
        let (status, body) = answer(path, &origin, &request);
        let body = body.to_string();
        let back = (path == "/authorize").then(|| leads_back(request.path()));
        let back = back.flatten().unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{back}\
             www-authenticate: Bearer scope=\"read\", \
             resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        // An older client takes the end of the connection for the end of the answer.
        if request.head.contains(" HTTP/1.0\r\n") {
            break;
        }
    }
    Ok(())
}

/// Everybody agrees at once, and goes back to where they came from with a code.
fn leads_back(address: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    let said = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let (uri, state) = (unescaped(said("redirect_uri")?), said("state")?);
    Some(format!("location: {uri}?code=code-1&state={state}\r\n"))
}

/// `%3A` is a colon.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&piece[2..]);
            }
            None => plain.push_str(piece),
        }
    }
    plain
}

fn answer(path: &str, origin: &str, request: &ReceivedRequest) -> (&'static str, Value) {
    match path {
        "/authorize" => ("302 Found", json!({})),
        "/mcp" => ("401 Unauthorized", json!({})),
        "/.well-known/oauth-protected-resource/mcp" => {
            let resource = format!("{origin}/mcp");
            let servers = json!({ "resource": resource, "authorization_servers": [origin] });
            ("200 OK", servers)
        }
        "/.well-known/oauth-authorization-server" => {
            let metadata = json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            });
            ("200 OK", metadata)
        }
        "/register" => {
            let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let uris = &asked["redirect_uris"];
            let client = json!({ "client_id": "client-1", "redirect_uris": uris });
            ("201 Created", client)
        }
        "/token" | "/oauth/token" => {
            let tokens = json!({
                "access_token": "access-1",
                "token_type": "Bearer",
                "refresh_token": "refresh-1",
                "expires_in": 3600,
            });
            ("200 OK", tokens)
        }
        "/api/accounts/deviceauth/usercode" => {
            let code = json!({ "device_auth_id": "d1", "user_code": "AB-CD", "interval": "5" });
            ("200 OK", code)
        }
        _ => ("404 Not Found", json!({ "error": "not_found" })),
    }
}
