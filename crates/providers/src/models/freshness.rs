//! Keeps what providers list themselves from growing old, without anybody waiting for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::check::{self, CheckTerms};
use super::provider_set::{CheckResult, RemoteProvider};
use super::remote_models::RemoteModels;

/// How long a list is good.
const LIST_AGE: Duration = Duration::from_secs(24 * 3600);
/// The same for a server on this machine: what it tells of a model changes when it loads it.
const LOCAL_AGE: Duration = Duration::from_secs(30);
/// When a service that gave no list is asked again.
const RETRY_AGE: Duration = Duration::from_secs(600);

impl RemoteModels {
    /// Asks a provider that is used for its list, in the background, if the last one is old.
    pub(super) fn keep_current(&self, remote_provider: &Arc<RemoteProvider>) {
        if !self.keeps_lists() || !remote_provider.is_due() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let credential = self.credential(remote_provider).unwrap_or_default();
        let Some(asking) = self.asking(remote_provider, credential.as_ref()) else {
            return;
        };
        remote_provider.due_in(RETRY_AGE);
        let provider_set = Arc::clone(self.provider_set());
        let remote_provider = Arc::clone(remote_provider);
        runtime.spawn(async move {
            let asking = CheckTerms {
                limit: check::CHECK_LIMIT,
                ..asking
            };
            let credential = credential.as_ref();
            let found = check::ask(&provider_set, &remote_provider, credential, asking).await;
            match found {
                CheckResult::Accepted { .. } if remote_provider.endpoint.keyless => {
                    remote_provider.due_in(LOCAL_AGE);
                }
                CheckResult::Accepted { .. } => remote_provider.due_in(LIST_AGE),
                CheckResult::NotAccepted(_) | CheckResult::Unknown(_) => {}
            }
        });
    }

    /// The same at once, because somebody has just signed in.
    pub(super) fn ask_anew(&self, provider: &str) {
        if let Some(remote_provider) = self.provider_set().remote_provider(provider) {
            remote_provider.due_in(Duration::ZERO);
            self.keep_current(remote_provider);
        }
    }
}

impl RemoteProvider {
    fn is_due(&self) -> bool {
        let due = *self.list_due.lock();
        due.is_none_or(|due| due <= Instant::now())
    }

    fn due_in(&self, after: Duration) {
        *self.list_due.lock() = Some(Instant::now() + after);
    }
}
