//! Who is let in: by the name they call us, the page they come from, whose process they are, and
//! the secret they carry.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use identity::TOKEN_PREFIX;
use vocabulary::Caller;

use crate::guesses::GuessLimiter;
use crate::identity::{Authenticator, Identified, LookupFailed};
use crate::origin::{Authority, Origin};
use crate::peer::Peer;
use crate::ticket::Tickets;

/// What the operator allows beyond the defaults, and the tickets that are out.
pub struct Access {
    pub authenticator: Arc<dyn Authenticator>,
    pub tickets: Tickets,
    pub guesses: GuessLimiter,
    /// Names besides the loopback's and the address itself.
    pub hosts: Vec<String>,
    /// Pages that may use every dialect.
    pub origins: Vec<String>,
}

/// Why somebody is not let in.
#[derive(Debug, PartialEq, Eq)]
pub enum Denied {
    /// No token is set, and it is not a process of our own user.
    OtherUser,
    NoToken,
    WrongToken,
    /// It tried too many wrong ones, and was not heard.
    Guessing(Duration),
    /// Nobody knows whose it is right now.
    NotNow(LookupFailed),
}

impl From<LookupFailed> for Denied {
    fn from(failed: LookupFailed) -> Self {
        Denied::NotNow(failed)
    }
}

