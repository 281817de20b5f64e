//! How a request reaches an endpoint.

use std::fmt;
use std::pin::Pin;

use base64::Engine as _;
use parking_lot::Mutex;
use prost::Message as _;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, redirect};
use secrecy::ExposeSecret as _;

use crate::limits::{CONNECT_TIME_MAX, DELIVERY_TIME_MAX, RESPONSE_BYTES_MAX, WORDS_CHARS_MAX};
use crate::otlp::ExportTraceServiceResponse;
use crate::settings::{LangfuseSettings, OtlpSettings};

const USER_AGENT: &str = concat!("dragoman/", env!("CARGO_PKG_VERSION"));
/// The version of Langfuse's words for spans that ours are in.
const INGESTION_VERSION: &str = "4";

/// Why spans were not delivered, for people. Never a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryError {
    /// It may fare better later.
    Unreachable(String),
    /// These spans will never be taken.
    Refused(String),
    /// So many of them were not; the others were.
    Partly { rejected: u64, message: String },
}

pub type Delivering<'a> = Pin<Box<dyn Future<Output = Result<(), DeliveryError>> + Send + 'a>>;

/// Takes the body of a request to an endpoint.
pub trait Transport: Send + Sync {
    /// Where to, for people.
    fn destination(&self) -> &str;
    fn deliver(&self, body: Vec<u8>) -> Delivering<'_>;
}

/// OTLP over HTTP. The client is made with the first request.
pub struct HttpTransport {
    url: String,
    destination: String,
    headers: HeaderMap,
    client: Mutex<Option<Client>>,
    advice: &'static str,
}

impl HttpTransport {
    pub fn langfuse(settings: &LangfuseSettings) -> Option<Self> {
        let (public, secret) = settings.keys()?;
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{public}:{secret}"));
        let headers = [
            ("authorization", format!("Basic {basic}")),
            ("x-langfuse-ingestion-version", INGESTION_VERSION.to_owned()),
            ("x-langfuse-sdk-name", "dragoman".to_owned()),
            (
                "x-langfuse-sdk-version",
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
            ("x-langfuse-public-key", public.to_owned()),
        ];
        let advice = "check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL";
        let url = settings.target().traces_url;
        Some(Self::new(url, headers, advice))
    }

    pub fn otlp(settings: &OtlpSettings) -> Self {
        let header = |(name, value): &(String, secrecy::SecretString)| {
            (name.to_ascii_lowercase(), value.expose_secret().to_owned())
        };
        let advice = "check the OTLP endpoint and OTEL_EXPORTER_OTLP_HEADERS";
        let headers = settings.headers.iter().map(header);
        Self::new(settings.traces_url.clone(), headers, advice)
    }

    fn new<N: AsRef<str>>(
        url: String,
        headers: impl IntoIterator<Item = (N, String)>,
        advice: &'static str,
    ) -> Self {
        let mut all = HeaderMap::new();
        all.insert(
            "content-type",
            HeaderValue::from_static("application/x-protobuf"),
        );
        all.insert("content-encoding", HeaderValue::from_static("gzip"));
        for (name, value) in headers {
            let parsed = name.as_ref().parse::<HeaderName>();
            let value = HeaderValue::from_str(&value);
            match (parsed, value) {
                (Ok(name), Ok(mut value)) => {
                    value.set_sensitive(true);
                    all.insert(name, value);
                }
                (_, _) => {
                    let name = name.as_ref();
                    tracing::warn!(name, "a header for traces cannot be sent");
                }
            }
        }
        Self {
            destination: without_secrets(&url),
            url,
            headers: all,
            client: Mutex::default(),
            advice,
        }
    }

    fn client(&self) -> Result<Client, DeliveryError> {
        let mut client = self.client.lock();
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        // Without one, reqwest would panic.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let message = "this program was started without a TLS library".to_owned();
            return Err(DeliveryError::Unreachable(message));
        }
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIME_MAX)
            .timeout(DELIVERY_TIME_MAX)
            // A key follows no redirect.
            .redirect(redirect::Policy::none())
            .referer(false);
        let builder = match self.url.starts_with("https:") {
            true => builder,
            // Slim images have no certificates, and nothing is checked.
            false => builder.tls_certs_only([]),
        };
        let made = builder.build().map_err(unreachable)?;
        Ok(client.insert(made).clone())
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), DeliveryError> {
        let request = self.client()?.post(&self.url).headers(self.headers.clone());
        let mut response = request.body(body).send().await.map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.not_taken(status));
        }
        let mut answer = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            answer.extend_from_slice(&piece);
            if answer.len() > RESPONSE_BYTES_MAX {
                return Ok(());
            }
        }
        // An endpoint that answers in other words has taken them all the same.
        let answer = ExportTraceServiceResponse::decode(&answer[..]).unwrap_or_default();
        let partly = answer.partial_success.unwrap_or_default();
        match u64::try_from(partly.rejected_spans) {
            Ok(rejected @ 1..) => Err(DeliveryError::Partly {
                rejected,
                message: partly.error_message.chars().take(WORDS_CHARS_MAX).collect(),
            }),
            Ok(0) | Err(_) => Ok(()),
        }
    }

    fn not_taken(&self, status: StatusCode) -> DeliveryError {
        let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        if status.is_server_error() || passing.contains(&status) {
            return DeliveryError::Unreachable(format!("it answered {status}"));
        }
        DeliveryError::Refused(format!("it answered {status}; {}", self.advice))
    }
}

impl Transport for HttpTransport {
    fn destination(&self) -> &str {
        &self.destination
    }

    fn deliver(&self, body: Vec<u8>) -> Delivering<'_> {
        Box::pin(self.post(body))
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HttpTransport({})", self.destination)
    }
}

/// An address may hold a name, a password or a key.
fn without_secrets(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(parsed) => format!("{}{}", parsed.origin().ascii_serialization(), parsed.path()),
        Err(_) => "an address that cannot be read".to_owned(),
    }
}

fn unreachable(error: reqwest::Error) -> DeliveryError {
    let what = match () {
        () if error.is_builder() => "the address cannot be used",
        () if error.is_timeout() => "it did not answer in time",
        () if error.is_connect() => "nothing answers there",
        () => "the connection broke",
    };
    DeliveryError::Unreachable(what.to_owned())
}
