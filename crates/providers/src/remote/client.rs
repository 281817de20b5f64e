//! The HTTP clients of the process: one for the world, which honours the system's proxies, and one
//! for this machine, which never does.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, Url, redirect};

const USER_AGENT: &str = concat!("dragoman/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Shorter than what most services keep a connection for.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
const IDLE_CONNECTIONS_MAX: usize = 32;
const HEADERS_MAX: usize = 128;
const HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;
/// How often a quiet connection is asked whether it still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

static WORLD: OnceLock<Client> = OnceLock::new();
static THIS_MACHINE: OnceLock<Client> = OnceLock::new();

/// The client for this address, or why there is none.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let local = is_this_machine(url);
    let place = if local { &THIS_MACHINE } else { &WORLD };
    if let Some(client) = place.get() {
        return Ok(client.clone());
    }
    let client = build(local)?;
    Ok(place.get_or_init(|| client).clone())
}

fn build(local: bool) -> Result<Client, String> {
    // Without one, reqwest would panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(
            "this program was started without a TLS library (no rustls provider is installed)"
                .to_owned(),
        );
    }
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEP_ALIVE)
        .http1_max_headers(HEADERS_MAX)
        .http2_max_header_list_size(HEADER_LIST_BYTES_MAX)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE)
        // A credential follows no redirect.
        .redirect(redirect::Policy::none())
        .referer(false);
    if local {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        format!(
            "the HTTP client could not be made: {}",
            super::attempt_error::cause(&error)
        )
    })
}

pub(crate) fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_name_and_number() {
        let local = |text: &str| is_this_machine(&text.parse().expect("a URL"));
        for yes in [
            "http://localhost:1",
            "http://127.8.0.1",
            "http://[::1]:8080/v1",
            "http://a.localhost",
        ] {
            assert!(local(yes), "{yes}");
        }
        for no in [
            "https://api.example.com",
            "http://10.0.0.1",
            "http://localhost.example.com",
        ] {
            assert!(!local(no), "{no}");
        }
    }
}
