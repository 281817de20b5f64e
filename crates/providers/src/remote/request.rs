//! Asks once: what a request carries, and whether the response is an answer or a refusal.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, Response};
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::attempt_error::{AttemptError, CHECK_BASE_URL, Retry, short};
use super::exchange::{Exchange, is_sensitive};
use super::response_stream::{ResponseContext, ResponseStream};
use super::retry_after::retry_after;
use super::{Authorization, RemoteService, RequestToSign, address, policy};
use crate::format::{Outgoing, RequestTarget};
use crate::{ErrorKind, ModelRequest};

const EVENT_STREAM: &str = "text/event-stream";
const REQUEST_ID_HEADERS: [&str; 2] = ["x-request-id", "request-id"];
const REQUEST_ID_CHARS_MAX: usize = 128;
/// Whatever the body says, these never go better the second time.
const HOPELESS_STATUSES: [u16; 6] = [400, 401, 403, 404, 413, 422];
const PASSING_STATUSES: [u16; 8] = [408, 409, 429, 500, 502, 503, 504, 529];

/// A question beside the conversation, to what lies at this path below the base URL.
pub(crate) struct SmallRequest<'a> {
    pub path: &'a str,
    /// Posted, where there is one.
    pub body: Option<&'a serde_json::Value>,
}

/// A request ready to be sent as often as it takes.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub target: RequestTarget,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    /// Not sent: makes the ids that the answer lacks.
    pub seed: String,
}

impl RemoteService {
    pub(crate) fn prepare(&self, request: &ModelRequest, target: &RequestTarget) -> Prepared {
        let Outgoing {
            path,
            headers,
            body,
        } = self.codec.encode(request, target);
        Prepared {
            target: target.clone(),
            path,
            headers,
            body: Bytes::from(body.to_string()),
            seed: format!("{:016x}", policy::random()),
        }
    }

    /// Asks once and reads up to the first part of the answer.
    pub(crate) async fn ask(
        &self,
        prepared: &Prepared,
        authorization: &Authorization,
    ) -> Result<ResponseStream, AttemptError> {
        let (response, context) = self.post(prepared, authorization).await?;
        let decoder = self.codec.decoder(&prepared.target, &prepared.seed);
        ResponseStream::begin(response, decoder, context, &self.policy).await
    }

    async fn post(
        &self,
        prepared: &Prepared,
        authorization: &Authorization,
    ) -> Result<(Response, ResponseContext), AttemptError> {
        let mut exchange = Exchange::new(&authorization.base_url, &prepared.path)?;
        exchange.plain(ACCEPT.as_str(), EVENT_STREAM);
        exchange.plain(CONTENT_TYPE.as_str(), "application/json");
        for (name, value) in &prepared.headers {
            exchange.plain(name, value);
        }
        self.credentials(&mut exchange, authorization)?;
        self.sign(&mut exchange, &Method::POST, &prepared.body)?;
        let body = Some(prepared.body.clone());
        let response = exchange
            .send(Method::POST, body, self.policy.first_byte)
            .await?;
        let response = self.accepted(&exchange, response).await?;
        let (response, declared) = self.is_stream(&exchange, response).await?;
        let context = ResponseContext {
            place: address::place(&exchange.url),
            request_id: request_id(response.headers()),
            secrets: exchange.secrets,
            declared,
        };
        Ok((response, context))
    }

    /// One small request, answered within the time or not at all.
    pub(crate) async fn fetch(
        &self,
        small: &SmallRequest<'_>,
        authorization: &Authorization,
        limit: Duration,
    ) -> Result<Vec<u8>, AttemptError> {
        let mut exchange = Exchange::new(&authorization.base_url, small.path)?;
        exchange.plain(ACCEPT.as_str(), "application/json");
        let (method, body) = match small.body {
            Some(body) => (Method::POST, Some(Bytes::from(body.to_string()))),
            None => (Method::GET, None),
        };
        if body.is_some() {
            exchange.plain(CONTENT_TYPE.as_str(), "application/json");
        }
        for (name, value) in self.codec.headers() {
            exchange.plain(name, &value);
        }
        self.credentials(&mut exchange, authorization)?;
        self.sign(&mut exchange, &method, body.as_deref().unwrap_or_default())?;
        let whole = async {
            let response = exchange.send(method, body, limit).await?;
            let response = self.accepted(&exchange, response).await?;
            exchange.whole_body(response).await
        };
        match timeout(limit, whole).await {
            Ok(result) => result,
            Err(_) => Err(exchange.silent(limit)),
        }
    }

