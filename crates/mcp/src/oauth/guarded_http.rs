//! How sign-in servers are asked: only where the rule allows it, each request with an end, and each
//! answer with a size.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{Client, StatusCode, Url, redirect};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use thiserror::Error;
use tools::web::Lookup;

use super::address_rule::{AddressError, AddressRule};

const USER_AGENT: &str = concat!("dragoman/", env!("CARGO_PKG_VERSION"));
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const REQUEST_LIMIT: Duration = Duration::from_secs(20);
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Why a sign-in server gave no answer.
#[derive(Debug, Error)]
pub enum GuardedHttpError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the HTTP client could not be made: {0}")]
    Client(String),
    #[error("the answer is longer than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("{0}")]
    NoAnswer(String),
}

/// Never follows a redirect by itself: who asks checks where it leads.
pub struct GuardedHttp {
    client: Client,
    rule: AddressRule,
    /// Named instead of what the server says about itself, where a person configured it.
    resource: Option<String>,
}

impl GuardedHttp {
    pub async fn new(
        server: &Url,
        lookup: Arc<dyn Lookup>,
        resource: Option<String>,
    ) -> Result<Self, GuardedHttpError> {
        // Without one, reqwest would panic.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let words = "this program was started without a TLS library";
            return Err(GuardedHttpError::Client(words.to_owned()));
        }
        let rule = AddressRule::of(server, lookup).await?;
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_LIMIT)
            .timeout(REQUEST_LIMIT)
            .redirect(redirect::Policy::none())
            .referer(false)
            // Behind a proxy the address could not be checked.
            .no_proxy()
            .dns_resolver(Arc::new(rule.clone()))
            .build()
            .map_err(|error| GuardedHttpError::Client(error.to_string()))?;
        Ok(Self {
            client,
            rule,
            resource,
        })
    }

    pub fn rule(&self) -> &AddressRule {
        &self.rule
    }

    /// Asks the server itself as a client does that has not signed in: whether it wants a sign-in, and
    /// what it says about it.
    pub async fn probe(&self, server: &Url) -> Result<(bool, Option<String>), GuardedHttpError> {
        self.rule.check(server)?;
        let request = self
            .client
            .post(server.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .json(&serde_json::json!({ "jsonrpc": "2.0", "id": 0, "method": "ping" }));
        let response = request.send().await.map_err(no_answer)?;
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|value| value.to_str().ok());
        let asked = response.status() == StatusCode::UNAUTHORIZED;
        Ok((asked, challenge.filter(|_| asked).map(str::to_owned)))
    }

    async fn answer(
        &self,
        mut request: reqwest::Request,
    ) -> Result<http::Response<Vec<u8>>, GuardedHttpError> {
        self.rule.check(request.url())?;
        // Nothing is unpacked here, so nothing small can become huge.
        let identity = http::HeaderValue::from_static("identity");
        request.headers_mut().insert(ACCEPT_ENCODING, identity);
        let mut response = self.client.execute(request).await.map_err(no_answer)?;
        let mut body = Vec::new();
        let kind = response.headers().get(CONTENT_TYPE);
        if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            // The server itself, which would never come to an end.
            return Ok(http::Response::<reqwest::Body>::from(response).map(|_| body));
        }
        while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(GuardedHttpError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(http::Response::<reqwest::Body>::from(response).map(|_| body))
    }
}

impl OAuthHttpClient for GuardedHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let mut request = request.request;
            if let Some(resource) = &self.resource {
                let form = request.headers().get(CONTENT_TYPE);
                if form.is_some_and(|kind| kind == "application/x-www-form-urlencoded") {
                    let named = with_resource(request.body(), resource);
                    *request.body_mut() = named;
                }
            }
            let request = reqwest::Request::try_from(request).map_err(boxed)?;
            self.answer(request).await.map_err(boxed)
        })
    }
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> OAuthHttpClientError {
    Box::new(error)
}

/// A form that names this resource instead of another.
fn with_resource(form: &[u8], resource: &str) -> Vec<u8> {
    let form = String::from_utf8_lossy(form);
    match Url::parse(&format!("http://localhost/?{form}")) {
        Ok(mut url) => {
            name_resource(&mut url, resource);
            url.query().unwrap_or_default().as_bytes().to_vec()
        }
        Err(_) => form.into_owned().into_bytes(),
    }
}

/// An address whose query names this resource instead of another.
pub fn name_resource(url: &mut Url, resource: &str) {
    let pairs: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != "resource")
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(pairs)
        .append_pair("resource", resource);
}

/// The innermost cause: the outer ones only say that a request failed. The address is left out, since
/// a part of it may be a secret.
fn no_answer(error: reqwest::Error) -> GuardedHttpError {
    if error.is_timeout() {
        return GuardedHttpError::NoAnswer("it took too long".to_owned());
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    GuardedHttpError::NoAnswer(cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_names_the_configured_resource_once() {
        let form = with_resource(b"code=a%20b&resource=https%3A%2F%2Fa.test&x=1", "urn:own");
        assert_eq!(form, b"code=a+b&x=1&resource=urn%3Aown");
    }
}
