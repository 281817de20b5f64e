//! HTTP: the client, what is shown to a server with each request, and streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use secrecy::ExposeSecret as _;
use tokio::sync::SetOnce;

use super::{EndReason, HttpAuthorizer, HttpCredential, HttpRefused};
use crate::limits::{MESSAGE_BYTES_MAX, STREAM_WAIT_MAX};
use crate::{ConfiguredServer, McpPlace};

const USER_AGENT: &str = concat!("dragoman/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const REDIRECTS_MAX: usize = 5;

/// One for the world, which honours the system's proxies, and one for this machine, which does not.
static CLIENTS: [OnceLock<Client>; 2] = [const { OnceLock::new() }; 2];

/// The client that reaches this address. It follows redirects within their origin only: elsewhere the
/// credentials would go with them.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let is_local = is_this_machine(url);
    let place = &CLIENTS[usize::from(is_local)];
    if let Some(client) = place.get() {
        return Ok(client.clone());
    }
    // Without one, reqwest would panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err("this program was started without a TLS library".to_owned());
    }
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
        .redirect(redirect::Policy::custom(within_origin));
    let builder = match is_local {
        true => builder.no_proxy(),
        false => builder,
    };
    let client = builder
        .build()
        .map_err(|error| format!("the HTTP client could not be made: {error}"))?;
    Ok(place.get_or_init(|| client).clone())
}

fn within_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let first = attempt.previous().first();
    let is_within = first.is_some_and(|first| first.origin() == attempt.url().origin());
    match is_within && attempt.previous().len() <= REDIRECTS_MAX {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// An address as it was configured, or what is wrong with it.
pub(crate) fn parse_url(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its `url` cannot be used: {error}"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(format!(
            "its `url` begins with {other}:; it must be http or https"
        )),
    }
}

/// Headers as they were configured, or which of them cannot be sent.
pub(crate) fn parse_headers(headers: &BTreeMap<String, String>) -> Result<HttpHeaders, String> {
    let parse = |(name, value): (&String, &String)| {
        let bad = || format!("its header `{name}` cannot be sent; correct it in the file");
        let parsed = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((parsed, value))
    };
    headers.iter().map(parse).collect()
}

/// Whom requests are made for: shows the credentials with each.
#[derive(Clone)]
pub(crate) struct HttpAccess {
    pub client: Client,
    pub place: McpPlace,
    pub server: ConfiguredServer,
    pub authorizer: Arc<dyn HttpAuthorizer>,
    /// Why the last request was refused.
    pub refused: EndReason,
    /// Set when the server answered the request for the stream that it speaks on by itself.
    pub stream_answered: Arc<SetOnce<()>>,
}

impl HttpAccess {
    /// A server that asks us something during a call may do so on its own stream, and what it says
    /// there before the stream is open is lost. So calls wait for it a little; one that has no session
    /// has no such stream.
    async fn await_stream(&self, message: &ClientJsonRpcMessage, has_session: bool) {
        let is_call = matches!(
            message,
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::CallToolRequest(_))
        );
        if is_call && has_session {
            let wait = tokio::time::timeout(STREAM_WAIT_MAX, self.stream_answered.wait());
            if wait.await.is_err() {
                // A server that answers only when it has something to say is waited for once.
                let _ = self.stream_answered.set(());
            }
        }
    }

    pub async fn credential(&self) -> Option<HttpCredential> {
        self.authorizer.credential(&self.place, &self.server).await
    }

    /// What to try once more with after the server refused.
    pub async fn another(
        &self,
        status: u16,
        challenge: Option<&str>,
        sent: Option<&HttpCredential>,
    ) -> Option<HttpCredential> {
        let refused = HttpRefused {
            status,
            challenge,
            sent,
        };
        let Self { place, server, .. } = self;
        match self.authorizer.refused(place, server, refused).await {
            Ok(another) => Some(another),
            Err(why) => {
                self.refused.replace(why);
                None
            }
        }
    }

    /// Makes a request, and once more where the server refused and there is something else to show.
    async fn attempt<T, F>(
        &self,
        headers: &HttpHeaders,
        make: impl Fn(Option<String>, HttpHeaders) -> F,
    ) -> Result<T, StreamableHttpError<reqwest::Error>>
    where
        F: Future<Output = Result<T, StreamableHttpError<reqwest::Error>>>,
    {
        let credential = self.credential().await;
        let (bearer, shown) = shown(credential.as_ref(), headers.clone());
        let outcome = make(bearer, shown).await;
        let refused = outcome.as_ref().err().and_then(refusal);
        let Some((status, challenge)) = refused else {
            return outcome;
        };
        let sent = credential.as_ref();
        match self.another(status, challenge.as_deref(), sent).await {
            Some(another) => {
                let (bearer, shown) = self::shown(Some(&another), headers.clone());
                make(bearer, shown).await
            }
            None => outcome,
        }
    }
}