    /// What is configured, then the credential: the later one wins.
    fn credentials(
        &self,
        exchange: &mut Exchange,
        authorization: &Authorization,
    ) -> Result<(), AttemptError> {
        for (name, value) in &self.endpoint.headers {
            if is_sensitive(name) {
                exchange.secret(name, value)?;
            } else {
                exchange.plain(name, value);
            }
        }
        for (name, value) in &authorization.headers {
            exchange.secret(name, value.expose_secret())?;
        }
        Ok(())
    }

    /// The last thing before it goes out: a signature covers what is there.
    fn sign(
        &self,
        exchange: &mut Exchange,
        method: &Method,
        body: &[u8],
    ) -> Result<(), AttemptError> {
        let request = RequestToSign {
            method: method.as_str(),
            url: &exchange.url,
            body,
        };
        for (name, value) in self.access.sign(&request) {
            exchange.secret(&name, value.expose_secret())?;
        }
        Ok(())
    }

    /// The response, unless it is a refusal.
    async fn accepted(
        &self,
        exchange: &Exchange,
        response: Response,
    ) -> Result<Response, AttemptError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let code = status.as_u16();
        if status.is_redirection() {
            let mut failure = AttemptError::new(ErrorKind::BadRequest, redirect_words(&response))
                .advice("if that is right, set the base URL to it");
            failure.status = Some(code);
            return Err(failure);
        }
        let headers = response.headers().clone();
        let body = exchange.masked_body(response).await;
        let (kind, words) = self.codec.failure(code, body.as_bytes());
        let mut failure = AttemptError::new(kind, short(&exchange.secrets.mask(&words)));
        failure.status = Some(code);
        failure.request_id = request_id(&headers);
        if may_pass(code, kind) && !refuses_retry(&headers) {
            failure.again = Retry::Later;
            failure.after = retry_after(&headers, body.as_bytes());
        }
        Err(failure)
    }

    /// Whether it says to be a stream of events. A service that says nothing of the kind is given
    /// the benefit of the doubt, unless it says that it is a page or a document.
    async fn is_stream(
        &self,
        exchange: &Exchange,
        response: Response,
    ) -> Result<(Response, bool), AttemptError> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let document = ["html", "json", "xml"]
            .iter()
            .any(|part| kind.contains(part));
        if !document {
            return Ok((response, kind == EVENT_STREAM));
        }
        let status = response.status().as_u16();
        let id = request_id(response.headers());
        let mut what = format!(
            "it answered with {} instead of a stream of events",
            short(&kind)
        );
        if kind.contains("json") {
            let body = exchange.masked_body(response).await;
            if let Some(words) = self.error_in(status, &body) {
                what.push_str(&format!(": {}", short(&exchange.secrets.mask(&words))));
            }
        }
        let mut failure = AttemptError::new(ErrorKind::Malformed, what).advice(CHECK_BASE_URL);
        failure.status = Some(status);
        failure.request_id = id;
        Err(failure)
    }

    fn error_in(&self, status: u16, body: &str) -> Option<String> {
        let value: serde_json::Value = serde_json::from_str(body).ok()?;
        let error = value.get("error").or_else(|| value.get(0)?.get("error"))?;
        (!error.is_null()).then(|| self.codec.failure(status, body.as_bytes()).1)
    }
}

fn may_pass(status: u16, kind: ErrorKind) -> bool {
    let final_kind = matches!(
        kind,
        ErrorKind::Quota
            | ErrorKind::Auth
            | ErrorKind::UnknownModel
            | ErrorKind::ContextTooLong
            | ErrorKind::Refused
    );
    let passing_kind = matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded);
    !final_kind
        && !HOPELESS_STATUSES.contains(&status)
        && (passing_kind || PASSING_STATUSES.contains(&status))
}

/// OpenAI and Anthropic say so where a status alone would mislead.
fn refuses_retry(headers: &HeaderMap) -> bool {
    headers
        .get("x-should-retry")
        .is_some_and(|value| value.as_bytes() == b"false")
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = REQUEST_ID_HEADERS
        .iter()
        .find_map(|name| headers.get(*name))?;
    let id = id.to_str().ok()?.trim();
    let id: String = id.chars().take(REQUEST_ID_CHARS_MAX).collect();
    (!id.is_empty()).then_some(id)
}

fn redirect_words(response: &Response) -> String {
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|to| to.to_str().ok());
    let target = location.and_then(|to| response.url().join(to).ok());
    match target {
        Some(url) => format!(
            "it points to {}://{} instead, and a key follows no such pointer",
            url.scheme(),
            address::place(&url)
        ),
        None => "it points somewhere else".to_owned(),
    }
}
