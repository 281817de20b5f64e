//! Finds a host's addresses, and lets only the public ones through to the connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// More addresses of one host are not tried.
const ADDRESSES_MAX: usize = 16;

/// Says what kind of forbidden address one is; `None` for a public one.
pub(crate) type AddressCheck = fn(IpAddr) -> Option<&'static str>;

/// A name service.
#[async_trait]
pub trait Lookup: Send + Sync {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The machine's own name service.
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found
            .take(ADDRESSES_MAX)
            .map(|address| address.ip())
            .collect())
    }
}

/// A name service behind the fence. What it gives is what is connected to.
pub(crate) struct Guarded {
    lookup: Arc<dyn Lookup>,
    fence: AddressCheck,
}

impl Guarded {
    pub fn new(lookup: Arc<dyn Lookup>, fence: AddressCheck) -> Guarded {
        Guarded { lookup, fence }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let lookup = Arc::clone(&self.lookup);
        let fence = self.fence;
        Box::pin(async move {
            let found = lookup.addresses(name.as_str()).await?;
            let passed = passed(name.as_str(), &found, fence)?;
            Ok(Box::new(passed.into_iter()) as Addrs)
        })
    }
}

/// The public addresses among these. The port is the URL's.
fn passed(host: &str, found: &[IpAddr], fence: AddressCheck) -> Result<Vec<SocketAddr>, Blocked> {
    let public: Vec<SocketAddr> = found
        .iter()
        .filter(|address| fence(**address).is_none())
        .take(ADDRESSES_MAX)
        .map(|address| SocketAddr::new(*address, 0))
        .collect();
    if public.is_empty() {
        let kind = found.iter().find_map(|address| fence(*address));
        return Err(Blocked::new(host, kind));
    }
    Ok(public)
}

/// Why a host is not reached.
#[derive(Debug)]
pub(crate) struct Blocked(String);

impl Blocked {
    pub fn new(host: &str, kind: Option<&'static str>) -> Blocked {
        Blocked(match kind {
            Some(kind) => format!(
                "{host} is not on the public internet ({kind} address); only the user can allow it, \
                 in the settings"
            ),
            None => format!("{host} has no address"),
        })
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Blocked {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::address::forbidden;

    #[test]
    fn private_addresses_are_left_out_and_a_host_without_others_is_blocked() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mixed = [ip("10.0.0.1"), ip("93.184.216.34"), ip("::1")];
        let passed_on = passed("mixed.test", &mixed, forbidden).expect("one is public");
        assert_eq!(passed_on, ["93.184.216.34:0".parse().expect("an address")]);
        let message = |found: &[IpAddr]| {
            let outcome = passed("a.test", found, forbidden);
            outcome.expect_err("blocked").to_string()
        };
        assert!(message(&[ip("10.0.0.1"), ip("::1")]).contains("(private address)"));
        assert_eq!(message(&[]), "a.test has no address");
    }
}
