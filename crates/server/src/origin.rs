//! Names of hosts and pages, read strictly: what `Host` and `Origin` say, and what an operator
//! lists.
//!
//! Without checks of both, any web page could drive the agent: browsers send cross-site WebSocket
//! upgrades, and a rebound DNS name reaches the loopback address. What is not spelled as a browser
//! spells it names nobody, so no lax reading can be talked into taking one name for another.

use std::net::{IpAddr, Ipv6Addr};

use anyhow::{Context, bail};

/// `name`, `name:port` or `[v6]:port`.
#[derive(Clone, Copy, Debug)]
pub struct Authority<'a> {
    /// Without the brackets of an IPv6 address.
    pub name: &'a str,
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = match text.strip_prefix('[') {
            Some(bracketed) => {
                let (address, rest) = bracketed.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                (address, rest)
            }
            None => {
                let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
                let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
                if name.is_empty() || !name.bytes().all(known) {
                    return None;
                }
                (name, rest)
            }
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) => Some(port(digits)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { name, port })
    }

    pub fn is_loopback(&self) -> bool {
        self.name.eq_ignore_ascii_case("localhost")
            || self.address().is_some_and(|address| address.is_loopback())
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    fn same_name(&self, other: &Authority<'_>) -> bool {
        self.name.eq_ignore_ascii_case(other.name)
    }
}

/// Digits and nothing else: `parse` alone would take a sign.
fn port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// `scheme://authority`, the page a browser says it speaks for.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    pub scheme: &'a str,
    /// None for `file://` and its like.
    pub authority: Option<Authority<'a>>,
}

impl<'a> Origin<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if !scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            || !scheme.bytes().all(known)
        {
            return None;
        }
        let authority = match rest {
            "" => None,
            rest => Some(Authority::parse(rest)?),
        };
        Some(Self { scheme, authority })
    }

    /// Whether it is the page of a desktop shell. No web page can claim these schemes; `null`,
    /// which every sandboxed frame of every site sends, is not among them.
    pub fn is_desktop_shell(&self) -> bool {
        match (self.scheme, self.authority) {
            ("file", None) => true,
            ("app" | "tauri" | "vscode-webview", Some(_)) => true,
            // What Tauri uses where a scheme of its own cannot be had.
            ("http" | "https", Some(authority)) => {
                authority.name.eq_ignore_ascii_case("tauri.localhost") && authority.port.is_none()
            }
            (_, _) => false,
        }
    }

    /// Whether it is the page that a request's `Host` was loaded from.
    ///
    /// Over TLS only behind a proxy, whose name is a listed one: nothing of ours speaks it, so a
    /// page like `https://localhost` belongs to some other server.
    pub fn is_served_by(&self, host: &Authority<'_>) -> bool {
        let Some(authority) = self.authority else {
            return false;
        };
        let listed = !host.is_loopback() && host.address().is_none();
        let default = match self.scheme {
            "http" => 80,
            "https" if listed => 443,
            _ => return false,
        };
        let port = |of: &Authority<'_>| of.port.unwrap_or(default);
        authority.same_name(host) && port(&authority) == port(host)
    }

    /// Whether both name the same page.
    pub fn is(&self, other: &Origin<'_>) -> bool {
        let same_place = match (self.authority, other.authority) {
            (Some(one), Some(two)) => one.same_name(&two) && self.port() == other.port(),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.scheme.eq_ignore_ascii_case(other.scheme) && same_place
    }

    fn port(&self) -> Option<u16> {
        let default = match self.scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        self.authority
            .and_then(|authority| authority.port)
            .or(default)
    }
}

/// An origin as browsers spell it, from what an operator wrote.
pub fn listed(text: &str) -> anyhow::Result<String> {
    let origin = text.strip_suffix('/').unwrap_or(text);
    let authority = Origin::parse(origin).and_then(|origin| origin.authority);
    authority.with_context(|| {
        format!("`{text}` is not an origin; write it like https://team.example")
    })?;
    Ok(origin.to_owned())
}

