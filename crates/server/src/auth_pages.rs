//! Sign-in as Zane's client of the first versions expects it before it connects: who you are, over HTTP.
//!
//! There are no passkeys here, and nothing is handed out: who is let in is decided as everywhere, by the
//! process or by a token of this server, and these pages say it in the words that client reads. None of
//! them reads a request's body.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::{Value, json};
use vocabulary::Caller;

use crate::accept::Arrival;
use crate::access::Denied;
use crate::gate;
use crate::http::Site;
use crate::table::ZANE;

/// Before this, on the main port, stand the paths that the client has on its own.
pub const MAIN_PREFIX: &str = "/zane";
const PAGES: &str = "/auth/";

const NO_PASSKEYS: &str = "this server has no passkeys: it lets in processes of its own user, and \
                           whoever has a token. Make one with `dragoman tokens create`, put it into \
                           this browser's local storage as zane_auth_token, and load the page again";
const NO_REFRESH: &str =
    "this server gives out no refresh tokens; sign in with a token that is good";
const NO_DEVICES: &str = "no device signs in here: the server is its own anchor. A program is let in \
                          with a token of `dragoman tokens create`";

/// Whether a path is one of these pages, which say themselves who somebody is.
pub fn is_auth_page(path: &str) -> bool {
    let own = path.strip_prefix(MAIN_PREFIX).unwrap_or(path);
    own.starts_with(PAGES)
}

/// The pages, below `prefix`.
pub fn routes(prefix: &str) -> Router<Arc<Site>> {
    let refused = |words: &'static str, status: StatusCode| {
        post(move || async move { answer(status, &json!({ "error": words })) })
            .options(gate::preflight)
    };
    let not_built = StatusCode::NOT_IMPLEMENTED;
    let mut pages = Router::new()
        .route(
            &format!("{prefix}/auth/session"),
            get(session).options(gate::preflight),
        )
        .route(
            &format!("{prefix}/auth/logout"),
            post(|| async { StatusCode::NO_CONTENT }).options(gate::preflight),
        )
        // The client forgets its tokens when it reads 401, and nothing else would help it.
        .route(
            &format!("{prefix}/auth/refresh"),
            refused(NO_REFRESH, StatusCode::UNAUTHORIZED),
        );
    for (paths, words) in [
        (
            &[
                "login/options",
                "login/verify",
                "register/options",
                "register/verify",
            ][..],
            NO_PASSKEYS,
        ),
        (
            &["device/code", "device/token", "device/authorise"],
            NO_DEVICES,
        ),
    ] {
        for path in paths {
            pages = pages.route(&format!("{prefix}{PAGES}{path}"), refused(words, not_built));
        }
    }
    pages
}

/// Who sends this request. Who is nobody gets that as an answer, too: the client shows an error page for
/// anything that is not 200.
async fn session(
    State(site): State<Arc<Site>>,
    Extension(arrival): Extension<Arrival>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let now = Instant::now();
    let admitted = site.access.admit(arrival.peer, &headers, &query, now);
    let denied = match admitted.await {
        Ok(caller) if caller.speaks(ZANE) => {
            arrival.seat.identify();
            return answer(StatusCode::OK, &signed_in(&caller));
        }
        Ok(_) => {
            return answer(
                StatusCode::OK,
                &signed_out("this token is for other dialects"),
            );
        }
        Err(denied) => denied,
    };
    match denied {
        Denied::NoToken => answer(StatusCode::OK, &signed_out("a token is needed")),
        Denied::WrongToken => {
            gate::log_wrong_token(&site, &arrival, now);
            answer(StatusCode::OK, &signed_out("this token lets nobody in"))
        }
        Denied::OtherUser => {
            let words = "only processes of the server's own user are let in without a token";
            answer(StatusCode::OK, &signed_out(words))
        }
        Denied::Guessing(wait) => {
            let words = json!({ "error": "too many wrong tokens came from there; wait" });
            let seconds = wait.as_secs_f64().ceil() as u64;
            let retry = [(header::RETRY_AFTER, seconds.to_string())];
            (retry, answer(StatusCode::TOO_MANY_REQUESTS, &words)).into_response()
        }
        Denied::NotNow(failed) => {
            tracing::warn!(%failed, "a token was not looked up");
            let words = json!({ "error": "who you are cannot be found out right now; try again" });
            let retry = [(header::RETRY_AFTER, "1")];
            (retry, answer(StatusCode::SERVICE_UNAVAILABLE, &words)).into_response()
        }
    }
}

fn signed_in(caller: &Caller) -> Value {
    let name = caller.email.as_deref().unwrap_or(&caller.member);
    json!({
        "authenticated": true,
        "user": { "id": caller.member, "name": name },
        "hasPasskey": false,
        "systemHasUsers": true,
    })
}

/// There is always somebody: with no users the client would offer to make the first one.
fn signed_out(message: &str) -> Value {
    json!({
        "authenticated": false,
        "user": null,
        "hasPasskey": false,
        "systemHasUsers": true,
        "message": message,
    })
}

fn answer(status: StatusCode, value: &Value) -> Response {
    let kind = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, kind, value.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_known_by_their_paths() {
        for page in ["/auth/session", "/zane/auth/session", "/auth/login/options"] {
            assert!(is_auth_page(page), "{page}");
        }
        for other in [
            "/auth",
            "/ws",
            "/zane/ws",
            "/zaneauth/x",
            "/metrics",
            "/x/auth/session",
        ] {
            assert!(!is_auth_page(other), "{other}");
        }
    }
}
