//! The listener that a browser comes back to after a sign-in. It only ever listens on this machine
//! and only as long as the sign-in lasts.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::http::said;

pub const PATH: &str = "/auth/callback";

/// Browsers open connections in advance and leave them silent; more than a few are not ours.
const CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: usize = 32 * 1024;
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const PAGE_LIMIT: Duration = Duration::from_secs(5);

/// What the browser brought.
pub enum CallbackResult {
    Code(SecretString),
    /// The person or the server said no, in these words.
    Declined(String),
}

/// The browser, still waiting for a page.
pub struct Browser(TcpStream);

/// Listens on the first of these ports that is free.
pub async fn bind(ports: &[u16]) -> io::Result<TcpListener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for port in ports {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Waits until a browser brings something that belongs to `state`. Anything else gets a page that
/// says so and changes nothing.
pub async fn wait(listener: &TcpListener, state: &str) -> (CallbackResult, Browser) {
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

async fn visit(mut stream: TcpStream, state: String) -> Option<(CallbackResult, Browser)> {
    let target = tokio::time::timeout(REQUEST_LIMIT, request_target(&mut stream)).await;
    let target = target.ok().flatten()?;
    let browser = Browser(stream);
    match read_target(&target, &state) {
        Ok(back) => Some((back, browser)),
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

fn read_target(target: &str, state: &str) -> Result<CallbackResult, (u16, &'static str)> {
    let url = Url::parse(&format!("http://localhost{target}"))
        .map_err(|_| (400, "This address makes no sense here."))?;
    if url.path() != PATH {
        return Err((404, "There is nothing here."));
    }
    read_query(&url, state).map_err(|words| (400, words))
}

/// What the query of a redirect says, if it belongs to `state`.
pub fn read_query(url: &Url, state: &str) -> Result<CallbackResult, &'static str> {
    let value = |name: &str| {
        let found = url.query_pairs().find(|(each, _)| each == name);
        found
            .map(|(_, value)| value.into_owned())
            .filter(|value| !value.is_empty())
    };
    if value("state").as_deref() != Some(state) {
        return Err("This sign-in was not begun here, or it has been begun again since.");
    }
    if let Some(error) = value("error") {
        let words = value("error_description").unwrap_or(error);
        return Ok(CallbackResult::Declined(said(&words)));
    }
    let code = value("code").ok_or("There is no code in this address.")?;
    Ok(CallbackResult::Code(code.into()))
}

impl Browser {
    /// Shows the last page.
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
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:20vh auto;padding:0 1em}}\
         @media(prefers-color-scheme:dark){{body{{background:#111;color:#eee}}}}</style>\
         <h1>{title}</h1><p>{words}</p></html>"
    );
    format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
         referrer-policy: no-referrer\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}",
        if status == 200 { "OK" } else { "Error" },
        body.len()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
