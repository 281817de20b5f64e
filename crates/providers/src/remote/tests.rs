//! The transport against a scripted server, with a wire format as small as can be.

mod alone;
mod answers;
mod errors;
mod healing;
mod network;
mod poisoned;
mod retries;
mod server;
mod silence;
mod waits;
mod wires;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{Authorization, Authorizer, Codec, Remote, RetryPolicy};
use crate::catalog::{self, ApiEndpoint};
use crate::format::{
    Decode, OmittedPictures, Outgoing, Quirks, RequestTarget, ServiceFailure, SseEvent, Wire,
};
use crate::{
    ErrorKind, ModelRequest, ModelUsage, Part, PartStream, Provider, ProviderError, StopCause,
};

const KEY: &str = "sk-test-0123456789abcdef";

/// `{"text": …}` grows the answer, `[DONE]` ends it, `{"error": …}` is one that may pass,
/// `{"refusal": …}` one that does not; the rest is raw. What was left out is named in a request that
/// could hold it.
struct Plain;

impl Codec for Plain {
    fn encode(&self, request: &ModelRequest, target: &RequestTarget) -> Outgoing {
        let mut body = json!({ "model": request.model, "system": request.system });
        let omitted = target.omitted;
        if omitted.natives_before > 0 {
            body["natives"] = "none".into();
        }
        if omitted.summaries {
            body["summaries"] = "none".into();
        }
        if omitted.pictures != OmittedPictures::None && !request.messages.is_empty() {
            body["pictures"] = format!("{:?}", omitted.pictures).into();
        }
        Outgoing {
            path: "/answer?stream=1".to_owned(),
            headers: vec![("x-format", "plain".to_owned())],
            body,
        }
    }

    fn decoder(&self, _target: &RequestTarget, _seed: &str) -> Box<dyn Decode> {
        Box::new(PlainDecoder { finished: false })
    }

