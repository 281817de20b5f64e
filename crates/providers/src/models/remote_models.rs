//! Where providers over the network are asked for, checked and signed in to.

use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;
use secrecy::{ExposeSecret, SecretString};
use vocabulary::{AuthMode, Challenge, ProviderStatus};

use super::account_authorizer::how_to_connect;
use super::check::{self, CheckTerms};
use super::choice::{self, Candidate};
use super::provider_set::{CheckResult, ProviderSet, RemoteProvider};
use super::status::{self, StatusFacts};
use super::{ModelChoice, ModelsOptions, Obstacle, SignInError, SignInResult};
use crate::accounts::connections::{self, ConnectionsError};
use crate::accounts::sign_in::SignIns;
use crate::accounts::{
    Accounts, Credential, CredentialSource, Proof, cleaned_key, codex_home, now_ms,
};
use crate::catalog::file::AuthMethodKind;
use crate::catalog::merged::{CatalogEntry, Environment};
use crate::catalog::{self, ModelCatalog};
use crate::{ErrorKind, Provider, ProviderError};

const CHECK: CheckTerms = CheckTerms {
    limit: check::CHECK_LIMIT,
    age: check::CHECK_AGE,
};
const LOCAL_CHECK: CheckTerms = CheckTerms {
    limit: check::LOCAL_LIMIT,
    age: check::PROBE_AGE,
};
const PROBE: CheckTerms = CheckTerms {
    limit: check::PROBE_LIMIT,
    age: check::PROBE_AGE,
};

pub struct RemoteModels {
    options: ModelsOptions,
    environment: Arc<Environment>,
    accounts: Arc<Accounts>,
    sign_ins: SignIns,
    /// Opened when it is first needed.
    provider_set: OnceLock<Arc<ProviderSet>>,
}

impl RemoteModels {
    pub fn new(options: ModelsOptions) -> Self {
        let environment = Arc::new(options.environment.clone());
        let accounts = Accounts::new(
            options.home.join("auth"),
            options.codex_home.clone(),
            Arc::clone(&environment),
        );
        let shared = options.shared.as_ref().map(|home| home.join("auth"));
        let accounts = Arc::new(accounts.sharing(shared));
        Self {
            sign_ins: SignIns::new(Arc::clone(&accounts), options.second),
            options,
            environment,
            accounts,
            provider_set: OnceLock::new(),
        }
    }

    pub fn provider_set(&self) -> &Arc<ProviderSet> {
        self.provider_set.get_or_init(|| {
            let ModelsOptions { limits, .. } = &self.options;
            Arc::new(ProviderSet::open(
                self.options.catalog_home(),
                &self.environment,
                &self.accounts,
                limits,
            ))
        })
    }

    pub(super) fn keeps_lists(&self) -> bool {
        self.options.keep_lists
    }

    pub fn provider(&self, id: &str) -> Option<Arc<dyn Provider>> {
        let remote_provider = self.provider_set().remote_provider(id)?;
        self.keep_current(remote_provider);
        Some(Arc::new(remote_provider.remote.knowing(self.catalog())))
    }

    pub fn catalog(&self) -> Arc<ModelCatalog> {
        self.provider_set().catalog()
    }

    #[cfg(test)]
    pub fn has_read_the_catalog(&self) -> bool {
        self.provider_set.get().is_some()
    }

    pub fn tool_key(&self, tool: &str) -> Option<SecretString> {
        self.accounts.tool_key(tool)
    }

    pub fn saved_secrets(&self) -> Vec<SecretString> {
        self.accounts.saved_secrets()
    }

    pub fn warnings(&self) -> Vec<String> {
        // A server that nobody uses yet should not have read the whole catalog for this.
        let mut warnings =
            match ProviderSet::may_have_warnings(&self.options.home, &self.environment) {
                true => self.provider_set().warnings.clone(),
                false => Vec::new(),
            };
        let unread = self.accounts.connections.read().err();
        warnings.extend(unread.map(|error| error.to_string()));
        warnings
    }

    pub(super) fn credential(
        &self,
        remote_provider: &RemoteProvider,
    ) -> Result<Option<Credential>, ConnectionsError> {
        self.accounts.credential(&remote_provider.entry)
    }

    pub fn connected(&self, id: &str) -> bool {
        let Some(remote_provider) = self.provider_set().remote_provider(id) else {
            return false;
        };
        match self.credential(remote_provider) {
            Ok(Some(_)) => true,
            Ok(None) | Err(_) => remote_provider.endpoint.keyless && is_running(remote_provider),
        }
    }

