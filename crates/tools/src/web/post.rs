//! Sends a few bytes somewhere on the web, for the server itself: to where a client wants to hear of
//! something. The addresses that no tool may reach are not reached by this either.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::web::Web;
use crate::web::target::{self, Reach, URL_CHARS_MAX};

/// One request. The answer's body is not read.
pub struct WebPost<'a> {
    pub url: &'a str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub time_limit: Duration,
}

impl Web {
    /// Whether something may be sent there at all; gives the origin, like `https://push.example`. Only
    /// over TLS, but to hosts of a private network that are allowed by name.
    pub fn check_post(&self, url: &str) -> Result<String, String> {
        self.reach_of_post(url)
            .map(|(url, _)| url.origin().ascii_serialization())
    }

    /// Gives the status of the answer. Names are looked up anew, and where they lead is checked then.
    pub async fn post(&self, post: WebPost<'_>) -> Result<u16, String> {
        let (url, reach) = self.reach_of_post(post.url)?;
        let client = match reach {
            Reach::Public => self.public_client()?,
            Reach::Anywhere => self.open_client()?,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in post.headers {
            let value = HeaderValue::from_str(&value);
            let value = value.map_err(|_| format!("{name} is no header"))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        let request = client.post(url).headers(headers).body(post.body);
        let sent = request.timeout(post.time_limit).send().await;
        // Whole, the error would name the address, and who has that can send there, too.
        let answer = sent.map_err(|error| match error.is_timeout() {
            true => "there was no answer in time".to_owned(),
            false => "the service could not be reached".to_owned(),
        })?;
        Ok(answer.status().as_u16())
    }

    fn reach_of_post(&self, url: &str) -> Result<(Url, Reach), String> {
        if url.len() > URL_CHARS_MAX {
            return Err(format!("expected at most {URL_CHARS_MAX} characters"));
        }
        let url = Url::parse(url).map_err(|_| "expected a URL with https://".to_owned())?;
        let reach = target::check(self, &url)?;
        match (url.scheme(), reach) {
            ("https", _) | (_, Reach::Anywhere) => Ok((url, reach)),
            (_, Reach::Public) => Err("expected a URL with https://".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::web::Options;

    #[test]
    fn only_public_places_over_tls_and_what_was_allowed() {
        let allow_private = vec!["push.local:8443".to_owned()];
        let options = Options {
            allow_private,
            ..Options::default()
        };
        let web = Web::new(options, Arc::new(|_| None));
        let origin = |url: &str| web.check_post(url);
        assert_eq!(
            origin("https://push.example/send/abc"),
            Ok("https://push.example".to_owned())
        );
        assert!(
            origin("http://push.local:8443/x").is_ok(),
            "allowed by name"
        );
        for refused in [
            "http://push.example/x",
            "https://127.0.0.1/x",
            "https://[::1]/x",
            "https://10.0.0.1/x",
            "https://169.254.169.254/latest",
            "http://push.local/x",
            "https://user:pass@push.example/x",
            "https://push.example:22/x",
            "ftp://push.example/x",
            "push.example",
        ] {
            assert!(origin(refused).is_err(), "{refused}");
        }
    }
}
