//! Which addresses a server may name for signing in: a server that somebody configured must not make
//! us ask others that are only reachable from here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;
use tools::web::{Lookup, forbidden_address};

const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// Kinds of addresses that are of use where the server itself lies at one. What manages a machine in
/// a cloud is not among them.
const NEAR_KINDS: [&str; 5] = [
    "loopback",
    "private",
    "unique local",
    "link-local",
    "shared (carrier-grade NAT)",
];
const LOOPBACK: &str = "loopback";

/// Why an address is not asked.
#[derive(Debug, Error)]
pub enum AddressError {
    #[error("{0} cannot be found")]
    NotFound(String),
    #[error("{host} is at a {kind} address, and the MCP server is not")]
    NotPublic { host: String, kind: &'static str },
    #[error("{0} is not an https address")]
    NotSecure(String),
    #[error("{0} has a user name or password in it")]
    WithPassword(String),
}

/// What is allowed beside public addresses, for one server.
#[derive(Clone)]
pub struct AddressRule {
    lookup: Arc<dyn Lookup>,
    /// The server's own name and addresses. They are looked up once, so that it cannot be at home here
    /// in one moment and elsewhere in the next.
    server_host: String,
    server_addresses: Arc<[IpAddr]>,
    near_kinds: Arc<[&'static str]>,
}

impl AddressRule {
    pub async fn of(server: &Url, lookup: Arc<dyn Lookup>) -> Result<Self, AddressError> {
        let host = host_of(server);
        let addresses = addresses(lookup.as_ref(), &host).await?;
        Ok(Self {
            near_kinds: near_kinds(&addresses).into(),
            server_addresses: addresses.into(),
            server_host: host,
            lookup,
        })
    }

    /// Whether this may be asked, before its name is looked up.
    pub fn check(&self, url: &Url) -> Result<(), AddressError> {
        let shown = shown(url);
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::WithPassword(shown));
        }
        let near = self.near_kinds.contains(&LOOPBACK) && is_loopback(url);
        if url.scheme() != "https" && !(url.scheme() == "http" && near) {
            return Err(AddressError::NotSecure(shown));
        }
        let host = host_of(url);
        match host.parse() {
            Ok(address) => self.check_address(&host, address),
            Err(_) => Ok(()),
        }
    }

    /// Whether this may be asked, and a browser be sent to it.
    pub async fn check_found(&self, url: &Url) -> Result<(), AddressError> {
        self.check(url)?;
        self.found(&host_of(url)).await.map(|_| ())
    }

    /// The addresses of a host that may be asked.
    async fn found(&self, host: &str) -> Result<Vec<IpAddr>, AddressError> {
        if host == self.server_host {
            return Ok(self.server_addresses.to_vec());
        }
        let mut found = addresses(self.lookup.as_ref(), host).await?;
        let refused = found
            .iter()
            .find_map(|address| self.check_address(host, *address).err());
        found.retain(|address| self.check_address(host, *address).is_ok());
        match refused {
            Some(refused) if found.is_empty() => Err(refused),
            Some(_) | None => Ok(found),
        }
    }