    pub async fn obstacle(&self, id: &str) -> Option<Obstacle> {
        let provider_set = self.provider_set();
        let Some(remote_provider) = provider_set.remote_provider(id) else {
            let ids = provider_set
                .all_remote()
                .map(|each| each.entry.provider.id.as_str());
            let known: Vec<&str> = ids.collect();
            let words = format!(
                "there is no provider {id:?}; there are {}",
                known.join(", ")
            );
            return Some(Obstacle::Unknown(words));
        };
        let entry = &remote_provider.entry;
        let words = match (&entry.broken, self.credential(remote_provider)) {
            (Some(broken), _) => format!("{} cannot be used: {broken}", entry.provider.name),
            (None, Ok(Some(_))) => return None,
            (None, Err(error)) => error.to_string(),
            (None, Ok(None)) if !remote_provider.endpoint.keyless => how_to_connect(entry),
            (None, Ok(None)) if !self.options.probe_local => return None,
            (None, Ok(None)) => {
                match check::ask(provider_set, remote_provider, None, PROBE).await {
                    CheckResult::Accepted { .. } => return None,
                    CheckResult::NotAccepted(words) => format!("{}: {words}", entry.provider.name),
                    CheckResult::Unknown(_) => {
                        format!("{}: {}", entry.provider.name, status::not_running(entry))
                    }
                }
            }
        };
        Some(Obstacle::NotConnected(words))
    }

    /// How it is asked, and whether it is at all: without a key only a server that needs none.
    pub(super) fn asking(
        &self,
        remote_provider: &RemoteProvider,
        credential: Option<&Credential>,
    ) -> Option<CheckTerms> {
        match credential {
            Some(_) if remote_provider.entry.broken.is_some() => None,
            Some(_) => Some(CHECK),
            None if remote_provider.endpoint.keyless && self.options.probe_local => {
                Some(LOCAL_CHECK)
            }
            None => None,
        }
    }

    pub async fn refresh(&self, id: &str) -> Result<usize, ProviderError> {
        let unknown =
            || ProviderError::new(ErrorKind::Other, format!("there is no provider {id:?}"));
        let provider_set = self.provider_set();
        let remote_provider = provider_set.remote_provider(id).ok_or_else(unknown)?;
        let credential = self.credential(remote_provider).unwrap_or_default();
        match check::ask(provider_set, remote_provider, credential.as_ref(), CHECK).await {
            CheckResult::Accepted { models, .. } => Ok(models.unwrap_or_default()),
            CheckResult::NotAccepted(words) => Err(ProviderError::new(ErrorKind::Auth, words)),
            CheckResult::Unknown(words) => Err(ProviderError::new(ErrorKind::Unreachable, words)),
        }
    }

    pub async fn statuses(&self, verify: bool) -> Vec<ProviderStatus> {
        let provider_set = self.provider_set();
        if verify {
            let checks = provider_set.all_remote().map(|remote_provider| async move {
                let credential = self.credential(remote_provider).unwrap_or_default();
                if let Some(asking) = self.asking(remote_provider, credential.as_ref()) {
                    check::ask(provider_set, remote_provider, credential.as_ref(), asking).await;
                }
            });
            join_all(checks).await;
        }
        provider_set
            .all_remote()
            .map(|remote_provider| self.status(remote_provider))
            .collect()
    }

    fn status(&self, remote_provider: &RemoteProvider) -> ProviderStatus {
        let credential = self.credential(remote_provider);
        let shown = credential.as_ref().ok().and_then(Option::as_ref);
        let saved = self.accounts.connections.read().ok();
        status::status(StatusFacts {
            entry: &remote_provider.entry,
            pending: self.sign_ins.pending(&remote_provider.entry.provider.id),
            check: check::last(remote_provider, shown),
            saved: saved.as_deref(),
            now_ms: now_ms(),
            credential,
        })
    }

    pub async fn default_model(&self) -> ModelChoice {
        let catalog = self.catalog();
        let candidates: Vec<_> = self
            .provider_set()
            .all_remote()
            .filter_map(|remote_provider| self.candidate(remote_provider, &catalog))
            .collect();
        if let Some(choice) = choice::of_credentials(&candidates) {
            if let Some(chosen) = self.provider_set().remote_provider(&choice.provider) {
                self.keep_current(chosen);
            }
            return choice;
        }
        if let Some(choice) = self.local_model().await {
            return choice;
        }
        choice::of_nothing()
    }

    fn candidate(
        &self,
        remote_provider: &RemoteProvider,
        catalog: &ModelCatalog,
    ) -> Option<Candidate> {
        if remote_provider.entry.broken.is_some() {
            return None;
        }
        let credential = self.credential(remote_provider).ok()??;
        // Who works with a cloud has these for other work; they choose no model by being there.
        let for_a_cloud = matches!(credential.proof, Proof::GoogleFile(_) | Proof::AwsKeys(_));
        let by_accident = matches!(credential.source, CredentialSource::Environment { .. });
        if for_a_cloud || (remote_provider.entry.by_name_only && by_accident) {
            return None;
        }
        let id = &remote_provider.entry.provider.id;
        Some(Candidate {
            provider: id.clone(),
            name: remote_provider.entry.provider.name.clone(),
            model: first_model(catalog, id)?,
            source: credential.source,
        })
    }

