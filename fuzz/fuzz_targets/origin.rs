//! The parsers of `Origin` and `Host`: nobody is let in whom a browser would take for another.
#![no_main]

// By its path: the server's crate would bring its database and all, to be built with a sanitizer.
#[allow(dead_code)]
#[path = "../../crates/server/src/origin.rs"]
mod origin;

use url::{Host, Url};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if text.starts_with("http") && origin::of_this_machine(&text) {
        assert!(
            is_loopback(&text),
            "the origin {text:?} is not this machine"
        );
    }
    if origin::is_loopback(origin::host_name(&text)) {
        let url = format!("http://{text}/");
        assert!(is_loopback(&url), "the host {text:?} is not this machine");
    }
    if let Ok(listed) = origin::listed(&text) {
        assert_eq!(origin::listed(&listed).ok(), Some(listed.clone()));
    }
});

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
