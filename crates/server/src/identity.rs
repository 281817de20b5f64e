//! Who somebody is: the one place that knows a caller by what they show.

use async_trait::async_trait;
use thiserror::Error;
use tokio::sync::watch;
use vocabulary::Caller;

use crate::token::Token;

/// Who it is cannot be found out now: a store or a service does not answer. Nobody was refused.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("who this is cannot be found out now: {0}")]
pub struct LookupFailed(pub String);

/// Somebody, or nobody.
pub type Identified = Result<Option<Caller>, LookupFailed>;

/// Tells who carries a token. What knows more tenants and members than one takes the place of
/// [`LoneUser`]; nothing else in the server makes a caller.
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

/// One tenant with one member: who has the token, or our own user where none is set.
#[derive(Default)]
pub struct LoneUser {
    pub token: Option<Token>,
}

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
