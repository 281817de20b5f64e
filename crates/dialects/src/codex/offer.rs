//! What there is to choose from: models.

use std::borrow::Cow;
use std::collections::HashMap;

use vocabulary::{Catalog, ModelOffer, ModelRef};

use super::wire::params::ModelListParams;
use super::wire::results::{Model, Page, ReasoningEffortOption};

/// How hard a model thinks of which nothing else is known: clients want a word.
const EFFORT_UNKNOWN: ReasoningEffortOption<'static> = ReasoningEffortOption {
    reasoning_effort: "medium",
    description: "The provider's own default.",
};

/// What clients were told of models that these do not say themselves.
#[derive(Debug, Default)]
pub struct Names {
    /// Names that are not the model's own id, because another provider's model has that.
    spelled_out: HashMap<ModelRef, String>,
    /// By name, whether a model's efforts are known: the one it was listed with may be only a word.
    efforts_known: HashMap<String, bool>,
}

impl Names {
    pub fn new(catalog: &Catalog) -> Self {
        let mut names = Self::default();
        for offer in catalog.offers() {
            let (model, known) = (offer.reference(), !offer.model.efforts.is_empty());
            if let Cow::Owned(name) = &offer.name {
                names.spelled_out.insert(model, name.clone());
            }
            names.efforts_known.insert(offer.name.into_owned(), known);
        }
        if let Some(name) = unlisted(catalog) {
            names.efforts_known.insert(name.clone(), false);
            names.spelled_out.insert(catalog.default.clone(), name);
        }
        names
    }

    /// Whether an effort is the word we made up, and so no wish of anyone. A model that was never listed
    /// leaves the one in use.
    pub fn is_made_up(&self, effort: &str, model: &str, in_use: &str) -> bool {
        let known = |name: &str| self.efforts_known.get(name).copied();
        let known = known(model).or_else(|| known(in_use));
        effort == EFFORT_UNKNOWN.reasoning_effort && known == Some(false)
    }

    pub fn of<'a>(&'a self, model: &'a ModelRef) -> &'a str {
        self.spelled_out.get(model).unwrap_or(&model.model)
    }
}

/// A cursor is the place of the next model in the list.
pub fn models<'a>(catalog: &'a Catalog, params: &ModelListParams) -> Page<Model<'a>> {
    let hidden_too = params.include_hidden == Some(true);
    let offers = catalog.offers().into_iter();
    let shown = offers.filter(|offer| offer.connected || hidden_too);
    let start: usize = params
        .cursor
        .as_deref()
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0);
    let limit = params
        .limit
        .map_or(usize::MAX, |limit| limit.max(1) as usize);
    let listed = shown.map(|offer| model(catalog, offer));
    let default = unlisted(catalog).map(|name| default_model(catalog, name));
    let mut rest = default.into_iter().chain(listed).skip(start);
    let data: Vec<_> = rest.by_ref().take(limit).collect();
    let next_cursor = rest.next().map(|_| (start + data.len()).to_string());
    Page { data, next_cursor }
}

/// The name of the server's own model where no provider lists it: clients want to see what they use.
fn unlisted(catalog: &Catalog) -> Option<String> {
    let default = &catalog.default;
    let mut offers = catalog.offers().into_iter();
    let is_listed = offers.any(|offer| offer.reference() == *default);
    (!is_listed).then(|| format!("{}/{}", default.provider, default.model))
}

fn default_model(catalog: &Catalog, name: String) -> Model<'_> {
    let default = &catalog.default;
    let mut providers = catalog.providers.iter();
    let provider = providers.find(|provider| provider.id == default.provider);
    let name: Cow<'_, str> = Cow::Owned(name);
    Model {
        description: format!("{} by {}", default.model, default.provider),
        hidden: !provider.is_some_and(|provider| provider.connected),
        is_default: true,
        default_reasoning_effort: EFFORT_UNKNOWN.reasoning_effort,
        supported_reasoning_efforts: vec![EFFORT_UNKNOWN],
        input_modalities: &["text", "image"],
        id: name.clone(),
        model: name.clone(),
        display_name: name,
    }
}

fn model<'a>(catalog: &Catalog, offer: ModelOffer<'a>) -> Model<'a> {
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
