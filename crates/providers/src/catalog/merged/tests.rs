//! The built-in catalog, and what is laid over it.

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

#[test]
fn the_environment_overrides_addresses_and_headers() {
    let merged = MergedCatalog::open(
        None,
        &environment(&[
            ("OPENAI_BASE_URL", "http://h:1/v1/"),
            ("ANTHROPIC_BASE_URL", "http://h:2"),
            ("GOOGLE_GEMINI_BASE_URL", "http://h:3"),
            ("OLLAMA_HOST", "0.0.0.0:5"),
            ("DRAGOMAN_GROQ_BASE_URL", "http://h:6/v1"),
            (
                "DRAGOMAN_CODEX_CLI_HEADERS",
                "X-A: one\nx-b:  two: three \n",
            ),
            ("DRAGOMAN_CODEX_ISSUER", "http://h:7/"),
        ]),
    );
    assert_eq!(merged.warnings, Vec::<String>::new());
    assert_eq!(base_url(&merged, "openai"), "http://h:1/v1");
    assert_eq!(base_url(&merged, "anthropic"), "http://h:2/v1");
    assert_eq!(base_url(&merged, "google"), "http://h:3/v1beta");
    assert_eq!(base_url(&merged, "ollama"), "http://127.0.0.1:5/v1");
    assert_eq!(base_url(&merged, "groq"), "http://h:6/v1");
    let codex = merged.entry("codex-cli").expect("codex");
    assert_eq!(codex.key_base_url.as_deref(), Some("http://h:1/v1"));
    let oauth = codex.oauth.as_ref().expect("endpoints");
    assert_eq!(oauth.token_url, "http://h:7/oauth/token");
    let endpoint = codex.provider.endpoint.as_ref().expect("a reach");
    let expected = [("X-A", "one"), ("x-b", "two: three")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(endpoint.headers, expected);
    assert!(
        !format!("{codex:?}").contains("three"),
        "a header is never shown"
    );
}

#[test]
fn a_broken_variable_is_reported_without_its_value() {
    let merged = MergedCatalog::open(None, &environment(&[("OPENAI_BASE_URL", "sk-oops")]));
    assert_eq!(
        merged.warnings,
        [
            "openai cannot be used: OPENAI_BASE_URL is not an http URL",
            "codex-cli cannot be used: OPENAI_BASE_URL is not an http URL",
        ]
    );
}

#[test]
fn a_list_is_known_to_be_whole_only_where_the_service_is() {
    let whole = |own: &str, variables: &[(&str, &str)], id: &str| {
        let catalog = MergedCatalog::open(Some(own), &environment(variables));
        let provider = &catalog.entry(id).expect("a provider").provider;
        provider.endpoint.as_ref().expect("an endpoint").lists_all
    };
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

#[test]
fn an_address_is_made_of_variables() {
    let azure = |pairs: &[(&str, &str)]| {
        let merged = MergedCatalog::open(None, &environment(pairs));
        let entry = merged.entry("azure").expect("the provider");
        let address = match &entry.broken {
            Some(broken) => broken.clone(),
            None => base_url(&merged, "azure"),
        };
        (address, merged.warnings)
    };
    let none = Vec::<String>::new();
    let fine = "https://mine.openai.azure.com/openai/v1".to_owned();
    for pairs in [
        [("AZURE_RESOURCE_NAME", "mine")],
        [("AZURE_OPENAI_RESOURCE_NAME", "mine")],
        [("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")],
        [("AZURE_OPENAI_ENDPOINT", "mine.openai.azure.com")],
        [(
            "AZURE_OPENAI_BASE_URL",
            "https://mine.openai.azure.com/openai/v1/",
        )],
    ] {
        assert_eq!(azure(&pairs), (fine.clone(), none.clone()), "{pairs:?}");
    }
    // Who has nothing of it set is not bothered with it; who has a key is told what is missing.
    let missing = "its address is not known: set AZURE_RESOURCE_NAME or \
        AZURE_OPENAI_RESOURCE_NAME, or AZURE_OPENAI_ENDPOINT";
    assert_eq!(azure(&[]), (missing.to_owned(), none));
    let (_, warnings) = azure(&[("AZURE_OPENAI_API_KEY", "k")]);
    assert_eq!(warnings, [format!("azure cannot be used: {missing}")]);
    let (odd, warnings) = azure(&[("AZURE_RESOURCE_NAME", "https://evil.example/")]);
    assert_eq!(odd, "AZURE_RESOURCE_NAME is not a plain name");
    assert_eq!(warnings, [format!("azure cannot be used: {odd}")]);
}

#[test]
fn regions_and_projects_are_variables_too() {
    let merged = MergedCatalog::open(
        None,
        &environment(&[("AWS_REGION", "eu-west-1"), ("GOOGLE_CLOUD_PROJECT", "p-1")]),
    );
    assert_eq!(merged.warnings, Vec::<String>::new());
    for (id, expected) in [
        (
            "bedrock",
            "https://bedrock-mantle.eu-west-1.api.aws/openai/v1",
        ),
        (
            "bedrock-claude",
            "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1",
        ),
        (
            "vertex",
            "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/publishers/google",
        ),
    ] {
        assert_eq!(base_url(&merged, id), expected);
    }
    let usual = MergedCatalog::open(None, &Environment::new());
    let expected = "https://bedrock-mantle.us-east-1.api.aws/openai/v1";
    assert_eq!(base_url(&usual, "bedrock"), expected);
    let express = "https://aiplatform.googleapis.com/v1/publishers/google";
    assert_eq!(base_url(&usual, "vertex-express"), express);
}

#[test]
fn a_header_of_a_variable_is_sent_where_that_is_set() {
    let headers = |pairs: &[(&str, &str)]| {
        let merged = MergedCatalog::open(None, &environment(pairs));
        let entry = merged.entry("openai").expect("the provider");
        let endpoint = entry.provider.endpoint.clone();
        endpoint.expect("a reach").headers
    };
    assert_eq!(headers(&[]), []);
    let project = ("OpenAI-Project".to_owned(), "proj_1".to_owned());
    assert_eq!(headers(&[("OPENAI_PROJECT_ID", "proj_1")]), [project]);
}

#[test]
fn a_key_goes_into_the_header_that_a_service_reads() {
    let merged = MergedCatalog::open(None, &Environment::new());
    for (id, name, value) in [
        ("openai", "authorization", "Bearer k"),
        ("anthropic", "x-api-key", "k"),
        ("google", "x-goog-api-key", "k"),
        ("azure", "api-key", "k"),
        ("vertex", "authorization", "Bearer k"),
        ("vertex-express", "x-goog-api-key", "k"),
        ("bedrock-claude", "authorization", "Bearer k"),
    ] {
        let entry = merged.entry(id).expect("the provider");
        let endpoint = entry.provider.endpoint.as_ref().expect("a reach");
        let expected = (name.to_owned(), value.to_owned());
        assert_eq!(endpoint.auth_header("k"), expected, "{id}");
    }
}

#[test]
fn the_environment_is_heeded_where_the_catalog_names_it() {
    for (name, expected) in [
        ("OPENAI_BASE_URL", true),
        ("AZURE_RESOURCE_NAME", true),
        ("AWS_DEFAULT_REGION", true),
        ("OPENAI_ORG_ID", true),
        ("DRAGOMAN_GROQ_HEADERS", true),
        ("AWS", false),
        ("PATH", false),
        ("A", false),
    ] {
        let environment = environment(&[(name, "x")]);
        assert_eq!(MergedCatalog::heeds(&environment), expected, "{name}");
    }
}
