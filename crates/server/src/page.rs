//! The web page: the built files of `web/`, embedded, with the rules that a browser keeps for them.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct PageFiles;

const INDEX: &str = "index.html";
/// Files whose names change with what is in them lie here.
const ASSETS: &str = "assets/";

/// What the page may load: what is ours. Nothing that stands in the words of a model is run, framed or fetched.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob: data:; font-src 'self'; worker-src 'self'; manifest-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-src 'none'; frame-ancestors 'none'; \
    object-src 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

const RULES: [(HeaderName, &str); 4] = [
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
];

/// Whether it is the page that is asked for. Its files have no secret: who has not said yet who they are may
/// read them.
pub fn is_asked_for(path: &str, headers: &HeaderMap) -> bool {
    match path {
        "/" => reads_html(headers),
        path => PageFiles::get(name(path)).is_some(),
    }
}

fn reads_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// The page itself, for who reads HTML.
pub fn index(headers: &HeaderMap) -> Option<Response> {
    let file = PageFiles::get(INDEX).filter(|_| reads_html(headers))?;
    Some(answer(INDEX, file, headers))
}

/// Any other file of it.
pub async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let name = name(uri.path());
    match PageFiles::get(name) {
        Some(file) => answer(name, file, &headers),
        None => axum::http::StatusCode::NOT_FOUND.into_response(),
    }
}

fn name(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

fn answer(name: &str, file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let mut response = file.data.into_response();
    let told = response.headers_mut();
    for (rule, value) in RULES {
        told.insert(rule, HeaderValue::from_static(value));
    }
    told.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(name)));
    let kept = match name.starts_with(ASSETS) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    told.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    if let Ok(policy) = HeaderValue::from_str(&policy(headers)) {
        told.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Not every browser takes its own host for `self` where a socket is meant. `Host` has passed the gate.
fn policy(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
    let host = host.unwrap_or_default();
    format!("{POLICY}; connect-src 'self' ws://{host} wss://{host}")
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:7337"));
        headers
    }

    #[test]
    fn a_browser_gets_the_page_and_a_program_does_not() {
        assert!(index(&asking("*/*")).is_none());
        let page = index(&asking("text/html,application/xhtml+xml")).expect("a page");
        let told = |name: HeaderName| page.headers()[name].to_str().expect("text");
        assert_eq!(told(header::CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(told(header::CACHE_CONTROL), "no-cache");
        let policy = told(header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(policy.ends_with("ws://127.0.0.1:7337 wss://127.0.0.1:7337"));
    }

    #[tokio::test]
    async fn every_file_that_the_page_names_is_there() {
        let page = PageFiles::get(INDEX).expect("a page");
        let page = std::str::from_utf8(&page.data).expect("text");
        let named = page
            .split("\"./")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let named: Vec<&str> = named.collect();
        assert!(named.len() > 3, "{page}");
        for name in named {
            let path = format!("/{name}");
            assert!(is_asked_for(&path, &asking("*/*")), "{path}");
            let uri = Uri::try_from(path.as_str()).expect("a path");
            let response = file(uri, asking("*/*")).await;
            assert_ne!(
                response.headers()[header::CONTENT_TYPE],
                "application/octet-stream"
            );
        }
        for path in ["/codex", "/ws", "/../Cargo.toml", "/assets/", "/nothing.js"] {
            assert!(!is_asked_for(path, &asking("text/html")), "{path}");
        }
    }
}