    fn check_address(&self, host: &str, address: IpAddr) -> Result<(), AddressError> {
        match forbidden_address(address) {
            Some(kind) if !self.near_kinds.contains(&kind) => Err(AddressError::NotPublic {
                host: host.to_owned(),
                kind,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// What it gives is what is connected to: there is no second lookup with another answer.
impl Resolve for AddressRule {
    fn resolve(&self, name: Name) -> Resolving {
        let rule = self.clone();
        Box::pin(async move {
            let found = rule.found(name.as_str()).await?;
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

/// Only where all of a server's addresses are of such kinds: one with a public address as well could
/// be anybody's.
fn near_kinds(addresses: &[IpAddr]) -> Vec<&'static str> {
    let kinds: Option<Vec<&'static str>> = addresses
        .iter()
        .map(|address| forbidden_address(*address).filter(|kind| NEAR_KINDS.contains(kind)))
        .collect();
    kinds.unwrap_or_default()
}

async fn addresses(lookup: &dyn Lookup, host: &str) -> Result<Vec<IpAddr>, AddressError> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let found = tokio::time::timeout(LOOKUP_LIMIT, lookup.addresses(host)).await;
    let found = found.ok().and_then(Result::ok).unwrap_or_default();
    if found.is_empty() {
        return Err(AddressError::NotFound(host.to_owned()));
    }
    Ok(found)
}

/// In lower case, without brackets and the dot that may end a name.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn is_loopback(url: &Url) -> bool {
    let host = host_of(url);
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// An address without what may be a secret in it.
pub fn shown(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), host_of(url), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    #[async_trait::async_trait]
    impl Lookup for Names {
        async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
            let found: &[&str] = match host {
                "mcp.test" => &["93.184.216.34"],
                "login.test" => &["93.184.216.35"],
                "mcp.corp" | "login.corp" => &["10.0.0.5"],
                "both.test" => &["93.184.216.34", "10.0.0.5"],
                "sneaky.test" => &["127.0.0.1"],
                "cloud.test" => &["169.254.169.254"],
                "localhost" => &["127.0.0.1", "::1"],
                _ => &[],
            };
            Ok(found
                .iter()
                .map(|each| each.parse().expect("an address"))
                .collect())
        }
    }

    async fn verdict(server: &str, named: &str) -> Result<(), String> {
        let url = |text: &str| Url::parse(text).expect("a URL");
        let rule = AddressRule::of(&url(server), Arc::new(Names))
            .await
            .map_err(|error| error.to_string())?;
        rule.check_found(&url(named))
            .await
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_server_names_public_addresses_or_those_of_its_own_kind() {
        for (server, named) in [
            ("https://mcp.test/mcp", "https://login.test/token"),
            ("https://mcp.test/mcp", "https://both.test/token"),
            ("https://mcp.corp/mcp", "https://login.corp/token"),
            ("https://mcp.corp/mcp", "https://login.test/token"),
            ("http://localhost:3000/mcp", "http://127.0.0.1:3001/token"),
            ("http://127.0.0.1:3000/mcp", "http://localhost:3001/token"),
            ("http://[::1]:3000/mcp", "https://login.test/token"),
        ] {
            assert_eq!(verdict(server, named).await, Ok(()), "{server} {named}");
        }
        for (server, named, words) in [
            (
                "https://mcp.test/mcp",
                "http://login.test/t",
                "not an https",
            ),
            ("https://mcp.test/mcp", "http://127.0.0.1/t", "not an https"),
            ("https://mcp.test/mcp", "https://127.0.0.1/t", "loopback"),
            ("https://mcp.test/mcp", "https://[::1]/t", "loopback"),
            ("https://mcp.test/mcp", "https://10.0.0.1/t", "private"),
            ("https://mcp.test/mcp", "https://login.corp/t", "private"),
            ("https://mcp.test/mcp", "https://sneaky.test/t", "loopback"),
            ("https://mcp.test/mcp", "https://169.254.169.254/t", "cloud"),
            ("https://mcp.test/mcp", "https://cloud.test/t", "cloud"),
            ("https://mcp.test/mcp", "https://localhost/t", "loopback"),
            (
                "https://mcp.test/mcp",
                "https://nobody.test/t",
                "cannot be found",
            ),
            (
                "https://mcp.test/mcp",
                "https://a:b@login.test/t",
                "password",
            ),
            ("https://mcp.test/mcp", "file:///etc/passwd", "not an https"),
            ("https://both.test/mcp", "https://login.corp/t", "private"),
            ("https://mcp.corp/mcp", "https://127.0.0.1/t", "loopback"),
            (
                "http://mcp.corp/mcp",
                "http://mcp.corp/token",
                "not an https",
            ),
            ("http://localhost/mcp", "https://10.0.0.1/t", "private"),
            (
                "http://localhost/mcp",
                "http://login.test/t",
                "not an https",
            ),
            (
                "http://localhost/mcp",
                "http://sneaky.test/t",
                "not an https",
            ),
            (
                "https://cloud.test/mcp",
                "https://169.254.169.254/t",
                "cloud",
            ),
        ] {
            let refused = verdict(server, named).await.expect_err(named);
            assert!(refused.contains(words), "{server} {named}: {refused}");
        }
    }
}
