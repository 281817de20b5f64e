//! Who may talk to us through a browser: pages of this machine and desktop shells, nobody else.
//!
//! Without these checks any web page could drive the agent: browsers send cross-site WebSocket
//! upgrades, and a rebound DNS name reaches the loopback address.

use std::net::IpAddr;

/// Which pages may speak to a dialect without being listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Those this machine serves, and desktop shells.
    OfThisMachine,
    /// None: every page must be listed.
    Listed,
}

/// Whether an `Origin` header names a page of this machine or a desktop shell.
/// A request without one does not come from a web page.
pub fn of_this_machine(origin: &str) -> bool {
    match origin.split_once("://") {
        Some(("http" | "https" | "ws" | "wss", rest)) => is_loopback(host_name(rest)),
        // Desktop shells: no web page can claim these schemes.
        Some(("file" | "app" | "tauri" | "vscode-webview", _)) => true,
        Some(_) | None => false,
    }
}

/// An origin as browsers spell it, from what an operator wrote.
pub fn listed(text: &str) -> anyhow::Result<String> {
    let origin = text.strip_suffix('/').unwrap_or(text);
    let authority = origin.split_once("://").map(|(_, rest)| rest);
    if authority.is_none_or(|rest| rest.is_empty() || rest.contains(['/', '?', '*'])) {
        anyhow::bail!("`{text}` is not an origin; write it like https://team.example");
    }
    Ok(origin.to_owned())
}

/// The name in `name:port`, `[v6]:port` or `name`.
pub fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

pub fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_and_desktop_shells_are_let_in() {
        for origin in [
            "http://localhost:5173",
            "http://127.0.0.1:7337",
            "https://127.9.9.9",
            "http://[::1]:80",
            "file://",
            "app://dragoman",
        ] {
            assert!(of_this_machine(origin), "{origin}");
        }
    }

    #[test]
    fn other_sites_are_not() {
        for origin in [
            "https://evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "http://192.168.1.7",
            "null",
            "",
            "http://localhost@evil.example",
        ] {
            assert!(!of_this_machine(origin), "{origin}");
        }
    }

    #[test]
    fn a_rebound_name_is_not_this_host() {
        let ours = |host| is_loopback(host_name(host));
        assert!(ours("127.0.0.1:7337") && ours("localhost") && ours("[::1]:1"));
        assert!(!ours("rebound.example:7337") && !ours(""));
    }

    #[test]
    fn what_is_listed_is_an_origin_and_nothing_more() {
        assert_eq!(
            listed("https://a.example/").ok().as_deref(),
            Some("https://a.example")
        );
        for wrong in [
            "a.example",
            "https://",
            "https://a.example/page",
            "https://*.example",
        ] {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
    }
}
