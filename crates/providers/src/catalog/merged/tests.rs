//! The built-in catalog, and what is laid over it.

mod numbers;
mod variables;

use super::*;
use crate::catalog::{Lifetime, Price};
use crate::rehearsal;

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn open(own: &str, pairs: &[(&str, &str)]) -> MergedCatalog {
    MergedCatalog::open(Some(own), &environment(pairs))
}

fn base_url(merged: &MergedCatalog, id: &str) -> String {
    let entry = merged.entry(id).expect("the provider");
    let endpoint = entry.provider.endpoint.as_ref().expect("a reach");
    endpoint.base_url.clone()
}

fn model_ids<'a>(merged: &'a MergedCatalog, id: &str) -> Vec<&'a str> {
    let entry = merged.entry(id).expect("the provider");
    entry
        .provider
        .models
        .iter()
        .map(|each| each.id.as_str())
        .collect()
}

#[test]
fn the_built_in_catalog_is_what_clients_expect() {
    built_in::parse();
    let merged = MergedCatalog::open(None, &Environment::new());
    assert_eq!(merged.warnings, Vec::<String>::new());
    let first: Vec<_> = merged.entries[..4]
        .iter()
        .map(|each| each.provider.id.as_str())
        .collect();
    assert_eq!(first, ["google", "openai", "anthropic", "codex-cli"]);
    // The default, what clients without a choice get, and the model for titles.
    for (id, default, small) in [
        ("google", "gemini-4-argon", "gemini-3.5-flash-lite"),
        ("openai", "gpt-6.1-sol", "gpt-6-luna"),
        ("anthropic", "claude-opus-5-5", "claude-haiku-5-5"),
        ("codex-cli", "gpt-6.1-sol", "gpt-6-luna"),
    ] {
        assert_eq!(model_ids(&merged, id).first(), Some(&default), "{id}");
        let entry = merged.entry(id).expect("the provider");
        assert_eq!(entry.provider.small_model.as_deref(), Some(small), "{id}");
    }
    let methods = |id: &str| -> Vec<String> {
        let entry = merged.entry(id).expect("the provider");
        entry.methods.iter().map(|each| each.id.clone()).collect()
    };
    assert_eq!(methods("google"), ["api_key", "exa_api_key"]);
    assert_eq!(methods("openai"), ["api_key"]);
    assert_eq!(methods("anthropic"), ["api_key"]);
    assert_eq!(
        methods("codex-cli"),
        ["oauth_cli", "oauth_device", "api_key"]
    );
    assert_eq!(model_ids(&merged, rehearsal::ID), rehearsal::MODELS);
}

#[test]
fn the_service_behind_a_chatgpt_sign_in_is_given_no_limit_of_its_answers() {
    let merged = MergedCatalog::open(None, &Environment::new());
    let codex = &merged.entry("codex-cli").expect("codex").provider;
    let endpoint = codex.endpoint.as_ref().expect("an endpoint");
    assert_eq!(endpoint.quirks.output_limit, Some(false));
}

#[test]
fn every_built_in_entry_is_sound() {
    let merged = MergedCatalog::open(None, &Environment::new());
    for entry in &merged.entries {
        let provider = &entry.provider;
        let known = |id: &String| provider.models.iter().any(|each| each.id == *id);
        assert!(
            provider.small_model.as_ref().is_none_or(known),
            "{}",
            provider.id
        );
        for model in &provider.models {
            if let Some(effort) = &model.default_effort {
                assert!(
                    model.efforts.contains(effort),
                    "{}/{}",
                    provider.id,
                    model.id
                );
            }
            let free = model
                .price
                .as_ref()
                .is_some_and(|price| price.input == 0 || price.output == 0);
            assert!(
                !free || provider.id == rehearsal::ID,
                "{}/{}",
                provider.id,
                model.id
            );
        }
        let known = provider.models.iter().map(|each| each.id.as_str());
        let known: Vec<&str> = known.collect();
        let successors = provider
            .models
            .iter()
            .filter_map(|each| each.successor.as_ref());
        for successor in successors.chain(provider.retired.values()) {
            assert!(
                known.contains(&successor.as_str()),
                "{}/{successor}",
                provider.id
            );
        }
        for gone in provider.retired.keys() {
            assert!(!known.contains(&gone.as_str()), "{}/{gone}", provider.id);
        }
        let keyless = provider
            .endpoint
            .as_ref()
            .is_none_or(|endpoint| endpoint.keyless);
        let key = provider
            .endpoint
            .as_ref()
            .is_some_and(|endpoint| !endpoint.key_env.is_empty());
        assert!(keyless || key, "{} has no way in", provider.id);
    }
}

