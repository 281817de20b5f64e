//! What goes wrong on the way, whether it may pass, and how it is said to people.

use std::error::Error;
use std::time::Duration;

use reqwest::Url;

use super::{address, client};
pub(crate) use crate::format::failure::CHECK_BASE_URL;
use crate::format::{Remedy, ServiceFailure};
use crate::{ErrorKind, ProviderError};

/// The most of a provider's own words that is repeated.
const WORDS_CHARS_MAX: usize = 1000;

const CHECK_PROXY: &str =
    "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, and whether NO_PROXY should name the host";
const GIVE_PROXY_CREDENTIALS: &str =
    "give them in the proxy's URL, as http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY or HTTP_PROXY";
const CHECK_CERTIFICATE: &str = "check the clock of this machine; where a company's proxy or an \
    own authority signs, name its certificates with SSL_CERT_FILE or NODE_EXTRA_CA_CERTS; where a \
    network wants a sign-in first (hotel, train), open a page in a browser";

/// How the HTTP library says that a proxy answered 407 to a tunnel.
const PROXY_AUTHORIZATION: &str = "proxy authorization required";

/// One failed attempt. `what` holds no secret.
#[derive(Clone, Debug)]
pub(crate) struct AttemptError {
    pub kind: ErrorKind,
    pub status: Option<u16>,
    pub what: String,
    pub request_id: Option<String>,
    pub again: Retry,
    /// Rarely goes better: tried again a few times only.
    pub few: bool,
    /// How long the provider asked us to wait, or until its quota is renewed.
    pub after: Option<Duration>,
    /// What may be left out so that the same conversation is taken.
    pub remedy: Option<Remedy>,
    /// What to do, where that is known better than by the kind.
    pub advice: Option<&'static str>,
}

/// Whether the same request may go better next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    Never,
    Later,
    /// The connection broke before anything came back, as one does that was kept for too long.
    AtOnce,
}

impl AttemptError {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            what: what.into(),
            request_id: None,
            again: Retry::Never,
            few: false,
            after: None,
            remedy: None,
            advice: None,
        }
    }

    /// What a service said, in words that hold no secret.
    pub(crate) fn of_service(failure: ServiceFailure, words: &str) -> Self {
        let mut error = Self::new(failure.kind, short(words));
        error.advice = failure.advice;
        error.remedy = failure.remedy;
        error
    }

    pub(crate) fn saying(mut self, words: &str) -> Self {
        self.what.push_str(&format!(": {words}"));
        self
    }

    pub(crate) fn again(mut self, again: Retry) -> Self {
        self.again = again;
        self
    }

    pub(crate) fn advice(mut self, advice: &'static str) -> Self {
        self.advice = Some(advice);
        self
    }

    /// It does not pass by itself.
    fn unsafe_connection(error: &rustls::Error, place: &str) -> Self {
        let failure = |what: &str| {
            let what = format!("no safe connection to {place}: {what} ({error})");
            Self::new(ErrorKind::Unreachable, what)
        };
        match error {
            rustls::Error::InvalidCertificate(_) => {
                failure("its certificate is not accepted").advice(CHECK_CERTIFICATE)
            }
            rustls::Error::InvalidMessage(_) => failure("it does not speak TLS")
                .advice("check whether the base URL should begin with http://"),
            // Most of the others are a matter of versions and settings.
            _ => failure("TLS failed"),
        }
    }

    /// A proxy that lets nobody through without a name.
    pub(crate) fn proxy_wants_credentials(proxy: Option<String>) -> Self {
        let proxy = proxy.unwrap_or_else(|| "of this network".to_owned());
        let what = format!("the proxy {proxy} wants a user and a password (407)");
        Self::new(ErrorKind::Unreachable, what).advice(GIVE_PROXY_CREDENTIALS)
    }

    /// No answer to a request came from this place.
    pub(crate) fn sending(error: &reqwest::Error, url: &Url) -> Self {
        let proxy = client::proxy(url);
        let place = match &proxy {
            Some(proxy) => format!("{} through the proxy {proxy}", address::place(url)),
            None => address::place(url),
        };
        if let Some(error) = tls(error) {
            return Self::unsafe_connection(error, &place);
        }
        let cause = cause(error);
        if proxy.is_some() && cause.contains(PROXY_AUTHORIZATION) {
            return Self::proxy_wants_credentials(proxy);
        }
        if error.is_builder() {
            return Self::new(
                ErrorKind::BadRequest,
                format!("the request cannot be made: {cause}"),
            );
        }
        if error.is_connect() || error.is_timeout() {
            let what = format!("no connection to {place}: {cause}");
            let mut failure = Self::new(ErrorKind::Unreachable, what).again(Retry::Later);
            if proxy.is_some() {
                failure = failure.advice(CHECK_PROXY);
            }
            // A server of this machine that does not run is not started by waiting.
            failure.few = client::is_this_machine(url);
            return failure;
        }
        let what = format!("{place} closed the connection without an answer: {cause}");
        Self::new(ErrorKind::Unreachable, what).again(Retry::AtOnce)
    }
}

