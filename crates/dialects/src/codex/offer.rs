//! What there is to choose from: models and collaboration modes.

use std::borrow::Cow;

use vocabulary::{Catalog, ModelRef};

use super::Endpoint;
use super::wire::results::{CollaborationModeMask, Model, Page, ReasoningEffortOption};

/// A model under the name by which clients choose it.
struct Offer<'a> {
    name: Cow<'a, str>,
    provider: &'a str,
    model: &'a str,
    connected: bool,
}

/// Connected providers first: a name that several have means theirs; the others' is spelled out.
fn offers(catalog: &Catalog) -> Vec<Offer<'_>> {
    let default = |id: &str| id != catalog.default.provider;
    let mut providers: Vec<_> = catalog.providers.iter().collect();
    providers.sort_by_key(|provider| (!provider.connected, default(&provider.id)));
    let mut offers: Vec<Offer<'_>> = Vec::new();
    for provider in providers {
        for model in &provider.models {
            let taken = offers.iter().any(|offer| offer.name == model.as_str());
            offers.push(Offer {
                name: match taken {
                    true => Cow::Owned(format!("{}/{model}", provider.id)),
                    false => Cow::Borrowed(model),
                },
                provider: &provider.id,
                model,
                connected: provider.connected,
            });
        }
    }
    offers
}

/// The model a client names, if there is one of that name.
pub fn chosen(catalog: &Catalog, name: &str) -> Option<ModelRef> {
    let offers = offers(catalog);
    let offer = offers.iter().find(|offer| offer.name == name)?;
    Some(ModelRef {
        provider: offer.provider.to_owned(),
        model: offer.model.to_owned(),
    })
}

pub fn models(catalog: &Catalog, hidden_too: bool) -> Page<Model<'_>> {
    let offers = offers(catalog).into_iter();
    let shown = offers.filter(|offer| offer.connected || hidden_too);
    let model = |offer: Offer<'_>| Model {
        description: format!("{} by {}", offer.model, offer.provider),
        hidden: !offer.connected,
        is_default: offer.provider == catalog.default.provider
            && offer.model == catalog.default.model,
        supported_reasoning_efforts: [ReasoningEffortOption {
            reasoning_effort: "medium",
            description: "The provider's own default.",
        }],
        default_reasoning_effort: "medium",
        input_modalities: ["text"],
        id: own(&offer.name),
        model: own(&offer.name),
        display_name: own(&offer.name),
    };
    Page {
        data: shown.map(model).collect(),
        next_cursor: None,
    }
}

fn own(name: &str) -> Cow<'static, str> {
    Cow::Owned(name.to_owned())
}

/// One mode only: plans are made in it as well.
pub fn collaboration_modes(endpoint: Endpoint) -> Page<CollaborationModeMask> {
    let (name, mode) = match endpoint {
        Endpoint::Zane => ("Code", "code"),
        Endpoint::Codex => ("Default", "default"),
    };
    Page {
        data: vec![CollaborationModeMask {
            name,
            mode,
            model: None,
            reasoning_effort: None,
            developer_instructions: None,
        }],
        next_cursor: None,
    }
}
