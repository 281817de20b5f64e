//! The catalog's TOML: its keys, and what is said when one is wrong.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::{LocalApi, Price};
use crate::format::{Quirks, Wire};

/// The most bytes a catalog file may have.
pub const CATALOG_BYTES_MAX: u64 = 1024 * 1024;

/// A catalog file as written. Everything but ids may be absent: an own file names only what it
/// adds or changes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub provider: Vec<ProviderEntry>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEntry {
    pub id: String,
    pub name: Option<String>,
    pub wire: Option<Wire>,
    pub base_url: Option<String>,
    pub base_url_env: Option<Vec<String>>,
    /// Variables that hold only a host and port, as servers on this machine use them.
    pub host_env: Option<Vec<String>>,
    pub key_env: Option<Vec<String>>,
    /// Variables that name a credential file of Google's: of a service account, or of a sign-in.
    pub google_file_env: Option<Vec<String>>,
    /// What it is called in the signatures of AWS; with it, the keys of such an account are used.
    pub aws_service: Option<String>,
    /// Variables that hold a token which is sent as a bearer's, whatever the format's own way is.
    pub bearer_env: Option<Vec<String>>,
    /// Where a key is used, when a sign-in is used elsewhere.
    pub key_base_url: Option<String>,
    pub key_base_url_env: Option<Vec<String>>,
    pub keyless: Option<bool>,
    /// Where it lists its models, below the base URL.
    pub models_path: Option<String>,
    /// Whether its list has every model it takes. At another address than the usual the built-in
    /// catalog does not know: there may be a gateway, with names of its own.
    pub lists_all: Option<bool>,
    pub local_api: Option<LocalApi>,
    /// The header that carries a key, where it is not the one of the wire; `authorization` carries
    /// it as a bearer token.
    pub key_header: Option<String>,
    /// Whether a key in the environment does not make it the provider that is used when none is
    /// named: the variable is often there for something else.
    pub by_name_only: Option<bool>,
    pub headers: Option<Headers>,
    pub small_model: Option<String>,
    /// Models that are gone, and what takes their place.
    #[serde(default)]
    pub retired: BTreeMap<String, String>,
    pub auth: Option<Vec<AuthEntry>>,
    pub oauth: Option<OAuthEntry>,
    #[serde(default)]
    pub quirks: Quirks,
    #[serde(default)]
    pub model: Vec<ModelEntry>,
}

/// Headers by name. A value may be a secret, so it is never shown.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Headers(pub BTreeMap<String, String>);

impl fmt::Debug for Headers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthEntry {
    pub id: String,
    pub kind: AuthMethodKind,
    pub label: String,
    /// The tool a `tool_key` is for.
    pub tool: Option<String>,
}

/// What a sign-in method asks of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethodKind {
    /// A key of this provider.
    Key,
    /// A key of a tool that is shown beside this provider.
    ToolKey,
    /// Signing in with a browser on this machine.
    Browser,
    /// Signing in with a code, on any machine.
    Device,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthEntry {
    pub issuer: Option<String>,
    pub issuer_env: Option<Vec<String>>,
    pub client_id: Option<String>,
    pub scopes: Option<String>,
    pub callback_ports: Option<Vec<u16>>,
    pub parameters: Option<BTreeMap<String, String>>,
    /// Sent with every request that a sign-in pays for.
    pub headers: Option<Headers>,
    pub account_header: Option<String>,
    /// The version of the client whose sign-in this is, where the service wants one: it is sent as
    /// `version`, and the list of models is asked for with it.
    pub client_version: Option<String>,
    /// Absolute, or joined to the issuer.
    pub authorize_url: Option<String>,
    pub token_url: Option<String>,
    /// With it the device flow is that of RFC 8628; without it, that of the public Codex CLI.
    pub device_authorization_url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    pub id: String,
    pub name: Option<String>,
    pub context: Option<u64>,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub price: Option<Price>,
    pub efforts: Option<Vec<String>>,
    pub default_effort: Option<String>,
    pub vision: Option<bool>,
    pub tools: Option<bool>,
    #[serde(default, deserialize_with = "date")]
    pub retires: Option<String>,
    pub successor: Option<String>,
    #[serde(default)]
    pub quirks: Quirks,
}

/// The numbers of the built-in catalog, as `cargo xtask catalog` writes them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumbersFile {
    /// The day they were gathered.
    pub date: String,
    /// Where, with versions.
    pub sources: Vec<String>,
    pub provider: Vec<ProviderEntry>,
}