/// The failure of TLS in it, if that is what it was.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        // An IO error gives as its source the source of what it wraps.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(|io| io.get_ref())
            .map(|wrapped| wrapped as &(dyn Error + 'static));
        next = wrapped.or_else(|| error.source());
    }
    None
}

/// The innermost cause, which tells most and holds no URL.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request failed".to_owned(),
        None => short(&cause.to_string()),
    }
}

/// On one line and not too long.
pub(crate) fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(WORDS_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// Who speaks: names the provider and the model in every error.
#[derive(Clone, Debug)]
pub(crate) struct ErrorContext {
    pub id: String,
    pub name: String,
    pub model: Option<String>,
    /// What takes the place of the model, where it is known to be gone or near its end.
    pub successor: Option<String>,
}

impl ErrorContext {
    /// For people: who, what, and what to do.
    pub(crate) fn error(&self, failure: AttemptError, attempts: u32) -> ProviderError {
        let Self { name, .. } = self;
        let who = match &self.model {
            Some(model) => format!("{name} ({model})"),
            None => name.clone(),
        };
        let mut message = format!("{who}: {}", self.what(&failure));
        if attempts > 1 && failure.again != Retry::Never {
            message.push_str(&format!(" (tried {attempts} times)"));
        }
        message.push_str(&format!("; {}", self.advice(&failure)));
        ProviderError {
            kind: failure.kind,
            status: failure.status,
            message,
        }
    }

    /// The status, the provider's words and its request id: also what a retry is told with.
    pub(crate) fn what(&self, failure: &AttemptError) -> String {
        let mut what = match failure.status {
            Some(status) if !failure.what.starts_with("HTTP ") => {
                format!("HTTP {status}: {}", failure.what)
            }
            Some(_) | None => failure.what.clone(),
        };
        if let Some(id) = &failure.request_id {
            what.push_str(&format!(" (request {id})"));
        }
        what
    }

    fn advice(&self, failure: &AttemptError) -> String {
        if let Some(advice) = failure.advice {
            return advice.to_owned();
        }
        let id = &self.id;
        match failure.kind {
            ErrorKind::Auth => format!("check the key: dragoman auth login {id}"),
            ErrorKind::RateLimited => match failure.after {
                Some(wait) => format!("try again in {}", duration_words(wait)),
                None => "wait a little and try again".to_owned(),
            },
            ErrorKind::Quota => match failure.after {
                Some(wait) => format!(
                    "it is renewed in {}; until then use another model or account",
                    duration_words(wait)
                ),
                None => {
                    "add credit or raise the limit of the account, or use another model".to_owned()
                }
            },
            ErrorKind::Overloaded => match failure.after {
                Some(wait) => format!("try again in {}", duration_words(wait)),
                None => "try again later or use another model".to_owned(),
            },
            ErrorKind::Unreachable => {
                "check the network, the base URL, and that the service is running".to_owned()
            }
            ErrorKind::ContextTooLong => "shorten the conversation or start a new one".to_owned(),
            ErrorKind::UnknownModel => match &self.successor {
                Some(successor) => format!("it was retired; use {id}/{successor}"),
                None => format!("`dragoman models {id}` lists them"),
            },
            ErrorKind::CutOff => "the answer is not whole; try again".to_owned(),
            ErrorKind::Stalled | ErrorKind::Malformed => "try again".to_owned(),
            ErrorKind::Refused => "put it differently or use another model".to_owned(),
            ErrorKind::BadRequest => {
                "the same request will not be taken; use another model or a new thread".to_owned()
            }
            ErrorKind::Other => "try again, or use another model".to_owned(),
        }
    }
}

/// `40 s`, `2 min 5 s`, `1 h 3 min`: rounded up, so that nobody comes too early.
pub(crate) fn duration_words(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, rest) => format!("{rest} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, minutes, 0) => format!("{hours} h {minutes} min"),
        (hours, minutes, _) => format!("{hours} h {} min", minutes + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_said_rounded_up() {
        let words = |milliseconds| duration_words(Duration::from_millis(milliseconds));
        assert_eq!(words(1), "1 s");
        assert_eq!(words(59_001), "1 min");
        assert_eq!(words(125_000), "2 min 5 s");
        assert_eq!(words(3_600_000), "1 h 0 min");
        assert_eq!(words(3_661_000), "1 h 2 min");
    }

    #[test]
    fn a_certificate_is_found_however_deep_it_lies() {
        let expired = rustls::CertificateError::Expired;
        let error = rustls::Error::InvalidCertificate(expired);
        let error = std::io::Error::other(std::io::Error::other(error));
        let found = tls(&error).expect("a failure of TLS");
        let failure = AttemptError::unsafe_connection(found, "a.b:443");
        assert!(failure.what.contains("its certificate is not accepted"));
        assert!(failure.what.contains("Expired"), "{}", failure.what);
        assert_eq!(failure.again, Retry::Never);
        assert_eq!(tls(&std::io::Error::other("x")), None);
    }

    #[test]
    fn foreign_words_are_one_line_and_short() {
        assert_eq!(short(" a\n  b\tc "), "a b c");
        assert_eq!(
            short(&"é".repeat(2000)).chars().count(),
            WORDS_CHARS_MAX + 1
        );
    }
}
