//! Models as people and clients name them, and which one of a catalog that is.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{Catalog, CatalogModel, CatalogProvider, ModelRef, Refusal, did_you_mean, nearest};

/// A model by something less than its provider and its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NamedModel {
    /// By its name in [`Catalog::offers`], or as `provider/model` even where the catalog has not heard of
    /// the model. A name that nobody has is refused.
    Listed(String),
    /// By its id: of the provider in use if that has it, else of another, connected ones first. Nobody
    /// knows every model, so one that no provider has is the provider's in use.
    Id(String),
    /// A provider's default model, unless one of that provider's is in use. There must be such a provider.
    DefaultOf(String),
}

/// A model under the name by which it is chosen from a list of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOffer<'a> {
    /// Its id; with its provider in front where an offer before it has that id.
    pub name: Cow<'a, str>,
    pub provider: &'a str,
    pub model: &'a CatalogModel,
    pub connected: bool,
}

impl ModelOffer<'_> {
    pub fn reference(&self) -> ModelRef {
        reference(self.provider, &self.model.id)
    }
}

impl Catalog {
    /// Every model: those of connected providers first, those of the default model's provider among them.
    pub fn offers(&self) -> Vec<ModelOffer<'_>> {
        let mut providers: Vec<_> = self.providers.iter().collect();
        providers.sort_by_key(|each| (!each.connected, each.id != self.default.provider));
        // What is only somebody's default says nothing without whose.
        let mut taken = HashSet::from(["default"]);
        let mut offers = Vec::new();
        for provider in providers {
            for model in &provider.models {
                offers.push(ModelOffer {
                    name: match taken.insert(model.id.as_str()) {
                        true => Cow::Borrowed(model.id.as_str()),
                        false => Cow::Owned(format!("{}/{}", provider.id, model.id)),
                    },
                    provider: &provider.id,
                    model,
                    connected: provider.connected,
                });
            }
        }
        offers
    }

    /// The model that is meant; none if that is the one in use.
    pub fn find(
        &self,
        named: &NamedModel,
        in_use: Option<&ModelRef>,
    ) -> Result<Option<ModelRef>, Refusal> {
        let current = in_use.unwrap_or(&self.default);
        let own = &current.provider;
        let found = match named {
            NamedModel::Listed(name) => match self.listed(name) {
                Some(found) => Some(found),
                // A client may call it so without having found it in the list.
                None if *name == current.model => Some(current.clone()),
                None => return Err(self.unknown(name)),
            },
            NamedModel::Id(id) => Some(reference(self.owner(id, own).unwrap_or(own), id)),
            NamedModel::DefaultOf(provider)
                if in_use.is_some_and(|now| now.provider == *provider) =>
            {
                None
            }
            NamedModel::DefaultOf(provider) => {
                let known = self.provider(provider).ok_or_else(|| {
                    let message = format!("provider `{provider}` was not found");
                    Refusal::invalid("model", message)
                })?;
                Some(reference(provider, &known.default_model))
            }
        };
        Ok(found.filter(|found| Some(found) != in_use))
    }

    fn listed(&self, name: &str) -> Option<ModelRef> {
        let offers = self.offers();
        if let Some(offer) = offers.iter().find(|offer| offer.name == name) {
            return Some(offer.reference());
        }
        let (provider, model) = name.split_once('/')?;
        let known = self.provider(provider).is_some() && !model.is_empty();
        known.then(|| reference(provider, model))
    }

    fn unknown(&self, name: &str) -> Refusal {
        let offers = self.offers();
        let usable = offers.iter().filter(|offer| offer.connected);
        let near = nearest(name, usable.map(|offer| offer.name.as_ref()));
        let message = format!("there is no model {name:?}{}", did_you_mean(&near));
        Refusal::invalid("model", message)
    }

    fn owner(&self, model: &str, own: &str) -> Option<&str> {
        let has = |each: &&CatalogProvider| each.models.iter().any(|known| known.id == model);
        let having = self.providers.iter().filter(has);
        let best = having.min_by_key(|each| (each.id != own, !each.connected));
        best.map(|each| each.id.as_str())
    }

    fn provider(&self, id: &str) -> Option<&CatalogProvider> {
        self.providers.iter().find(|each| each.id == id)
    }
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        let provider = |id: &str, connected, models: &[&str]| CatalogProvider {
            id: id.to_owned(),
            name: String::new(),
            models: models
                .iter()
                .map(|id| CatalogModel {
                    id: (*id).to_owned(),
                    ..CatalogModel::default()
                })
                .collect(),
            default_model: models[0].to_owned(),
            auth_methods: Vec::new(),
            connected,
        };
        Catalog {
            providers: vec![
                provider("far", false, &["shared", "only"]),
                provider("near", true, &["big", "shared"]),
                provider("main", true, &["shared"]),
            ],
            default: reference("main", "shared"),
            permissions: crate::PermissionOffer::default(),
        }
    }

    #[track_caller]
    fn check(named: NamedModel, in_use: Option<(&str, &str)>, expected: Option<(&str, &str)>) {
        let in_use = in_use.map(|(provider, model)| reference(provider, model));
        let expected = expected.map(|(provider, model)| reference(provider, model));
        let found = catalog().find(&named, in_use.as_ref());
        assert_eq!(found, Ok(expected), "{named:?}");
    }

    #[test]
    fn a_list_has_every_model_under_a_name_of_its_own() {
        let catalog = catalog();
        let offers = catalog.offers();
        let names: Vec<_> = offers.iter().map(|offer| offer.name.as_ref()).collect();
        assert_eq!(
            names,
            ["shared", "big", "near/shared", "far/shared", "only"]
        );
        for offer in &offers {
            let named = NamedModel::Listed(offer.name.clone().into_owned());
            assert_eq!(catalog.find(&named, None), Ok(Some(offer.reference())));
        }
    }

    #[test]
    fn a_listed_name_says_which_model_whatever_is_in_use() {
        let listed = |name: &str| NamedModel::Listed(name.to_owned());
        let near = Some(("near", "shared"));
        check(listed("shared"), near, Some(("main", "shared")));
        check(listed("near/shared"), near, None);
        check(listed("far/lab/new"), near, Some(("far", "lab/new")));
    }

    #[test]
    fn a_name_that_nobody_has_is_refused_with_the_nearest() {
        let refused = |name: &str, in_use: Option<&ModelRef>| {
            let found = catalog().find(&NamedModel::Listed(name.to_owned()), in_use);
            found.map_err(|refusal| refusal.message)
        };
        for (name, words) in [
            ("nobody/new", "there is no model \"nobody/new\""),
            ("far/", "there is no model \"far/\""),
            ("bigg", "there is no model \"bigg\"; did you mean big?"),
            (
                "hared",
                "there is no model \"hared\"; did you mean shared or near/shared?",
            ),
            ("only1", "there is no model \"only1\""),
        ] {
            assert_eq!(refused(name, None), Err(words.to_owned()));
        }
        let unlisted = reference("near", "new");
        assert_eq!(refused("new", Some(&unlisted)), Ok(None), "it has that one");
    }

    #[test]
    fn an_id_is_looked_for_at_the_provider_in_use_first() {
        let id = |id: &str| NamedModel::Id(id.to_owned());
        check(id("shared"), Some(("far", "only")), Some(("far", "shared")));
        check(id("shared"), None, Some(("main", "shared")));
        check(id("big"), Some(("far", "only")), Some(("near", "big")));
        check(id("new"), Some(("far", "only")), Some(("far", "new")));
        check(id("only"), Some(("far", "only")), None);
    }

    #[test]
    fn a_provider_alone_means_its_default_unless_it_is_in_use() {
        let default_of = |id: &str| NamedModel::DefaultOf(id.to_owned());
        check(
            default_of("near"),
            Some(("far", "only")),
            Some(("near", "big")),
        );
        check(default_of("near"), Some(("near", "shared")), None);
        let refused = catalog().find(&default_of("nobody"), None);
        assert_eq!(
            refused.map_err(|refusal| refusal.message),
            Err("provider `nobody` was not found".to_owned())
        );
    }
}
