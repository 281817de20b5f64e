//! Who somebody is: the one place that knows a caller by what they show.

use vocabulary::Caller;

use crate::token::Token;

/// Tells who carries a token. What knows more tenants and members than one takes the place of
/// [`LoneUser`]; nothing else in the server makes a caller.
pub trait Authenticator: Send + Sync {
    /// Whose token this is; nobody's is none. Takes the same time for every wrong one.
    fn by_token(&self, token: &str) -> Option<Caller>;
    /// Who a process of our own user is without a token; none where everybody must show one.
    fn by_own_user(&self) -> Option<Caller>;
}

/// One tenant with one member: who has the token, or our own user where none is set.
#[derive(Default)]
pub struct LoneUser {
    pub token: Option<Token>,
}

impl Authenticator for LoneUser {
    fn by_token(&self, token: &str) -> Option<Caller> {
        let known = self.token.as_ref()?;
        known.is(token).then(Caller::local)
    }

    fn by_own_user(&self) -> Option<Caller> {
        self.token.is_none().then(Caller::local)
    }
}
