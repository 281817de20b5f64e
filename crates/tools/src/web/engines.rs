//! Asks a search service: the wire of Exa, Brave Search and SearXNG.

use std::net::IpAddr;

use dom_query::Document;
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::{SearchService, Web, body, visit};

const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
const TITLE_CHARS_MAX: usize = 200;
const LINK_CHARS_MAX: usize = 2000;
const SNIPPET_CHARS_MAX: usize = 600;
/// How much of a snippet is looked at before it is cleaned.
const RAW_CHARS_MAX: usize = 8000;
const REASON_CHARS_MAX: usize = 300;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SearchHit {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

pub(crate) fn name(key: SearchService) -> &'static str {
    match key {
        SearchService::Exa => "Exa",
        SearchService::Brave => "Brave Search",
        SearchService::Searxng => "SearXNG",
    }
}

/// What this service finds. The reason of a failure never holds the secret.
pub(crate) async fn search(
    web: &Web,
    key: SearchService,
    secret: &SecretString,
    query: &str,
    count: usize,
) -> Result<Vec<SearchHit>, String> {
    let outcome = ask(web, key, secret, query, count).await;
    let mut found = outcome.map_err(|reason| hide(&reason, secret))?;
    found.retain(|found| {
        let web = found.url.starts_with("https://") || found.url.starts_with("http://");
        web && found.url.len() <= LINK_CHARS_MAX
    });
    found.truncate(count);
    Ok(found)
}

async fn ask(
    web: &Web,
    key: SearchService,
    secret: &SecretString,
    query: &str,
    count: usize,
) -> Result<Vec<SearchHit>, String> {
    let request = match key {
        SearchService::Exa => exa(web, secret, query, count)?,
        SearchService::Brave => brave(web, secret, query, count)?,
        SearchService::Searxng => searxng(web, secret, query)?,
    };
    let answer = answer(request.header(ACCEPT, "application/json"), key).await?;
    match key {
        SearchService::Exa => read::<ExaAnswer>(&answer).map(ExaAnswer::found),
        SearchService::Brave => read::<BraveAnswer>(&answer).map(BraveAnswer::found),
        SearchService::Searxng => read::<SearxngAnswer>(&answer).map(SearxngAnswer::found),
    }
}

fn exa(
    web: &Web,
    secret: &SecretString,
    query: &str,
    count: usize,
) -> Result<RequestBuilder, String> {
    let url = address(&web.options().exa_url, "search")?;
    let body = json!({
        "query": query,
        "type": "auto",
        "numResults": count,
        "contents": {"highlights": true},
    });
    let request = client(web, &url)?.post(url).json(&body);
    Ok(request.header("x-api-key", header(secret)?))
}

fn brave(
    web: &Web,
    secret: &SecretString,
    query: &str,
    count: usize,
) -> Result<RequestBuilder, String> {
    let mut url = address(&web.options().brave_url, "res/v1/web/search")?;
    url.query_pairs_mut()
        .append_pair("q", query)
        .append_pair("count", &count.to_string())
        .append_pair("result_filter", "web")
        .append_pair("text_decorations", "false");
    let request = client(web, &url)?.get(url);
    Ok(request.header("X-Subscription-Token", header(secret)?))
}

fn searxng(web: &Web, secret: &SecretString, query: &str) -> Result<RequestBuilder, String> {
    let mut url = address(secret.expose_secret(), "search")?;
    url.query_pairs_mut()
        .append_pair("q", query)
        .append_pair("format", "json");
    Ok(client(web, &url)?.get(url))
}

/// Where a service answers. The reason does not repeat the base, which may hold a password.
fn address(base: &str, path: &str) -> Result<Url, String> {
    let url = Url::parse(&format!("{}/{path}", base.trim().trim_end_matches('/')));
    url.ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| "its address is not an http or https URL".to_owned())
}

/// A service on this machine is never asked through a proxy.
fn client(web: &Web, url: &Url) -> Result<Client, String> {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let local = match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    };
    match local {
        true => web.open_client(),
        false => web.service_client(),
    }
}

