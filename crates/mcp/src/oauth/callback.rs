//! The listener that a browser comes back to after a sign-in. It listens on this machine only, and
//! only as long as the sign-in lasts.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::words::said;

pub const PATH: &str = "/oauth/callback";

/// Browsers open connections in advance and leave them silent; more than a few are not ours.
const CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: usize = 32 * 1024;
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const PAGE_LIMIT: Duration = Duration::from_secs(5);

/// What a sign-in server sent the browser back with.
pub enum Redirected {
    Code {
        code: SecretString,
        /// Who it says it comes from.
        issuer: Option<String>,
    },
    /// The person or the server said no, in these words.
    Declined(String),
}

/// A browser that waits for its last page.
pub struct WaitingBrowser(TcpStream);

/// On a port of the system's choice.
pub async fn listen() -> io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, format!("http://127.0.0.1:{port}{PATH}")))
}

/// Waits until a browser brings something that belongs to `state`. Anything else gets a page that says
/// so, and changes nothing.
pub async fn wait(listener: &TcpListener, state: &str) -> (Redirected, WaitingBrowser) {
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if visits.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => {
                    visits.spawn(visit(stream, state.to_owned()));
                }
                // Out of descriptors, say. The loop must not spin.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(visit) = visits.join_next() => {
                if let Ok(Some(found)) = visit {
                    return found;
                }
            }
        }
    }
}

async fn visit(mut stream: TcpStream, state: String) -> Option<(Redirected, WaitingBrowser)> {
    let target = tokio::time::timeout(REQUEST_LIMIT, request_target(&mut stream)).await;
    let target = target.ok().flatten()?;
    let browser = WaitingBrowser(stream);
    let url = Url::parse(&format!("http://127.0.0.1{target}")).ok();
    let found = match url {
        Some(url) if url.path() == PATH => read(&url, &state).map_err(|words| (400, words)),
        Some(_) | None => Err((404, "There is nothing here.")),
    };
    match found {
        Ok(found) => Some((found, browser)),
        Err((status, words)) => {
            browser.show(status, "Nothing was changed", words).await;
            None
        }
    }
}

async fn request_target(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET").then(|| target.to_owned())
}

/// What the address says that a browser was sent back to, if it belongs to `state`.
pub fn read(url: &Url, state: &str) -> Result<Redirected, &'static str> {
    let value = |name: &str| {
        let found = url.query_pairs().find(|(each, _)| each == name);
        let found = found.map(|(_, value)| value.into_owned());
        found.filter(|value| !value.is_empty())
    };
    if value("state").as_deref() != Some(state) {
        return Err("This sign-in was not begun here, or it has been begun again since.");
    }
    if let Some(error) = value("error") {
        let words = value("error_description").unwrap_or(error);
        return Ok(Redirected::Declined(said(&words)));
    }
    let code = value("code").ok_or("There is no code in this address.")?;
    Ok(Redirected::Code {
        code: code.into(),
        issuer: value("iss"),
    })
}

impl WaitingBrowser {
    pub async fn show(self, status: u16, title: &str, words: &str) {
        let page = page(status, title, words);
        let mut stream = self.0;
        let shown = async {
            stream.write_all(page.as_bytes()).await?;
            stream.shutdown().await
        };
        // A browser that is gone has nothing to miss.
        let _ = tokio::time::timeout(PAGE_LIMIT, shown).await;
    }
}

fn page(status: u16, title: &str, words: &str) -> String {
    let (title, words) = (escaped(title), escaped(words));
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <h1>{title}</h1><p>{words}</p></html>"
    );
    let reason = if status == 200 { "OK" } else { "Error" };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {}\r\ncontent-security-policy: default-src 'none'\r\n\
         referrer-policy: no-referrer\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
