//! One request and its response as bytes: headers put on, sent, bodies read up to their limits, and
//! everything remembered that must not be repeated.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};
use tokio::time::timeout;

use super::attempt_error::{AttemptError, cause, duration_words};
use super::policy::{ERROR_BODY_BYTES_MAX, GET_BODY_BYTES_MAX};
use super::secrets::Secrets;
use super::{address, client};
use crate::ErrorKind;

/// An error says little after its first bytes; a service that dribbles them is not waited for.
const ERROR_BODY_TIME_MAX: Duration = Duration::from_secs(10);
/// Parts of the names under which a credential goes.
const SENSITIVE: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];

/// Headers whose values are lists: what a person configured and what the request itself needs both
/// go out.
const LISTS: [&str; 1] = ["anthropic-beta"];

/// One request being put together, and what must not be repeated of it.
pub(crate) struct Exchange {
    pub url: Url,
    headers: HeaderMap,
    pub secrets: Secrets,
}

impl Exchange {
    pub(crate) fn new(base_url: &str, path: &str) -> Result<Self, AttemptError> {
        let url = address::join(base_url, path)
            .map_err(|what| AttemptError::new(ErrorKind::BadRequest, what))?;
        let mut secrets = Secrets::default();
        secrets.add(url.password().unwrap_or_default());
        for (name, value) in url.query_pairs() {
            if is_sensitive(&name) {
                secrets.add(&value);
            }
        }
        Ok(Self {
            url,
            headers: HeaderMap::new(),
            secrets,
        })
    }

    /// A header that is no secret. One that cannot be sent is left out: it was configured wrongly,
    /// and the provider will say what it misses.
    pub(crate) fn plain(&mut self, name: &str, value: &str) {
        let value = self.joined(name, value);
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            (Err(_), _) | (_, Err(_)) => tracing::warn!(header = name, "a header cannot be sent"),
        }
    }

    /// The value with those that a list already has before it.
    fn joined(&self, name: &str, value: &str) -> String {
        let is_list = LISTS.iter().any(|list| list.eq_ignore_ascii_case(name));
        let before = self.headers.get(name).filter(|_| is_list);
        let before = before.and_then(|before| before.to_str().ok());
        let Some(before) = before else {
            return value.to_owned();
        };
        let mut all: Vec<&str> = before.split(',').map(str::trim).collect();
        for each in value.split(',').map(str::trim) {
            if !each.is_empty() && !all.contains(&each) {
                all.push(each);
            }
        }
        all.join(",")
    }

    pub(crate) fn secret(&mut self, name: &str, value: &str) -> Result<(), AttemptError> {
        let (Ok(header), Ok(mut content)) =
            (HeaderName::try_from(name), HeaderValue::try_from(value))
        else {
            let what = "the key holds characters that cannot be sent, such as a line break";
            return Err(AttemptError::new(ErrorKind::Auth, what));
        };
        content.set_sensitive(true);
        self.headers.insert(header, content);
        self.secrets.add(value);
        Ok(())
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        body: Option<Bytes>,
        limit: Duration,
    ) -> Result<Response, AttemptError> {
        let client = client::client(&self.url).map_err(|error| {
            AttemptError::new(ErrorKind::Unreachable, error.what).advice(error.advice)
        })?;
        let mut request = client
            .request(method, self.url.clone())
            .headers(self.headers.clone());
        if let Some(body) = body {
            request = request.body(body);
        }
        match timeout(limit, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(AttemptError::sending(&error, &self.url)),
            Err(_) => Err(self.silent(limit)),
        }
    }

    pub(crate) fn silent(&self, limit: Duration) -> AttemptError {
        let (place, limit) = (address::place(&self.url), duration_words(limit));
        AttemptError::new(
            ErrorKind::Stalled,
            format!("no answer from {place} for {limit}"),
        )
    }

    /// As much of an error's body as is wanted, without what must not be repeated. Masked before
    /// anyone cuts it, so that no half of a key is left.
    pub(crate) async fn masked_body(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > ERROR_BODY_BYTES_MAX {
                    break;
                }
            }
        };
        // What came in time is enough.
        let _ = timeout(ERROR_BODY_TIME_MAX, reading).await;
        let masked = self.secrets.mask(&String::from_utf8_lossy(&body));
        if body.len() <= ERROR_BODY_BYTES_MAX {
            return masked;
        }
        let mut end = ERROR_BODY_BYTES_MAX
            .saturating_sub(self.secrets.bytes_max())
            .min(masked.len());
        while !masked.is_char_boundary(end) {
            end -= 1;
        }
        masked[..end].to_owned()
    }
    pub(crate) async fn whole_body(&self, mut response: Response) -> Result<Vec<u8>, AttemptError> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(body),
                Err(error) => {
                    let what = format!(
                        "the connection to {} broke: {}",
                        address::place(&self.url),
                        cause(&error)
                    );
                    return Err(AttemptError::new(ErrorKind::CutOff, what));
                }
            }
            if body.len() > GET_BODY_BYTES_MAX {
                return Err(AttemptError::new(
                    ErrorKind::Malformed,
                    "its answer is larger than anything sensible",
                ));
            }
        }
    }
}

pub(crate) fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SENSITIVE.iter().any(|part| name.contains(part))
}
