//! Requests signed with the keys of an AWS account (Signature Version 4): the secret never goes out,
//! a hash of the request made with it does.

use jiff::Timestamp;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};
use secrecy::{ExposeSecret, SecretString};

use crate::catalog::merged::{Environment, first_set};
use crate::remote::RequestToSign;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const USUAL_REGION: &str = "us-east-1";

#[derive(Clone, Debug)]
pub struct AwsKeys {
    pub id: String,
    secret: SecretString,
    /// Of keys that end by themselves.
    session: Option<SecretString>,
    region: String,
    /// What the service is called in signatures.
    service: String,
}

impl AwsKeys {
    /// The variable that has them, and the keys.
    pub fn of(environment: &Environment, service: &str) -> Option<(&'static str, AwsKeys)> {
        let given = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            first_set(Some(&names), environment).map(|(_, value)| value.to_owned())
        };
        let id = given(&["AWS_ACCESS_KEY_ID"])?;
        let keys = AwsKeys {
            secret: given(&["AWS_SECRET_ACCESS_KEY"])?.into(),
            session: given(&["AWS_SESSION_TOKEN"]).map(SecretString::from),
            region: given(&["AWS_REGION", "AWS_DEFAULT_REGION"])
                .unwrap_or_else(|| USUAL_REGION.to_owned()),
            service: service.to_owned(),
            id,
        };
        Some(("AWS_ACCESS_KEY_ID", keys))
    }

    /// The headers that prove it. Only what they must cover is covered: the host, the time, the
    /// session and the body.
    pub fn sign(&self, request: &RequestToSign<'_>, at: Timestamp) -> Vec<(String, SecretString)> {
        let time = at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = time.get(..8).unwrap_or_default();
        let mut headers = vec![("host", host(request.url)), ("x-amz-date", time.clone())];
        if let Some(session) = &self.session {
            headers.push(("x-amz-security-token", session.expose_secret().to_owned()));
        }
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let written = headers.iter();
        let written: String = written
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        let canonical = format!(
            "{}\n{}\n{}\n{written}\n{names}\n{}",
            request.method,
            path(request.url),
            query(request.url),
            hex(digest(&SHA256, request.body).as_ref()),
        );
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let hashed = hex(digest(&SHA256, canonical.as_bytes()).as_ref());
        let said = format!("{ALGORITHM}\n{time}\n{scope}\n{hashed}");
        let signature = hex(hmac::sign(&self.key(day), said.as_bytes()).as_ref());
        let proof = format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.id
        );
        let mut sent: Vec<(String, SecretString)> = headers
            .into_iter()
            // The client sends that itself.
            .filter(|(name, _)| *name != "host")
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        sent.push(("authorization".to_owned(), proof.into()));
        sent
    }

    /// A key for one day, region and service.
    fn key(&self, day: &str) -> hmac::Key {
        let start = format!("AWS4{}", self.secret.expose_secret());
        let mut key = hmac::Key::new(HMAC_SHA256, start.as_bytes());
        for part in [day, &self.region, &self.service, "aws4_request"] {
            let next = hmac::sign(&key, part.as_bytes());
            key = hmac::Key::new(HMAC_SHA256, next.as_ref());
        }
        key
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The path as it is sent, each of its parts encoded once more.
fn path(url: &Url) -> String {
    let parts: Vec<String> = url.path().split('/').map(encoded).collect();
    parts.join("/")
}

fn query(url: &Url) -> String {
    let pairs = url.query_pairs();
    let mut pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value)))
        .collect();
    pairs.sort();
    pairs.join("&")
}

fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// The keys and the day of the signature's public test suite.
    const SUITE: [(&str, &str); 2] = [
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        (
            "AWS_SECRET_ACCESS_KEY",
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        ),
    ];

    #[track_caller]
    fn check(method: &str, url: &str, signature: &str) {
        let (_, keys) = AwsKeys::of(&environment(&SUITE), "service").expect("keys");
        let request = RequestToSign {
            method,
            url: &Url::parse(url).expect("a URL"),
            body: b"",
        };
        let at = "2015-08-30T12:36:00Z".parse().expect("a time");
        let headers = keys.sign(&request, at);
        let (_, proof) = headers.last().expect("a proof");
        assert_eq!(
            proof.expose_secret(),
            format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders=host;x-amz-date, Signature={signature}"
            )
        );
    }

    #[test]
    fn signatures_are_those_of_the_public_test_suite() {
        let host = "https://example.amazonaws.com";
        check(
            "GET",
            &format!("{host}/"),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        );
        check(
            "POST",
            &format!("{host}/"),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        );
        check(
            "GET",
            &format!("{host}/?Param2=value2&Param1=value1"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        );
    }

    #[test]
    fn a_session_is_signed_and_sent_and_no_secret_is_shown() {
        let mut pairs = SUITE.to_vec();
        pairs.push(("AWS_SESSION_TOKEN", "session-secret"));
        pairs.push(("AWS_REGION", "eu-west-1"));
        let (variable, keys) = AwsKeys::of(&environment(&pairs), "service").expect("keys");
        assert_eq!(variable, "AWS_ACCESS_KEY_ID");
        let request = RequestToSign {
            method: "POST",
            url: &Url::parse("http://127.0.0.1:1/a%3Ab").expect("a URL"),
            body: b"{}",
        };
        let headers = keys.sign(&request, Timestamp::UNIX_EPOCH);
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["x-amz-date", "x-amz-security-token", "authorization"]
        );
        let proof = headers[2].1.expose_secret();
        assert!(
            proof.contains("/19700101/eu-west-1/service/")
                && proof.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,"),
            "{proof}"
        );
        assert!(!format!("{keys:?}").contains("session-secret"), "{keys:?}");
        assert_eq!(
            path(&Url::parse("http://a/b%3Ac/d").expect("a URL")),
            "/b%253Ac/d"
        );
    }

    #[test]
    fn half_a_pair_of_keys_is_none() {
        for half in SUITE {
            assert!(AwsKeys::of(&environment(&[half]), "service").is_none());
        }
    }
}
