//! Models that are gone or near their end, and services that are reached in ways of their own.

use futures_util::StreamExt;

use super::server::{Asked, Server};
use super::{Home, models_list};
use crate::catalog;
use crate::models::Models;
use crate::{ErrorKind, Message, ModelRequest, ProviderError};

async fn refusal(models: &Models, provider: &str, model: &str) -> ProviderError {
    let provider = models.provider(provider).expect("it is in the catalog");
    let request = ModelRequest {
        model: model.to_owned(),
        messages: vec![Message::user("hi").into()],
        ..ModelRequest::default()
    };
    match provider.stream(request).await {
        Err(error) => error,
        Ok(mut stream) => stream.next().await.expect("a part").expect_err("an error"),
    }
}

/// A service that knows none of the models it is asked for.
async fn forgetful() -> Server {
    let body = r#"{"error": {"message": "The requested model does not exist", "type":
        "invalid_request_error", "param": "model", "code": "model_not_found"}}"#;
    Server::start(move |_: &Asked| (404, body.to_owned())).await
}

#[tokio::test]
async fn a_model_that_is_gone_names_its_successor() {
    let server = forgetful().await;
    let home = Home::new()
        .set("DEEPSEEK_API_KEY", "k")
        .set("DRAGOMAN_DEEPSEEK_BASE_URL", &server.url);
    let models = home.open();
    for (model, advice) in [
        (
            "deepseek-chat",
            "it was retired; use deepseek/deepseek-flash",
        ),
        ("deepseek-x", "`dragoman models deepseek` lists them"),
    ] {
        let error = refusal(&models, "deepseek", model).await;
        assert_eq!(error.kind, ErrorKind::UnknownModel);
        assert!(error.message.ends_with(advice), "{error}");
    }
}

#[tokio::test]
async fn a_model_near_its_end_is_told_of() {
    let home = Home::new();
    home.write(
        "config/catalog.toml",
        "[[provider]]\nid = \"openai\"\n[[provider.model]]\nid = \"gpt-5.2\"\n\
         retires = \"2026-11-30\"\nsuccessor = \"gpt-6-sol\"\n",
    );
    let models = home.open();
    let end_ms = 20_787 * 86_400_000;
    let told = |model: &str, days: i64| {
        let today = catalog::day(end_ms + days * 86_400_000);
        models.retirement("openai", model, today)
    };
    assert_eq!(told("gpt-5.2", -61), None);
    let soon = "openai/gpt-5.2 retires on 2026-11-30; use gpt-6-sol";
    assert_eq!(told("gpt-5.2", -60).as_deref(), Some(soon));
    let over = "openai/gpt-5.2 retired on 2026-11-30; use gpt-6-sol";
    assert_eq!(told("gpt-5.2", 0).as_deref(), Some(over));
    let gone = "openai/gpt-5.2-codex was retired; use gpt-6-sol";
    assert_eq!(told("gpt-5.2-codex", 0).as_deref(), Some(gone));
    assert_eq!(told("never-heard-of", 0), None);
}

#[tokio::test]
async fn a_token_for_other_work_does_not_choose_a_provider() {
    let home = Home::new()
        .set("GITHUB_TOKEN", "ghp_1")
        .set("HF_TOKEN", "hf_1");
    let models = home.open();
    assert_eq!(models.default_model().await.provider, "rehearsal");
    assert!(models.connected("huggingface"), "it can be named");
    models
        .set_key("huggingface", "api_key", "hf_2".into())
        .await
        .expect("saved");
    assert_eq!(models.default_model().await.provider, "huggingface");
}

#[tokio::test]
async fn azure_gets_its_key_in_its_own_header() {
    let server = Server::start(|asked: &Asked| match asked.header("api-key") {
        Some("k-azure") if asked.header("authorization").is_none() => {
            (200, models_list(&["gpt-6.1-sol"]))
        }
        _ => (401, String::new()),
    })
    .await;
    let home = Home::new()
        .set("AZURE_OPENAI_API_KEY", "k-azure")
        .set("AZURE_OPENAI_ENDPOINT", &server.url);
    let models = home.open();
    assert_eq!(models.refresh("azure").await, Ok(1));
    assert_eq!(server.count("/openai/v1/models"), 1);
}

#[tokio::test]
async fn azure_without_an_address_is_never_asked() {
    let home = Home::new().set("AZURE_OPENAI_API_KEY", "k-azure");
    let models = home.open();
    let error = refusal(&models, "azure", "gpt-6.1-sol").await;
    let expected = "Azure OpenAI cannot be used: its address is not known: set AZURE_RESOURCE_NAME";
    assert!(error.message.starts_with(expected), "{error}");
    assert_eq!(models.default_model().await.provider, "rehearsal");
}
