//! What there is to choose from: models and collaboration modes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use vocabulary::{Catalog, CatalogModel, ModelRef};

use super::Endpoint;
use super::wire::params::ModelListParams;
use super::wire::results::{CollaborationModeMask, Model, Page, ReasoningEffortOption};

/// How hard a model thinks of which nothing else is known: clients want a word.
const EFFORT_UNKNOWN: ReasoningEffortOption<'static> = ReasoningEffortOption {
    reasoning_effort: "medium",
    description: "The provider's own default.",
};

/// A model under the name by which clients choose it.
struct Offer<'a> {
    name: Cow<'a, str>,
    provider: &'a str,
    model: &'a CatalogModel,
    connected: bool,
}

/// Connected providers first: a name that several have means theirs; the others' is spelled out.
fn offers(catalog: &Catalog) -> Vec<Offer<'_>> {
    let default = |id: &str| id != catalog.default.provider;
    let mut providers: Vec<_> = catalog.providers.iter().collect();
    providers.sort_by_key(|provider| (!provider.connected, default(&provider.id)));
    let mut taken = HashSet::new();
    let mut offers: Vec<Offer<'_>> = Vec::new();
    for provider in providers {
        for model in &provider.models {
            offers.push(Offer {
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

/// What clients were told of models that these do not say themselves.
#[derive(Debug, Default)]
pub struct Names {
    /// Names that are not the model's own id, because another provider's model has that.
    spelled_out: HashMap<ModelRef, String>,
    /// Models whose efforts are not known: the one they were listed with is only a word.
    effortless: HashSet<ModelRef>,
}

impl Names {
    pub fn new(catalog: &Catalog) -> Self {
        let mut names = Self::default();
        for offer in offers(catalog) {
            let model = reference(&offer);
            if offer.model.efforts.is_empty() {
                names.effortless.insert(model.clone());
            }
            if let Cow::Owned(name) = offer.name {
                names.spelled_out.insert(model, name);
            }
        }
        names
    }

    /// Whether an effort is the word we made up, and so no wish of anyone.
    pub fn is_made_up(&self, effort: &str, model: &ModelRef) -> bool {
        effort == EFFORT_UNKNOWN.reasoning_effort && self.effortless.contains(model)
    }

    pub fn of<'a>(&'a self, model: &'a ModelRef) -> &'a str {
        self.spelled_out.get(model).unwrap_or(&model.model)
    }
}

fn reference(offer: &Offer<'_>) -> ModelRef {
    ModelRef {
        provider: offer.provider.to_owned(),
        model: offer.model.id.clone(),
    }
}

/// The model a client names, if there is one of that name; `provider/model` names any model of a
/// provider, even one that the catalog has not heard of.
pub fn chosen(catalog: &Catalog, name: &str) -> Option<ModelRef> {
    let offers = offers(catalog);
    if let Some(offer) = offers.iter().find(|offer| offer.name == name) {
        return Some(reference(offer));
    }
    let (provider, model) = name.split_once('/')?;
    let mut providers = catalog.providers.iter();
    let known = providers.any(|known| known.id == provider) && !model.is_empty();
    known.then(|| ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    })
}

/// A cursor is the place of the next model in the list.
pub fn models<'a>(catalog: &'a Catalog, params: &ModelListParams) -> Page<Model<'a>> {
    let hidden_too = params.include_hidden == Some(true);
    let offers = offers(catalog).into_iter();
    let shown = offers.filter(|offer| offer.connected || hidden_too);
    let start: usize = params
        .cursor
        .as_deref()
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0);
    let limit = params
        .limit
        .map_or(usize::MAX, |limit| limit.max(1) as usize);
    let mut rest = shown.skip(start);
    let data: Vec<_> = rest
        .by_ref()
        .take(limit)
        .map(|offer| model(catalog, offer))
        .collect();
    let next_cursor = rest.next().map(|_| (start + data.len()).to_string());
    Page { data, next_cursor }
}

fn model<'a>(catalog: &Catalog, offer: Offer<'a>) -> Model<'a> {
    let known = offer.model;
    let is_default =
        offer.provider == catalog.default.provider && known.id == catalog.default.model;
    let display_name = match (&offer.name, known.name.as_str()) {
        (name, "") => name.clone(),
        (Cow::Borrowed(_), title) => Cow::Borrowed(title),
        (Cow::Owned(_), title) => Cow::Owned(format!("{title} ({})", offer.provider)),
    };
    let efforts: Vec<_> = known.efforts.iter().map(|effort| option(effort)).collect();
    let first = efforts.first().map(|effort| effort.reasoning_effort);
    Model {
        description: format!("{} by {}", known.id, offer.provider),
        hidden: !offer.connected,
        is_default,
        default_reasoning_effort: known
            .default_effort
            .as_deref()
            .or(first)
            .unwrap_or(EFFORT_UNKNOWN.reasoning_effort),
        supported_reasoning_efforts: match efforts.is_empty() {
            true => vec![EFFORT_UNKNOWN],
            false => efforts,
        },
        // Of a model that nothing is known of, the provider itself says what it cannot read.
        input_modalities: match known.vision {
            Some(false) => &["text"],
            Some(true) | None => &["text", "image"],
        },
        id: offer.name.clone(),
        model: offer.name,
        display_name,
    }
}

fn option(effort: &str) -> ReasoningEffortOption<'_> {
    ReasoningEffortOption {
        reasoning_effort: effort,
        description: match effort {
            "none" => "Answers at once, without thinking.",
            "minimal" => "Thinks as little as it can.",
            "low" => "Thinks a little; fast answers.",
            "medium" => "Thinks as much as most work needs.",
            "high" => "Thinks long, for hard work.",
            "xhigh" | "max" => "Thinks as long as it can, for the hardest work.",
            _ => "As its provider defines it.",
        },
    }
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