impl Access {
    /// Nothing but the defaults.
    pub fn new(authenticator: Arc<dyn Authenticator>) -> Self {
        Self {
            authenticator,
            tickets: Tickets::default(),
            guesses: GuessLimiter::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Whether `Host` names us. An address cannot be rebound, so the one the connection came in
    /// by is as good as the loopback's.
    pub fn host_allowed(&self, host: &Authority<'_>, came_in_by: IpAddr) -> bool {
        let listed = |known: &String| known.eq_ignore_ascii_case(host.name);
        host.is_loopback() || host.address() == Some(came_in_by) || self.hosts.iter().any(listed)
    }

    /// Whether a page may speak to us: our own, a desktop shell's, or one that is listed. The
    /// host is one that is allowed.
    pub fn origin_allowed(&self, origin: &Origin<'_>, host: &Authority<'_>) -> bool {
        let listed = |known: &String| Origin::parse(known).is_some_and(|known| known.is(origin));
        origin.is_desktop_shell() || origin.is_served_by(host) || self.origins.iter().any(listed)
    }

    /// Who sends a request: by the token they carry, or a ticket that was made for them; where none
    /// is needed, as a process of our own user. Where none is needed, what is shown does not matter, but for
    /// a token of ours: it says who it was to be, and that is not forgotten when it is revoked.
    pub async fn admit(
        &self,
        peer: Peer,
        headers: &HeaderMap,
        query: &[(String, String)],
        now: Instant,
    ) -> Result<Caller, Denied> {
        let named = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        let by_ticket = named("ticket").and_then(|ticket| self.tickets.redeem(ticket, now));
        if let Some(caller) = by_ticket {
            let renewed = self.authenticator.renew(&caller).await?;
            return renewed.ok_or(Denied::NoToken);
        }
        let shown: Vec<&str> = bearer(headers).into_iter().chain(named("token")).collect();
        let is_ours = |token: &&str| token.starts_with(TOKEN_PREFIX);
        if !shown.iter().any(is_ours)
            && let Some(owner) = self.authenticator.by_own_user().await?
        {
            return peer.is_own_user().then_some(owner).ok_or(Denied::OtherUser);
        }
        self.authenticate(peer, &shown, now).await
    }

    /// Whose one of these tokens is. Who has shown too many wrong ones is not heard for a while.
    pub async fn authenticate(
        &self,
        peer: Peer,
        shown: &[&str],
        now: Instant,
    ) -> Result<Caller, Denied> {
        if shown.is_empty() {
            return Err(Denied::NoToken);
        }
        if let Some(wait) = self.guesses.wait(peer, now) {
            return Err(Denied::Guessing(wait));
        }
        for token in shown {
            if let Some(caller) = self.authenticator.by_token(token).await? {
                return Ok(caller);
            }
        }
        self.guesses.wrong(peer, now);
        Err(Denied::WrongToken)
    }

    /// Whether a caller was let in without a token, because nobody needs one.
    pub async fn is_lone_user(&self, caller: Option<&Caller>) -> bool {
        let owner = self.authenticator.by_own_user().await;
        caller.is_some() && owner.is_ok_and(|owner| owner.is_some())
    }

    /// Who sends a request with the token itself, where a ticket is not enough.
    pub async fn token_holder(&self, headers: &HeaderMap) -> Identified {
        let shown = bearer(headers);
        let is_ours = shown.is_some_and(|token| token.starts_with(TOKEN_PREFIX));
        if !is_ours && let Some(owner) = self.authenticator.by_own_user().await? {
            return Ok(Some(owner));
        }
        match shown {
            Some(token) => self.authenticator.by_token(token).await,
            None => Ok(None),
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(secret.trim())
}

/// The query without what only the door may see.
pub fn without_secrets(mut query: Vec<(String, String)>) -> Vec<(String, String)> {
    query.retain(|(name, _)| name != "token" && name != "ticket");
    query
}

#[cfg(test)]
mod tests {
    use vocabulary::{Role, TenantId};

    use super::*;
    use crate::identity::LoneUser;
    use crate::limits::{GUESS_EVERY, GUESSES_BURST};
    use crate::token::Token;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn guarded() -> Access {
        let token = Some(Token::new(SECRET).expect("a token"));
        Access {
            hosts: vec!["team.example".to_owned()],
            origins: vec!["https://team.example".to_owned()],
            ..Access::new(Arc::new(LoneUser { token }))
        }
    }

    fn owner() -> Result<Caller, Denied> {
        Ok(Caller::local())
    }

    fn peer(user: u32) -> Peer {
        Peer {
            address: IpAddr::from([127, 0, 0, 1]),
            user: Some(user),
        }
    }

    fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn query(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[tokio::test]
    async fn the_token_comes_in_a_header_a_query_or_as_a_ticket_from_anybody() {
        let access = guarded();
        let now = Instant::now();
        for user in [own_user(), own_user() + 1] {
            let admit = async |headers: &HeaderMap, query: &[(String, String)]| {
                access.admit(peer(user), headers, query, now).await
            };
            let mut headers = HeaderMap::new();
            assert_eq!(admit(&headers, &[]).await, Err(Denied::NoToken));
            assert_eq!(admit(&headers, &query("token", SECRET)).await, owner());
            let ticket = access
                .tickets
                .issue(Caller::local(), now)
                .expect("a ticket");
            assert_eq!(admit(&headers, &query("ticket", &ticket)).await, owner());
            let again = admit(&headers, &query("ticket", &ticket)).await;
            assert_eq!(again, Err(Denied::NoToken));
            let value = format!("bearer {SECRET}").parse().expect("a header");
            headers.insert("authorization", value);
            assert_eq!(admit(&headers, &[]).await, owner());
            let holder = access.token_holder(&headers).await;
            assert_eq!(holder, Ok(Some(Caller::local())));
        }
    }

    #[tokio::test]
    async fn without_a_token_only_our_own_user_is_let_in() {
        let access = Access::new(Arc::<LoneUser>::default());
        let headers = HeaderMap::new();
        let admit = async |peer| access.admit(peer, &headers, &[], Instant::now()).await;
        assert_eq!(admit(peer(own_user())).await, owner());
        assert_eq!(admit(peer(own_user() + 1)).await, Err(Denied::OtherUser));
        let unknown = Peer {
            user: None,
            ..peer(0)
        };
        assert_eq!(admit(unknown).await, Err(Denied::OtherUser));
    }

    #[tokio::test]
    async fn who_guesses_is_not_heard_for_a_while_even_if_right() {
        let access = guarded();
        let now = Instant::now();
        let headers = HeaderMap::new();
        let guess_as = async |user, secret, now| {
            let shown = query("token", secret);
            access.admit(peer(user), &headers, &shown, now).await
        };
        for _ in 0..GUESSES_BURST {
            assert_eq!(guess_as(7, "wrong", now).await, Err(Denied::WrongToken));
        }
        let waits = Err(Denied::Guessing(GUESS_EVERY));
        assert_eq!(guess_as(7, SECRET, now).await, waits);
        assert_eq!(guess_as(7, SECRET, now + GUESS_EVERY).await, owner());
        assert_eq!(guess_as(8, SECRET, now).await, owner());
    }

    /// Every tenant's name is its token.
    struct ByName;

    #[async_trait::async_trait]
    impl Authenticator for ByName {
        async fn by_token(&self, token: &str) -> Identified {
            let caller = || Caller {
                tenant: TenantId::new(token),
                role: Role::Viewer,
                ..Caller::local()
            };
            Ok(["north", "south"].contains(&token).then(caller))
        }

        async fn by_own_user(&self) -> Identified {
            Ok(None)
        }

        async fn renew(&self, caller: &Caller) -> Identified {
            Ok(Some(caller.clone()))
        }

        fn changes(&self) -> Option<tokio::sync::watch::Receiver<u64>> {
            None
        }
    }

    #[tokio::test]
    async fn a_token_and_the_tickets_for_it_say_who_somebody_is() {
        let (access, now) = (Access::new(Arc::new(ByName)), Instant::now());
        let headers = HeaderMap::new();
        let admit = async |name: &str, value: &str| {
            let query = query(name, value);
            let admitted = access.admit(peer(own_user()), &headers, &query, now).await;
            admitted.map(|caller| (caller.tenant.to_string(), caller.role))
        };
        for tenant in ["north", "south"] {
            let expected = Ok((tenant.to_owned(), Role::Viewer));
            assert_eq!(admit("token", tenant).await, expected);
            let mut headers = HeaderMap::new();
            let value = format!("Bearer {tenant}").parse().expect("a header");
            headers.insert("authorization", value);
            let holder = access.token_holder(&headers).await;
            let holder = holder.expect("a lookup").expect("a holder");
            let ticket = access.tickets.issue(holder, now).expect("a ticket");
            assert_eq!(admit("ticket", &ticket).await, expected);
        }
        assert_eq!(admit("token", "east").await, Err(Denied::WrongToken));
        assert_eq!(access.token_holder(&headers).await, Ok(None));
    }

    #[test]
    fn hosts_are_ours_by_address_or_by_list() {
        let access = guarded();
        let by: IpAddr = "192.168.1.7".parse().expect("an address");
        let allowed =
            |host| Authority::parse(host).is_some_and(|host| access.host_allowed(&host, by));
        for host in [
            "192.168.1.7:7337",
            "Team.Example",
            "localhost:7337",
            "[::1]:1",
        ] {
            assert!(allowed(host), "{host}");
        }
        for host in [
            "192.168.1.8",
            "rebound.example:7337",
            "team.example.evil",
            "localhost.evil.example",
            "",
        ] {
            assert!(!allowed(host), "{host}");
        }
    }

    #[test]
    fn a_page_is_our_own_a_desktop_shells_or_listed() {
        let access = guarded();
        let host = Authority::parse("localhost:7337").expect("a host");
        let allowed =
            |page| Origin::parse(page).is_some_and(|page| access.origin_allowed(&page, &host));
        for page in [
            "http://localhost:7337",
            "file://",
            "http://tauri.localhost",
            "https://team.example",
            "https://TEAM.example:443",
        ] {
            assert!(allowed(page), "{page}");
        }
        for page in [
            "http://localhost:5173",
            "http://127.0.0.1:7337",
            "https://team.example:81",
            "http://team.example",
            "https://evil.example",
            "null",
        ] {
            assert!(!allowed(page), "{page}");
        }
    }
}
