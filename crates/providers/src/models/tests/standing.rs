//! How it stands with keys: saved, of the environment, accepted or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use futures_util::StreamExt;
use vocabulary::{AuthMode, ProviderStatus};

use super::server::{Asked, Server};
use super::{Home, masks, models_list};
use crate::models::Models;
use crate::{ErrorKind, Message, ModelRequest, Part};

async fn status(models: &Models, verify: bool, id: &str) -> ProviderStatus {
    let statuses = models.statuses(verify).await;
    let found = statuses.into_iter().find(|each| each.provider == id);
    found.expect("a status")
}

/// Lists models, or refuses with this status.
async fn service() -> (Server, Arc<AtomicU16>) {
    let answer = Arc::new(AtomicU16::new(200));
    let status = Arc::clone(&answer);
    let server = Server::start(move |_: &Asked| match status.load(Ordering::SeqCst) {
        200 => (
            200,
            models_list(&["gpt-5.2", "gpt-new", "text-embedding-3-small"]),
        ),
        other => (
            other,
            "{\"error\": {\"message\": \"Incorrect API key provided\"}}".to_owned(),
        ),
    })
    .await;
    (server, answer)
}

#[tokio::test]
async fn a_key_is_authorized_when_saved_and_verified_when_accepted() {
    let (server, answer) = service().await;
    let home = Home::new().set("OPENAI_BASE_URL", &format!("{}/v1", server.url));
    let models = home.open();
    let before = status(&models, true, "openai").await;
    assert_eq!(
        (before.mode, before.authorized, before.verified),
        (AuthMode::Missing, false, false)
    );
    assert_eq!(
        before.message,
        "OpenAI is not connected: run `dragoman auth login openai`, or set OPENAI_API_KEY"
    );
    assert_eq!(
        server.count("/v1/models"),
        0,
        "nobody is asked without a key"
    );

    let saved = models
        .set_key("openai", "api_key", " sk-test-12345678 \n".into())
        .await;
    let saved = saved.expect("saved");
    assert_eq!(
        (saved.mode, saved.message.as_str()),
        (AuthMode::ApiKey, "API key saved.")
    );
    assert!(models.connected("openai"));
    let unverified = status(&models, false, "openai").await;
    assert_eq!((unverified.authorized, unverified.verified), (true, false));
    assert_eq!(unverified.message, "Key saved, not verified yet");
    assert_eq!(unverified.masks, masks(&[("api_key", "sk-t...5678")]));
    assert_eq!(
        server.count("/v1/models"),
        0,
        "this never touches the network"
    );

    let verified = status(&models, true, "openai").await;
    assert_eq!((verified.mode, verified.verified), (AuthMode::ApiKey, true));
    assert_eq!(verified.message, "Verified: 2 models");
    let asked = &server.asked("/v1/models")[0];
    assert_eq!(
        asked.header("authorization"),
        Some("Bearer sk-test-12345678")
    );
    let openai = models.catalog().providers[1].models.clone();
    assert_eq!(
        openai.last().map(|model| model.id.as_str()),
        Some("gpt-new")
    );
    assert!(
        models
            .model("openai", "gpt-new")
            .is_some_and(|model| model.price.is_none())
    );

    status(&models, true, "openai").await;
    assert_eq!(server.count("/v1/models"), 1, "it was asked a moment ago");
    assert_eq!(
        status(&models, false, "openai").await.message,
        "Verified: 2 models"
    );

    answer.store(401, Ordering::SeqCst);
    models
        .set_key("openai", "api_key", "sk-other-12345678".into())
        .await
        .expect("saved");
    let changed = status(&models, false, "openai").await;
    assert_eq!(
        changed.message, "Key saved, not verified yet",
        "another key, another story"
    );
    let refused = status(&models, true, "openai").await;
    assert_eq!((refused.authorized, refused.verified), (true, false));
    assert_eq!(refused.message, "The key was not accepted (HTTP 401)");

    assert_eq!(models.sign_out("openai").await, Ok(true));
    assert_eq!(models.sign_out("openai").await, Ok(false));
    assert!(!models.connected("openai"));
}

#[tokio::test]
async fn a_saved_key_comes_before_that_of_the_environment() {
    let (server, _) = service().await;
    let home = Home::new()
        .set("OPENAI_BASE_URL", &format!("{}/v1/", server.url))
        .set("OPENAI_API_KEY", "sk-environment");
    let models = home.open();
    assert!(models.connected("openai"));
    let first = status(&models, false, "openai").await;
    assert_eq!(first.message, "OPENAI_API_KEY is set, not verified yet");
    assert_eq!(first.masks, masks(&[]), "only saved keys are shown");
    status(&models, true, "openai").await;
    // Another process on the same home.
    let other = home.open();
    other
        .set_key("openai", "api_key", "sk-saved-by-another".into())
        .await
        .expect("saved");
    status(&models, true, "openai").await;
    let keys: Vec<_> = server
        .asked("/v1/models")
        .iter()
        .map(|asked| asked.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        keys,
        ["Bearer sk-environment", "Bearer sk-saved-by-another"]
    );
}

