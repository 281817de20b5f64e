//! Who is let in: by the name they call us, the page they come from, whose process they are, and
//! the secret they carry.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

use crate::guesses::GuessLimiter;
use crate::origin::{Authority, Origin};
use crate::peer::Peer;
use crate::ticket::Tickets;
use crate::token::Token;

/// What the operator allows beyond the defaults, and the tickets that are out.
#[derive(Default)]
pub struct Access {
    pub token: Option<Token>,
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

    /// Lets in who carries the token or a ticket for one; without a token, who is our own user.
    pub fn admit(
        &self,
        peer: Peer,
        headers: &HeaderMap,
        query: &[(String, String)],
        now: Instant,
    ) -> Result<(), Denied> {
        let Some(token) = &self.token else {
            return peer.is_own_user().then_some(()).ok_or(Denied::OtherUser);
        };
        let named = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        if named("ticket").is_some_and(|ticket| self.tickets.redeem(ticket, now)) {
            return Ok(());
        }
        let mut shown = bearer(headers).into_iter().chain(named("token")).peekable();
        if shown.peek().is_none() {
            return Err(Denied::NoToken);
        }
        if let Some(wait) = self.guesses.wait(peer, now) {
            return Err(Denied::Guessing(wait));
        }
        if shown.any(|candidate| token.is(candidate)) {
            return Ok(());
        }
        self.guesses.wrong(peer, now);
        Err(Denied::WrongToken)
    }

    /// Whether a request carries the token itself, where a ticket is not enough.
    pub fn holds_token(&self, headers: &HeaderMap) -> bool {
        match &self.token {
            Some(token) => bearer(headers).is_some_and(|candidate| token.is(candidate)),
            None => true,
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
    use super::*;
    use crate::limits::{GUESS_EVERY, GUESSES_BURST};

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn guarded() -> Access {
        Access {
            token: Some(Token::new(SECRET).expect("a token")),
            hosts: vec!["team.example".to_owned()],
            origins: vec!["https://team.example".to_owned()],
            ..Access::default()
        }
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
            assert_eq!(admit(&headers, &query("token", SECRET)), Ok(()));
            let ticket = access.tickets.issue(now).expect("a ticket");
            assert_eq!(admit(&headers, &query("ticket", &ticket)), Ok(()));
            let again = admit(&headers, &query("ticket", &ticket));
            assert_eq!(again, Err(Denied::NoToken));
            let value = format!("bearer {SECRET}").parse().expect("a header");
            headers.insert("authorization", value);
            assert_eq!(admit(&headers, &[]), Ok(()));
            assert!(access.holds_token(&headers));
        }
    }

    #[test]
    fn without_a_token_only_our_own_user_is_let_in() {
        let access = Access::default();
        let admit = |peer| access.admit(peer, &HeaderMap::new(), &[], Instant::now());
        assert_eq!(admit(peer(own_user())), Ok(()));
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
        assert_eq!(guess(SECRET, now + GUESS_EVERY), Ok(()));
        let elsewhere = access.admit(peer(8), &HeaderMap::new(), &query("token", SECRET), now);
        assert_eq!(elsewhere, Ok(()));
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
