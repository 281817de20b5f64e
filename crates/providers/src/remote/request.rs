//! Asks once: what a request carries, and whether the response is an answer or a refusal.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, Response, Url};
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::attempt_error::{AttemptError, CHECK_BASE_URL, Retry, short};
use super::exchange::{Exchange, is_sensitive};
use super::response_stream::{ResponseContext, ResponseStream};
use super::retry_after::{renewal, retry_after};
use super::{Authorization, RemoteService, RequestToSign, address, client, policy};
use crate::format::{Decode, Outgoing, RequestTarget};
use crate::{ErrorKind, ModelRequest};

const EVENT_STREAM: &str = "text/event-stream";
const REQUEST_ID_HEADERS: [&str; 2] = ["x-request-id", "request-id"];
const REQUEST_ID_CHARS_MAX: usize = 128;
/// Whatever the body says, these never go better the second time.
const HOPELESS_STATUSES: [u16; 6] = [400, 401, 403, 404, 413, 422];
const PASSING_STATUSES: [u16; 8] = [408, 409, 429, 500, 502, 503, 504, 529];
const GOOD_STATUS: u16 = 200;
const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;
const NETWORK_AUTHENTICATION_REQUIRED: u16 = 511;
const FOLLOW_REDIRECT: &str = "if that is right, set the base URL to it; if it is the sign-in page \
    of a network (hotel, train), open a page in a browser first";

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
        let exchange = self.exchange(prepared, authorization)?;
        let body = Some(prepared.body.clone());
        let response = exchange
            .send(Method::POST, body, self.policy.first_byte)
            .await?;
        let response = self.accepted(&exchange, response).await?;
        let decoder = self.codec.decoder(&prepared.target, &prepared.seed);
        let mut context = ResponseContext {
            place: address::place(&exchange.url),
            request_id: request_id(response.headers()),
            secrets: exchange.secrets.clone(),
            declared: false,
        };
        match AnswerContent::of(&response) {
            AnswerContent::Events => context.declared = true,
            AnswerContent::Unsaid => {}
            AnswerContent::Json => {
                let limit = self.policy.first_byte;
                let Ok(body) = timeout(limit, exchange.whole_body(response)).await else {
                    return Err(exchange.silent(limit));
                };
                return self.whole(&exchange, &body?, decoder, context);
            }
            AnswerContent::Document(kind) => {
                return Err(no_stream(&kind, response.status().as_u16()));
            }
        }
        ResponseStream::begin(response, decoder, context, &self.policy).await
    }

    fn exchange(
        &self,
        prepared: &Prepared,
        authorization: &Authorization,
    ) -> Result<Exchange, AttemptError> {
        let mut exchange = Exchange::new(&authorization.base_url, &prepared.path)?;
        exchange.plain(ACCEPT.as_str(), EVENT_STREAM);
        exchange.plain(CONTENT_TYPE.as_str(), "application/json");
        for (name, value) in &prepared.headers {
            exchange.plain(name, value);
        }
        self.credentials(&mut exchange, authorization)?;
        self.sign(&mut exchange, &Method::POST, &prepared.body)?;
        Ok(exchange)
    }

    /// A document of JSON where a stream was asked for: an answer all at once, or an error that
    /// came with a good status.
    fn whole(
        &self,
        exchange: &Exchange,
        body: &[u8],
        decoder: Box<dyn Decode>,
        context: ResponseContext,
    ) -> Result<ResponseStream, AttemptError> {
        let text = exchange.secrets.mask(&String::from_utf8_lossy(body));
        let id = context.request_id.clone();
        let mut failure = match error_in(&text) {
            true => self.error_with_good_status(exchange, &text),
            false => match ResponseStream::whole(body, decoder, context, &self.policy) {
                Some(answer) => return answer,
                None => no_stream("JSON", GOOD_STATUS),
            },
        };
        failure.status = Some(GOOD_STATUS);
        failure.request_id = id;
        Err(failure)
    }

    fn error_with_good_status(&self, exchange: &Exchange, body: &str) -> AttemptError {
        let told = self.codec.failure(GOOD_STATUS, body.as_bytes());
        let kind = told.kind;
        let words = exchange.secrets.mask(&told.message);
        let mut failure = AttemptError::of_service(told, &words);
        if kind == ErrorKind::Other {
            return no_stream("JSON", GOOD_STATUS).saying(&failure.what);
        }
        if matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded) {
            failure.again = Retry::Later;
            failure.after = retry_after(&HeaderMap::new(), body.as_bytes());
        }
        failure
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
        if let Some(mut failure) = stands_between(&exchange.url, &response) {
            failure.status = Some(code);
            return Err(failure);
        }
        let headers = response.headers().clone();
        let body = exchange.masked_body(response).await;
        let told = self.codec.failure(code, body.as_bytes());
        let kind = told.kind;
        let words = exchange.secrets.mask(&told.message);
        let mut failure = AttemptError::of_service(told, &words);
        failure.status = Some(code);
        failure.request_id = request_id(&headers);
        failure.few = kind == ErrorKind::Malformed;
        let may_pass = match kind {
            // It is waited for where it is known how long.
            ErrorKind::Quota => {
                failure.after = renewal(body.as_bytes());
                failure.after.is_some()
            }
            kind => may_pass(code, kind),
        };
        if may_pass && !refuses_retry(&headers) {
            failure.again = Retry::Later;
            failure.after = failure
                .after
                .or_else(|| retry_after(&headers, body.as_bytes()));
        }
        Err(failure)
    }
}