/// A day, as `2026-11-30`.
fn date<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(input)?;
    match text.parse::<Date>() {
        Ok(_) if text.len() == "2026-11-30".len() => Ok(Some(text)),
        Ok(_) | Err(_) => Err(D::Error::custom("a day is written as 2026-11-30")),
    }
}

/// Why a catalog file was not used. It never repeats a value of the file: a header may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct FileError {
    pub line: usize,
    pub what: String,
}

impl File {
    pub fn parse(text: &str) -> Result<File, FileError> {
        let file: File = toml::from_str(text).map_err(|error| describe(text, &error))?;
        for provider in &file.provider {
            check_id(text, &provider.id)?;
        }
        Ok(file)
    }
}

/// An id becomes part of a variable's and of a lock file's name.
fn check_id(text: &str, id: &str) -> Result<(), FileError> {
    let fine = !id.is_empty()
        && id.len() <= 64
        && id.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte)
        });
    if fine {
        return Ok(());
    }
    let at = text.find(&format!("{id:?}")).unwrap_or(0);
    Err(FileError {
        line: line_of(text, at),
        what: "a provider's id is made of small letters, digits and `-_.`".to_owned(),
    })
}

fn describe(text: &str, error: &toml::de::Error) -> FileError {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let message = without_values(error.message());
    let what = match unknown_key(&message) {
        Some((key, known)) => {
            let nearest = known
                .iter()
                .map(|each| (strsim::damerau_levenshtein(key, each), *each))
                .min()
                .filter(|(distance, _)| *distance <= key.len().max(3) / 2);
            match nearest {
                Some((_, nearest)) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
                None => format!("unknown key `{key}`; known are {}", known.join(", ")),
            }
        }
        None => message,
    };
    FileError { line, what }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// The key and the keys there are, out of serde's "unknown field `x`, expected one of `a`, `b`".
fn unknown_key(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, rest) = rest.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2).collect();
    Some((key, known))
}

/// The parser's words quote the offending value; that is cut out.
fn without_values(message: &str) -> String {
    let mut pieces = message.split('"');
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    if let Some(last) = pieces.next_back() {
        kept.push_str("\"…\"");
        kept.push_str(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let error = File::parse(text).expect_err("a broken file");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        check_error(
            "[[provider]]\nid = \"mine\"\nbase_ulr = \"http://x\"\n",
            "line 3: unknown key `base_ulr`; did you mean `base_url`?",
        );
        check_error(
            "[[providers]]\nid = \"mine\"\n",
            "line 1: unknown key `providers`; did you mean `provider`?",
        );
        check_error(
            "[[provider]]\nid = \"a\"\n\n[[provider.model]]\nid = \"m\"\nprice = { inptu = 1, output = 2 }\n",
            "line 6: unknown key `inptu`; did you mean `input`?",
        );
    }

    #[test]
    fn a_wrong_value_is_not_repeated() {
        let text = "[[provider]]\nid = \"a\"\nkeyless = \"sk-very-secret\"\n";
        let error = File::parse(text).expect_err("a broken file").to_string();
        assert!(error.starts_with("line 3: invalid type: string"), "{error}");
        assert!(!error.contains("sk-very"), "{error}");
        let text = "[[provider]]\nid = \"a\"\nheaders = { a = \"x\"y\"sk-very-secret\" }\n";
        let error = File::parse(text).expect_err("a broken file").to_string();
        assert!(!error.contains("sk-very"), "{error}");
    }

    #[test]
    fn the_end_of_a_model_is_a_day() {
        let text = |day| {
            format!(
                "[[provider]]\nid = \"a\"\n[[provider.model]]\nid = \"m\"\nretires = \"{day}\"\n"
            )
        };
        check_error(
            &text("30.11.2026"),
            "line 5: a day is written as 2026-11-30",
        );
        check_error(
            &text("2026-02-30"),
            "line 5: a day is written as 2026-11-30",
        );
        let file = File::parse(&text("2026-11-30")).expect("a file");
        let model = &file.provider[0].model[0];
        assert_eq!(model.retires.as_deref(), Some("2026-11-30"));
    }

    #[test]
    fn an_id_must_be_fit_for_a_file_name() {
        check_error(
            "[[provider]]\nid = \"../x\"\n",
            "line 2: a provider's id is made of small letters, digits and `-_.`",
        );
    }
}