/// A host's name, from what an operator wrote; it counts with any port.
pub fn listed_host(text: &str) -> anyhow::Result<String> {
    match Authority::parse(text) {
        Some(Authority { name, port: None }) => Ok(name.to_owned()),
        Some(_) | None => bail!("`{text}` is not a name; write it like team.example, without port"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(text: &str) -> Option<(&str, Option<u16>)> {
        Authority::parse(text).map(|authority| (authority.name, authority.port))
    }

    #[test]
    fn an_authority_is_a_name_and_digits_and_nothing_else() {
        for (text, expected) in [
            ("localhost", ("localhost", None)),
            ("Team.Example:7337", ("Team.Example", Some(7337))),
            ("127.0.0.1:80", ("127.0.0.1", Some(80))),
            ("[::1]", ("::1", None)),
            ("[::1]:65535", ("::1", Some(65535))),
        ] {
            assert_eq!(authority(text), Some(expected), "{text}");
        }
        for text in [
            "",
            ":80",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "localhost:evil.example",
            "localhost:80@evil.example",
            "user@localhost",
            "localhost/",
            "localhost, evil.example",
            "localhost\"><script>",
            "[::1",
            "[::1]evil",
            "[::1]:",
            "[::1]]",
            "[127.0.0.1]",
            "[fe80::1%lo]",
            "::1",
        ] {
            assert_eq!(authority(text), None, "{text}");
        }
    }

    #[test]
    fn desktop_shells_are_known_by_schemes_that_no_site_has() {
        let shell = |text| Origin::parse(text).is_some_and(|origin| origin.is_desktop_shell());
        for origin in [
            "file://",
            "app://dragoman",
            "tauri://localhost",
            "vscode-webview://0a1b2c",
            "http://tauri.localhost",
            "https://tauri.localhost",
        ] {
            assert!(shell(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "file:",
            "file://evil.example",
            "tauri://",
            "http://tauri.localhost:8080",
            "http://tauri.localhost.evil.example",
            "http://localhost:5173",
            "https://evil.example",
        ] {
            assert!(!shell(origin), "{origin}");
        }
    }

    #[test]
    fn our_own_page_is_the_one_that_host_names() {
        let own = |origin, host| {
            let host = Authority::parse(host).expect("a host");
            Origin::parse(origin).is_some_and(|origin| origin.is_served_by(&host))
        };
        for (origin, host) in [
            ("http://localhost:7337", "localhost:7337"),
            ("http://[::1]:7337", "[::1]:7337"),
            ("http://127.0.0.1", "127.0.0.1:80"),
            ("https://team.example", "Team.Example"),
        ] {
            assert!(own(origin, host), "{origin} at {host}");
        }
        for (origin, host) in [
            ("http://localhost:5173", "localhost:7337"),
            ("http://127.0.0.1:7337", "localhost:7337"),
            ("http://localhost", "localhost:7337"),
            ("https://localhost", "localhost"),
            ("ws://localhost:7337", "localhost:7337"),
            ("http://localhost:7337@evil.example", "localhost:7337"),
            ("file://", "localhost:7337"),
        ] {
            assert!(!own(origin, host), "{origin} at {host}");
        }
    }

    #[test]
    fn what_is_listed_is_an_origin_or_a_name_and_nothing_more() {
        assert_eq!(
            listed("https://a.example/").ok().as_deref(),
            Some("https://a.example")
        );
        for wrong in [
            "a.example",
            "https://",
            "https://a.example/page",
            "https://*.example",
            "https://me@a.example",
        ] {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
        assert_eq!(listed_host("a.example").ok().as_deref(), Some("a.example"));
        for wrong in ["", "a.example:80", "*.example", "https://a.example"] {
            assert!(listed_host(wrong).is_err(), "{wrong}");
        }
        let same = |one, two| {
            Origin::parse(one)
                .expect(one)
                .is(&Origin::parse(two).expect(two))
        };
        assert!(same("https://a.example:443", "https://A.example"));
        assert!(!same("https://a.example", "http://a.example"));
        assert!(!same("https://a.example", "https://a.example:444"));
    }
}
