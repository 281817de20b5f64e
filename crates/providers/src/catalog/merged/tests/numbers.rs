//! The gathered numbers: that they are there, belong to what is offered, and are used.

use super::*;

#[test]
fn the_numbers_belong_to_what_is_offered_and_were_of_their_day() {
    let (written, numbers) = built_in::parse();
    let gathered = numbers.date.parse().expect("a date");
    assert!(!numbers.sources.is_empty());
    let merged = MergedCatalog::open(None, &Environment::new());
    for provider in &numbers.provider {
        let offered = written.provider.iter().find(|each| each.id == provider.id);
        let offered = offered.expect("a provider that is offered");
        let entry = merged.entry(&provider.id).expect("the provider");
        for model in &provider.model {
            let id = format!("{}/{}", provider.id, model.id);
            assert!(offered.model.iter().any(|each| each.id == model.id), "{id}");
            let known = entry
                .provider
                .models
                .iter()
                .find(|each| each.id == model.id);
            let known = known.expect("the model");
            assert_ne!(known.lifetime(gathered), Lifetime::Retired, "{id}");
            let ending = known.lifetime(gathered) == Lifetime::Ending;
            assert!(!ending || known.successor.is_some(), "{id}");
        }
    }
    for entry in &merged.entries {
        let provider = &entry.provider;
        let default = provider
            .default_model(gathered)
            .map(|each| each.id.as_str());
        let first = provider.models.first().map(|each| each.id.as_str());
        assert_eq!(default, first, "{}", provider.id);
        let small = provider.small_model.as_deref();
        let beside = provider.small_model_beside("large", gathered);
        assert_eq!(beside, small.unwrap_or("large"), "{}", provider.id);
    }
}

#[test]
fn what_people_begin_with_has_limits_a_price_and_efforts() {
    let merged = MergedCatalog::open(None, &Environment::new());
    for id in [
        "google",
        "openai",
        "anthropic",
        "deepseek",
        "xai",
        "mistral",
        "zai",
    ] {
        let entry = merged.entry(id).expect("the provider");
        let small = entry
            .provider
            .small_model
            .as_deref()
            .expect("a small model");
        let first = &entry.provider.models[0];
        let small = entry.provider.models.iter().find(|each| each.id == small);
        for model in [first, small.expect("the small model")] {
            assert!(model.context.is_some(), "{model:?}");
            assert!(model.price.is_some(), "{model:?}");
            assert!(model.vision.is_some(), "{model:?}");
            assert!(!model.efforts.is_empty(), "{model:?}");
            assert!(model.default_effort.is_some(), "{model:?}");
        }
    }
    // Whom a subscription pays for has no price.
    for id in ["codex-cli", "kimi-code", "zai-coding"] {
        let entry = merged.entry(id).expect("the provider");
        assert!(
            entry
                .provider
                .models
                .iter()
                .all(|each| each.price.is_none()),
            "{id}"
        );
    }
}

#[test]
fn long_requests_cost_what_they_cost() {
    let merged = MergedCatalog::open(None, &Environment::new());
    let catalog = merged.catalog();
    let cost = |provider: &str, model: &str, input_tokens| {
        let model = catalog.model(provider, model).expect("the model");
        let price = model.price.as_ref().expect("a price");
        price.of(crate::ModelUsage {
            input_tokens,
            ..crate::ModelUsage::default()
        })
    };
    assert_eq!(cost("openai", "gpt-6.1-sol", 272_000), 544_000);
    assert_eq!(cost("openai", "gpt-6.1-sol", 300_000), 1_200_000);
    assert_eq!(cost("anthropic", "claude-haiku-5-5", 100_000), 10_000);
    assert_eq!(cost("anthropic", "claude-haiku-5-5", 200_000), 100_000);
    assert_eq!(cost("google", "gemini-3.1-pro-preview", 300_000), 1_200_000);
}

#[test]
fn the_models_of_openai_have_a_limit_of_what_goes_in() {
    let merged = MergedCatalog::open(None, &Environment::new());
    let catalog = merged.catalog();
    // They take no more than this in, or more for twice the price.
    for (provider, model) in [
        ("openai", "gpt-5.2"),
        ("openai", "gpt-6.1-sol"),
        ("codex-cli", "gpt-6.1-sol"),
        ("bedrock", "openai.gpt-6.1-sol"),
    ] {
        let model = catalog.model(provider, model).expect("the model");
        assert_eq!(model.input, Some(272_000), "{provider}");
        assert!(model.context > model.input, "{provider}");
    }
}
