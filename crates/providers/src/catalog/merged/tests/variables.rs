//! What the environment changes: addresses, headers and keys.

use super::*;

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
