//! Asks providers whether they accept us, cheaply: for their list of models.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::provider_set::{CheckResult, CredentialCheck, ProviderSet, RemoteProvider};
use super::{live, local_facts};
use crate::accounts::http;
use crate::accounts::renewal::RenewalError;
use crate::accounts::{Credential, CredentialSource, Proof, now_ms};
use crate::format::ListedModel;
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
/// The most pages of one list.
const PAGES_MAX: usize = 10;

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
        Some(Proof::GoogleFile(path)) => path.hash(&mut hasher),
        Some(Proof::AwsKeys(keys)) => keys.id.hash(&mut hasher),
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
    if let CheckResult::Accepted {
        warning: Some(words),
        ..
    } = &result
        && last(remote_provider, credential).is_none_or(|before| before.result != result)
    {
        tracing::warn!(provider = remote_provider.entry.provider.id, "{words}");
    }
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
    let started = Instant::now();
    let proof = credential.map(|each| &each.proof);
    let signed_in = matches!(proof, Some(Proof::Tokens(_) | Proof::GoogleFile(_)));
    if signed_in {
        match remote_provider.authorizer.fresh(false).await {
            Ok(_) => {}
            Err(RenewalError::Ended(what)) => {
                return CheckResult::NotAccepted(format!("The sign-in has ended: {what}"));
            }
            Err(RenewalError::Missing) => {
                return CheckResult::NotAccepted("The sign-in is gone".to_owned());
            }
            Err(RenewalError::Unreadable(what) | RenewalError::Unavailable(what)) => {
                return CheckResult::Unknown(what);
            }
        }
    }
    match list(remote_provider, signed_in, limit).await {
        Ok(listed) => {
            let left = limit.saturating_sub(started.elapsed());
            accepted(provider_set, remote_provider, listed, left).await
        }
        Err(error) if signed_in && error.status != Some(401) => {
            // The authorisation server has accepted the token; not every service has a list.
            tracing::debug!(
                provider = remote_provider.entry.provider.id,
                status = error.status,
                kind = ?error.kind,
                "a list of models could not be had"
            );
            CheckResult::Accepted {
                models: None,
                warning: None,
            }
        }
        Err(error) => refused(&error),
    }
}

/// All pages of its list, as many as there may be.
async fn list(
    remote_provider: &RemoteProvider,
    signed_in: bool,
    limit: Duration,
) -> Result<Vec<ListedModel>, ProviderError> {
    let wire = remote_provider.endpoint.wire;
    let first = first_page(remote_provider, signed_in);
    let mut path = first.clone();
    let mut listed = Vec::new();
    for _ in 0..PAGES_MAX {
        let body = remote_provider.remote.get(&path, limit).await?;
        let page = wire.read_models(&body)?;
        listed.extend(page.models);
        let Some(next) = page.next else {
            break;
        };
        let query = http::form(&[(wire.page_parameter(), &next)]);
        let join = if first.contains('?') { '&' } else { '?' };
        path = format!("{first}{join}{query}");
    }
    Ok(listed)
}

fn first_page(remote_provider: &RemoteProvider, signed_in: bool) -> String {
    let endpoint = &remote_provider.endpoint;
    let usual = endpoint.wire.models_path();
    let oauth = remote_provider.entry.oauth.as_ref().filter(|_| signed_in);
    match oauth.and_then(|oauth| oauth.client_version.as_deref()) {
        Some(version) => format!("{usual}?{}", http::form(&[("client_version", version)])),
        None => endpoint.models_path.as_deref().unwrap_or(usual).to_owned(),
    }
}

async fn accepted(
    provider_set: &ProviderSet,
    remote_provider: &RemoteProvider,
    listed: Vec<ListedModel>,
    left: Duration,
) -> CheckResult {
    let mut listed = live::kept(listed);
    // Half of what is left: without an answer here the list itself is still worth having.
    local_facts::learn(remote_provider, &mut listed, left / 2).await;
    let models = Some(live::shown(&listed));
    let warning = local_facts::warning(remote_provider, &listed);
    provider_set.learn(&remote_provider.entry.provider.id, listed);
    CheckResult::Accepted { models, warning }
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
