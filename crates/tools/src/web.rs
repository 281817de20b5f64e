//! How the web is reached: keys, limits, and which addresses are never asked.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect};
use secrecy::SecretString;

use crate::web::resolver::{AddressCheck, Guarded};

pub(crate) mod address;
pub(crate) mod body;
pub(crate) mod engines;
pub(crate) mod page;
mod post;
pub(crate) mod resolver;
mod table;
pub(crate) mod target;
pub(crate) mod visit;
mod weight;

#[cfg(test)]
pub(crate) mod station;

pub use address::forbidden as forbidden_address;
pub use post::WebPost;
pub use resolver::{Lookup, SystemLookup};
pub use target::host_of;

const USER_AGENT: &str = concat!(
    "Mozilla/5.0 (compatible; dragoman/",
    env!("CARGO_PKG_VERSION"),
    ")"
);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// More of a body is not read. Bodies are asked for without compression, so this is also the most
/// that is ever held of one.
const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;
const HEADERS_MAX: usize = 128;
const HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
const IDLE_CONNECTIONS_MAX: usize = 4;

/// A search service, by what it needs from the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchService {
    Exa,
    Brave,
    /// Not a key but the address of an instance; it may hold a password, so it is kept like one.
    Searxng,
}

impl SearchService {
    /// In the order in which they are tried.
    pub const ALL: [SearchService; 3] = [
        SearchService::Exa,
        SearchService::Brave,
        SearchService::Searxng,
    ];

    /// The name under which a tool's key is saved.
    pub fn tool(self) -> &'static str {
        match self {
            SearchService::Exa => "exa",
            SearchService::Brave => "brave",
            SearchService::Searxng => "searxng",
        }
    }

    /// The environment variable that holds it.
    pub fn variable(self) -> &'static str {
        match self {
            SearchService::Exa => "EXA_API_KEY",
            SearchService::Brave => "BRAVE_API_KEY",
            SearchService::Searxng => "SEARXNG_URL",
        }
    }
}

/// Looks a key up at the moment it is needed, so that one saved later is seen.
pub type Keys = Arc<dyn Fn(SearchService) -> Option<SecretString> + Send + Sync>;

/// What may be set about the web.
#[derive(Clone, Debug)]
pub struct Options {
    /// Hosts that may lie on a private network: `host`, or `host:port` for that port only.
    pub allow_private: Vec<String>,
    /// For one call, redirects and body included.
    pub time_limit: Duration,
    pub body_bytes_max: usize,
    /// Where Exa answers.
    pub exa_url: String,
    /// Where Brave Search answers.
    pub brave_url: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            allow_private: Vec::new(),
            time_limit: TIME_LIMIT,
            body_bytes_max: BODY_BYTES_MAX,
            exa_url: "https://api.exa.ai".to_owned(),
            brave_url: "https://api.search.brave.com".to_owned(),
        }
    }
}

/// What the web tools need. By default there are no keys, and nothing private is reached.
pub struct Web {
    options: Options,
    keys: Keys,
    lookup: Arc<dyn Lookup>,
    fence: AddressCheck,
    /// Reaches public addresses only.
    public: OnceLock<Client>,
    /// Reaches any address, for hosts that were allowed by name.
    open: OnceLock<Client>,
    /// Reaches the search services, through the system's proxy if there is one.
    services: OnceLock<Client>,
}

impl Default for Web {
    fn default() -> Web {
        Web::new(Options::default(), Arc::new(|_| None))
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Web {
    pub fn new(options: Options, keys: Keys) -> Web {
        Web {
            options,
            keys,
            lookup: Arc::new(SystemLookup),
            fence: address::forbidden,
            public: OnceLock::new(),
            open: OnceLock::new(),
            services: OnceLock::new(),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether there is a service to search with.
    pub fn can_search(&self) -> bool {
        let all = [
            SearchService::Exa,
            SearchService::Brave,
            SearchService::Searxng,
        ];
        all.into_iter().any(|service| self.key(service).is_some())
    }

    pub(crate) fn key(&self, key: SearchService) -> Option<SecretString> {
        (self.keys)(key)
    }

    /// The client that connects to public addresses only: every address it connects to has come
    /// through the fence in that same moment, so there is no second lookup to give another answer.
    pub(crate) fn public_client(&self) -> Result<Client, String> {
        let guarded = Guarded::new(Arc::clone(&self.lookup), self.fence);
        built(&self.public, |builder| {
            builder.no_proxy().dns_resolver(Arc::new(guarded))
        })
    }

    pub(crate) fn open_client(&self) -> Result<Client, String> {
        built(&self.open, ClientBuilder::no_proxy)
    }

    pub(crate) fn service_client(&self) -> Result<Client, String> {
        built(&self.services, |builder| builder)
    }
}

fn built(
    place: &OnceLock<Client>,
    finish: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, String> {
    if let Some(client) = place.get() {
        return Ok(client.clone());
    }
    // Without one, reqwest would panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err("this program was started without a TLS library".to_owned());
    }
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .http1_max_headers(HEADERS_MAX)
        .http2_max_header_list_size(HEADER_LIST_BYTES_MAX)
        // Each hop is checked before it is followed, and a key follows none.
        .redirect(redirect::Policy::none())
        .referer(false);
    let client = finish(builder)
        .build()
        .map_err(|error| format!("the HTTP client could not be made: {error}"))?;
    Ok(place.get_or_init(|| client).clone())
}

#[cfg(test)]
impl Web {
    /// With other name service and another idea of what is private.
    pub(crate) fn with_names(mut self, lookup: Arc<dyn Lookup>, fence: AddressCheck) -> Web {
        self.lookup = lookup;
        self.fence = fence;
        self
    }
}
