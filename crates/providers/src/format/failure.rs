//! Reads what a provider says when it fails: which kind of failure, and its own sentence.

use serde_json::Value;

use crate::{ErrorKind, ProviderError};

/// The most of a provider's words that is passed on.
pub const MESSAGE_CHARS_MAX: usize = 500;
/// The most that is looked at to find them.
const READ_BYTES_MAX: usize = 16 * 1024;
/// The most that is shown of data that could not be read.
const EXCERPT_CHARS_MAX: usize = 120;

/// The body of a refused request.
pub(super) fn read(status: u16, body: &[u8]) -> (ErrorKind, String) {
    let text = String::from_utf8_lossy(body);
    let told = match serde_json::from_str::<Value>(&text) {
        Ok(value) => ErrorBody::of(&value),
        Err(_) => ErrorBody::words(&text),
    };
    let kind = told.kind(Some(status));
    let message = match told.message.is_empty() {
        true => format!("HTTP status {status} without an explanation"),
        false => told.message,
    };
    (kind, message)
}

/// An error told within a stream.
pub(super) fn told(value: &Value) -> ProviderError {
    let told = ErrorBody::of(value);
    let kind = told.kind(told.status);
    let message = match told.message.is_empty() {
        true => "the provider ended the answer with an error it does not explain".to_owned(),
        false => told.message,
    };
    ProviderError::new(kind, message)
}

pub(super) fn refused(words: &str) -> ProviderError {
    let words = clean(words);
    let message = match words.is_empty() {
        true => "the model declined to answer".to_owned(),
        false => format!("the model declined to answer: {words}"),
    };
    ProviderError::new(ErrorKind::Refused, message)
}

struct ErrorBody {
    message: String,
    /// Every word by which formats name a kind of error, in small letters.
    tags: Vec<String>,
    /// A number given as code within a stream.
    status: Option<u16>,
    /// Google tells a limit per minute from one per day only in the details.
    daily: bool,
}

impl ErrorBody {
    fn words(text: &str) -> Self {
        Self {
            message: clean(&without_markup(text)),
            tags: Vec::new(),
            status: None,
            daily: false,
        }
    }

    fn of(value: &Value) -> Self {
        // Google answers a list where a stream was asked for.
        let value = value.get(0).unwrap_or(value);
        let error = match &value["error"] {
            Value::Null => value,
            error => error,
        };
        let fields = [&error["type"], &error["code"], &error["status"]];
        let tags = fields.iter().filter_map(|field| field.as_str());
        let reasons = error["details"].as_array().into_iter().flatten();
        let reasons = reasons.filter_map(|each| each["reason"].as_str());
        Self {
            message: clean(sentence(value, error)),
            tags: tags.chain(reasons).map(str::to_ascii_lowercase).collect(),
            status: error["code"]
                .as_u64()
                .and_then(|code| u16::try_from(code).ok()),
            daily: error["details"].to_string().contains("PerDay"),
        }
    }

    fn kind(&self, status: Option<u16>) -> ErrorKind {
        self.kind_by_tag(status)
            .or_else(|| self.kind_by_words(status))
            .or_else(|| status.and_then(kind_by_status))
            .unwrap_or(ErrorKind::Other)
    }

