//! A provider over the network: moves the bytes between a wire format and its service, and meets
//! what services do in real life (limits, overload, broken and silent connections).

mod address;
mod answer;
mod attempts;
pub(crate) mod client;
mod exchange;
mod gate;
mod policy;
mod request;
mod retry_after;
mod secrets;
mod sse;
mod trouble;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use secrecy::SecretString;

use crate::catalog::{self, Reach};
use crate::format::{Decode, Outgoing, Wire};
use crate::{ErrorKind, PartStream, Provider, ProviderError, Request};
use attempts::Attempts;
use gate::Gate;
pub use policy::Policy;
use request::Prepared;
use trouble::{Again, Trouble, Voice};

/// Where a request goes and what it carries; asked anew for every request, so that a key saved or
/// a token renewed a moment ago is used.
#[async_trait]
pub trait Access: Send + Sync {
    /// `renew`: the last credential was not accepted; asked at most once in a request, and only
    /// when its ticket was renewable. An error is told as it is.
    async fn access(&self, renew: bool) -> Result<Ticket, ProviderError>;
}

/// What lets one request in.
#[derive(Clone)]
pub struct Ticket {
    pub base_url: String,
    /// The credential as headers. Sent as sensitive, and masked in whatever the provider says.
    pub headers: Vec<(String, SecretString)>,
    /// Whether a new one may be had when this one is not accepted.
    pub renewable: bool,
}

impl fmt::Debug for Ticket {
    /// Without the base URL, which may hold a password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Ticket")
            .field("headers", &self.headers)
            .field("renewable", &self.renewable)
            .finish_non_exhaustive()
    }
}

/// The pure half of a provider: a wire format, or in tests something smaller.
pub(crate) trait Codec: Send + Sync {
    fn encode(&self, request: &Request) -> Outgoing;
    /// `seed` differs for every request.
    fn decoder(&self, model: &str, seed: &str) -> Box<dyn Decode>;
    fn failure(&self, status: u16, body: &[u8]) -> (ErrorKind, String);
    /// What a `GET` needs too.
    fn headers(&self) -> Vec<(&'static str, String)>;
}

impl Codec for Wire {
    fn encode(&self, request: &Request) -> Outgoing {
        Wire::encode(*self, request)
    }

    fn decoder(&self, model: &str, seed: &str) -> Box<dyn Decode> {
        Wire::decoder(*self, model, seed)
    }

    fn failure(&self, status: u16, body: &[u8]) -> (ErrorKind, String) {
        Wire::failure(*self, status, body)
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        Wire::headers(*self)
    }
}

/// One provider of the catalog, reached over the network. Its clones share everything.
#[derive(Clone)]
pub struct Remote {
    service: Arc<Service>,
}

/// What all requests of one provider share.
pub(crate) struct Service {
    id: String,
    name: String,
    reach: Reach,
    codec: Arc<dyn Codec>,
    access: Arc<dyn Access>,
    policy: Policy,
    gate: Gate,
}

impl Service {
    fn voice(&self, model: Option<&str>) -> Voice {
        Voice {
            id: self.id.clone(),
            name: self.name.clone(),
            model: model.map(str::to_owned),
        }
    }
}

impl Remote {
    /// Nothing for a provider that is not reached over the network.
    pub fn new(
        provider: &catalog::Provider,
        access: Arc<dyn Access>,
        policy: Policy,
    ) -> Option<Self> {
        let reach = provider.reach.clone()?;
        let codec = Arc::new(reach.wire);
        Some(Self::with_codec(provider, reach, codec, access, policy))
    }

    fn with_codec(
        provider: &catalog::Provider,
        reach: Reach,
        codec: Arc<dyn Codec>,
        access: Arc<dyn Access>,
        policy: Policy,
    ) -> Self {
        let service = Service {
            id: provider.id.clone(),
            name: provider.name.clone(),
            reach,
            codec,
            access,
            policy,
            gate: Gate::default(),
        };
        Self {
            service: Arc::new(service),
        }
    }

    /// What lies at this path below the base URL. One request within `limit`, not tried again:
    /// for a look at whether a key is accepted, and for lists of models.
    pub async fn get(&self, path: &str, limit: Duration) -> Result<Vec<u8>, ProviderError> {
        let service = &self.service;
        let ticket = service.access.access(false).await?;
        let trouble = match service.fetch(path, &ticket, limit).await {
            Ok(body) => return Ok(body),
            Err(trouble) => trouble,
        };
        let renew = trouble.status == Some(401) && ticket.renewable;
        if !renew && trouble.again != Again::AtOnce {
            return Err(service.voice(None).error(trouble, 1));
        }
        let ticket = service.access.access(renew).await?;
        let fetched = service.fetch(path, &ticket, limit).await;
        fetched.map_err(|trouble: Trouble| service.voice(None).error(trouble, 1))
    }
}

#[async_trait]
impl Provider for Remote {
    fn id(&self) -> &str {
        &self.service.id
    }

    async fn stream(&self, request: Request) -> Result<PartStream, ProviderError> {
        let Outgoing {
            path,
            headers,
            body,
        } = self.service.codec.encode(&request);
        let prepared = Prepared {
            model: request.model,
            attempts_max: request.attempts_max.unwrap_or(u32::MAX),
            path,
            headers,
            body: Bytes::from(body.to_string()),
            seed: format!("{:016x}", policy::random()),
        };
        Ok(Attempts::new(Arc::clone(&self.service), prepared).into_stream())
    }
}

#[cfg(test)]
mod tests;
