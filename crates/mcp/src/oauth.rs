//! OAuth 2.1 for MCP servers: who comes, request by request, and how one signs in.

mod address_rule;
pub mod authorized_http;
mod begin;
mod callback;
mod credential_file;
mod guarded_http;
pub mod kept_sign_in;
mod pending;
mod renewal;
pub mod server_sign_in;
pub mod sign_ins;
mod words;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use secrecy::SecretString;
use thiserror::Error;

/// Says for the requests to one server who comes.
#[async_trait]
pub trait RequestAuthorizer: Send + Sync {
    /// The token for the next request, renewed if it is about to expire. None where nobody signed
    /// in: the request is made without, since not every server asks.
    async fn bearer(&self) -> Result<Option<SecretString>, AuthFailure>;

    /// The server said no. Gives another token to try once more with, or says why there is none.
    async fn refused(&self, request: RefusedRequest<'_>) -> Result<SecretString, AuthFailure>;
}

/// A request that a server answered with 401 or 403.
pub struct RefusedRequest<'a> {
    pub status: u16,
    /// The answer's `WWW-Authenticate`.
    pub challenge: Option<&'a str>,
    /// What was sent with it.
    pub sent: Option<&'a SecretString>,
}

/// Why nobody can be said to come. The words are for people, and hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuthFailure {
    /// Nobody signed in, or what they were given is no longer good.
    #[error("{0}")]
    SignInNeeded(String),
    /// Who signed in may not do this; signing in again asks for more.
    #[error("{0}")]
    MoreScopesNeeded(String),
    /// Who signed in may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// It may go better another time.
    #[error("{0}")]
    Unavailable(String),
}