    fn kind_by_tag(&self, status: Option<u16>) -> Option<ErrorKind> {
        self.tags.iter().find_map(|tag| {
            Some(match tag.as_str() {
                "insufficient_quota"
                | "billing_error"
                | "billing_not_active"
                | "billing_hard_limit_reached"
                | "insufficient_credits" => ErrorKind::Quota,
                "resource_exhausted" if self.daily => ErrorKind::Quota,
                "authentication_error"
                | "invalid_api_key"
                | "permission_error"
                | "unauthenticated"
                | "permission_denied"
                | "api_key_invalid" => ErrorKind::Auth,
                "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
                    ErrorKind::ContextTooLong
                }
                "model_not_found" | "not_found_error" | "not_found" => ErrorKind::UnknownModel,
                "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" => {
                    ErrorKind::RateLimited
                }
                "content_filter" | "content_policy_violation" => ErrorKind::Refused,
                "overloaded_error" | "overloaded" | "unavailable" => ErrorKind::Overloaded,
                // Said of many things; the status is more exact where there is one.
                "server_error"
                | "api_error"
                | "internal"
                | "internal_server_error"
                | "timeout_error"
                | "deadline_exceeded"
                    if status.is_none() =>
                {
                    ErrorKind::Overloaded
                }
                "invalid_prompt" => ErrorKind::BadRequest,
                "invalid_request_error" | "invalid_argument" if status.is_none() => {
                    self.kind_by_words(status).unwrap_or(ErrorKind::BadRequest)
                }
                _ => return None,
            })
        })
    }

    /// Some kinds are told in words only.
    fn kind_by_words(&self, status: Option<u16>) -> Option<ErrorKind> {
        // A limit per minute is counted in tokens too.
        if status == Some(429) {
            return None;
        }
        let words = self.message.to_ascii_lowercase();
        let says = |any: &[&str]| any.iter().any(|each| words.contains(each));
        if says(&["credit balance is too low", "insufficient balance"]) {
            Some(ErrorKind::Quota)
        } else if says(&["api key not valid", "invalid api key"]) {
            Some(ErrorKind::Auth)
        } else if says(&[
            "prompt is too long",
            "maximum context length",
            "exceed context limit",
            "exceeds the context window",
            "exceeds the available context size",
        ]) || (says(&["input token count"]) && says(&["exceeds"]))
        {
            Some(ErrorKind::ContextTooLong)
        } else if says(&["model"])
            && says(&[
                "does not exist",
                "not found",
                "not a valid model",
                "unknown model",
            ])
        {
            Some(ErrorKind::UnknownModel)
        } else {
            None
        }
    }
}

fn kind_by_status(status: u16) -> Option<ErrorKind> {
    Some(match status {
        401 | 403 => ErrorKind::Auth,
        402 => ErrorKind::Quota,
        404 => ErrorKind::UnknownModel,
        // The server gave up waiting for the request: it may pass.
        408 => ErrorKind::Overloaded,
        413 => ErrorKind::ContextTooLong,
        429 => ErrorKind::RateLimited,
        400..=499 => ErrorKind::BadRequest,
        500..=599 => ErrorKind::Overloaded,
        _ => return None,
    })
}

/// The words of an error object, wherever this server puts them.
fn sentence<'a>(value: &'a Value, error: &'a Value) -> &'a str {
    let places = [
        // What stands behind a router's own "Provider returned error".
        error.pointer("/metadata/raw"),
        error.get("message"),
        Some(error),
        value.get("message"),
        value.get("detail"),
        value.pointer("/detail/0/msg"),
    ];
    let mut words = places.into_iter().flatten().filter_map(Value::as_str);
    words.find(|text| !text.trim().is_empty()).unwrap_or("")
}

/// The words of a page of HTML; any other text as it is.
fn without_markup(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_owned();
    }
    let title = text
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    if let Some((title, _)) = title {
        return title.to_owned();
    }
    let pieces = text.split('<');
    let words = pieces.filter_map(|piece| piece.split_once('>').map(|(_, words)| words));
    words.collect::<Vec<_>>().join(" ")
}

/// One line of bounded length, without anything that looks like a key.
pub(super) fn clean(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(READ_BYTES_MAX)];
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        let word = if looks_like_key(word) { "[key]" } else { word };
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        chars += word.chars().count() + 1;
        if chars > MESSAGE_CHARS_MAX {
            line = line.chars().take(MESSAGE_CHARS_MAX - 1).collect();
            line.push('…');
            break;
        }
    }
    line
}

/// The beginning of data that could not be read.
pub(super) fn excerpt(text: &str) -> String {
    let line = clean(text);
    match line.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn looks_like_key(word: &str) -> bool {
    const MARKS: [&str; 7] = ["sk-", "AIza", "gsk_", "xai-", "sess-", "hf_", "eyJ"];
    const KEY_BYTES_MIN: usize = 14;
    MARKS.iter().any(|mark| {
        word.match_indices(mark).any(|(at, _)| {
            let begins = !word[..at].ends_with(char::is_alphanumeric);
            begins && word.len() - at >= KEY_BYTES_MIN
        })
    })
}
