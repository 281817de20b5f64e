//! What is made of a list.

use super::*;
use crate::catalog::Price;

fn listed(id: &str) -> ListedModel {
    ListedModel {
        id: id.to_owned(),
        ..ListedModel::default()
    }
}

fn known(id: &str) -> Model {
    Model {
        id: id.to_owned(),
        name: id.to_uppercase(),
        ..Model::default()
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn laid(models: Vec<Model>, told: Vec<ListedModel>, own: &[ModelEntry]) -> Vec<Model> {
    let mut provider = ProviderInfo {
        id: "p".to_owned(),
        name: "P".to_owned(),
        auth: Vec::new(),
        endpoint: None,
        models,
        ..ProviderInfo::default()
    };
    lay_over(&mut provider, &kept(told), own);
    provider.models
}

#[test]
fn the_service_knows_its_limits_and_the_catalog_its_prices() {
    let catalog = Model {
        context: Some(200_000),
        output: Some(8_000),
        price: Some(Price {
            input: 3,
            output: 15,
            cached: Some(1),
            ..Price::default()
        }),
        efforts: words(&["low", "high"]),
        default_effort: Some("high".to_owned()),
        vision: Some(true),
        ..known("m")
    };
    let told = ListedModel {
        name: Some("M of the list".to_owned()),
        context: Some(1_000_000),
        price: Some(Price {
            input: 4,
            output: 20,
            ..Price::default()
        }),
        efforts: Some(words(&["low", "medium"])),
        tools: Some(false),
        retires: Some("2026-11-30".to_owned()),
        successor: Some("n".to_owned()),
        ..listed("m")
    };
    let models = laid(vec![catalog.clone()], vec![told, listed("n")], &[]);
    let expected = Model {
        context: Some(1_000_000),
        efforts: words(&["low", "medium"]),
        default_effort: None,
        tools: Some(false),
        retires: Some("2026-11-30".to_owned()),
        successor: Some("n".to_owned()),
        offered: Some(true),
        ..catalog
    };
    assert_eq!(models[0], expected);
    assert_eq!(
        (models[1].id.as_str(), models[1].offered),
        ("n", Some(true))
    );
}

#[test]
fn what_a_person_wrote_stays() {
    let own = ModelEntry {
        id: "m".to_owned(),
        context: Some(32_000),
        ..ModelEntry::default()
    };
    let told = ListedModel {
        context: Some(1_000_000),
        output: Some(9),
        ..listed("m")
    };
    let model = Model {
        context: Some(32_000),
        ..known("m")
    };
    let models = laid(vec![model], vec![told], std::slice::from_ref(&own));
    assert_eq!(
        (models[0].context, models[0].output),
        (Some(32_000), Some(9))
    );
    let unlisted = laid(vec![known("m"), known("gone")], vec![listed("x")], &[own]);
    assert_eq!(unlisted[0].offered, None, "a person says that it is there");
    assert_eq!(unlisted[1].offered, Some(false));
}

#[test]
fn a_short_name_is_found_under_its_long_one() {
    let catalog = ["claude-haiku-4-5", "qwen3", "mistral-large-latest", "gpt-5"];
    let told = vec![
        listed("claude-haiku-4-5-20251001"),
        listed("qwen3:latest"),
        ListedModel {
            aliases: words(&["mistral-large-latest"]),
            ..listed("mistral-large-2512")
        },
        listed("gpt-5-mini"),
    ];
    let models = laid(catalog.map(known).to_vec(), told, &[]);
    let offered: Vec<_> = models[..4].iter().map(|each| each.offered).collect();
    assert_eq!(offered, [Some(true), Some(true), Some(true), Some(false)]);
    assert!(listed("a/b").goes_by("a/b:nitro"));
    assert!(!listed("qwen3:latest").goes_by("qwen3:8b"));
}

#[test]
fn what_holds_no_conversation_is_out_of_sight() {
    for id in [
        "text-embedding-3-small",
        "nomic-embed-text",
        "gpt-4o-audio-preview",
        "chatgpt-image-latest",
        "dall-e-3",
        "o4-mini-deep-research",
        "nano-banana-pro-preview",
        "gemini-robotics-er-2-preview",
        "gemini-2.5-computer-use-preview",
        "meta-llama/llama-guard-4-12b",
        "mistral-ocr-latest",
    ] {
        assert!(!talks(id), "{id}");
    }
    for id in [
        "gpt-6.1-sol",
        "procreative-7b",
        "imagery/reader-1",
        "guardian-chat",
        "audiophile",
        "democracy-3",
        "qwen3-omni",
    ] {
        assert!(talks(id), "{id}");
    }
    let models = laid(Vec::new(), vec![listed("whisper-1"), listed("gpt")], &[]);
    assert_eq!(models.len(), 1);
}

#[test]
fn a_list_has_an_end() {
    let many = (0..3000)
        .map(|number| listed(&format!("m{number}")))
        .collect();
    assert_eq!(kept(many).len(), LISTED_MAX);
    assert!(kept(vec![listed(&"x".repeat(300))]).is_empty());
}
