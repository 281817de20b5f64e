//! Where providers over the network are asked for, checked and signed in to.

use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;
use secrecy::{ExposeSecret, SecretString};

use super::check::{self, Asking};
use super::choice::{self, Candidate};
use super::key_ring::how_to_connect;
use super::shelf::{Finding, Reached, Shelf};
use super::status::{self, Facts};
use super::{Challenge, Choice, Mode, Obstacle, Options, SignInError, SignedIn, Status};
use crate::accounts::connections::{self, ConnectionsError};
use crate::accounts::sign_in::SignIns;
use crate::accounts::{Accounts, Credential, cleaned_key, codex_home, now_ms};
use crate::catalog::Catalog;
use crate::catalog::book::{Entry, Environment};
use crate::catalog::file::MethodKind;
use crate::{ErrorKind, Provider, ProviderError};

const CHECK: Asking = Asking {
    limit: check::CHECK_LIMIT,
    age: check::CHECK_AGE,
};
const LOCAL_CHECK: Asking = Asking {
    limit: check::LOCAL_LIMIT,
    age: check::PROBE_AGE,
};
const PROBE: Asking = Asking {
    limit: check::PROBE_LIMIT,
    age: check::PROBE_AGE,
};

pub struct Desk {
    options: Options,
    environment: Arc<Environment>,
    accounts: Arc<Accounts>,
    sign_ins: SignIns,
    /// Opened when it is first needed.
    shelf: OnceLock<Shelf>,
}

impl Desk {
    pub fn new(options: Options) -> Self {
        let environment = Arc::new(options.environment.clone());
        let accounts = Arc::new(Accounts::new(
            options.home.join("auth"),
            options.codex_home.clone(),
            Arc::clone(&environment),
        ));
        Self {
            sign_ins: SignIns::new(Arc::clone(&accounts), options.second),
            options,
            environment,
            accounts,
            shelf: OnceLock::new(),
        }
    }

    pub fn shelf(&self) -> &Shelf {
        self.shelf
            .get_or_init(|| Shelf::open(&self.options.home, &self.environment, &self.accounts))
    }

    pub fn provider(&self, id: &str) -> Option<Arc<dyn Provider>> {
        let reached = self.shelf().reached(id)?;
        Some(Arc::new(reached.remote.clone()))
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.shelf().catalog()
    }

    #[cfg(test)]
    pub fn has_read_the_catalog(&self) -> bool {
        self.shelf.get().is_some()
    }

    pub fn tool_key(&self, tool: &str) -> Option<SecretString> {
        self.accounts.tool_key(tool)
    }

    pub fn warnings(&self) -> Vec<String> {
        // A server that nobody uses yet should not have read the whole catalog for this.
        let mut warnings = match Shelf::may_be_in_trouble(&self.options.home, &self.environment) {
            true => self.shelf().trouble.clone(),
            false => Vec::new(),
        };
        let unread = self.accounts.connections.read().err();
        warnings.extend(unread.map(|error| error.to_string()));
        warnings
    }

    fn credential(&self, reached: &Reached) -> Result<Option<Credential>, ConnectionsError> {
        self.accounts.credential(&reached.entry)
    }

    pub fn connected(&self, id: &str) -> bool {
        let Some(reached) = self.shelf().reached(id) else {
            return false;
        };
        match self.credential(reached) {
            Ok(Some(_)) => true,
            Ok(None) | Err(_) => reached.reach.keyless && is_running(reached),
        }
    }

    pub async fn obstacle(&self, id: &str) -> Option<Obstacle> {
        let shelf = self.shelf();
        let Some(reached) = shelf.reached(id) else {
            let ids = shelf
                .all_reached()
                .map(|each| each.entry.provider.id.as_str());
            let known: Vec<&str> = ids.collect();
            let words = format!(
                "there is no provider {id:?}; there are {}",
                known.join(", ")
            );
            return Some(Obstacle::Unknown(words));
        };
        let entry = &reached.entry;
        let words = match (&entry.broken, self.credential(reached)) {
            (Some(broken), _) => format!("{} cannot be used: {broken}", entry.provider.name),
            (None, Ok(Some(_))) => return None,
            (None, Err(error)) => error.to_string(),
            (None, Ok(None)) if !reached.reach.keyless => how_to_connect(entry),
            (None, Ok(None)) if !self.options.probe_local => return None,
            (None, Ok(None)) => match check::ask(shelf, reached, None, PROBE).await {
                Finding::Accepted { .. } => return None,
                Finding::NotAccepted(words) => format!("{}: {words}", entry.provider.name),
                Finding::Unknown(_) => {
                    format!("{}: {}", entry.provider.name, status::not_running(entry))
                }
            },
        };
        Some(Obstacle::NotConnected(words))
    }

    /// How it is asked, and whether it is at all: without a key only a server that needs none.
    fn asking(&self, reached: &Reached, credential: Option<&Credential>) -> Option<Asking> {
        match credential {
            Some(_) if reached.entry.broken.is_some() => None,
            Some(_) => Some(CHECK),
            None if reached.reach.keyless && self.options.probe_local => Some(LOCAL_CHECK),
            None => None,
        }
    }

    pub async fn refresh(&self, id: &str) -> Result<usize, ProviderError> {
        let unknown =
            || ProviderError::new(ErrorKind::Other, format!("there is no provider {id:?}"));
        let shelf = self.shelf();
        let reached = shelf.reached(id).ok_or_else(unknown)?;
        let credential = self.credential(reached).unwrap_or_default();
        match check::ask(shelf, reached, credential.as_ref(), CHECK).await {
            Finding::Accepted { models } => Ok(models.unwrap_or_default()),
            Finding::NotAccepted(words) => Err(ProviderError::new(ErrorKind::Auth, words)),
            Finding::Unknown(words) => Err(ProviderError::new(ErrorKind::Unreachable, words)),
        }
    }

