//! Who may talk to us through a browser: pages of this machine and desktop shells, nobody else.
//!
//! Without these checks any web page could drive the agent: browsers send cross-site WebSocket
//! upgrades, and a rebound DNS name reaches the loopback address.

use std::net::IpAddr;

/// Whether a `Host` header names this machine's loopback.
pub fn host_allowed(host: &str) -> bool {
    is_loopback(host_name(host))
}

/// Whether an `Origin` header names a page of this machine or a desktop shell.
/// A request without one does not come from a web page.
pub fn origin_allowed(origin: &str) -> bool {
    match origin.split_once("://") {
        Some(("http" | "https" | "ws" | "wss", rest)) => is_loopback(host_name(rest)),
        // Desktop shells: no web page can claim these schemes.
        Some(("file" | "app" | "tauri" | "vscode-webview", _)) => true,
        Some(_) | None => false,
    }
}

/// The name in `name:port`, `[v6]:port` or `name`.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
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
            assert!(origin_allowed(origin), "{origin}");
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
            assert!(!origin_allowed(origin), "{origin}");
        }
    }

    #[test]
    fn a_rebound_name_is_not_this_host() {
        assert!(
            host_allowed("127.0.0.1:7337") && host_allowed("localhost") && host_allowed("[::1]:1")
        );
        assert!(!host_allowed("rebound.example:7337") && !host_allowed(""));
    }
}