    /// The first server on this machine that answers with a model.
    async fn local_model(&self) -> Option<ModelChoice> {
        if !self.options.probe_local {
            return None;
        }
        let provider_set = self.provider_set();
        let keyless: Vec<_> = provider_set
            .all_remote()
            .filter(|each| each.endpoint.keyless)
            .collect();
        let probes = keyless
            .iter()
            .map(|remote_provider| check::ask(provider_set, remote_provider, None, PROBE));
        join_all(probes).await;
        let catalog = self.catalog();
        keyless
            .into_iter()
            .filter(|remote_provider| is_running(remote_provider))
            .find_map(|remote_provider| {
                let provider = &remote_provider.entry.provider;
                let model = first_model(&catalog, &provider.id)?;
                Some(choice::of_local(&provider.id, &provider.name, &model))
            })
    }

    fn entry(&self, provider: &str) -> Result<&Arc<CatalogEntry>, SignInError> {
        let unknown = || SignInError::UnknownProvider(provider.to_owned());
        self.provider_set().entry(provider).ok_or_else(unknown)
    }

    pub async fn begin(&self, provider: &str, method: &str) -> Result<Challenge, SignInError> {
        self.sign_ins.begin(self.entry(provider)?, method).await
    }

    pub async fn finish(
        &self,
        provider: &str,
        method: &str,
        code: Option<&str>,
    ) -> Result<SignInResult, SignInError> {
        let entry = self.entry(provider)?;
        match entry.method(method).map(|each| each.kind) {
            None => Err(SignInError::UnknownMethod(method.to_owned())),
            Some(AuthMethodKind::Key | AuthMethodKind::ToolKey) => {
                let words = format!("Method {method:?} is not an OAuth method.");
                Err(SignInError::Failed(words))
            }
            Some(AuthMethodKind::Browser | AuthMethodKind::Device) => {
                let signed_in = self.sign_ins.finish(provider, method, code).await?;
                self.ask_anew(provider);
                Ok(signed_in)
            }
        }
    }

    pub async fn set_key(
        &self,
        provider: &str,
        method: &str,
        key: SecretString,
    ) -> Result<SignInResult, SignInError> {
        let entry = self.entry(provider)?;
        let found = entry.method(method).cloned();
        let found = found.ok_or_else(|| SignInError::UnknownMethod(method.to_owned()))?;
        let key = cleaned_key(&key).map_err(|what| SignInError::Failed(what.to_owned()))?;
        let id = provider.to_owned();
        let saved = match (found.kind, found.tool) {
            (AuthMethodKind::Key, _) => {
                self.sign_ins.give_up(provider);
                let put = move |root: &mut _| connections::put_key(root, &id, key.expose_secret());
                self.accounts.connections.change(put).await
            }
            (AuthMethodKind::ToolKey, Some(tool)) => {
                let put =
                    move |root: &mut _| connections::put_tool_key(root, &tool, key.expose_secret());
                self.accounts.connections.change(put).await
            }
            (AuthMethodKind::ToolKey, None)
            | (AuthMethodKind::Browser | AuthMethodKind::Device, _) => {
                let words = format!("Method {method:?} is not an API key method.");
                return Err(SignInError::Failed(words));
            }
        };
        let notice = saved.map_err(|error| SignInError::Failed(error.to_string()))?;
        self.ask_anew(provider);
        let message = "API key saved.".to_owned();
        Ok(SignInResult {
            mode: AuthMode::ApiKey,
            message: notice.map_or(message.clone(), |notice| format!("{message} ({notice})")),
        })
    }

    pub async fn sign_out(&self, provider: &str) -> Result<bool, SignInError> {
        let entry = self.entry(provider)?;
        self.sign_ins.give_up(provider);
        let failed = |error: ConnectionsError| SignInError::Failed(error.to_string());
        let saved = self.accounts.connections.read().map_err(failed)?;
        let tools: Vec<_> = entry
            .methods
            .iter()
            .filter_map(|each| each.tool.clone())
            .collect();
        let here = saved.services.contains_key(provider)
            || tools.iter().any(|tool| saved.tool_keys.contains_key(tool));
        // The Codex CLI's file is not ours to remove; it is left alone from now on.
        let codex = provider == codex_home::PROVIDER
            && !saved.ignores_codex_home
            && self
                .accounts
                .codex
                .as_ref()
                .is_some_and(|codex| codex.read().is_some());
        if here || codex {
            let id = provider.to_owned();
            let change = move |root: &mut _| {
                connections::forget(root, &id, &tools);
                if codex {
                    connections::put_ignores_codex_home(root, true);
                }
            };
            self.accounts
                .connections
                .change(change)
                .await
                .map_err(failed)?;
        }
        Ok(here || codex)
    }
}

fn is_running(remote_provider: &RemoteProvider) -> bool {
    let check = check::last(remote_provider, None);
    check.is_some_and(|check| matches!(check.result, CheckResult::Accepted { .. }))
}

fn first_model(catalog: &ModelCatalog, provider: &str) -> Option<String> {
    let provider = catalog.providers.iter().find(|each| each.id == provider)?;
    let model = provider.default_model(catalog::day(now_ms()));
    model.map(|model| model.id.clone())
}
