//! What every request passes before anything else looks at it.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use vocabulary::Caller;

use crate::accept::Arrival;
use crate::access::Denied;
use crate::auth_pages;
use crate::http::Site;
use crate::identity::LookupFailed;
use crate::limits::QUERY_BYTES_MAX;
use crate::log_limiter::LogLimiter;
use crate::origin::{Authority, Origin};
use crate::page;

/// Pages that tell nothing but whether we live; whoever watches over a process needs no secret.
const OPEN_PAGES: [&str; 3] = ["/health", "/healthz", "/readyz"];

/// What is said in the log of those who are not let in, each in its own pace.
#[derive(Default)]
pub struct RefusalLog {
    hosts: LogLimiter,
    pages: LogLimiter,
    users: LogLimiter,
    tokens: LogLimiter,
    others: LogLimiter,
}

/// Who sends a request; nobody, where that is said later, on the socket.
#[derive(Clone)]
pub struct Sender(pub Option<Caller>);

/// Where that may be.
pub type LatePaths = Arc<[&'static str]>;

/// A refusal is boxed because an answer is large, and nearly every check passes.
type Checked<T> = Result<T, Box<Response>>;

fn refuse(answer: impl IntoResponse) -> Box<Response> {
    Box::new(answer.into_response())
}

/// A refusal of which nothing was logged yet, and why it is one.
#[derive(Clone, Copy)]
struct LoggedReason(&'static str);

fn refuse_for(reason: &'static str, answer: impl IntoResponse) -> Box<Response> {
    let mut answer = answer.into_response();
    answer.extensions_mut().insert(LoggedReason(reason));
    Box::new(answer)
}

/// Says that somebody was not let in, and why; at its own pace, because strangers cause it.
pub fn log_refusal(site: &Site, arrival: &Arrival, status: StatusCode, reason: &str) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    if let Some(due) = site.refusals.others.due(Instant::now()) {
        let (from, user, left_out) = (arrival.peer.address, arrival.peer.user, due.left_out);
        let status = status.as_u16();
        tracing::info!(%from, user, status, reason, left_out, "refused");
    }
}

/// Lets in who calls us by our name, from a page that may, and is who they must be.
pub async fn check(
    State((site, late)): State<(Arc<Site>, LatePaths)>,
    Extension(arrival): Extension<Arrival>,
    mut request: Request,
    next: Next,
) -> Response {
    let page = request.headers().get(header::ORIGIN).cloned();
    let mut response = match check_names(&site, &arrival, &request) {
        Ok(()) => {
            let asked = RequestHead {
                method: request.method(),
                uri: request.uri(),
                headers: request.headers(),
            };
            let mut response = match check_sender(&site, &arrival, asked, &late).await {
                Ok(sender) => {
                    request.extensions_mut().insert(sender);
                    next.run(request).await
                }
                Err(refusal) => *refusal,
            };
            // The page is one that may read the answer, a refusal too.
            if let Some(page) = page {
                let headers = response.headers_mut();
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
                headers.append(header::VARY, HeaderValue::from_static("origin"));
            }
            response
        }
        Err(refusal) => *refusal,
    };
    if let Some(LoggedReason(reason)) = response.extensions_mut().remove() {
        log_refusal(&site, &arrival, response.status(), reason);
    }
    // Nothing here is what a browser guesses it to be.
    let nosniff = HeaderValue::from_static("nosniff");
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Whether a request calls us by our name, and comes from no page or from one that may speak to us.
fn check_names(site: &Site, arrival: &Arrival, request: &Request) -> Checked<()> {
    let host = only(request.headers(), header::HOST)?.unwrap_or_default();
    let host = check_host(site, arrival, host)?;
    // A request line may name a host, too, and whoever forwards requests goes by that one.
    if let Some(named) = request.uri().authority() {
        check_host(site, arrival, named.as_str())?;
    }
    match only(request.headers(), header::ORIGIN)? {
        Some(page) => check_page(site, page, &host),
        None => Ok(()),
    }
}

fn check_host<'a>(site: &Site, arrival: &Arrival, text: &'a str) -> Checked<Authority<'a>> {
    let status = StatusCode::MISDIRECTED_REQUEST;
    let Some(host) = Authority::parse(text) else {
        let message = "the request names no host, or not as NAME:PORT\n";
        return Err(refuse_for("it names no host", (status, message)));
    };
    if site.access.host_allowed(&host, arrival.came_in_by) {
        return Ok(host);
    }
    let name = host.name;
    if let Some(due) = site.refusals.hosts.due(Instant::now()) {
        let left_out = due.left_out;
        tracing::warn!(
            left_out,
            "refused a request to `{name}`; --allow-host {name} would allow it"
        );
    }
    let message = format!(
        "this server does not go by the name `{name}`; if it should, start it with \
         --allow-host {name}\n"
    );
    Err(refuse((status, message)))
}

fn check_page(site: &Site, text: &str, host: &Authority<'_>) -> Checked<()> {
    let Some(page) = Origin::parse(text) else {
        let message = "a page without a name of its own may not use this server: its Origin is \
                       not like http://localhost:5173\n";
        return Err(refuse_for(
            "a page without a name",
            (StatusCode::FORBIDDEN, message),
        ));
    };
    if site.access.origin_allowed(&page, host) {
        return Ok(());
    }
    if let Some(due) = site.refusals.pages.due(Instant::now()) {
        let left_out = due.left_out;
        tracing::warn!(
            left_out,
            "refused a page of {text}; --allow-origin {text} would allow it"
        );
    }
    let message = format!(
        "pages of {text} may not use this server; if they should, start it with \
         --allow-origin {text}\n"
    );
    Err(refuse((StatusCode::FORBIDDEN, message)))
}