#[test]
fn an_own_file_adds_and_overrides() {
    let own = r#"
        [[provider]]
        id = "openai"
        base_url = "https://gateway.example/v1/"
        headers = { "X-Team" = "blue" }
        wire = "chat"

        [[provider.model]]
        id = "gpt-5.2"
        price = { input = 1, output = 2 }

        [[provider.model]]
        id = "gpt-next"
        context = 10

        [[provider]]
        id = "mine"
        base_url = "http://127.0.0.1:9/v1"
        keyless = true
        [[provider.model]]
        id = "m"
    "#;
    let merged = open(own, &[]);
    assert_eq!(merged.warnings, Vec::<String>::new());
    let openai = &merged.entry("openai").expect("openai").provider;
    let endpoint = openai.endpoint.as_ref().expect("a reach");
    assert_eq!(endpoint.base_url, "https://gateway.example/v1");
    assert_eq!(endpoint.wire, Wire::Chat);
    assert_eq!(endpoint.key_env, ["OPENAI_API_KEY"]);
    assert_eq!(endpoint.headers, [("X-Team".to_owned(), "blue".to_owned())]);
    let changed = openai.models.iter().find(|each| each.id == "gpt-5.2");
    let changed = changed.expect("the model");
    assert_eq!(
        changed.price,
        Some(Price {
            input: 1,
            output: 2,
            ..Price::default()
        })
    );
    assert_eq!(changed.context, Some(400_000), "what is not written stays");
    assert_eq!(changed.default_effort.as_deref(), Some("medium"));
    assert_eq!(
        openai.models.last().map(|each| each.id.as_str()),
        Some("gpt-next")
    );
    let mine = &merged.entry("mine").expect("mine").provider;
    assert_eq!(
        (mine.name.as_str(), mine.models[0].name.as_str()),
        ("mine", "m")
    );
    assert!(
        mine.models[0].price.is_none(),
        "an unknown price is unknown"
    );
}

#[test]
fn a_broken_own_file_is_reported_and_the_rest_works() {
    let merged = open("[[provider]]\nid = \"x\"\nbase_urls = 1\n", &[]);
    assert_eq!(
        merged.warnings,
        [
            "config/catalog.toml is not used: line 3: unknown key `base_urls`; did you mean \
          `base_url`?; the built-in catalog is"
        ]
    );
    assert!(merged.entry("openai").is_some());
    let merged = open("[[provider]]\nid = \"x\"\n", &[]);
    assert_eq!(
        merged.warnings,
        ["the provider x is not used: it has no base_url"]
    );
}

fn endpoint(own: &str, variables: &[(&str, &str)], id: &str) -> ApiEndpoint {
    let catalog = MergedCatalog::open(Some(own), &environment(variables));
    let provider = &catalog.entry(id).expect("a provider").provider;
    provider.endpoint.clone().expect("an endpoint")
}

#[test]
fn free_text_goes_to_the_service_itself_and_to_gateways_that_are_said_to_take_it() {
    let gateway = "[[provider]]\nid = \"openai\"\nbase_url = \"https://g.example/v1\"\n";
    let sure = format!("{gateway}quirks = {{ custom_tools = true }}\n");
    let set = [("OPENAI_BASE_URL", "https://g.example/v1")];
    for (own, variables, id, expected) in [
        ("", &[][..], "openai", Some(true)),
        ("", &[][..], "codex-cli", Some(true)),
        ("", &set[..], "openai", None),
        (gateway, &[][..], "openai", None),
        (sure.as_str(), &[][..], "openai", Some(true)),
        ("", &[][..], "azure", None),
        ("", &[][..], "xai", None),
    ] {
        let quirks = endpoint(own, variables, id).quirks;
        assert_eq!(quirks.custom_tools, expected, "{own} {variables:?} {id}");
    }
}

#[test]
fn a_list_is_known_to_be_whole_only_where_the_service_is() {
    let whole =
        |own: &str, variables: &[(&str, &str)], id: &str| endpoint(own, variables, id).lists_all;
    let gateway = "[[provider]]\nid = \"openai\"\nbase_url = \"https://g.example/v1\"\n";
    let sure = format!("{gateway}lists_all = true\n");
    let set = [("OPENAI_BASE_URL", "https://g.example/v1")];
    let host = [("OLLAMA_HOST", "10.0.0.1")];
    for (own, variables, id, expected) in [
        ("", &[][..], "openai", true),
        ("", &set[..], "openai", false),
        (gateway, &[][..], "openai", false),
        (sure.as_str(), &[][..], "openai", true),
        ("", &host[..], "ollama", true),
        ("", &[][..], "llamacpp", false),
        ("", &[][..], "together", false),
    ] {
        assert_eq!(
            whole(own, variables, id),
            expected,
            "{own} {variables:?} {id}"
        );
    }
}
