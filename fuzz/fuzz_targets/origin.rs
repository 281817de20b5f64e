//! The parsers of `Origin` and `Host`: nobody is let in whom a browser would take for another.
#![no_main]

// By its path: the server's crate would bring its database and all, to be built with a sanitizer.
#[allow(dead_code)]
#[path = "../../crates/server/src/origin.rs"]
mod origin;

use origin::{Authority, Origin};
use url::{Host, Url};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if let Some(host) = Authority::parse(&text).filter(Authority::is_loopback) {
        let url = format!("http://{text}/");
        assert!(is_loopback(&url), "the host {text:?} is not this machine");
        // A page that is served by this host is one of this host.
        for scheme in ["http", "https"] {
            let page = format!("{scheme}://{text}");
            if Origin::parse(&page).is_some_and(|origin| origin.is_served_by(&host)) {
                assert!(is_loopback(&page), "{page:?} is not this machine");
            }
        }
    }
    if let Some(origin) =
        Origin::parse(&text).filter(|origin| ["http", "https"].contains(&origin.scheme))
    {
        let shell = origin.is_desktop_shell();
        assert!(!shell || is_tauri(&text), "{text:?} is no desktop shell");
        if origin.authority.is_some_and(|host| host.is_loopback()) {
            assert!(
                is_loopback(&text),
                "the origin {text:?} is not this machine"
            );
        }
    }
    if let Ok(listed) = origin::listed(&text) {
        assert_eq!(origin::listed(&listed).ok(), Some(listed.clone()));
    }
    let _ = origin::listed_host(&text);
});

fn is_tauri(url: &str) -> bool {
    let url = Url::parse(url).ok();
    url.is_some_and(|url| url.host_str() == Some("tauri.localhost"))
}

/// As browsers read it.
fn is_loopback(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
