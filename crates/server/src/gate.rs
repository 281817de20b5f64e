//! What every request passes before anything else looks at it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::accept::Arrival;
use crate::http::Site;
use crate::limits::QUERY_BYTES_MAX;
use crate::origin::Pages;

/// Pages that tell nothing but whether we live; whoever watches over a process needs no secret.
const OPEN_PAGES: [&str; 2] = ["/healthz", "/readyz"];

/// Lets in who calls us by our name and carries the token.
pub async fn check_sender(
    State(site): State<Arc<Site>>,
    Extension(arrival): Extension<Arrival>,
    request: Request,
    next: Next,
) -> Response {
    let host = text(request.headers(), header::HOST).unwrap_or_default();
    if !site.access.host_allowed(host, arrival.came_in_by) {
        let message = "this server does not go by that name; see --allow-host\n";
        return (StatusCode::MISDIRECTED_REQUEST, message).into_response();
    }
    let uri = request.uri();
    if uri
        .query()
        .is_some_and(|query| query.len() > QUERY_BYTES_MAX)
    {
        return (StatusCode::URI_TOO_LONG, "the query is too long\n").into_response();
    }
    // A browser's question whether it may ask carries no secret, by its rules.
    let preflight = request.method() == Method::OPTIONS;
    if !preflight && !OPEN_PAGES.contains(&uri.path()) {
        let query = Query::<Vec<(String, String)>>::try_from_uri(uri);
        let query = query.map(|Query(pairs)| pairs).unwrap_or_default();
        if !site.access.admits(request.headers(), &query) {
            return unknown();
        }
    }
    next.run(request).await
}

/// Refuses pages that a dialect does not speak to; others may read the answer.
pub async fn check_origin(
    State((site, pages)): State<(Arc<Site>, Pages)>,
    request: Request,
    next: Next,
) -> Response {
    let refused = |origin| !site.access.origin_allowed(origin, pages);
    if text(request.headers(), header::ORIGIN).is_some_and(refused) {
        let message = "pages of other sites may not use this server; see --allow-origin\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = next.run(request).await;
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// What a page of another origin, if it is let in, may send along.
pub async fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

/// The answer to whoever has no token, or a wrong one.
pub fn unknown() -> Response {
    let message = "missing or invalid bearer token: send it as `Authorization: Bearer`, \
                   or a ticket from POST /ticket as ?ticket=\n";
    let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, scheme, message).into_response()
}

/// A header's text; what is not text is nobody's.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or_default())
}
