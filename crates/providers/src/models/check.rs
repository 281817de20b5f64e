//! Asks providers whether they accept us, cheaply: for their list of models.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::live;
use super::shelf::{Check, Finding, Reached, Shelf};
use crate::accounts::renewal::Lapse;
use crate::accounts::{Credential, Proof, Source, now_ms};
use crate::{ErrorKind, ProviderError};

/// How long one provider may take.
pub const CHECK_LIMIT: Duration = Duration::from_secs(5);
/// The same for a server on this machine.
pub const LOCAL_LIMIT: Duration = Duration::from_millis(1000);
/// The same when somebody waits for a default model.
pub const PROBE_LIMIT: Duration = Duration::from_millis(250);
/// A finding younger than this is not asked for again.
pub const CHECK_AGE: Duration = Duration::from_secs(30);
pub const PROBE_AGE: Duration = Duration::from_secs(10);

/// How to ask.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    pub limit: Duration,
    /// How old a finding may be to do as well.
    pub age: Duration,
}

/// Differs when the credential or the address does. It never leaves the process.
pub fn fingerprint(reached: &Reached, credential: Option<&Credential>) -> u64 {
    let mut hasher = DefaultHasher::new();
    reached.reach.base_url.hash(&mut hasher);
    match credential.map(|credential| &credential.proof) {
        None => 0.hash(&mut hasher),
        Some(Proof::Key(key)) => key.expose_secret().hash(&mut hasher),
        // Not the tokens: a renewal does not change who it is, and a new sign-in has a new time.
        Some(Proof::Tokens(tokens)) => tokens.account_id.hash(&mut hasher),
    }
    if let Some(Source::Saved { at }) = credential.map(|credential| &credential.source) {
        at.hash(&mut hasher);
    }
    hasher.finish()
}

/// The last finding, if it is about this credential.
pub fn last(reached: &Reached, credential: Option<&Credential>) -> Option<Check> {
    let fingerprint = fingerprint(reached, credential);
    let check = reached.check.lock().clone();
    check.filter(|check| check.fingerprint == fingerprint)
}

/// Asks, unless it was asked a moment ago. One question at a time for each provider.
pub async fn ask(
    shelf: &Shelf,
    reached: &Reached,
    credential: Option<&Credential>,
    asking: Asking,
) -> Finding {
    let _one = reached.checking.lock().await;
    if let Some(check) = last(reached, credential)
        && check.at.elapsed() < asking.age
    {
        return check.finding;
    }
    let question = question(shelf, reached, credential, asking.limit);
    let finding = match tokio::time::timeout(asking.limit, question).await {
        Ok(finding) => finding,
        Err(_) => Finding::Unknown(format!("no answer within {} s", asking.limit.as_secs_f32())),
    };
    *reached.check.lock() = Some(Check {
        fingerprint: fingerprint(reached, credential),
        at: Instant::now(),
        at_ms: now_ms(),
        finding: finding.clone(),
    });
    finding
}

async fn question(
    shelf: &Shelf,
    reached: &Reached,
    credential: Option<&Credential>,
    limit: Duration,
) -> Finding {
    // The service behind a sign-in has no list; its authorisation server has accepted the token,
    // now or when it was issued, and renews one that has ended.
    if matches!(credential.map(|each| &each.proof), Some(Proof::Tokens(_))) {
        return match reached.key_ring.fresh(false).await {
            Ok(_) => Finding::Accepted { models: None },
            Err(Lapse::Ended(what)) => {
                Finding::NotAccepted(format!("The sign-in has ended: {what}"))
            }
            Err(Lapse::Missing) => Finding::NotAccepted("The sign-in is gone".to_owned()),
            Err(Lapse::Unreadable(what) | Lapse::Trouble(what)) => Finding::Unknown(what),
        };
    }
    let wire = reached.reach.wire;
    let body = reached.remote.get(wire.models_path(), limit).await;
    match body.and_then(|body| wire.read_models(&body)) {
        Ok(listed) => {
            let listed = live::kept(listed);
            let models = Some(listed.len());
            shelf.learn(&reached.entry.provider.id, listed);
            Finding::Accepted { models }
        }
        Err(error) => refused(&error),
    }
}

fn refused(error: &ProviderError) -> Finding {
    let status = error
        .status
        .map(|status| format!(" (HTTP {status})"))
        .unwrap_or_default();
    if error.kind == ErrorKind::Auth {
        return Finding::NotAccepted(format!("The key was not accepted{status}"));
    }
    Finding::Unknown(error.message.clone())
}
