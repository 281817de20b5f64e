//! A provider over the network: moves the bytes between a wire format and its service, and meets
//! what services do in real life (limits, overload, broken and silent connections).

mod address;
mod attempt_error;
mod attempts;
pub(crate) mod client;
mod exchange;
mod gate;
mod omissions;
mod policy;
mod request;
mod response_stream;
mod retry_after;
mod secrets;
mod sse;
mod stall_watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Url;
use secrecy::SecretString;

use crate::catalog::{self, ApiEndpoint, Model, ModelCatalog};
use crate::format::{Decode, Outgoing, RequestTarget, ServiceFailure, Wire};
use crate::{ModelRequest, PartStream, Provider, ProviderError};
use attempt_error::{AttemptError, ErrorContext, Retry};
use attempts::Attempts;
use gate::Gate;
use omissions::Omissions;
pub use policy::{ATTEMPTS_LIMIT, RequestLimits, RetryPolicy, SILENCE_LIMIT, WAIT_LIMIT};
use request::SmallRequest;

/// Where a request goes and what it carries; asked anew for every request, so that a key saved or
/// a token renewed a moment ago is used.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// `renew`: the last credential was not accepted; asked at most once in a request, and only
    /// when its authorization was renewable. An error is told as it is.
    async fn access(&self, renew: bool) -> Result<Authorization, ProviderError>;

    /// Headers that depend on the whole request, where the service wants it signed.
    fn sign(&self, _request: &RequestToSign<'_>) -> Vec<(String, SecretString)> {
        Vec::new()
    }
}

/// A request as it is about to go out.
#[derive(Clone, Copy, Debug)]
pub struct RequestToSign<'a> {
    pub method: &'a str,
    pub url: &'a Url,
    pub body: &'a [u8],
}

/// What lets one request in.
#[derive(Clone)]
pub struct Authorization {
    pub base_url: String,
    /// Tells accounts apart and nothing else; it is kept with what the account's models thought.
    pub account: String,
    /// The credential as headers. Sent as sensitive, and masked in whatever the provider says.
    pub headers: Vec<(String, SecretString)>,
    /// Whether a new one may be had when this one is not accepted.
    pub renewable: bool,
}

impl fmt::Debug for Authorization {
    /// Without the base URL, which may hold a password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Authorization")
            .field("headers", &self.headers)
            .field("renewable", &self.renewable)
            .finish_non_exhaustive()
    }
}

/// The pure half of a provider: a wire format, or in tests something smaller.
pub(crate) trait Codec: Send + Sync {
    fn encode(&self, request: &ModelRequest, target: &RequestTarget) -> Outgoing;
    /// `seed` differs for every request.
    fn decoder(&self, target: &RequestTarget, seed: &str) -> Box<dyn Decode>;
    fn failure(&self, status: u16, body: &[u8]) -> ServiceFailure;
    /// What a `GET` needs too.
    fn headers(&self) -> Vec<(&'static str, String)>;
}

impl Codec for Wire {
    fn encode(&self, request: &ModelRequest, target: &RequestTarget) -> Outgoing {
        Wire::encode(*self, request, target)
    }

    fn decoder(&self, target: &RequestTarget, seed: &str) -> Box<dyn Decode> {
        Wire::decoder(*self, target, seed)
    }

    fn failure(&self, status: u16, body: &[u8]) -> ServiceFailure {
        Wire::failure(*self, status, body)
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        Wire::headers(*self)
    }
}

/// One provider of the catalog, reached over the network. Its clones share its connections and
/// waits.
#[derive(Clone)]
pub struct Remote {
    service: Arc<RemoteService>,
    /// What was known of its models when it was asked for.
    catalog: Arc<ModelCatalog>,
}

/// What all requests of one provider share.
pub(crate) struct RemoteService {
    id: String,
    name: String,
    endpoint: ApiEndpoint,
    codec: Arc<dyn Codec>,
    access: Arc<dyn Authorizer>,
    policy: RetryPolicy,
    gate: Gate,
    omissions: Omissions,
}

impl RemoteService {
    fn error_context(&self, model: Option<&str>) -> ErrorContext {
        ErrorContext {
            id: self.id.clone(),
            name: self.name.clone(),
            model: model.map(str::to_owned),
            successor: None,
        }
    }
}

impl Remote {
    /// Nothing for a provider that is not reached over the network.
    pub fn new(
        provider: &catalog::ProviderInfo,
        access: Arc<dyn Authorizer>,
        policy: RetryPolicy,
    ) -> Option<Self> {
        let endpoint = provider.endpoint.clone()?;
        let codec = Arc::new(endpoint.wire);
        Some(Self::with_codec(provider, endpoint, codec, access, policy))
    }

    fn with_codec(
        provider: &catalog::ProviderInfo,
        endpoint: ApiEndpoint,
        codec: Arc<dyn Codec>,
        access: Arc<dyn Authorizer>,
        policy: RetryPolicy,
    ) -> Self {
        let service = RemoteService {
            id: provider.id.clone(),
            name: provider.name.clone(),
            endpoint,
            codec,
            access,
            policy,
            gate: Gate::default(),
            omissions: Omissions::default(),
        };
        Self {
            service: Arc::new(service),
            catalog: Arc::default(),
        }
    }

    /// The same, with what is known of its models by now.
    pub fn knowing(&self, catalog: Arc<ModelCatalog>) -> Self {
        Self {
            service: Arc::clone(&self.service),
            catalog,
        }
    }

    fn target(&self, model: &str) -> RequestTarget {
        let known: Option<&Model> = self.catalog.model(&self.service.id, model);
        let mut target = RequestTarget::unknown(model);
        match known {
            Some(known) => target.model = known.clone(),
            None => target.model.successor = self.catalog.successor(&self.service.id, model),
        }
        target.quirks = self.service.endpoint.quirks.with(&target.model.quirks);
        target
    }

    /// What lies at this path below the base URL. One request within `limit`, not tried again:
    /// for a look at whether a key is accepted, and for lists of models.
    pub async fn get(&self, path: &str, limit: Duration) -> Result<Vec<u8>, ProviderError> {
        self.ask_small(SmallRequest { path, body: None }, limit)
            .await
    }

    /// The same with something to read for the service.
    pub async fn post(
        &self,
        path: &str,
        body: &serde_json::Value,
        limit: Duration,
    ) -> Result<Vec<u8>, ProviderError> {
        let body = Some(body);
        self.ask_small(SmallRequest { path, body }, limit).await
    }

    async fn ask_small(
        &self,
        small: SmallRequest<'_>,
        limit: Duration,
    ) -> Result<Vec<u8>, ProviderError> {
        let service = &self.service;
        let authorization = service.access.access(false).await?;
        let failure = match service.fetch(&small, &authorization, limit).await {
            Ok(body) => return Ok(body),
            Err(failure) => failure,
        };
        let renew = failure.status == Some(401) && authorization.renewable;
        if !renew && failure.again != Retry::AtOnce {
            return Err(service.error_context(None).error(failure, 1));
        }
        let authorization = service.access.access(renew).await?;
        let fetched = service.fetch(&small, &authorization, limit).await;
        fetched.map_err(|failure: AttemptError| service.error_context(None).error(failure, 1))
    }
}

#[async_trait]
impl Provider for Remote {
    fn id(&self) -> &str {
        &self.service.id
    }

    async fn stream(&self, request: ModelRequest) -> Result<PartStream, ProviderError> {
        let target = self.target(&request.model);
        let request = target.settle(request);
        Ok(Attempts::new(Arc::clone(&self.service), request, target).into_stream())
    }
}

#[cfg(test)]
mod tests;