fn header(secret: &SecretString) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_str(secret.expose_secret().trim());
    let mut value = value.map_err(|_| "its key has characters that no key has".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

async fn answer(request: RequestBuilder, key: SearchService) -> Result<Vec<u8>, String> {
    let mut response = request
        .send()
        .await
        .map_err(|error| visit::reason(&error))?;
    let status = response.status();
    let body = body::read(&mut response, ANSWER_BYTES_MAX).await?;
    if !status.is_success() {
        return Err(refused(key, &response, &body.bytes));
    }
    match body.cut {
        true => Err(format!(
            "its answer is longer than {ANSWER_BYTES_MAX} bytes"
        )),
        false => Ok(body.bytes),
    }
}

/// Why a service did not answer, with what to do where that is known.
fn refused(key: SearchService, response: &Response, body: &[u8]) -> String {
    let status = response.status();
    let advice = match (key, status) {
        (SearchService::Searxng, StatusCode::FORBIDDEN) => {
            "; the instance must have \"json\" among search.formats in its settings.yml"
        }
        (_, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => "; check the key",
        (_, StatusCode::PAYMENT_REQUIRED) => "; the account has no credit left",
        (_, StatusCode::TOO_MANY_REQUESTS) => "; wait before searching again",
        _ => "",
    };
    let reason = reason(body).map(|reason| format!(" ({reason})"));
    format!("it answered {status}{}{advice}", reason.unwrap_or_default())
}

/// The words of an error: Exa has `error`, Brave `error.detail`.
fn reason(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let places = [&body["error"], &body["error"]["detail"], &body["message"]];
    let words = places.into_iter().find_map(Value::as_str)?;
    Some(clean(words, REASON_CHARS_MAX))
}

fn hide(reason: &str, secret: &SecretString) -> String {
    match secret.expose_secret().trim() {
        "" => reason.to_owned(),
        secret => reason.replace(secret, "[secret]"),
    }
}

fn read<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(answer).map_err(|_| "its answer is not the JSON it should be".to_owned())
}

#[derive(Deserialize)]
struct ExaAnswer {
    results: Vec<ExaResult>,
}

#[derive(Deserialize)]
struct ExaResult {
    url: String,
    title: Option<String>,
    highlights: Option<Vec<String>>,
    summary: Option<String>,
    text: Option<String>,
}

impl ExaAnswer {
    fn found(self) -> Vec<SearchHit> {
        let results = self.results.into_iter().map(|result| {
            let highlights = result.highlights.map(|pieces| pieces.join(" … "));
            let snippet = highlights
                .filter(|text| !text.trim().is_empty())
                .or(result.summary)
                .or(result.text);
            found(result.title, result.url, snippet)
        });
        results.collect()
    }
}

#[derive(Deserialize)]
struct BraveAnswer {
    /// Absent when nothing was found.
    web: Option<BraveWeb>,
}

#[derive(Deserialize)]
struct BraveWeb {
    results: Vec<BraveResult>,
}

#[derive(Deserialize)]
struct BraveResult {
    url: String,
    title: Option<String>,
    description: Option<String>,
}

impl BraveAnswer {
    fn found(self) -> Vec<SearchHit> {
        let results = self.web.map(|web| web.results).unwrap_or_default();
        let results = results.into_iter().map(|result| {
            let title = result.title.as_deref().map(without_markup);
            let description = result.description.as_deref().map(without_markup);
            found(title, result.url, description)
        });
        results.collect()
    }
}

#[derive(Deserialize)]
struct SearxngAnswer {
    results: Vec<SearxngResult>,
}

#[derive(Deserialize)]
struct SearxngResult {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
}

impl SearxngAnswer {
    fn found(self) -> Vec<SearchHit> {
        let results = self.results.into_iter().filter_map(|result| {
            let url = result.url?;
            Some(found(result.title, url, result.content))
        });
        results.collect()
    }
}

fn found(title: Option<String>, url: String, snippet: Option<String>) -> SearchHit {
    let title = clean(&title.unwrap_or_default(), TITLE_CHARS_MAX);
    SearchHit {
        title: if title.is_empty() { url.clone() } else { title },
        url,
        snippet: clean(&snippet.unwrap_or_default(), SNIPPET_CHARS_MAX),
    }
}

/// Brave's texts are HTML: entities, and at times tags.
fn without_markup(text: &str) -> String {
    let start: String = text.chars().take(RAW_CHARS_MAX).collect();
    Document::fragment(start).text().to_string()
}

/// On one line, and not long.
fn clean(text: &str, chars_max: usize) -> String {
    let start: String = text.chars().take(RAW_CHARS_MAX).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
