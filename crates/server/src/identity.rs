//! Who somebody is: the one place that knows a caller by what they show.

use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ::identity::jwt::{JwtError, JwtSettings, JwtVerifier, VerifiedToken, looks_like_jwt};
use ::identity::{Directory, IdentityError, TOKEN_PREFIX};
use async_trait::async_trait;
use engine::Engine;
use thiserror::Error;
use tokio::sync::watch;
use vocabulary::{Caller, CallerCredential, CredentialOrigin, Member, Timestamp};

use crate::log_limiter::LogLimiter;
use crate::token::Token;

/// Who it is cannot be found out now: a store or a service does not answer. Nobody was refused.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("who this is cannot be found out now: {0}")]
pub struct LookupFailed(pub String);

/// Somebody, or nobody.
pub type Identified = Result<Option<Caller>, LookupFailed>;

/// Tells who carries a token. Nothing else in the server makes a caller.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Whose token this is; nobody's is none. Takes the same time for every wrong one.
    async fn by_token(&self, token: &str) -> Identified;
    /// Who a process of our own user is without a token; none where everybody must show one.
    async fn by_own_user(&self) -> Identified;
    /// Who a caller is by now; none where they are nobody any more: what they came in by was
    /// revoked or has expired, or the member is gone. What it says of `via` stays.
    async fn renew(&self, caller: &Caller) -> Identified;
    /// Changes when a caller may have become another: who holds one asks again then. None where
    /// that never happens.
    fn changes(&self) -> Option<watch::Receiver<u64>>;
}

/// The members of all tenants by their API tokens and JWTs; and who has the server's own token, or our own user
/// where nothing at all is asked for.
#[derive(Default)]
pub struct KnownPeople {
    pub token: Option<Token>,
    /// Whose JWTs let people in.
    jwt: Option<JwtVerifier>,
    /// What was wrong with those that did not, at its own pace.
    refused: LogLimiter,
    /// There once the store is open; before, nobody is known.
    engine: OnceLock<Engine>,
}

impl KnownPeople {
    pub fn new(token: Option<Token>, jwt: Option<JwtSettings>) -> Self {
        Self {
            token,
            jwt: jwt.map(JwtVerifier::new),
            ..Self::default()
        }
    }

    /// From now on people are looked up there.
    pub fn open(&self, engine: Engine) {
        // A second one would be the same.
        let _ = self.engine.set(engine);
    }

    fn directory(&self) -> Result<&Arc<Directory>, LookupFailed> {
        let engine = self.engine.get();
        let starting = || LookupFailed("the server is starting".to_owned());
        engine.map(Engine::identity).ok_or_else(starting)
    }

    /// The member that a JWT names.
    async fn by_jwt(&self, verifier: &JwtVerifier, token: &str) -> Identified {
        let verified = match verifier.verify(token).await {
            Ok(verified) => verified,
            Err(unavailable @ JwtError::KeysUnavailable) => {
                return Err(LookupFailed(unavailable.to_string()));
            }
            Err(reason) => {
                if let Some(due) = self.refused.due(Instant::now()) {
                    let left_out = due.left_out;
                    tracing::info!(%reason, left_out, "a JWT was refused");
                }
                return Ok(None);
            }
        };
        let settings = verifier.settings();
        let member = self.directory()?.sign_in(&verified, settings).await?;
        Ok(member.map(|member| signed_in(verified, member, settings.issuer())))
    }
}

fn signed_in(token: VerifiedToken, member: Member, issuer: &str) -> Caller {
    let credential = CallerCredential {
        source: CredentialOrigin::SignIn {
            issuer: issuer.into(),
            subject: token.subject.into(),
        },
        expires_at: Some(token.expires_at),
        dialects: Vec::new(),
    };
    Caller {
        tenant: token.tenant,
        member: member.id,
        role: member.role,
        via: None,
        email: member.email.map(String::into_boxed_str),
        credential: Some(Box::new(credential)),
    }
}

impl From<IdentityError> for LookupFailed {
    fn from(error: IdentityError) -> Self {
        Self(error.to_string())
    }
}

#[async_trait]
impl Authenticator for KnownPeople {
    async fn by_token(&self, token: &str) -> Identified {
        if self.token.as_ref().is_some_and(|known| known.is(token)) {
            return Ok(Some(Caller::local()));
        }
        if token.starts_with(TOKEN_PREFIX) {
            return Ok(self.directory()?.by_token(token).await?);
        }
        match &self.jwt {
            Some(verifier) if looks_like_jwt(token) => self.by_jwt(verifier, token).await,
            Some(_) | None => Ok(None),
        }
    }

    async fn by_own_user(&self) -> Identified {
        if self.token.is_some() || self.jwt.is_some() {
            return Ok(None);
        }
        let people = self.directory()?.people().await?;
        Ok((!people.has_tokens()).then(Caller::local))
    }

    async fn renew(&self, caller: &Caller) -> Identified {
        let people = self.directory()?.people().await?;
        Ok(people.renew(caller, now()))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.engine.get().map(|engine| engine.identity().changes())
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.unwrap_or_default().as_millis() as i64)
}

/// One tenant with one member: who has the token, or our own user where none is set.
#[cfg(test)]
#[derive(Default)]
pub struct LoneUser {
    pub token: Option<Token>,
}

#[cfg(test)]
#[async_trait]
impl Authenticator for LoneUser {
    async fn by_token(&self, token: &str) -> Identified {
        let known = self.token.as_ref();
        Ok(known
            .is_some_and(|known| known.is(token))
            .then(Caller::local))
    }

    async fn by_own_user(&self) -> Identified {
        Ok(self.token.is_none().then(Caller::local))
    }

    async fn renew(&self, caller: &Caller) -> Identified {
        Ok(Some(caller.clone()))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}
