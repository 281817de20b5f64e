//! What is said of a provider's credentials.

use std::collections::BTreeMap;

use super::key_ring::how_to_connect;
use super::shelf::{Check, Finding};
use super::{Mode, Status};
use crate::accounts::connections::{ConnectionsError, Saved};
use crate::accounts::{Credential, Proof, Source, mask};
use crate::catalog::address;
use crate::catalog::book::Entry;
use crate::catalog::file::MethodKind;

/// All that is known of one provider at this moment.
pub struct Facts<'a> {
    pub entry: &'a Entry,
    pub credential: Result<Option<Credential>, ConnectionsError>,
    /// A sign-in is under way.
    pub pending: bool,
    pub check: Option<Check>,
    pub saved: Option<&'a Saved>,
    pub now_ms: i64,
}

pub fn status(facts: Facts<'_>) -> Status {
    let finding = facts.check.as_ref().map(|check| &check.finding);
    let keyless = facts
        .entry
        .provider
        .reach
        .as_ref()
        .is_some_and(|reach| reach.keyless);
    let accepted = matches!(finding, Some(Finding::Accepted { .. }));
    let (mode, authorized, message) = match &facts.credential {
        Err(error) => (Mode::Error, false, error.to_string()),
        Ok(Some(credential)) => {
            let mode = mode(&credential.proof, finding);
            (mode, true, with_credential(credential, finding))
        }
        Ok(None) if facts.pending => {
            let words = "Waiting for the sign-in to be completed".to_owned();
            (Mode::OAuthPending, false, words)
        }
        // No key is as good as a key here, and there is no word for it on the wire.
        Ok(None) if keyless && accepted => (Mode::ApiKey, true, running(finding)),
        Ok(None) if keyless => (Mode::Missing, false, not_running(facts.entry)),
        Ok(None) => (Mode::Missing, false, how_to_connect(facts.entry)),
    };
    let account = match &facts.credential {
        Ok(Some(Credential {
            proof: Proof::Tokens(tokens),
            ..
        })) => tokens.account(),
        Ok(_) | Err(_) => None,
    };
    Status {
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
        checked_at: facts.check.map_or(facts.now_ms, |check| check.at_ms),
    }
}

fn mode(proof: &Proof, finding: Option<&Finding>) -> Mode {
    match (proof, finding) {
        (Proof::Key(_), _) => Mode::ApiKey,
        (Proof::Tokens(_), Some(Finding::NotAccepted(_))) => Mode::Error,
        (Proof::Tokens(_), _) => Mode::OAuth,
    }
}

fn with_credential(credential: &Credential, finding: Option<&Finding>) -> String {
    match finding {
        Some(Finding::Accepted {
            models: Some(count),
        }) => format!("Verified: {}", counted(*count)),
        Some(Finding::Accepted { models: None }) => "Signed in".to_owned(),
        Some(Finding::NotAccepted(words)) => words.clone(),
        Some(Finding::Unknown(words)) => format!("Not verified: {words}"),
        None => match (&credential.source, &credential.proof) {
            (Source::Saved { .. }, Proof::Key(_)) => "Key saved, not verified yet".to_owned(),
            (Source::Saved { .. }, Proof::Tokens(_)) => "Signed in, not verified yet".to_owned(),
            (Source::Environment { variable }, _) => format!("{variable} is set, not verified yet"),
            (Source::CodexHome, _) => "Signed in with the Codex CLI, not verified yet".to_owned(),
        },
    }
}

fn running(finding: Option<&Finding>) -> String {
    match finding {
        Some(Finding::Accepted {
            models: Some(count),
        }) => {
            format!("Running, no key needed: {}", counted(*count))
        }
        Some(_) | None => "Running, no key needed".to_owned(),
    }
}

fn counted(models: usize) -> String {
    match models {
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    }
}

pub fn not_running(entry: &Entry) -> String {
    let reach = entry.provider.reach.as_ref();
    let at = reach
        .map(|reach| address::shown(&reach.base_url))
        .unwrap_or_default();
    format!("Not running: no answer at {at}")
}

fn with_trouble(message: String, entry: &Entry) -> String {
    match &entry.broken {
        Some(broken) => format!("Cannot be used: {broken}"),
        None => message,
    }
}

/// Saved keys by sign-in method.
fn masks(entry: &Entry, saved: &Saved) -> BTreeMap<String, String> {
    let service = saved.services.get(&entry.provider.id);
    let of = |method: &crate::catalog::book::Method| match method.kind {
        MethodKind::Key => service?.api_key.as_ref().map(mask),
        MethodKind::ToolKey => saved.tool_keys.get(method.tool.as_deref()?).map(mask),
        MethodKind::Browser | MethodKind::Device => None,
    };
    let masked = entry
        .methods
        .iter()
        .filter_map(|each| Some((each.id.clone(), of(each)?)));
    masked.collect()
}
