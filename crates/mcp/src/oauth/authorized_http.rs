//! An HTTP client for streamable HTTP that says with every request who comes.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use secrecy::{ExposeSecret, SecretString};
use sse_stream::{Error as SseError, Sse};

use super::{AuthFailure, RefusedRequest, RequestAuthorizer};

const UNAUTHORIZED: u16 = 401;
const FORBIDDEN: u16 = 403;

/// Another client, in somebody's name.
#[derive(Clone)]
pub struct AuthorizedHttp<C> {
    http: C,
    authorizer: Arc<dyn RequestAuthorizer>,
}

impl<C: StreamableHttpClient + Sync> AuthorizedHttp<C> {
    pub fn new(http: C, authorizer: Arc<dyn RequestAuthorizer>) -> Self {
        Self { http, authorizer }
    }

    /// Makes a request, and once more with another token where the server says no and there is one.
    async fn attempt<T, F>(
        &self,
        make: impl Fn(Option<String>) -> F,
    ) -> Result<T, StreamableHttpError<C::Error>>
    where
        F: Future<Output = Result<T, StreamableHttpError<C::Error>>>,
    {
        let sent = self.authorizer.bearer().await.map_err(failed)?;
        let outcome = make(sent.as_ref().map(revealed)).await;
        let (status, challenge) = match &outcome {
            Err(StreamableHttpError::AuthRequired(refusal)) => {
                (UNAUTHORIZED, Some(refusal.www_authenticate_header.as_str()))
            }
            Err(StreamableHttpError::InsufficientScope(refusal)) => {
                (FORBIDDEN, Some(refusal.www_authenticate_header.as_str()))
            }
            // Older servers say 401 and nothing more; the SDK has no type for that.
            Err(StreamableHttpError::UnexpectedServerResponse(words))
                if words.starts_with("HTTP 401") =>
            {
                (UNAUTHORIZED, None)
            }
            // Whatever else there may be, it is not about who comes.
            _ => return outcome,
        };
        let refused = RefusedRequest {
            status,
            challenge,
            sent: sent.as_ref(),
        };
        let another = self.authorizer.refused(refused).await.map_err(failed)?;
        make(Some(revealed(&another))).await
    }
}

fn revealed(token: &SecretString) -> String {
    token.expose_secret().to_owned()
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    failure: AuthFailure,
) -> StreamableHttpError<E> {
    StreamableHttpError::Auth(AuthError::AuthorizationFailed(failure.to_string()))
}

type Headers = HashMap<HeaderName, HeaderValue>;
type EventStream = BoxStream<'static, Result<Sse, SseError>>;

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for AuthorizedHttp<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        self.attempt(|token| {
            let (uri, message) = (Arc::clone(&uri), message.clone());
            let (session_id, headers) = (session_id.clone(), headers.clone());
            self.http
                .post_message(uri, message, session_id, token, headers)
        })
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
        event_bytes_max: usize,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        self.attempt(|token| {
            self.http.post_message_with_max_sse_event_size(
                Arc::clone(&uri),
                message.clone(),
                session_id.clone(),
                token,
                headers.clone(),
                event_bytes_max,
            )
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<Self::Error>> {
        self.attempt(|token| {
            let (uri, session_id) = (Arc::clone(&uri), Arc::clone(&session_id));
            self.http
                .delete_session(uri, session_id, token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, StreamableHttpError<Self::Error>> {
        self.attempt(|token| {
            let (uri, session_id) = (Arc::clone(&uri), session_id.clone());
            let (last, headers) = (last_event_id.clone(), headers.clone());
            self.http.get_stream(uri, session_id, last, token, headers)
        })
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _token: Option<String>,
        headers: Headers,
        event_bytes_max: usize,
    ) -> Result<EventStream, StreamableHttpError<Self::Error>> {
        self.attempt(|token| {
            self.http.get_stream_with_max_sse_event_size(
                Arc::clone(&uri),
                session_id.clone(),
                last_event_id.clone(),
                token,
                headers.clone(),
                event_bytes_max,
            )
        })
        .await
    }
}
