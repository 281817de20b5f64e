//! Small requests to authorisation servers and model lists, each with an end.

use std::time::Duration;

use callback::said;
use reqwest::{RequestBuilder, Url};
use serde_json::Value;

/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

pub struct HttpResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HttpResponse {
    pub fn ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Sends it and reads the whole answer within the limit; else why not, for people.
pub async fn send(request: RequestBuilder, limit: Duration) -> Result<HttpResponse, String> {
    match tokio::time::timeout(limit, receive(request)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {} s", limit.as_secs_f32())),
    }
}

async fn receive(request: RequestBuilder) -> Result<HttpResponse, String> {
    let mut response = request.send().await.map_err(reason)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reason)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err("the answer is too long".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status, body })
}

/// The innermost cause; the outer ones only say that a request failed. The address is left out,
/// since a part of it may be a secret.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    said(&cause.to_string())
}

/// `name=value&…`, as a form is sent.
pub fn form(pairs: &[(&str, &str)]) -> String {
    query(pairs.iter().copied())
}

pub fn query<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    // The crate that encodes forms is only to be had through a URL; this one goes nowhere.
    let Ok(mut url) = Url::parse("http://localhost/") else {
        return String::new();
    };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}
