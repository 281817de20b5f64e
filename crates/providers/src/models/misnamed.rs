//! Names of models that a provider does not have: said at once, with what may have been meant, instead
//! of by a turn that fails.

use vocabulary::{did_you_mean, nearest};

use super::check;
use super::provider_set::CheckResult;
use super::remote_models::RemoteModels;
use crate::catalog::{ModelCatalog, ProviderInfo};

impl RemoteModels {
    /// Why this provider has no such model, for people. Nothing where that cannot be known: it is not
    /// connected, gave no list, or takes names that its list does not have.
    pub async fn misnamed(&self, provider: &str, model: &str) -> Option<String> {
        if !self.may_be_misnamed(provider, model) {
            return None;
        }
        let provider_set = self.provider_set();
        if let Some(remote_provider) = provider_set.remote_provider(provider) {
            let credential = self.credential(remote_provider).ok()?;
            // What was listed a while ago may have grown meanwhile.
            let asking = self.asking(remote_provider, credential.as_ref())?;
            let found =
                check::ask(provider_set, remote_provider, credential.as_ref(), asking).await;
            let CheckResult::Accepted { .. } = found else {
                return None;
            };
            if provider_set.lists(provider, model)? {
                return None;
            }
        }
        let catalog = self.catalog();
        let entry = catalog.providers.iter().find(|each| each.id == provider)?;
        let successor = catalog.successor(provider, model);
        Some(words(entry, model, successor.as_deref()))
    }

    /// Whether its list, where it is known, has such a model.
    pub fn may_have(&self, provider: &str, model: &str) -> bool {
        self.provider_set().lists(provider, model) != Some(false)
    }

    /// Whether the question is worth asking: what the catalog or a person lists is taken at their
    /// word, unless the provider itself has said that it is not there.
    fn may_be_misnamed(&self, provider: &str, model: &str) -> bool {
        let Some(entry) = self.provider_set().entry(provider) else {
            return false;
        };
        let closed = match &entry.provider.endpoint {
            Some(endpoint) => endpoint.lists_all,
            None => !entry.provider.models.is_empty(),
        };
        let catalog = self.catalog();
        let known = catalog.model(provider, model);
        let by_person = entry.own.iter().any(|own| own.id == model);
        // A router's own shorthand for a set of choices; no list has it.
        let preset = model.starts_with('@');
        closed && !by_person && !preset && known.is_none_or(|known| known.offered == Some(false))
    }
}

/// Where nothing is reached, a catalog that lists some models of a scripted provider lists them all.
pub fn alone(catalog: &ModelCatalog, provider: &str, model: &str) -> Option<String> {
    let entry = catalog.providers.iter().find(|each| each.id == provider)?;
    let known = entry.models.iter().any(|each| each.id == model);
    let open = entry.endpoint.is_some() || entry.models.is_empty();
    (!known && !open).then(|| words(entry, model, None))
}

fn words(provider: &ProviderInfo, model: &str, successor: Option<&str>) -> String {
    let known = provider.models.iter();
    let offered = known.filter(|each| each.offered != Some(false));
    let near = nearest(model, offered.map(|each| each.id.as_str()));
    let near = near.into_iter().filter(|name| successor != Some(*name));
    let names: Vec<&str> = successor.into_iter().chain(near).collect();
    let meant = match did_you_mean(&names) {
        words if words.is_empty() => ";".to_owned(),
        words => words,
    };
    format!(
        "{} has no model {model:?}{meant} `dragoman models {}` lists them all",
        provider.name, provider.id
    )
}
