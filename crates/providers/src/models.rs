//! Every provider there is: its models, how to reach it, and how one signs in.

mod account_authorizer;
mod check;
mod choice;
mod freshness;
mod live;
mod local_facts;
mod misnamed;
mod options;
mod provider_set;
mod remote_models;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::SecretString;
use thiserror::Error;
use vocabulary::{AuthMode, Challenge, ProviderStatus};

use crate::accounts::now_ms;
use crate::catalog::{self, Day, Model, ModelCatalog};
use crate::{Provider, ProviderError, rehearsal};
pub use options::ModelsOptions;
use remote_models::RemoteModels;

/// The one place to ask for a provider, for what is known of a model, and to sign in.
pub struct Models {
    scripted: BTreeMap<String, Arc<dyn Provider>>,
    /// Everything that is reached over the network; not there when only scripted ones are wanted.
    remote: Option<RemoteModels>,
    /// What is known where nothing is reached.
    alone: Arc<ModelCatalog>,
}

/// Which model is used when nobody names one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    pub provider: String,
    pub model: String,
    /// For people: `OPENAI_API_KEY is set`, `no key and no local model server: …`.
    pub why: String,
}

/// Why no model of a provider can be used, for people: what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing goes by this name.
    Unknown(String),
    /// It is there, but not connected: no key, or no server that answers.
    NotConnected(String),
}

impl Obstacle {
    pub fn words(&self) -> &str {
        match self {
            Obstacle::Unknown(words) | Obstacle::NotConnected(words) => words,
        }
    }
}

/// A sign-in that worked; `vocabulary::SignedIn` is also one that did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInResult {
    pub mode: AuthMode,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignInError {
    #[error("there is no provider {0:?}")]
    UnknownProvider(String),
    #[error("there is no sign-in method {0:?}")]
    UnknownMethod(String),
    #[error("Auth method {0:?} does not support authorization.")]
    NotSupported(String),
    /// For people: what went wrong and what to do. Never a key.
    #[error("{0}")]
    Failed(String),
}

impl Models {
    /// Only these, without credentials and without a network.
    pub fn scripted(providers: Vec<Arc<dyn Provider>>) -> Self {
        Self {
            scripted: by_id(providers),
            remote: None,
            alone: Arc::new(ModelCatalog {
                providers: vec![rehearsal::entry()],
            }),
        }
    }

    /// Only these, with what a catalog says of their models; for tests of what uses models.
    pub fn with(providers: Vec<Arc<dyn Provider>>, catalog: ModelCatalog) -> Self {
        Self {
            alone: Arc::new(catalog),
            ..Self::scripted(providers)
        }
    }

    /// Every provider of the catalog. Nothing is read until it is needed.
    pub fn open(options: ModelsOptions) -> Self {
        Self {
            scripted: by_id(options.scripted.clone()),
            remote: Some(RemoteModels::new(options)),
            alone: Arc::default(),
        }
    }

    /// A provider, whether or not it is connected: if it is not, its requests say what to do.
    pub fn provider(&self, id: &str) -> Option<Arc<dyn Provider>> {
        let scripted = self.scripted.get(id).cloned();
        scripted.or_else(|| self.remote.as_ref()?.provider(id))
    }

    /// Everything that can be named at this moment, live lists included. A server on this machine
    /// has no models here until it was asked for them.
    pub fn catalog(&self) -> Arc<ModelCatalog> {
        match &self.remote {
            Some(remote) => remote.catalog(),
            None => Arc::clone(&self.alone),
        }
    }

    /// What is known of a model; nothing of one that no catalog lists.
    pub fn model(&self, provider: &str, model: &str) -> Option<Model> {
        self.catalog().model(provider, model).cloned()
    }

    /// What a person should know of a model's end, where it is near or has passed.
    pub fn retirement(&self, provider: &str, model: &str, today: Day) -> Option<String> {
        let catalog = self.catalog();
        let words = match catalog.model(provider, model) {
            Some(known) => known.retirement_words(today)?,
            None => format!("was retired; use {}", catalog.successor(provider, model)?),
        };
        Some(format!("{provider}/{model} {words}"))
    }