#[tokio::test]
async fn each_wire_shows_its_key_in_its_own_way() {
    let (server, _) = service().await;
    let home = Home::new()
        .set("ANTHROPIC_BASE_URL", &server.url)
        .set("GEMINI_BASE_URL", &server.url)
        .set("ANTHROPIC_API_KEY", "key-a")
        .set("GEMINI_API_KEY", "key-g");
    let models = home.open();
    assert!(status(&models, true, "anthropic").await.verified);
    assert!(status(&models, true, "google").await.verified);
    let asked = &server.asked("/v1/models")[0];
    assert_eq!(asked.header("x-api-key"), Some("key-a"));
    assert!(asked.header("anthropic-version").is_some());
    let asked = &server.asked("/v1beta/models")[0];
    assert_eq!(asked.header("x-goog-api-key"), Some("key-g"));
    assert!(
        !asked.target.contains("key-g"),
        "a key is never in an address"
    );
}

/// For gateways, which know no header of Anthropic's.
#[tokio::test]
async fn a_token_of_the_environment_goes_as_a_bearers() {
    let (server, _) = service().await;
    let home = Home::new()
        .set("ANTHROPIC_BASE_URL", &server.url)
        .set("ANTHROPIC_AUTH_TOKEN", "token-1");
    let before = home.open();
    let standing = status(&before, true, "anthropic").await;
    assert_eq!((standing.mode, standing.verified), (AuthMode::ApiKey, true));
    let both = home.set("ANTHROPIC_API_KEY", "key-a");
    assert!(status(&both.open(), true, "anthropic").await.verified);
    let asked = server.asked("/v1/models");
    assert_eq!(asked[0].header("authorization"), Some("Bearer token-1"));
    assert_eq!(asked[0].header("x-api-key"), None);
    assert_eq!(asked[1].header("authorization"), None);
    assert_eq!(asked[1].header("x-api-key"), Some("key-a"));
}

/// What the format asks for and what a person asks for are one list.
#[tokio::test]
async fn betas_of_a_person_and_of_a_request_both_go_out() {
    let server = Server::start(|_: &Asked| (400, "{}".to_owned())).await;
    let home = Home::new()
        .set("ANTHROPIC_BASE_URL", &server.url)
        .set("ANTHROPIC_API_KEY", "key-a")
        .set(
            "DRAGOMAN_ANTHROPIC_HEADERS",
            "Anthropic-Beta: context-1m-2025-08-07, thinking-binding-controls-2026-08-01",
        );
    let models = home.open();
    let provider = models.provider("anthropic").expect("the provider");
    let request = ModelRequest {
        model: "claude-opus-5-5".to_owned(),
        messages: vec![Message::user("hi").into()],
        ..ModelRequest::default()
    };
    let mut parts = provider.stream(request).await.expect("a stream");
    assert!(parts.next().await.is_some_and(|part| part.is_err()));
    let asked = &server.asked("/v1/messages")[0];
    assert_eq!(
        asked.header("anthropic-beta"),
        Some("thinking-binding-controls-2026-08-01,context-1m-2025-08-07")
    );
}

#[tokio::test]
async fn a_key_for_codex_goes_to_the_api_and_not_to_chatgpt() {
    let (server, _) = service().await;
    let home = Home::new().set("OPENAI_BASE_URL", &format!("{}/v1", server.url));
    let models = home.open();
    models
        .set_key("codex-cli", "api_key", "sk-codex-1234".into())
        .await
        .expect("saved");
    let codex = status(&models, true, "codex-cli").await;
    assert_eq!((codex.mode, codex.verified), (AuthMode::ApiKey, true));
    let asked = &server.asked("/v1/models")[0];
    assert_eq!(asked.header("authorization"), Some("Bearer sk-codex-1234"));
    assert_eq!(
        asked.header("originator"),
        None,
        "that belongs to a sign-in"
    );
}

#[tokio::test]
async fn the_key_of_a_tool_is_kept_beside_its_provider() {
    let home = Home::new();
    let models = home.open();
    assert!(models.tool_key("exa").is_none());
    models
        .set_key("google", "exa_api_key", "exa-123456789".into())
        .await
        .expect("saved");
    assert!(models.tool_key("exa").is_some());
    let google = status(&models, false, "google").await;
    assert_eq!(google.masks, masks(&[("exa_api_key", "exa-...6789")]));
    assert!(!google.authorized, "it is no key of this provider");
    assert_eq!(
        home.json("auth/connections.json")["toolApiKeys"]["exa"],
        "exa-123456789"
    );
    assert_eq!(models.sign_out("google").await, Ok(true));
    assert!(models.tool_key("exa").is_none());
}

