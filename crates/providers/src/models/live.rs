//! What providers list themselves, laid under what the catalog says.

use crate::catalog::{Model, ProviderInfo};
use crate::format::ListedModel;

/// The most models of one provider that its own list may add.
pub const LISTED_MAX: usize = 500;
/// The longest id and name that are taken over.
const WORD_CHARS_MAX: usize = 256;

/// Parts of the ids of models that do not hold conversations.
const NO_CONVERSATION: [&str; 18] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "transcribe",
    "realtime",
    "audio",
    "image",
    "sora",
    "babbage",
    "davinci",
    "rerank",
    "guard",
    "veo",
    "imagen",
    "aqa",
    "ocr",
];

pub type ListedModels = Vec<ListedModel>;

/// What of a list is worth keeping.
pub fn kept(listed: Vec<ListedModel>) -> ListedModels {
    let fits = |text: &str| text.chars().count() <= WORD_CHARS_MAX;
    let talks = |id: &str| {
        let id = id.to_ascii_lowercase();
        !NO_CONVERSATION.iter().any(|part| id.contains(part))
    };
    listed
        .into_iter()
        .filter(|model| fits(&model.id) && talks(&model.id))
        .take(LISTED_MAX)
        .collect()
}

/// Fills in what the catalog leaves open, and adds what it does not list, after the rest.
pub fn lay_under(provider: &mut ProviderInfo, listed: &ListedModels) {
    for told in listed {
        match provider.models.iter_mut().find(|each| each.id == told.id) {
            Some(known) => {
                known.context = known.context.or(told.context);
                known.output = known.output.or(told.output);
                known.price = known.price.take().or_else(|| told.price.clone());
            }
            None => provider.models.push(Model {
                id: told.id.clone(),
                name: told.name.clone().unwrap_or_else(|| told.id.clone()),
                context: told.context,
                output: told.output,
                price: told.price.clone(),
                ..Model::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str) -> ListedModel {
        ListedModel {
            id: id.to_owned(),
            context: Some(7),
            ..ListedModel::default()
        }
    }

    #[test]
    fn the_catalog_wins_and_the_rest_comes_after() {
        let mut provider = ProviderInfo {
            id: "p".to_owned(),
            name: "P".to_owned(),
            auth: Vec::new(),
            endpoint: None,
            models: vec![Model {
                id: "known".to_owned(),
                name: "Known".to_owned(),
                output: Some(3),
                ..Model::default()
            }],
            ..ProviderInfo::default()
        };
        let told = kept(vec![
            listed("new"),
            listed("text-embedding-3"),
            listed("known"),
        ]);
        lay_under(&mut provider, &told);
        let ids: Vec<_> = provider
            .models
            .iter()
            .map(|each| each.id.as_str())
            .collect();
        assert_eq!(ids, ["known", "new"]);
        let known = &provider.models[0];
        assert_eq!(
            (known.name.as_str(), known.context, known.output),
            ("Known", Some(7), Some(3))
        );
    }

    #[test]
    fn a_list_has_an_end() {
        let many = (0..2000)
            .map(|number| listed(&format!("m{number}")))
            .collect();
        assert_eq!(kept(many).len(), LISTED_MAX);
        assert!(kept(vec![listed(&"x".repeat(300))]).is_empty());
    }
}
