//! What providers list themselves, laid over the built-in catalog and under a person's own.

use crate::catalog::file::ModelEntry;
use crate::catalog::{Model, ProviderInfo};
use crate::format::{ListedModel, LocalFacts};

/// The most models of one provider that its own list may add.
pub const LISTED_MAX: usize = 2_000;
/// The longest id and name that are taken over.
const WORD_CHARS_MAX: usize = 256;

/// Words of the ids of models that do not hold conversations, or only with tools of their own.
const NO_CONVERSATION: [&[&str]; 34] = [
    &["embed"],
    &["embedding"],
    &["embeddings"],
    &["whisper"],
    &["tts"],
    &["speech"],
    &["dall", "e"],
    &["moderation"],
    &["transcribe"],
    &["realtime"],
    &["audio"],
    &["image"],
    &["video"],
    &["sora"],
    &["babbage"],
    &["davinci"],
    &["turbo", "instruct"],
    &["rerank"],
    &["reranker"],
    &["guard"],
    &["safeguard"],
    &["shieldgemma"],
    &["veo"],
    &["imagen"],
    &["lyria"],
    &["aqa"],
    &["ocr"],
    &["deep", "research"],
    &["banana"],
    &["robotics"],
    &["computer", "use"],
    &["search", "preview"],
    &["search", "api"],
    &["diffusion"],
];

pub type ListedModels = Vec<ListedModel>;

/// What of a list is worth keeping. A model that holds no conversation stays, but out of sight: who
/// names it may know better.
pub fn kept(listed: Vec<ListedModel>) -> ListedModels {
    let fits = |text: &str| text.chars().count() <= WORD_CHARS_MAX;
    let mut kept: ListedModels = listed
        .into_iter()
        .filter(|model| fits(&model.id))
        .take(LISTED_MAX)
        .collect();
    for model in &mut kept {
        model.hidden |= !talks(&model.id);
    }
    kept
}

/// How many of them can be chosen.
pub fn shown(listed: &ListedModels) -> usize {
    listed.iter().filter(|model| !model.hidden).count()
}

fn talks(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let words: Vec<&str> = id.split(['-', '_', '.', '/', ':']).collect();
    let has = |phrase: &[&str]| words.windows(phrase.len()).any(|window| window == phrase);
    !NO_CONVERSATION.iter().any(|phrase| has(phrase))
}

/// Takes over what a server on this machine says of its models beside the list.
pub fn refine(listed: &mut ListedModels, facts: Vec<LocalFacts>) {
    for told in facts {
        let models = listed.iter_mut().filter(|model| model.id == told.id);
        for model in models {
            model.context = told.context.or(model.context);
            model.vision = told.vision.or(model.vision);
            model.tools = told.tools.or(model.tools);
        }
    }
}

/// Lays a provider's own list over what the catalog says of it, adds what it does not have, after
/// the rest, and marks what the provider does not offer. `own` is what a person wrote: it stays.
pub fn lay_over(provider: &mut ProviderInfo, listed: &ListedModels, own: &[ModelEntry]) {
    for known in &mut provider.models {
        let by_person = own.iter().find(|entry| entry.id == known.id);
        let told = listed.iter().find(|told| told.goes_by(&known.id));
        // A person who lists a model knows that it is there.
        known.offered = match (told, by_person) {
            (Some(_), _) => Some(true),
            (None, Some(_)) => None,
            (None, None) => Some(false),
        };
        if let Some(told) = told {
            update(known, told);
        }
        if let Some(entry) = by_person {
            entry.write_over(known);
        }
    }
    let new: Vec<_> = listed
        .iter()
        .filter(|told| !told.hidden && !provider.models.iter().any(|known| known.id == told.id))
        .map(added)
        .collect();
    provider.models.extend(new);
}

/// What only the service can know is the service's word: the limits of this account, which efforts
/// are refused, what the model takes, when it goes. The name and the price stay as the catalog has
/// them: lists spell names in many ways, and leave out what a cache and a long input cost.
fn update(known: &mut Model, told: &ListedModel) {
    let told = told.clone();
    known.context = told.context.or(known.context);
    known.input = told.input.or(known.input);
    known.output = told.output.or(known.output);
    known.vision = told.vision.or(known.vision);
    known.tools = told.tools.or(known.tools);
    known.retires = told.retires.or(known.retires.take());
    known.successor = told.successor.or(known.successor.take());
    known.price = known.price.take().or(told.price);
    if let Some(efforts) = told.efforts {
        known.efforts = efforts;
    }
    known.default_effort = told.default_effort.or(known.default_effort.take());
    drop_odd_default(known);
}

fn added(told: &ListedModel) -> Model {
    let mut model = Model {
        id: told.id.clone(),
        name: told.name.clone().unwrap_or_else(|| told.id.clone()),
        ..Model::default()
    };
    model.offered = Some(true);
    update(&mut model, told);
    model
}

/// A default that is none of the efforts would be refused.
fn drop_odd_default(model: &mut Model) {
    let listed = |effort: &String| model.efforts.contains(effort);
    if !model.default_effort.as_ref().is_some_and(listed) {
        model.default_effort = None;
    }
}

#[cfg(test)]
mod tests;
