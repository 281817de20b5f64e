//! Reads what a provider says when it fails: which kind of failure, and its own sentence.

mod remedies;
mod table;

use std::borrow::Cow;

use serde_json::Value;

use crate::{ErrorKind, ProviderError};

pub use remedies::Remedy;
use remedies::remedy;
use table::RULES;

pub(crate) const CHECK_BASE_URL: &str =
    "check the base URL, and whether a proxy or the sign-in page of a network stands in between";

/// The most of a provider's words that is passed on.
pub const MESSAGE_CHARS_MAX: usize = 500;
/// The most that is looked at to find them.
const READ_BYTES_MAX: usize = 16 * 1024;
/// The most that is shown of data that could not be read.
const EXCERPT_CHARS_MAX: usize = 120;

/// What a service says when it refuses or fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFailure {
    pub kind: ErrorKind,
    /// Its own sentence, cleaned and bounded.
    pub message: String,
    /// What to do, where the kind alone would say it wrongly.
    pub advice: Option<&'static str>,
    /// What may be left out so that the same conversation is taken.
    pub remedy: Option<Remedy>,
}

/// The body of a refused request.
pub(super) fn read(status: u16, body: &[u8]) -> ServiceFailure {
    let text = String::from_utf8_lossy(body);
    let told = match serde_json::from_str::<Value>(&text) {
        Ok(value) => ErrorBody::of(&value),
        Err(_) => ErrorBody::words(&text),
    };
    // An error that comes with a good status has said nothing by it.
    let (kind, advice) = told.kind(Some(status).filter(|status| *status >= 300));
    let message = match told.message.is_empty() {
        true => format!("HTTP status {status} without an explanation"),
        false => told.message,
    };
    ServiceFailure {
        kind,
        message,
        advice,
        remedy: remedy(kind, &text),
    }
}

/// An error told within a stream.
pub(super) fn told(value: &Value) -> ProviderError {
    told_or(value, ErrorKind::Other)
}

/// An error told within a stream; of this kind when it says nothing of its kind.
pub(super) fn told_or(value: &Value, unknown: ErrorKind) -> ProviderError {
    let told = ErrorBody::of(value);
    let kind = match told.kind(told.status).0 {
        ErrorKind::Other => unknown,
        kind => kind,
    };
    let message = match told.message.is_empty() {
        true => "the provider ended the answer with an error it does not explain".to_owned(),
        false => told.message,
    };
    ProviderError::new(kind, message)
}

/// What else is to be known of an error that a stream told in these words.
pub(crate) fn in_words(error: &ProviderError) -> (Option<&'static str>, Option<Remedy>) {
    let words = error.message.to_lowercase();
    let rule = RULES.iter().find(|rule| rule.fits(None, &[], &words));
    let advice = rule
        .filter(|rule| rule.kind == error.kind)
        .and_then(|rule| rule.advice);
    (advice, remedy(error.kind, &error.message))
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
    /// All of it that is read, in small letters.
    words: String,
    /// Every word by which formats name a kind of error, in small letters.
    tags: Vec<String>,
    /// A number given as code within a stream.
    status: Option<u16>,
}

impl ErrorBody {
    fn words(text: &str) -> Self {
        Self::new(&without_markup(text), Vec::new(), None)
    }

    fn new(sentence: &str, tags: Vec<String>, status: Option<u16>) -> Self {
        let read = &sentence[..sentence.floor_char_boundary(READ_BYTES_MAX)];
        let words: Vec<&str> = read.split_whitespace().collect();
        Self {
            message: clean(sentence),
            words: words.join(" ").to_lowercase(),
            tags,
            status,
        }
    }

    fn of(value: &Value) -> Self {
        // Google answers a list where a stream was asked for.
        let value = value.get(0).unwrap_or(value);
        let error = match &value["error"] {
            Value::Null => value,
            error => error,
        };
        let number = error["code"].as_u64();
        let status = number.and_then(|code| u16::try_from(code).ok());
        let status = status.filter(|code| (100..600).contains(code));
        let mut sentence = sentence(value, error);
        // ChatGPT.
        if let Some(plan) = error["plan_type"].as_str() {
            sentence = Cow::Owned(format!("{sentence} ({plan} plan)"));
        }
        let mut tags = tags(value, error);
        if let (None, Some(number)) = (status, number) {
            tags.push(number.to_string());
        }
        Self::new(&sentence, tags, status)
    }

    /// With what to do about it, where that is known better than by the kind.
    fn kind(&self, status: Option<u16>) -> (ErrorKind, Option<&'static str>) {
        let mut rules = RULES.iter();
        match rules.find(|rule| rule.fits(status, &self.tags, &self.words)) {
            Some(rule) => (rule.kind, rule.advice),
            None => {
                let kind = status.and_then(kind_by_status);
                (kind.unwrap_or(ErrorKind::Other), None)
            }
        }
    }
}

/// Every word by which a body names the kind of its error.
fn tags(value: &Value, error: &Value) -> Vec<String> {
    let details = &error["details"];
    let fields = [
        &error["type"],
        &error["code"],
        &error["status"],
        // Anthropic.
        &details["error_code"],
        // Where `error` is no more than a sentence.
        &value["type"],
        &value["code"],
    ];
    let named = fields.iter().filter_map(|field| field.as_str());
    let reasons = details.as_array().into_iter().flatten();
    let reasons = reasons.filter_map(|each| each["reason"].as_str());
    let mut tags: Vec<String> = named.chain(reasons).map(str::to_ascii_lowercase).collect();
    // Google tells a limit per minute from one per day only in the details.
    if details.to_string().contains("PerDay") {
        tags.push("quota_per_day".to_owned());
    }
    tags
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
fn sentence<'a>(value: &'a Value, error: &'a Value) -> Cow<'a, str> {
    let places = [
        // What stands behind a router's own "Provider returned error".
        error.pointer("/metadata/raw"),
        error.get("message"),
        Some(error),
        value.get("message"),
        value.get("detail"),
    ];
    let mut words = places.into_iter().flatten().filter_map(Value::as_str);
    if let Some(words) = words.find(|text| !text.trim().is_empty()) {
        return Cow::Borrowed(words);
    }
    // Mistral wraps what its validator says in the message.
    let validated = [
        error.pointer("/message/detail/0"),
        value.pointer("/detail/0"),
    ];
    if let Some(problem) = validated.into_iter().flatten().next() {
        return Cow::Owned(validation(problem));
    }
    match error.get("message") {
        Some(message) if message.is_object() => Cow::Owned(message.to_string()),
        Some(_) | None => Cow::Borrowed(""),
    }
}

/// What a validator of requests says: where, and what is wrong there.
fn validation(problem: &Value) -> String {
    let place = problem["loc"].as_array().into_iter().flatten();
    let place: Vec<String> = place
        .map(|step| match step.as_str() {
            Some(name) => name.to_owned(),
            None => step.to_string(),
        })
        .collect();
    let words = problem["msg"].as_str().unwrap_or_default();
    match place.is_empty() {
        true => words.to_owned(),
        false => format!("{}: {words}", place.join(".")),
    }
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
