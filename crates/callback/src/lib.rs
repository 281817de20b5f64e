//! The listener that a browser comes back to after a sign-in, at a provider or at an MCP server. It listens on
//! this machine only, and only as long as the sign-in lasts.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Browsers open connections in advance and leave them silent; more than a few are not ours.
const CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: usize = 32 * 1024;
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const PAGE_LIMIT: Duration = Duration::from_secs(5);
/// The most characters of someone else's words that are repeated.
const SAID_CHARS_MAX: usize = 300;

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

/// Listens on the first of these ports that is free; 0 is any.
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

/// Waits until a browser brings something to this path that belongs to `state`. Anything else gets a page
/// that says so, and changes nothing.
pub async fn wait(
    listener: &TcpListener,
    path: &'static str,
    state: &str,
) -> (Redirected, WaitingBrowser) {
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if visits.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => {
                    visits.spawn(visit(stream, path, state.to_owned()));
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

async fn visit(
    mut stream: TcpStream,
    path: &'static str,
    state: String,
) -> Option<(Redirected, WaitingBrowser)> {
    let target = tokio::time::timeout(REQUEST_LIMIT, request_target(&mut stream)).await;
    let target = target.ok().flatten()?;
    let browser = WaitingBrowser(stream);
    let url = Url::parse(&format!("http://127.0.0.1{target}")).ok();
    let found = match url {
        Some(url) if url.path() == path => read(&url, &state).map_err(|words| (400, words)),
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
    let reason = if status == 200 { "OK" } else { "Error" };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {}\r\ncontent-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
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

/// Someone else's words, in one line and not too many.
pub fn said(words: &str) -> String {
    let clean = words
        .chars()
        .map(|each| if each.is_control() { ' ' } else { each });
    let line: String = clean.take(SAID_CHARS_MAX).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    const PATH: &str = "/back";

    /// What a browser gets that goes there.
    async fn visited(port: u16, target: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .expect("it listens");
        let request = format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).await.expect("a page");
        page
    }

    #[tokio::test]
    async fn only_what_belongs_to_the_sign_in_ends_it() {
        let listener = bind(&[0]).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let browser = tokio::spawn(async move {
            let elsewhere = visited(port, "/other?state=s1&code=c1").await;
            assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
            let stranger = visited(port, "/back?state=s2&code=c1").await;
            assert!(stranger.starts_with("HTTP/1.1 400"), "{stranger}");
            assert!(stranger.contains("not begun here"), "{stranger}");
            visited(port, "/back?state=s1&code=c1&iss=https://a.example").await
        });
        let (back, waiting) = wait(&listener, PATH, "s1").await;
        let Redirected::Code { code, issuer } = back else {
            panic!("a code");
        };
        assert_eq!(code.expose_secret(), "c1");
        assert_eq!(issuer.as_deref(), Some("https://a.example"));
        waiting.show(200, "Signed in", "<b>You</b>").await;
        let page = browser.await.expect("a browser");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        assert!(page.contains("&lt;b&gt;You"), "{page}");
    }

    #[test]
    fn a_no_is_told_in_its_own_words_in_one_line() {
        let url = |query: &str| Url::parse(&format!("http://localhost/?{query}")).expect("a URL");
        let declined = read(
            &url("state=s&error=denied&error_description=not%0Anow"),
            "s",
        );
        let Ok(Redirected::Declined(words)) = declined else {
            panic!("a no");
        };
        assert_eq!(words, "not now");
        assert!(read(&url("state=s"), "s").is_err(), "no code");
        assert!(read(&url("code=c"), "s").is_err(), "no state");
    }

    #[tokio::test]
    async fn the_first_free_port_is_taken() {
        let taken = bind(&[0]).await.expect("a port");
        let port = taken.local_addr().expect("an address").port();
        assert!(bind(&[port]).await.is_err());
        let other = bind(&[port, 0]).await.expect("the second");
        assert_ne!(other.local_addr().expect("an address").port(), port);
        assert!(bind(&[]).await.is_err());
    }
}
