//! Who is let in: by the name they call us, the page they come from, whose process they are, and
//! the secret they carry.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use vocabulary::Caller;

use crate::guesses::GuessLimiter;
use crate::identity::Authenticator;
use crate::origin::{Authority, Origin};
use crate::peer::Peer;
use crate::ticket::Tickets;

/// What the operator allows beyond the defaults, and the tickets that are out.
pub struct Access {
    pub authenticator: Box<dyn Authenticator>,
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
}

impl Access {
    /// Nothing but the defaults.
    pub fn new(authenticator: Box<dyn Authenticator>) -> Self {
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
    /// is needed, as a process of our own user.
    pub fn admit(
        &self,
        peer: Peer,
        headers: &HeaderMap,
        query: &[(String, String)],
        now: Instant,
    ) -> Result<Caller, Denied> {
        if let Some(owner) = self.authenticator.by_own_user() {
            return peer.is_own_user().then_some(owner).ok_or(Denied::OtherUser);
        }
        let named = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        let by_ticket = named("ticket").and_then(|ticket| self.tickets.redeem(ticket, now));
        if let Some(caller) = by_ticket {
            return Ok(caller);
        }
        let shown = bearer(headers).into_iter().chain(named("token"));
        self.authenticate(peer, shown, now)
    }

    /// Whose one of these tokens is. Who has shown too many wrong ones is not heard for a while.
    pub fn authenticate<'a>(
        &self,
        peer: Peer,
        shown: impl Iterator<Item = &'a str>,
        now: Instant,
    ) -> Result<Caller, Denied> {
        let mut shown = shown.peekable();
        if shown.peek().is_none() {
            return Err(Denied::NoToken);
        }
        if let Some(wait) = self.guesses.wait(peer, now) {
            return Err(Denied::Guessing(wait));
        }
        if let Some(caller) = shown.find_map(|token| self.authenticator.by_token(token)) {
            return Ok(caller);
        }
        self.guesses.wrong(peer, now);
        Err(Denied::WrongToken)
    }

    /// Who sends a request with the token itself, where a ticket is not enough.
    pub fn token_holder(&self, headers: &HeaderMap) -> Option<Caller> {
        let by_token = || self.authenticator.by_token(bearer(headers)?);
        self.authenticator.by_own_user().or_else(by_token)
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
            ..Access::new(Box::new(LoneUser { token }))
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

    #[test]
    fn the_token_comes_in_a_header_a_query_or_as_a_ticket_from_anybody() {
        let access = guarded();
        let now = Instant::now();
        for user in [own_user(), own_user() + 1] {
            let admit = |headers: &HeaderMap, query: &[(String, String)]| {
                access.admit(peer(user), headers, query, now)
            };
            let mut headers = HeaderMap::new();
            assert_eq!(admit(&headers, &[]), Err(Denied::NoToken));
            assert_eq!(admit(&headers, &query("token", SECRET)), owner());
            let ticket = access
                .tickets
                .issue(Caller::local(), now)
                .expect("a ticket");
            assert_eq!(admit(&headers, &query("ticket", &ticket)), owner());
            let again = admit(&headers, &query("ticket", &ticket));
            assert_eq!(again, Err(Denied::NoToken));
            let value = format!("bearer {SECRET}").parse().expect("a header");
            headers.insert("authorization", value);
            assert_eq!(admit(&headers, &[]), owner());
            assert_eq!(access.token_holder(&headers), Some(Caller::local()));
        }
    }

    #[test]
    fn without_a_token_only_our_own_user_is_let_in() {
        let access = Access::new(Box::<LoneUser>::default());
        let admit = |peer| access.admit(peer, &HeaderMap::new(), &[], Instant::now());
        assert_eq!(admit(peer(own_user())), owner());
        assert_eq!(admit(peer(own_user() + 1)), Err(Denied::OtherUser));
        let unknown = Peer {
            user: None,
            ..peer(0)
        };
        assert_eq!(admit(unknown), Err(Denied::OtherUser));
    }

    #[test]
    fn who_guesses_is_not_heard_for_a_while_even_if_right() {
        let access = guarded();
        let now = Instant::now();
        let guess =
            |secret, now| access.admit(peer(7), &HeaderMap::new(), &query("token", secret), now);
        for _ in 0..GUESSES_BURST {
            assert_eq!(guess("wrong", now), Err(Denied::WrongToken));
        }
        assert_eq!(guess(SECRET, now), Err(Denied::Guessing(GUESS_EVERY)));
        assert_eq!(guess(SECRET, now + GUESS_EVERY), owner());
        let elsewhere = access.admit(peer(8), &HeaderMap::new(), &query("token", SECRET), now);
        assert_eq!(elsewhere, owner());
    }

    /// Every tenant's name is its token.
    struct ByName;

    impl Authenticator for ByName {
        fn by_token(&self, token: &str) -> Option<Caller> {
            ["north", "south"].contains(&token).then(|| Caller {
                tenant: TenantId::new(token),
                role: Role::Viewer,
                ..Caller::local()
            })
        }

        fn by_own_user(&self) -> Option<Caller> {
            None
        }
    }

    #[test]
    fn a_token_and_the_tickets_for_it_say_who_somebody_is() {
        let (access, now) = (Access::new(Box::new(ByName)), Instant::now());
        let admit = |query: &[(String, String)]| {
            let admitted = access.admit(peer(own_user()), &HeaderMap::new(), query, now);
            admitted.map(|caller| (caller.tenant.to_string(), caller.role))
        };
        for tenant in ["north", "south"] {
            let expected = Ok((tenant.to_owned(), Role::Viewer));
            assert_eq!(admit(&query("token", tenant)), expected);
            let mut headers = HeaderMap::new();
            let value = format!("Bearer {tenant}").parse().expect("a header");
            headers.insert("authorization", value);
            let holder = access.token_holder(&headers).expect("a holder");
            let ticket = access.tickets.issue(holder, now).expect("a ticket");
            assert_eq!(admit(&query("ticket", &ticket)), expected);
        }
        assert_eq!(admit(&query("token", "east")), Err(Denied::WrongToken));
        assert_eq!(access.token_holder(&HeaderMap::new()), None);
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
