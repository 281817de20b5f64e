//! Who is let in: by the name they call us, the page they come from, and the secret they carry.

use std::net::IpAddr;
use std::time::Instant;

use axum::http::{HeaderMap, header};

use crate::origin::{self, Pages};
use crate::ticket::Tickets;
use crate::token::Token;

/// What the operator allows beyond the defaults, and the tickets that are out.
#[derive(Default)]
pub struct Access {
    pub token: Option<Token>,
    pub tickets: Tickets,
    /// Names besides the loopback's and the address itself.
    pub hosts: Vec<String>,
    /// Pages that may use every dialect.
    pub origins: Vec<String>,
}

impl Access {
    /// Whether `Host` names us. An address cannot be rebound, so the one the connection came in
    /// by is as good as the loopback's.
    pub fn host_allowed(&self, host: &str, came_in_by: IpAddr) -> bool {
        let name = origin::host_name(host);
        origin::is_loopback(name)
            || name.parse() == Ok(came_in_by)
            || self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether a page may speak to a dialect.
    pub fn origin_allowed(&self, origin: &str, pages: Pages) -> bool {
        let listed = |known: &String| known.eq_ignore_ascii_case(origin);
        self.origins.iter().any(listed)
            || (pages == Pages::OfThisMachine && origin::of_this_machine(origin))
    }

    /// Whether a request carries the token, or a ticket for one.
    pub fn admits(&self, headers: &HeaderMap, query: &[(String, String)]) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let named = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        bearer(headers).is_some_and(|candidate| token.is(candidate))
            || named("token").is_some_and(|candidate| token.is(candidate))
            || named("ticket").is_some_and(|ticket| self.tickets.redeem(ticket, Instant::now()))
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

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn guarded() -> Access {
        Access {
            token: Some(Token::new(SECRET).expect("a token")),
            hosts: vec!["team.example".to_owned()],
            origins: vec!["https://team.example".to_owned()],
            ..Access::default()
        }
    }

    #[test]
    fn the_token_comes_in_a_header_a_query_or_as_a_ticket() {
        let access = guarded();
        let query = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let mut headers = HeaderMap::new();
        assert!(!access.admits(&headers, &[]));
        assert!(access.admits(&headers, &query("token", SECRET)));
        let ticket = access.tickets.issue(Instant::now()).expect("a ticket");
        assert!(access.admits(&headers, &query("ticket", &ticket)));
        assert!(!access.admits(&headers, &query("ticket", &ticket)));
        headers.insert(
            "authorization",
            format!("bearer {SECRET}").parse().expect("a header"),
        );
        assert!(access.admits(&headers, &[]) && access.holds_token(&headers));
    }

    #[test]
    fn hosts_are_ours_by_address_or_by_list() {
        let access = guarded();
        let by: IpAddr = "192.168.1.7".parse().expect("an address");
        for host in [
            "192.168.1.7:7337",
            "Team.Example",
            "localhost:7337",
            "[::1]:1",
        ] {
            assert!(access.host_allowed(host, by), "{host}");
        }
        for host in [
            "192.168.1.8",
            "rebound.example:7337",
            "team.example.evil",
            "",
        ] {
            assert!(!access.host_allowed(host, by), "{host}");
        }
    }

    #[test]
    fn a_dialect_may_refuse_every_page_that_is_not_listed() {
        let access = guarded();
        let page = "http://localhost:5173";
        assert!(access.origin_allowed(page, Pages::OfThisMachine));
        assert!(!access.origin_allowed(page, Pages::Listed));
        assert!(access.origin_allowed("https://team.example", Pages::Listed));
        assert!(!access.origin_allowed("https://team.example:81", Pages::OfThisMachine));
    }
}