    pub async fn statuses(&self, verify: bool) -> Vec<Status> {
        let shelf = self.shelf();
        if verify {
            let checks = shelf.all_reached().map(|reached| async move {
                let credential = self.credential(reached).unwrap_or_default();
                if let Some(asking) = self.asking(reached, credential.as_ref()) {
                    check::ask(shelf, reached, credential.as_ref(), asking).await;
                }
            });
            join_all(checks).await;
        }
        shelf
            .all_reached()
            .map(|reached| self.status(reached))
            .collect()
    }

    fn status(&self, reached: &Reached) -> Status {
        let credential = self.credential(reached);
        let shown = credential.as_ref().ok().and_then(Option::as_ref);
        let saved = self.accounts.connections.read().ok();
        status::status(Facts {
            entry: &reached.entry,
            pending: self.sign_ins.pending(&reached.entry.provider.id),
            check: check::last(reached, shown),
            saved: saved.as_deref(),
            now_ms: now_ms(),
            credential,
        })
    }

    pub async fn default_model(&self) -> Choice {
        let catalog = self.catalog();
        let candidates: Vec<_> = self
            .shelf()
            .all_reached()
            .filter_map(|reached| self.candidate(reached, &catalog))
            .collect();
        if let Some(choice) = choice::of_credentials(&candidates) {
            return choice;
        }
        if let Some(choice) = self.local_model().await {
            return choice;
        }
        choice::of_nothing()
    }

    fn candidate(&self, reached: &Reached, catalog: &Catalog) -> Option<Candidate> {
        if reached.entry.broken.is_some() {
            return None;
        }
        let credential = self.credential(reached).ok()??;
        let id = &reached.entry.provider.id;
        Some(Candidate {
            provider: id.clone(),
            name: reached.entry.provider.name.clone(),
            model: first_model(catalog, id)?,
            source: credential.source,
        })
    }

    /// The first server on this machine that answers with a model.
    async fn local_model(&self) -> Option<Choice> {
        if !self.options.probe_local {
            return None;
        }
        let shelf = self.shelf();
        let keyless: Vec<_> = shelf
            .all_reached()
            .filter(|each| each.reach.keyless)
            .collect();
        let probes = keyless
            .iter()
            .map(|reached| check::ask(shelf, reached, None, PROBE));
        join_all(probes).await;
        let catalog = self.catalog();
        keyless
            .into_iter()
            .filter(|reached| is_running(reached))
            .find_map(|reached| {
                let provider = &reached.entry.provider;
                let model = first_model(&catalog, &provider.id)?;
                Some(choice::of_local(&provider.id, &provider.name, &model))
            })
    }

    fn entry(&self, provider: &str) -> Result<&Arc<Entry>, SignInError> {
        let unknown = || SignInError::UnknownProvider(provider.to_owned());
        self.shelf().entry(provider).ok_or_else(unknown)
    }

    pub async fn begin(&self, provider: &str, method: &str) -> Result<Challenge, SignInError> {
        self.sign_ins.begin(self.entry(provider)?, method).await
    }

    pub async fn finish(
        &self,
        provider: &str,
        method: &str,
        code: Option<&str>,
    ) -> Result<SignedIn, SignInError> {
        let entry = self.entry(provider)?;
        match entry.method(method).map(|each| each.kind) {
            None => Err(SignInError::UnknownMethod(method.to_owned())),
            Some(MethodKind::Key | MethodKind::ToolKey) => {
                Err(SignInError::NotSupported(method.to_owned()))
            }
            Some(MethodKind::Browser | MethodKind::Device) => {
                self.sign_ins.finish(provider, method, code).await
            }
        }
    }

    pub async fn set_key(
        &self,
        provider: &str,
        method: &str,
        key: SecretString,
    ) -> Result<SignedIn, SignInError> {
        let entry = self.entry(provider)?;
        let found = entry.method(method).cloned();
        let found = found.ok_or_else(|| SignInError::UnknownMethod(method.to_owned()))?;
        let key = cleaned_key(&key).map_err(|what| SignInError::Failed(what.to_owned()))?;
        let id = provider.to_owned();
        let saved = match (found.kind, found.tool) {
            (MethodKind::Key, _) => {
                self.sign_ins.give_up(provider);
                let put = move |root: &mut _| connections::put_key(root, &id, key.expose_secret());
                self.accounts.connections.change(put).await
            }
            (MethodKind::ToolKey, Some(tool)) => {
                let put =
                    move |root: &mut _| connections::put_tool_key(root, &tool, key.expose_secret());
                self.accounts.connections.change(put).await
            }
            (MethodKind::ToolKey, None) | (MethodKind::Browser | MethodKind::Device, _) => {
                let words = format!("Auth method {method:?} does not take a key.");
                return Err(SignInError::Failed(words));
            }
        };
        let notice = saved.map_err(|error| SignInError::Failed(error.to_string()))?;
        let message = "API key saved.".to_owned();
        Ok(SignedIn {
            mode: Mode::ApiKey,
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

fn is_running(reached: &Reached) -> bool {
    let check = check::last(reached, None);
    check.is_some_and(|check| matches!(check.finding, Finding::Accepted { .. }))
}

fn first_model(catalog: &Catalog, provider: &str) -> Option<String> {
    let provider = catalog.providers.iter().find(|each| each.id == provider)?;
    provider.models.first().map(|model| model.id.clone())
}