#[tokio::test]
async fn what_is_no_key_is_refused_without_repeating_it() {
    let home = Home::new();
    let models = home.open();
    for (method, key) in [
        ("api_key", "a b-secret"),
        ("api_key", " "),
        ("oauth_cli", "sk-secret"),
    ] {
        let error = models
            .set_key("codex-cli", method, key.into())
            .await
            .expect_err("refused");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert!(!home.directory.path().join("auth").exists());
}

#[test]
fn where_nothing_can_be_wrong_the_catalog_is_not_read_to_say_so() {
    let read = |home: &Home| {
        let models = home.open();
        let warnings = models.warnings();
        let remote = models.remote.as_ref().expect("remote models");
        (remote.has_read_the_catalog(), warnings.len())
    };
    assert_eq!(read(&Home::new().set("LANG", "C")), (false, 0));
    assert_eq!(read(&Home::new().set("OPENAI_API_KEY", "sk-1")), (true, 0));
    for name in ["OPENAI_BASE_URL", "DRAGOMAN_OPENAI_BASE_URL"] {
        let (was_read, warnings) = read(&Home::new().set(name, "nonsense"));
        assert!(was_read && warnings > 0, "{name}");
    }
    assert_eq!(
        read(&Home::new().set("DRAGOMAN_OPENAI_HEADERS", "nonsense")),
        (true, 1)
    );
    let home = Home::new();
    home.write("config/catalog.toml", "[[provider]]\nid = 3\n");
    assert_eq!(read(&home), (true, 1));
}

#[tokio::test]
async fn a_broken_file_is_told_and_the_environment_still_works() {
    let home = Home::new().set("OPENAI_API_KEY", "sk-1");
    home.write("auth/connections.json", "{broken");
    home.write("config/catalog.toml", "[[provider]]\nid = 3\n");
    let models = home.open();
    let warnings = models.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("catalog.toml is not used: line 2"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].contains("connections.json is not a valid"),
        "{warnings:?}"
    );
    assert!(models.connected("openai"));
    let google = status(&models, false, "google").await;
    assert_eq!((google.mode, google.authorized), (AuthMode::Error, false));
    let provider = models.provider("google").expect("it is in the catalog");
    let error = first_error(provider.stream(ModelRequest::default()).await).await;
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error.message.contains("connections.json is not a valid"),
        "{error}"
    );
    assert_eq!(models.default_model().await.why, "OPENAI_API_KEY is set");
}

#[tokio::test]
async fn a_provider_that_is_not_connected_says_how() {
    let home = Home::new();
    let models = home.open();
    let provider = models.provider("groq").expect("it is in the catalog");
    let error = first_error(provider.stream(ModelRequest::default()).await).await;
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error
            .message
            .contains("Groq is not connected: run `dragoman auth login groq`, or set GROQ_API_KEY"),
        "{error}"
    );
    assert!(models.provider("nobody").is_none());
}

async fn first_error(
    stream: Result<crate::PartStream, crate::ProviderError>,
) -> crate::ProviderError {
    match stream {
        Err(error) => error,
        Ok(mut stream) => stream.next().await.expect("a part").expect_err("an error"),
    }
}

#[tokio::test]
async fn a_server_of_ones_own_answers() {
    let server = Server::start(|asked: &Asked| {
        assert_eq!(asked.header("x-team"), Some("blue"));
        let chunk = |delta: &str, finish: &str| {
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n")
        };
        let hello = chunk("{\"content\":\"hello\"}", "null");
        (200, format!("{hello}{}data: [DONE]\n\n", chunk("{}", "\"stop\"")))
    })
    .await;
    let home = Home::new();
    home.write(
        "config/catalog.toml",
        &format!(
            "[[provider]]\nid = \"mine\"\nbase_url = \"{}/v1\"\nkeyless = true\n\
             headers = {{ X-Team = \"blue\" }}\n",
            server.url
        ),
    );
    let models = home.open();
    let provider = models.provider("mine").expect("it is in the catalog");
    let request = ModelRequest {
        model: "m".to_owned(),
        messages: vec![Message::user("hi").into()],
        ..ModelRequest::default()
    };
    let parts: Vec<_> = provider
        .stream(request)
        .await
        .expect("a stream")
        .collect()
        .await;
    let text: String = parts
        .iter()
        .filter_map(|part| match part {
            Ok(Part::TextDelta { text, .. }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "hello", "{parts:?}");
    assert!(
        matches!(parts.last(), Some(Ok(Part::Finish { .. }))),
        "{parts:?}"
    );
    assert_eq!(
        server.asked("/v1/chat/completions")[0].header("authorization"),
        None
    );
}
