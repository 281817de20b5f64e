//! JWTs of an OpenID provider: read strictly, checked with the provider's published keys, and turned
//! into whom they name.
//!
//! Signatures are checked with `ring`, which TLS has brought along: the three algorithms are one
//! call each. A JWT library would add more crates, and would read less strictly than is needed here.

mod cache;
mod claims;
mod compact;
mod fetch;
mod key_source;
mod keys;
pub mod limits;
mod settings;
mod sign_in;
mod unique_json;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use thiserror::Error;
use vocabulary::{Role, TenantId, Timestamp};

use cache::{CachedToken, TokenCache};
use compact::CompactToken;
use fetch::HttpKeys;
use key_source::{KeySource, PublishedKeys};
use limits::{CLOCK_SKEW_S, TOKEN_BYTES_MAX};

pub use settings::{
    AuthSettings, JwtSettings, JwtSettingsError, TENANT_CLAIM, issuer_url, plain_name, safe_url,
};

/// Whom a good token names, and until when it is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    pub subject: String,
    pub email: Option<String>,
    pub tenant: TenantId,
    /// What the role claim says, where one is configured, and it is one of ours.
    pub role: Option<Role>,
    /// The end that it names, and the clock skew that is allowed.
    pub expires_at: Timestamp,
}

/// Why a token is not good. Says nothing that only the token says: these words are logged and told to
/// clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JwtError {
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    #[error("the token is no JWT: {0}")]
    Malformed(&'static str),
    #[error("the token is not signed with RS256, ES256 or EdDSA")]
    Algorithm,
    #[error("the token asks for extensions (`crit`) that are not known here")]
    CriticalExtension,
    #[error("the token is signed with a key that its issuer does not publish")]
    UnknownKey,
    #[error("the token's signature is wrong")]
    Signature,
    #[error("the token has expired; get a new one")]
    Expired,
    #[error("the token is not valid yet; check the clocks of this server and of its issuer")]
    NotYetValid,
    #[error("the token is of another issuer")]
    Issuer,
    #[error("the token is for another audience")]
    Audience,
    #[error("the token's `{0}` claim is missing or not of the right kind")]
    Claim(&'static str),
    #[error("the token names no tenant, or not as 1 to 64 of a-z, 0-9, `_` and `-`")]
    Tenant,
    #[error("the keys of the issuer cannot be had at the moment; try again later")]
    KeysUnavailable,
}

/// Checks tokens of one issuer. Asks for its keys when the first token comes, not before.
pub struct JwtVerifier {
    settings: JwtSettings,
    keys: Arc<KeySource>,
    cache: Mutex<TokenCache>,
}

impl JwtVerifier {
    pub fn new(settings: JwtSettings) -> Self {
        let published = HttpKeys::new(&settings);
        Self::with_keys(settings, Box::new(published))
    }

    fn with_keys(settings: JwtSettings, published: Box<dyn PublishedKeys>) -> Self {
        Self {
            settings,
            keys: Arc::new(KeySource::new(published)),
            cache: Mutex::default(),
        }
    }

    pub fn settings(&self) -> &JwtSettings {
        &self.settings
    }

    /// Whom a token names, if it is good now.
    pub async fn verify(&self, token: &str) -> Result<VerifiedToken, JwtError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = Timestamp(since.unwrap_or_default().as_millis() as i64);
        self.verify_at(token, now).await
    }

    async fn verify_at(&self, token: &str, now: Timestamp) -> Result<VerifiedToken, JwtError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(JwtError::TooLong);
        }
        let hash = digest(&SHA256, token.as_bytes());
        let known = self
            .cache
            .lock()
            .get(hash.as_ref(), self.keys.generation(), now);
        if let Some(verified) = known {
            return Ok(verified);
        }
        let read = CompactToken::parse(token)?;
        // Before the signature: what is not for us anyway need not make us ask for keys.
        let verified = claims::check(&read.claims, &self.settings, now)?;
        let generation = Arc::clone(&self.keys).check(&read).await?;
        let entry = CachedToken::new(verified.clone(), generation, now);
        self.cache.lock().insert(hash.as_ref(), entry);
        Ok(verified)
    }
}

/// Whether a token is written like a JWT at all, so that nobody else's token is looked at as one.
pub fn looks_like_jwt(token: &str) -> bool {
    token.starts_with("eyJ") && token.split('.').count() == 3
}

/// The latest second that counts as now, and the earliest.
fn skewed(now: Timestamp) -> (i64, i64) {
    let now = now.seconds();
    (now + CLOCK_SKEW_S, now - CLOCK_SKEW_S)
}
