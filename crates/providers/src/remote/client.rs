//! The HTTP clients of the process: one for the world, which honours the system's proxies, and one
//! for this machine, which never does; each with the certificate authorities of the system, and
//! without any for what is not encrypted.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, Client, ClientBuilder, Url, redirect};
use thiserror::Error;

const USER_AGENT: &str = concat!("dragoman/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Shorter than what most services keep a connection for.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
const IDLE_CONNECTIONS_MAX: usize = 32;
const HEADERS_MAX: usize = 128;
const HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;
/// How often a quiet connection is asked whether it still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Where other programs are told of certificate authorities besides the system's own; those that
/// replace them (`SSL_CERT_FILE`, `SSL_CERT_DIR`) are heeded already.
const MORE_AUTHORITIES: [&str; 3] = [
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];
const AUTHORITIES_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How the TLS library says that the system has no authorities.
const NO_AUTHORITIES: &str = "No CA certificates were loaded";

static CLIENTS: [OnceLock<Client>; 4] = [const { OnceLock::new() }; 4];

/// How an address is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClientRoute {
    local: bool,
    /// Whether certificates are checked on the way.
    encrypted: bool,
}

impl ClientRoute {
    fn to(url: &Url) -> ClientRoute {
        let by_tls = |proxy: String| proxy.starts_with("https:");
        ClientRoute {
            local: is_this_machine(url),
            encrypted: url.scheme() == "https" || proxy(url).is_some_and(by_tls),
        }
    }
}

/// Why there is no client, and what to do about it.
#[derive(Debug, Error)]
#[error("{what}; {advice}")]
pub(crate) struct HttpClientError {
    pub what: String,
    pub advice: &'static str,
}

/// The client for this address, or why there is none.
pub(crate) fn client(url: &Url) -> Result<Client, HttpClientError> {
    let route = ClientRoute::to(url);
    let place = &CLIENTS[2 * usize::from(route.local) + usize::from(route.encrypted)];
    if let Some(client) = place.get() {
        return Ok(client.clone());
    }
    let client = builder(route)?.build().map_err(|error| no_client(&error))?;
    Ok(place.get_or_init(|| client).clone())
}

fn no_client(error: &reqwest::Error) -> HttpClientError {
    let cause = super::attempt_error::cause(error);
    match cause.contains(NO_AUTHORITIES) {
        true => HttpClientError {
            what: "no service can be trusted, because this machine has no certificate authorities"
                .to_owned(),
            advice: "install the package `ca-certificates`, or name a file of them with \
                     SSL_CERT_FILE",
        },
        false => HttpClientError {
            what: format!("the HTTP client could not be made: {cause}"),
            advice: "check the certificates and the proxy settings of this machine",
        },
    }
}

/// The proxy that requests to this address go through, without its credentials.
pub(crate) fn proxy(url: &Url) -> Option<String> {
    if is_this_machine(url) {
        return None;
    }
    let found = Matcher::from_system().intercept(&url.as_str().parse().ok()?)?;
    let proxy = found.uri();
    let scheme = proxy.scheme_str().unwrap_or("http");
    let host = proxy.host()?;
    Some(match proxy.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

fn builder(route: ClientRoute) -> Result<ClientBuilder, HttpClientError> {
    // Without one, reqwest would panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(HttpClientError {
            what: "this program was started without a TLS library".to_owned(),
            advice: "install a rustls provider at its start",
        });
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
    if route.local {
        builder = builder.no_proxy();
    }
    Ok(match route.encrypted {
        true => builder.tls_certs_merge(more_authorities()),
        // Slim images have none, and nothing is checked.
        false => builder.tls_certs_only([]),
    })
}

fn more_authorities() -> Vec<Certificate> {
    let named = MORE_AUTHORITIES.iter().filter_map(|variable| {
        let path = std::env::var_os(variable).filter(|path| !path.is_empty())?;
        let read = std::fs::metadata(&path).and_then(|about| match about.len() {
            ..=AUTHORITIES_BYTES_MAX => std::fs::read(&path),
            _ => Err(std::io::ErrorKind::FileTooLarge.into()),
        });
        let read = read.map_err(|error| error.to_string());
        let certificates = read.and_then(|pem| {
            Certificate::from_pem_bundle(&pem).map_err(|_| "it holds no certificates".to_owned())
        });
        match certificates {
            Ok(certificates) => Some(certificates),
            Err(error) => {
                tracing::warn!(variable, error, "certificate authorities are not read");
                None
            }
        }
    });
    named.flatten().collect()
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

    /// An address whose packets vanish: a listener that accepts nobody and whose queue is full.
    /// Nothing where this machine has no such address.
    async fn black_hole() -> Option<(tokio::net::TcpListener, Vec<tokio::net::TcpStream>)> {
        let socket = tokio::net::TcpSocket::new_v6().ok()?;
        socket.bind("[::1]:0".parse().ok()?).ok()?;
        let listener = socket.listen(1).ok()?;
        let address = listener.local_addr().ok()?;
        let mut queued = Vec::new();
        for _ in 0..16 {
            let connecting = tokio::net::TcpStream::connect(address);
            match tokio::time::timeout(Duration::from_millis(200), connecting).await {
                Ok(connected) => queued.push(connected.ok()?),
                Err(_) => return Some((listener, queued)),
            }
        }
        None
    }

    #[tokio::test]
    async fn an_ipv6_address_that_does_not_answer_is_not_waited_for() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Some((hole, _queued)) = black_hole().await else {
            return;
        };
        let hole = hole.local_addr().expect("bound");
        let four = ("127.0.0.1", hole.port());
        let listener = tokio::net::TcpListener::bind(four).await.expect("a port");
        let answering = listener.local_addr().expect("bound");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            stream.write_all(reply).await.expect("said");
        });
        let route = ClientRoute {
            local: true,
            encrypted: false,
        };
        let client = builder(route).expect("a builder");
        let client = client.resolve_to_addrs("two.localhost", &[hole, answering]);
        let client = client.build().expect("a client");
        let before = std::time::Instant::now();
        let url = format!("http://two.localhost:{}/", hole.port());
        let response = client.get(url).send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), 200);
        assert!(before.elapsed() < CONNECT_TIMEOUT / 3);
    }

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