    fn failure(&self, status: u16, body: &[u8]) -> ServiceFailure {
        if body.starts_with(b"{") {
            return Wire::Chat.failure(status, body);
        }
        let text = String::from_utf8_lossy(body).into_owned();
        let kind = match status {
            _ if text.contains("insufficient_quota") => ErrorKind::Quota,
            401 | 403 => ErrorKind::Auth,
            404 => ErrorKind::UnknownModel,
            429 => ErrorKind::RateLimited,
            400..500 => ErrorKind::BadRequest,
            500.. => ErrorKind::Overloaded,
            _ => ErrorKind::Other,
        };
        ServiceFailure {
            kind,
            message: text,
            advice: None,
            remedy: None,
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![("x-format", "plain".to_owned())]
    }
}

struct PlainDecoder {
    finished: bool,
}

impl Decode for PlainDecoder {
    fn push(&mut self, event: SseEvent<'_>, out: &mut Vec<Part>) -> Result<(), ProviderError> {
        if event.data == "[DONE]" {
            self.finished = true;
            out.push(finish());
            return Ok(());
        }
        let value: Value = serde_json::from_str(event.data)
            .map_err(|error| ProviderError::new(ErrorKind::Malformed, error.to_string()))?;
        if let Some(error) = value["error"].as_str() {
            return Err(ProviderError::new(ErrorKind::Overloaded, error));
        }
        if let Some(refusal) = value["refusal"].as_str() {
            return Err(ProviderError::new(ErrorKind::BadRequest, refusal));
        }
        match value["text"].as_str() {
            Some(text) => out.push(delta(text)),
            None => out.push(Part::Raw(value)),
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<Part>) -> Result<(), ProviderError> {
        let what = "the answer ended before its end marker";
        Err(ProviderError::new(ErrorKind::CutOff, what))
    }

    fn finished(&self) -> bool {
        self.finished
    }
}

fn delta(text: &str) -> Part {
    Part::TextDelta {
        block: 0,
        text: text.to_owned(),
    }
}

fn finish() -> Part {
    Part::Finish {
        stop: StopCause::Stop,
        usage: ModelUsage::default(),
    }
}

/// Hands out `KEY`, then `KEY` with the number of its renewals.
struct Keys {
    base_url: String,
    renewable: bool,
    renewals: AtomicU32,
}

#[async_trait]
impl Authorizer for Keys {
    async fn access(&self, renew: bool) -> Result<Authorization, ProviderError> {
        let renewals =
            self.renewals.fetch_add(u32::from(renew), Ordering::SeqCst) + u32::from(renew);
        let key = match renewals {
            0 => KEY.to_owned(),
            more => format!("{KEY}-{more}"),
        };
        Ok(Authorization {
            base_url: self.base_url.clone(),
            account: String::new(),
            headers: vec![("authorization".to_owned(), format!("Bearer {key}").into())],
            renewable: self.renewable,
        })
    }
}

/// Fast enough for a test, slow enough to be seen.
fn quick() -> RetryPolicy {
    RetryPolicy {
        attempts_max: 3,
        backoff: Duration::from_millis(4),
        backoff_max: Duration::from_millis(20),
        total_max: Duration::from_secs(10),
        retry_after_max: Duration::from_secs(3),
        first_byte: Duration::from_secs(10),
        idle: Duration::from_secs(10),
        wordless: Duration::from_secs(10),
        event_bytes_max: 64 * 1024,
    }
}

fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Another test of the crate may have been faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn remote(base_url: &str, policy: RetryPolicy) -> Remote {
    remote_with(base_url, policy, false)
}

fn remote_with(base_url: &str, policy: RetryPolicy, renewable: bool) -> Remote {
    install_tls();
    let access = Arc::new(Keys {
        base_url: base_url.to_owned(),
        renewable,
        renewals: AtomicU32::new(0),
    });
    plain(access, policy)
}

fn endpoint() -> ApiEndpoint {
    ApiEndpoint {
        wire: Wire::Chat,
        base_url: String::new(),
        key_env: Vec::new(),
        google_file_env: Vec::new(),
        aws_service: None,
        bearer_env: Vec::new(),
        base_url_env: Vec::new(),
        headers: vec![("x-configured".to_owned(), "yes".to_owned())],
        keyless: false,
        models_path: None,
        lists_all: false,
        local_api: None,
        key_header: None,
        quirks: Quirks::default(),
    }
}

fn provider() -> catalog::ProviderInfo {
    catalog::ProviderInfo {
        id: "acme".to_owned(),
        name: "Acme".to_owned(),
        auth: Vec::new(),
        endpoint: None,
        models: Vec::new(),
        ..catalog::ProviderInfo::default()
    }
}

fn plain(access: Arc<dyn Authorizer>, policy: RetryPolicy) -> Remote {
    Remote::with_codec(&provider(), endpoint(), Arc::new(Plain), access, policy)
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "tiny".to_owned(),
        system: "Be brief.".to_owned(),
        ..ModelRequest::default()
    }
}

async fn start(remote: &Remote) -> PartStream {
    remote.stream(request()).await.expect("a stream")
}

/// Everything that was told, and how it ended.
async fn collect(mut stream: PartStream) -> (Vec<Part>, Option<ProviderError>) {
    let mut parts = Vec::new();
    while let Some(told) = stream.next().await {
        match told {
            Ok(part) => parts.push(part),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the end");
                return (parts, Some(error));
            }
        }
    }
    (parts, None)
}

async fn run(remote: &Remote) -> (Vec<Part>, Option<ProviderError>) {
    collect(start(remote).await).await
}

async fn fail(remote: &Remote) -> ProviderError {
    run(remote).await.1.expect("an error")
}

/// How often a retry was told, and the rest.
fn retries(parts: Vec<Part>) -> (Vec<String>, Vec<Part>) {
    let mut whys = Vec::new();
    let rest = parts.into_iter().filter_map(|part| match part {
        Part::Retrying { why, .. } => {
            whys.push(why);
            None
        }
        other => Some(other),
    });
    let rest = rest.collect();
    (whys, rest)
}
