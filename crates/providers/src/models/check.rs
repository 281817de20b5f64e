//! Asks providers whether they accept us, cheaply: for their list of models.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::live;
use super::provider_set::{CheckResult, CredentialCheck, ProviderSet, RemoteProvider};
use crate::accounts::renewal::RenewalError;
use crate::accounts::{Credential, CredentialSource, Proof, now_ms};
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
pub struct CheckTerms {
    pub limit: Duration,
    /// How old a finding may be to do as well.
    pub age: Duration,
}

/// Differs when the credential or the address does. It never leaves the process.
pub fn fingerprint(remote_provider: &RemoteProvider, credential: Option<&Credential>) -> u64 {
    let mut hasher = DefaultHasher::new();
    remote_provider.endpoint.base_url.hash(&mut hasher);
    match credential.map(|credential| &credential.proof) {
        None => 0.hash(&mut hasher),
        Some(Proof::Key(key)) => key.expose_secret().hash(&mut hasher),
        // Not the tokens: a renewal does not change who it is, and a new sign-in has a new time.
        Some(Proof::Tokens(tokens)) => tokens.account_id.hash(&mut hasher),
    }
    if let Some(CredentialSource::Saved { at }) = credential.map(|credential| &credential.source) {
        at.hash(&mut hasher);
    }
    hasher.finish()
}

/// The last finding, if it is about this credential.
pub fn last(
    remote_provider: &RemoteProvider,
    credential: Option<&Credential>,
) -> Option<CredentialCheck> {
    let fingerprint = fingerprint(remote_provider, credential);
    let check = remote_provider.check.lock().clone();
    check.filter(|check| check.fingerprint == fingerprint)
}

/// Asks, unless it was asked a moment ago. One question at a time for each provider.
pub async fn ask(
    provider_set: &ProviderSet,
    remote_provider: &RemoteProvider,
    credential: Option<&Credential>,
    asking: CheckTerms,
) -> CheckResult {
    let _one = remote_provider.checking.lock().await;
    if let Some(check) = last(remote_provider, credential)
        && check.at.elapsed() < asking.age
    {
        return check.result;
    }
    let question = question(provider_set, remote_provider, credential, asking.limit);
    let result = match tokio::time::timeout(asking.limit, question).await {
        Ok(result) => result,
        Err(_) => {
            CheckResult::Unknown(format!("no answer within {} s", asking.limit.as_secs_f32()))
        }
    };
    *remote_provider.check.lock() = Some(CredentialCheck {
        fingerprint: fingerprint(remote_provider, credential),
        at: Instant::now(),
        at_ms: now_ms(),
        result: result.clone(),
    });
    result
}

async fn question(
    provider_set: &ProviderSet,
    remote_provider: &RemoteProvider,
    credential: Option<&Credential>,
    limit: Duration,
) -> CheckResult {
    // The service behind a sign-in has no list; its authorisation server has accepted the token,
    // now or when it was issued, and renews one that has ended.
    if matches!(credential.map(|each| &each.proof), Some(Proof::Tokens(_))) {
        return match remote_provider.authorizer.fresh(false).await {
            Ok(_) => CheckResult::Accepted { models: None },
            Err(RenewalError::Ended(what)) => {
                CheckResult::NotAccepted(format!("The sign-in has ended: {what}"))
            }
            Err(RenewalError::Missing) => {
                CheckResult::NotAccepted("The sign-in is gone".to_owned())
            }
            Err(RenewalError::Unreadable(what) | RenewalError::Unavailable(what)) => {
                CheckResult::Unknown(what)
            }
        };
    }
    let wire = remote_provider.endpoint.wire;
    let body = remote_provider.remote.get(wire.models_path(), limit).await;
    match body.and_then(|body| wire.read_models(&body)) {
        Ok(listed) => {
            let listed = live::kept(listed);
            let models = Some(listed.len());
            provider_set.learn(&remote_provider.entry.provider.id, listed);
            CheckResult::Accepted { models }
        }
        Err(error) => refused(&error),
    }
}

fn refused(error: &ProviderError) -> CheckResult {
    let status = error
        .status
        .map(|status| format!(" (HTTP {status})"))
        .unwrap_or_default();
    if error.kind == ErrorKind::Auth {
        return CheckResult::NotAccepted(format!("The key was not accepted{status}"));
    }
    CheckResult::Unknown(error.message.clone())
}
