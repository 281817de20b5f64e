//! What is said of a provider's credentials.

use std::collections::BTreeMap;

use vocabulary::{AuthMode, ProviderStatus, Timestamp};

use super::account_authorizer::how_to_connect;
use super::provider_set::{CheckResult, CredentialCheck};
use crate::accounts::connections::{ConnectionsError, Saved};
use crate::accounts::{Credential, CredentialSource, Proof, mask};
use crate::catalog::address;
use crate::catalog::file::AuthMethodKind;
use crate::catalog::merged::CatalogEntry;

/// All that is known of one provider at this moment.
pub struct StatusFacts<'a> {
    pub entry: &'a CatalogEntry,
    pub credential: Result<Option<Credential>, ConnectionsError>,
    /// A sign-in is under way.
    pub pending: bool,
    pub check: Option<CredentialCheck>,
    pub saved: Option<&'a Saved>,
    pub now_ms: i64,
}

pub fn status(facts: StatusFacts<'_>) -> ProviderStatus {
    let result = facts.check.as_ref().map(|check| &check.result);
    let keyless = facts
        .entry
        .provider
        .endpoint
        .as_ref()
        .is_some_and(|endpoint| endpoint.keyless);
    let accepted = matches!(result, Some(CheckResult::Accepted { .. }));
    let (mode, authorized, message) = match &facts.credential {
        Err(error) => (AuthMode::Error, false, error.to_string()),
        Ok(Some(credential)) => {
            let mode = mode(&credential.proof, result);
            (mode, true, with_credential(credential, result))
        }
        Ok(None) if facts.pending => {
            let words = "Waiting for the sign-in to be completed".to_owned();
            (AuthMode::OAuthPending, false, words)
        }
        // No key is as good as a key here, and there is no word for it on the wire.
        Ok(None) if keyless && accepted => (AuthMode::ApiKey, true, running(result)),
        Ok(None) if keyless => (AuthMode::Missing, false, not_running(facts.entry)),
        Ok(None) => (AuthMode::Missing, false, how_to_connect(facts.entry)),
    };
    let account = match &facts.credential {
        Ok(Some(Credential {
            proof: Proof::Tokens(tokens),
            ..
        })) => tokens.account(),
        Ok(_) | Err(_) => None,
    };
    ProviderStatus {
        provider: facts.entry.provider.id.clone(),
        mode,
        authorized,
        verified: authorized && accepted,
        account,
        message: with_trouble(message, facts.entry),
        masks: facts
            .saved
            .map(|saved| masks(facts.entry, saved))
            .unwrap_or_default(),
        checked_at: Timestamp(facts.check.map_or(facts.now_ms, |check| check.at_ms)),
    }
}

fn mode(proof: &Proof, result: Option<&CheckResult>) -> AuthMode {
    match (proof, result) {
        (Proof::Key(_) | Proof::AwsKeys(_), _) => AuthMode::ApiKey,
        (Proof::Tokens(_) | Proof::GoogleFile(_), Some(CheckResult::NotAccepted(_))) => {
            AuthMode::Error
        }
        (Proof::Tokens(_) | Proof::GoogleFile(_), _) => AuthMode::OAuth,
    }
}

fn with_credential(credential: &Credential, result: Option<&CheckResult>) -> String {
    match result {
        Some(CheckResult::Accepted {
            models: Some(count),
            warning,
        }) => with_warning(format!("Verified: {}", counted(*count)), warning.as_deref()),
        Some(CheckResult::Accepted { models: None, .. }) => "Signed in".to_owned(),
        Some(CheckResult::NotAccepted(words)) => words.clone(),
        Some(CheckResult::Unknown(words)) => format!("Not verified: {words}"),
        None => match (&credential.source, &credential.proof) {
            (CredentialSource::Saved { .. }, Proof::Key(_) | Proof::AwsKeys(_)) => {
                "Key saved, not verified yet".to_owned()
            }
            (CredentialSource::Saved { .. }, Proof::Tokens(_) | Proof::GoogleFile(_)) => {
                "Signed in, not verified yet".to_owned()
            }
            (CredentialSource::Environment { variable }, _) => {
                format!("{variable} is set, not verified yet")
            }
            (CredentialSource::CodexHome, _) => {
                "Signed in with the Codex CLI, not verified yet".to_owned()
            }
            (CredentialSource::SharedByOperator, _) => {
                "The server's operator shares a key, not verified yet".to_owned()
            }
        },
    }
}

fn running(result: Option<&CheckResult>) -> String {
    match result {
        Some(CheckResult::Accepted {
            models: Some(count),
            warning,
        }) => {
            let words = format!("Running, no key needed: {}", counted(*count));
            with_warning(words, warning.as_deref())
        }
        Some(_) | None => "Running, no key needed".to_owned(),
    }
}

fn with_warning(words: String, warning: Option<&str>) -> String {
    match warning {
        Some(warning) => format!("{words}; {warning}"),
        None => words,
    }
}

fn counted(models: usize) -> String {
    match models {
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    }
}

pub fn not_running(entry: &CatalogEntry) -> String {
    let endpoint = entry.provider.endpoint.as_ref();
    let at = endpoint
        .map(|endpoint| address::shown(&endpoint.base_url))
        .unwrap_or_default();
    format!("Not running: no answer at {at}")
}

fn with_trouble(message: String, entry: &CatalogEntry) -> String {
    match &entry.broken {
        Some(broken) => format!("Cannot be used: {broken}"),
        None => message,
    }
}

/// Saved keys by sign-in method.
fn masks(entry: &CatalogEntry, saved: &Saved) -> BTreeMap<String, String> {
    let service = saved.services.get(&entry.provider.id);
    let of = |method: &crate::catalog::merged::Method| match method.kind {
        AuthMethodKind::Key => service?.api_key.as_ref().map(mask),
        AuthMethodKind::ToolKey => saved.tool_keys.get(method.tool.as_deref()?).map(mask),
        AuthMethodKind::Browser | AuthMethodKind::Device => None,
    };
    let masked = entry
        .methods
        .iter()
        .filter_map(|each| Some((each.id.clone(), of(each)?)));
    masked.collect()
}