    /// The model for small work beside this one, such as titles; none where the model is scripted.
    pub fn small_model(&self, provider: &str, model: &str) -> Option<String> {
        let catalog = self.catalog();
        let entry = catalog.providers.iter().find(|each| each.id == provider)?;
        entry.endpoint.as_ref()?;
        let small = entry.small_model_beside(model, catalog::day(now_ms()));
        let known = entry.models.iter().any(|each| each.id == small);
        let remote = self.remote.as_ref();
        let gone = !known && remote.is_some_and(|remote| !remote.may_have(provider, small));
        Some(if gone { model } else { small }.to_owned())
    }

    /// Why a provider has no model of this name, for people, with the names nearest to it. Nothing
    /// where that cannot be known. A provider may be asked for its list, within a few seconds.
    pub async fn misnamed(&self, provider: &str, model: &str) -> Option<String> {
        match &self.remote {
            Some(remote) => remote.misnamed(provider, model).await,
            None => misnamed::alone(&self.alone, provider, model),
        }
    }

    /// Whether it can be used right now: a credential is there, or none is needed.
    pub fn connected(&self, provider: &str) -> bool {
        let connected = || {
            self.remote
                .as_ref()
                .is_some_and(|remote| remote.connected(provider))
        };
        self.scripted.contains_key(provider) || connected()
    }

    /// What stands in the way of a provider's models right now. A server on this machine is asked
    /// whether it runs, for a moment; nobody else is.
    pub async fn obstacle(&self, provider: &str) -> Option<Obstacle> {
        if self.scripted.contains_key(provider) {
            return None;
        }
        match &self.remote {
            Some(remote) => remote.obstacle(provider).await,
            None => Some(Obstacle::Unknown(format!(
                "there is no provider {provider:?}"
            ))),
        }
    }

    pub async fn default_model(&self) -> ModelChoice {
        match &self.remote {
            Some(remote) => remote.default_model().await,
            None => choice::of_nothing(),
        }
    }

    /// Asks a provider for its list of models; how many it has. The catalog has them from then on.
    pub async fn refresh(&self, provider: &str) -> Result<usize, ProviderError> {
        match &self.remote {
            Some(remote) => remote.refresh(provider).await,
            None => Ok(0),
        }
    }

    /// What is wrong with the person's own settings, for people; the rest works without them.
    pub fn warnings(&self) -> Vec<String> {
        self.remote
            .as_ref()
            .map(RemoteModels::warnings)
            .unwrap_or_default()
    }

    /// The key of a tool (`exa`), saved or of the environment.
    pub fn tool_key(&self, tool: &str) -> Option<SecretString> {
        self.remote.as_ref()?.tool_key(tool)
    }

    /// Every key and token that is saved, for those who have to keep them out of what they tell.
    pub fn saved_secrets(&self) -> Vec<SecretString> {
        self.remote
            .as_ref()
            .map(RemoteModels::saved_secrets)
            .unwrap_or_default()
    }

    /// How it stands with every provider. `verify`: asks the providers themselves, with a cheap
    /// request each, all at once and within a few seconds.
    pub async fn statuses(&self, verify: bool) -> Vec<ProviderStatus> {
        match &self.remote {
            Some(remote) => remote.statuses(verify).await,
            None => Vec::new(),
        }
    }

    /// Starts a sign-in.
    pub async fn begin(&self, provider: &str, method: &str) -> Result<Challenge, SignInError> {
        self.remote(provider)?.begin(provider, method).await
    }

    /// Waits for the sign-in that was begun, or completes it with the code a person entered.
    pub async fn finish(
        &self,
        provider: &str,
        method: &str,
        code: Option<&str>,
    ) -> Result<SignInResult, SignInError> {
        self.remote(provider)?.finish(provider, method, code).await
    }

    /// Saves a key.
    pub async fn set_key(
        &self,
        provider: &str,
        method: &str,
        key: SecretString,
    ) -> Result<SignInResult, SignInError> {
        self.remote(provider)?.set_key(provider, method, key).await
    }

    /// Forgets what was saved for a provider; whether there was anything.
    pub async fn sign_out(&self, provider: &str) -> Result<bool, SignInError> {
        self.remote(provider)?.sign_out(provider).await
    }

    fn remote(&self, provider: &str) -> Result<&RemoteModels, SignInError> {
        let remote = self.remote.as_ref();
        remote.ok_or_else(|| SignInError::UnknownProvider(provider.to_owned()))
    }
}

fn by_id(providers: Vec<Arc<dyn Provider>>) -> BTreeMap<String, Arc<dyn Provider>> {
    let named = providers
        .into_iter()
        .map(|each| (each.id().to_owned(), each));
    named.collect()
}
