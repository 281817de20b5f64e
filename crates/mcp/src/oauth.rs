//! OAuth 2.1 for MCP servers: who comes, request by request, and how one signs in.

mod address_rule;
mod begin;
mod credential_file;
mod guarded_http;
pub mod kept_sign_in;
pub mod known_credentials;
mod pending;
mod renewal;
pub mod server_sign_in;
pub mod sign_ins;
mod words;

#[cfg(test)]
mod tests;

use secrecy::SecretString;
use thiserror::Error;

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