/// What of a request says who sends it. The body is not for two at once, and this is waited with.
struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
}

/// Who sends a request, if they may; nobody, where everybody may, or where they may say it later.
async fn check_sender(
    site: &Site,
    arrival: &Arrival,
    asked: RequestHead<'_>,
    late: &[&str],
) -> Checked<Sender> {
    let uri = asked.uri;
    let too_long = |query: &str| query.len() > QUERY_BYTES_MAX;
    if uri.query().is_some_and(too_long) {
        let answer = (StatusCode::URI_TOO_LONG, "the query is too long\n");
        return Err(refuse_for("the query is too long", answer));
    }
    // A browser's question whether it may ask carries no secret, by its rules.
    if asked.method == Method::OPTIONS
        || OPEN_PAGES.contains(&uri.path())
        || auth_pages::is_auth_page(uri.path())
        || page::is_asked_for(uri.path(), asked.headers)
    {
        return Ok(Sender(None));
    }
    let query = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let query = query.map(|Query(pairs)| pairs).unwrap_or_default();
    let now = Instant::now();
    let admitted = site.access.admit(arrival.peer, asked.headers, &query, now);
    let admitted = admitted.await;
    if admitted == Err(Denied::NoToken) && late.contains(&uri.path()) {
        return Ok(Sender(None));
    }
    let caller = admitted.map_err(|denied| {
        let answer = denial(site, arrival, &denied, now);
        match denied {
            Denied::NoToken => refuse_for("no token", answer),
            Denied::Guessing(_) => refuse_for("too many wrong tokens", answer),
            Denied::OtherUser | Denied::WrongToken | Denied::NotNow(_) => refuse(answer),
        }
    })?;
    arrival.seat.identify();
    Ok(Sender(Some(caller)))
}

/// Says no, and how it could be yes.
fn denial(site: &Site, arrival: &Arrival, denied: &Denied, now: Instant) -> Response {
    let user = arrival.peer.user;
    match denied {
        Denied::OtherUser => {
            if let Some(due) = site.refusals.users.due(now) {
                let left_out = due.left_out;
                tracing::warn!(
                    left_out,
                    "refused a process of {}: only our own user is let in without a token; \
                     set one with --token-file for others",
                    whose(user)
                );
            }
            other_user(user)
        }
        Denied::NoToken => no_token(),
        Denied::WrongToken => {
            log_wrong_token(site, arrival, now);
            no_token()
        }
        Denied::Guessing(wait) => {
            let seconds = wait.as_secs_f64().ceil() as u64;
            let retry = [(header::RETRY_AFTER, seconds.to_string())];
            let message = "too many wrong tokens came from there; wait, and send the right one\n";
            (StatusCode::TOO_MANY_REQUESTS, retry, message).into_response()
        }
        Denied::NotNow(failed) => not_now(failed),
    }
}

/// The answer to who may speak other dialects only.
pub fn other_dialect(caller: &Caller, dialect: &str) -> Response {
    let credential = caller.credential.as_ref();
    let allowed = credential.map(|credential| credential.dialects.join(", "));
    let message = format!(
        "this token is not for {dialect}; it is for {}. Make another with `dragoman tokens create`\n",
        allowed.unwrap_or_default()
    );
    (StatusCode::FORBIDDEN, message).into_response()
}

/// The answer where nobody can say whose token it is.
pub fn not_now(failed: &LookupFailed) -> Response {
    tracing::warn!(%failed, "a token was not looked up");
    let retry = [(header::RETRY_AFTER, "1")];
    let message = "who you are cannot be found out right now; try again in a moment\n";
    (StatusCode::SERVICE_UNAVAILABLE, retry, message).into_response()
}

pub fn log_wrong_token(site: &Site, arrival: &Arrival, now: Instant) {
    if let Some(due) = site.refusals.tokens.due(now) {
        let (from, user, left_out) = (arrival.peer.address, arrival.peer.user, due.left_out);
        tracing::warn!(%from, user, left_out, "a wrong token");
    }
}

fn whose(user: Option<u32>) -> String {
    match user {
        Some(user) => format!("user {user}"),
        None => "a user who cannot be told".to_owned(),
    }
}

/// The answer to processes of others, where no token is set.
fn other_user(user: Option<u32>) -> Response {
    let message = format!(
        "without a token this server lets in processes of its own user only, and this is one of \
         {}. Start it with a token (--token-file FILE or DRAGOMAN_TOKEN), and send that as \
         `Authorization: Bearer TOKEN`; a proxy has to pass it on\n",
        whose(user)
    );
    (StatusCode::FORBIDDEN, message).into_response()
}

/// What a page of another origin, if it is let in, may send along.
pub async fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

/// The answer to whoever has no token, or a wrong one.
pub fn no_token() -> Response {
    let message = "missing or invalid bearer token: send it as `Authorization: Bearer`, \
                   or a ticket from POST /ticket as ?ticket=\n";
    let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, scheme, message).into_response()
}

/// A header's text; what is not text is nobody's name. Of two, somebody on the way may have looked
/// at the other one.
fn only(headers: &HeaderMap, name: HeaderName) -> Checked<Option<&str>> {
    let mut values = headers.get_all(&name).iter();
    let first = values.next();
    if values.next().is_some() {
        let message = format!("more than one {name} header\n");
        return Err(refuse_for(
            "a header twice",
            (StatusCode::BAD_REQUEST, message),
        ));
    }
    Ok(first.map(|value| value.to_str().unwrap_or_default()))
}