/// What an answer says that it is.
enum AnswerContent {
    Events,
    Json,
    /// A page, or another document that is no answer.
    Document(String),
    /// Nothing of the kind; it is given the benefit of the doubt.
    Unsaid,
}

impl AnswerContent {
    fn of(response: &Response) -> AnswerContent {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        let says = |part: &str| kind.contains(part);
        match kind.as_str() {
            EVENT_STREAM => AnswerContent::Events,
            // One object a line is as good as events.
            _ if says("ndjson") || says("jsonl") || says("json-seq") => AnswerContent::Unsaid,
            _ if says("json") => AnswerContent::Json,
            _ if says("html") || says("xml") => AnswerContent::Document(short(&kind)),
            _ => AnswerContent::Unsaid,
        }
    }
}

fn no_stream(kind: &str, status: u16) -> AttemptError {
    let what = format!("it answered with {kind} instead of a stream of events");
    let mut failure = AttemptError::new(ErrorKind::Malformed, what).advice(CHECK_BASE_URL);
    failure.status = Some(status);
    failure
}

/// Whether a document tells of an error.
fn error_in(text: &str) -> bool {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else {
        return false;
    };
    let value = value.get(0).unwrap_or(&value);
    let kinds = [&value["type"], &value["object"]];
    !value["error"].is_null() || kinds.iter().any(|kind| *kind == "error")
}

/// Something between us and the service that answered in its place: a proxy, the sign-in page of a
/// network, or a pointer to somewhere else.
fn stands_between(url: &Url, response: &Response) -> Option<AttemptError> {
    match response.status().as_u16() {
        PROXY_AUTHENTICATION_REQUIRED => {
            Some(AttemptError::proxy_wants_credentials(client::proxy(url)))
        }
        NETWORK_AUTHENTICATION_REQUIRED => {
            let what = "this network wants a sign-in first";
            let failure = AttemptError::new(ErrorKind::Unreachable, what);
            Some(failure.advice("open a page in a browser and sign in there"))
        }
        300..400 => {
            let failure = AttemptError::new(ErrorKind::BadRequest, redirect_words(response));
            Some(failure.advice(FOLLOW_REDIRECT))
        }
        _ => None,
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
    // What the model wrote badly it may write well the next time.
    if kind == ErrorKind::Malformed {
        return true;
    }
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