/// The bearer token, and the headers with another credential among them.
fn shown(
    credential: Option<&HttpCredential>,
    mut headers: HttpHeaders,
) -> (Option<String>, HttpHeaders) {
    match credential {
        Some(HttpCredential::Bearer(token)) => {
            // What the file says of it stands behind what somebody signed in with.
            headers.remove(&reqwest::header::AUTHORIZATION);
            (Some(token.expose_secret().to_owned()), headers)
        }
        Some(HttpCredential::Header { name, value }) => {
            let name = HeaderName::try_from(name.as_str());
            let value = HeaderValue::try_from(value.expose_secret());
            if let (Ok(name), Ok(mut value)) = (name, value) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
            (None, headers)
        }
        None => (None, headers),
    }
}

/// A request with a credential.
pub(crate) fn with_credential(
    request: reqwest::RequestBuilder,
    credential: Option<&HttpCredential>,
    headers: &HttpHeaders,
) -> reqwest::RequestBuilder {
    let (bearer, headers) = shown(credential, headers.clone());
    let request = request.headers(headers.into_iter().collect());
    match bearer {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

/// Status and challenge where the server wants to know who comes.
fn refusal(error: &StreamableHttpError<reqwest::Error>) -> Option<(u16, Option<String>)> {
    let status = match error {
        StreamableHttpError::AuthRequired(_) => 401,
        StreamableHttpError::InsufficientScope(_) => 403,
        // Those without a challenge come in words only.
        StreamableHttpError::UnexpectedServerResponse(text) if text.starts_with("HTTP 401") => 401,
        StreamableHttpError::UnexpectedServerResponse(text) if text.starts_with("HTTP 403") => 403,
        StreamableHttpError::Client(error) => error.status().map(|status| status.as_u16())?,
        // Everything else has other causes; the enum is not closed.
        _ => return None,
    };
    let challenge = error.auth_challenge().map(str::to_owned);
    (status == 401 || status == 403).then_some((status, challenge))
}

pub(crate) type HttpHeaders = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for HttpAccess {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        headers: HttpHeaders,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        let bytes_max = MESSAGE_BYTES_MAX;
        self.post_message_with_max_sse_event_size(
            uri, message, session_id, token, headers, bytes_max,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _token: Option<String>,
        headers: HttpHeaders,
        bytes_max: usize,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        self.await_stream(&message, session_id.is_some()).await;
        self.attempt(&headers, |bearer, headers| {
            let (uri, message) = (uri.clone(), message.clone());
            let session_id = session_id.clone();
            self.client.post_message_with_max_sse_event_size(
                uri, message, session_id, bearer, headers, bytes_max,
            )
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _token: Option<String>,
        headers: HttpHeaders,
    ) -> Result<(), StreamableHttpError<Self::Error>> {
        self.attempt(&headers, |bearer, headers| {
            let (uri, session_id) = (uri.clone(), session_id.clone());
            self.client.delete_session(uri, session_id, bearer, headers)
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HttpHeaders,
    ) -> Result<BoxedSseResponse, StreamableHttpError<Self::Error>> {
        let bytes_max = MESSAGE_BYTES_MAX;
        self.get_stream_with_max_sse_event_size(
            uri, session_id, last_event, token, headers, bytes_max,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: HttpHeaders,
        bytes_max: usize,
    ) -> Result<BoxedSseResponse, StreamableHttpError<Self::Error>> {
        let answer = self
            .attempt(&headers, |bearer, headers| {
                let (uri, session_id) = (uri.clone(), session_id.clone());
                let last_event = last_event.clone();
                self.client.get_stream_with_max_sse_event_size(
                    uri, session_id, last_event, bearer, headers, bytes_max,
                )
            })
            .await;
        // Only the first answer counts: the stream is opened once, whatever comes of it.
        let _ = self.stream_answered.set(());
        answer
    }
}

/// A connection by streamable HTTP.
pub(crate) fn transport(
    access: HttpAccess,
    url: &Url,
    headers: HttpHeaders,
) -> StreamableHttpClientTransport<HttpAccess> {
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MESSAGE_BYTES_MAX);
    StreamableHttpClientTransport::with_client(access, config)
}
