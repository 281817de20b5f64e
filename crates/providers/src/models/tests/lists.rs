//! What providers say themselves of their models, and what is made of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use vocabulary::AuthMode;

use super::server::{Asked, Server};
use super::{Home, models_list, remote_provider};
use crate::accounts::now_ms;
use crate::catalog::Model;
use crate::models::Models;
use crate::models::provider_set::CheckResult;

const HOUR_MS: i64 = 3_600_000;

fn chatgpt_list() -> String {
    let model = |slug: &str, visibility: &str, priority: u32| {
        json!({ "slug": slug, "display_name": slug, "visibility": visibility, "priority": priority,
                "context_window": 272_000, "default_reasoning_level": "medium",
                "supported_reasoning_levels": [{ "effort": "low" }, { "effort": "medium" }] })
    };
    let models = [
        model("gpt-9-luna", "list", 3),
        model("gpt-9-sol", "list", 1),
        model("gpt-9-review", "hide", 2),
    ];
    json!({ "models": models }).to_string()
}

/// Signed in at ChatGPT, which is at this address.
fn signed_in_at(server: &Server) -> Home {
    let home = Home::new().set("DRAGOMAN_CODEX_CLI_BASE_URL", &server.url);
    home.signed_in(now_ms() + HOUR_MS);
    home
}

async fn message(models: &Models, id: &str) -> String {
    let statuses = models.statuses(true).await;
    let status = statuses.into_iter().find(|each| each.provider == id);
    status.expect("a status").message
}

fn ids(models: &Models, provider: &str) -> Vec<(String, Option<bool>)> {
    let catalog = models.catalog();
    let entry = catalog.providers.iter().find(|each| each.id == provider);
    let listed = &entry.expect("the provider").models;
    listed
        .iter()
        .map(|model| (model.id.clone(), model.offered))
        .collect()
}

#[tokio::test]
async fn chatgpt_is_asked_for_its_list_and_the_default_is_on_it() {
    let server = Server::start(|asked: &Asked| match asked.path() {
        "/models" => (200, chatgpt_list()),
        other => (404, other.to_owned()),
    })
    .await;
    let home = signed_in_at(&server);
    let models = home.open();
    let before = models.default_model().await.model;
    assert_eq!(message(&models, "codex-cli").await, "Verified: 2 models");
    let asked = &server.asked("/models")[0];
    assert!(
        asked.target.starts_with("/models?client_version=0."),
        "{}",
        asked.target
    );
    assert!(
        asked.header("version").is_some_and(|version| {
            asked.target.ends_with(&format!("client_version={version}"))
        })
    );
    assert_eq!(asked.header("authorization"), Some("Bearer at-old"));
    assert_eq!(asked.header("chatgpt-account-id"), Some("acc"));

    let listed = ids(&models, "codex-cli");
    assert!(listed.contains(&(before, Some(false))), "{listed:?}");
    let new = &listed[listed.len() - 2..];
    assert_eq!(
        new,
        [
            ("gpt-9-sol".to_owned(), Some(true)),
            ("gpt-9-luna".to_owned(), Some(true))
        ]
    );
    let sol = models.model("codex-cli", "gpt-9-sol").expect("a model");
    assert_eq!(
        (
            sol.context,
            sol.efforts.len(),
            sol.default_effort.as_deref()
        ),
        (Some(272_000), 2, Some("medium"))
    );
    let choice = models.default_model().await;
    assert_eq!(
        (choice.provider.as_str(), choice.model.as_str()),
        ("codex-cli", "gpt-9-sol")
    );
    assert_eq!(
        models.small_model("codex-cli", "gpt-9-sol").as_deref(),
        Some("gpt-9-sol"),
        "the small one of the catalog is not offered"
    );
}

#[tokio::test]
async fn a_sign_in_without_a_list_is_a_sign_in() {
    let server = Server::start(|_: &Asked| (404, "{\"detail\":\"Not Found\"}".to_owned())).await;
    let home = signed_in_at(&server);
    let models = home.open();
    let statuses = models.statuses(true).await;
    let status = statuses
        .iter()
        .find(|each| each.provider == "codex-cli")
        .expect("a status");
    assert_eq!(
        (status.mode, status.verified, status.message.as_str()),
        (AuthMode::OAuth, true, "Signed in")
    );
    assert_eq!(models.refresh("codex-cli").await, Ok(0));
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page() {
    let server = Server::start(|asked: &Asked| {
        let page = |id: &str, more: bool| json!({ "data": [{ "id": id }], "has_more": more, "last_id": id });
        let page = match asked.target.as_str() {
            "/v1/models?limit=1000" => page("claude-x/1", true),
            "/v1/models?limit=1000&after_id=claude-x%2F1" => page("claude-y", false),
            other => return (400, other.to_owned()),
        };
        (200, page.to_string())
    })
    .await;
    let home = Home::new()
        .set("ANTHROPIC_BASE_URL", &server.url)
        .set("ANTHROPIC_API_KEY", "key");
    let models = home.open();
    assert_eq!(models.refresh("anthropic").await, Ok(2));
    assert!(models.model("anthropic", "claude-y").is_some());
}

#[tokio::test]
async fn a_provider_in_use_is_asked_for_its_list_once_a_day() {
    let (told, mut asked_for) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |asked: &Asked| {
        let _ = told.send(asked.target.clone());
        (200, models_list(&["gpt-new"]))
    })
    .await;
    let mut home = Home::new()
        .set("OPENAI_BASE_URL", &format!("{}/v1", server.url))
        .set("OPENAI_API_KEY", "sk-1");
    home.options.keep_lists = true;
    let models = home.open();
    models.default_model().await;
    assert_eq!(asked_for.recv().await.as_deref(), Some("/v1/models"));
    settled(&models).await;
    assert_eq!(models.default_model().await.model, "gpt-new");
    models.provider("openai");
    pass(Duration::from_secs(23 * 3600)).await;
    models.provider("openai");
    settled(&models).await;
    assert_eq!(server.count("/v1/models"), 1, "it is not a day old");
    pass(Duration::from_secs(2 * 3600)).await;
    models.provider("openai");
    assert_eq!(asked_for.recv().await.as_deref(), Some("/v1/models"));
    let key = models.set_key("openai", "api_key", "sk-2".into()).await;
    key.expect("saved");
    assert_eq!(asked_for.recv().await.as_deref(), Some("/v1/models"));
}

async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Waits until what was asked in the background is known.
async fn settled(models: &Models) {
    let openai = remote_provider(models, "openai");
    loop {
        drop(openai.checking.lock().await);
        if openai.check.lock().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// As Ollama answers: a list, what it knows of each model, and what is loaded.
async fn ollama(loaded: Value) -> Server {
    Server::start(move |asked: &Asked| match asked.path() {
        "/v1/models" => (200, models_list(&["gemma:2b", "qwen3:latest", "big:70b"])),
        "/api/show" => {
            let (tools, parameters) = match asked.json()["model"].as_str() {
                Some("gemma:2b") => (json!(["completion"]), ""),
                Some("big:70b") => (json!(["completion", "tools"]), "num_ctx 65536"),
                _ => (json!(["completion", "tools"]), ""),
            };
            let show = json!({ "capabilities": tools, "parameters": parameters,
                               "model_info": { "qwen3.context_length": 131_072 } });
            (200, show.to_string())
        }
        "/api/ps" => (200, loaded.to_string()),
        other => (404, other.to_owned()),
    })
    .await
}

fn local(variable: &str, server: &Server) -> Home {
    let mut home = Home::new();
    for name in ["OLLAMA", "VLLM", "LMSTUDIO", "LLAMACPP"] {
        home = home.set(&format!("{name}_BASE_URL"), "http://127.0.0.1:1/v1");
    }
    home = home.set(variable, &format!("{}/v1", server.url));
    home.options.probe_local = true;
    home
}

#[tokio::test]
async fn ollama_tells_the_context_its_models_run_with() {
    let loaded = json!({ "models": [{ "model": "qwen3:latest", "context_length": 4096 }] });
    let server = ollama(loaded).await;
    let models = local("OLLAMA_BASE_URL", &server).open();
    assert_eq!(
        message(&models, "ollama").await,
        "Running, no key needed: 3 models; qwen3:latest runs with a context of 4096 tokens, too few \
         for an agent: set OLLAMA_CONTEXT_LENGTH=64000 for its server, and start it again"
    );
    let facts = |id: &str| {
        let model: Model = models.model("ollama", id).expect("a model");
        (model.context, model.tools)
    };
    assert_eq!(facts("qwen3:latest"), (Some(4096), Some(true)));
    assert_eq!(facts("big:70b"), (Some(65_536), Some(true)));
    assert_eq!(facts("gemma:2b"), (None, Some(false)), "it is not loaded");
    assert_eq!(
        models.default_model().await.model,
        "qwen3:latest",
        "one that can call tools"
    );
}

#[tokio::test]
async fn lm_studio_tells_the_context_its_models_run_with() {
    let server = Server::start(|asked: &Asked| match asked.path() {
        "/v1/models" => (200, models_list(&["m"])),
        "/api/v0/models" => {
            let model = json!({ "id": "m", "type": "vlm", "state": "loaded",
                                "loaded_context_length": 8192, "max_context_length": 131_072 });
            (200, json!({ "data": [model] }).to_string())
        }
        other => (404, other.to_owned()),
    })
    .await;
    let models = local("LMSTUDIO_BASE_URL", &server).open();
    let words = message(&models, "lmstudio").await;
    assert!(
        words.contains("m runs with a context of 8192 tokens"),
        "{words}"
    );
    let model = models.model("lmstudio", "m").expect("a model");
    assert_eq!((model.context, model.vision), (Some(8192), Some(true)));
}

#[tokio::test]
async fn an_older_server_without_these_answers_is_still_a_server() {
    let server = Server::start(|asked: &Asked| match asked.path() {
        "/v1/models" => (200, models_list(&["m"])),
        _ => (404, "404 page not found".to_owned()),
    })
    .await;
    let models = local("OLLAMA_BASE_URL", &server).open();
    assert_eq!(
        message(&models, "ollama").await,
        "Running, no key needed: 1 model"
    );
}

#[tokio::test]
async fn a_name_that_a_provider_does_not_have_is_told_with_the_nearest() {
    let server = ollama(json!({})).await;
    let home = local("OLLAMA_BASE_URL", &server).set("OPENAI_API_KEY", "sk-1");
    home.write(
        "config/catalog.toml",
        "[[provider]]\nid = \"ollama\"\n[[provider.model]]\nid = \"mine\"\n\
         [[provider]]\nid = \"own\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkeyless = true\n",
    );
    let models = home.open();
    assert_eq!(
        models.misnamed("ollama", "qwen3:8b").await.as_deref(),
        Some(
            "Ollama has no model \"qwen3:8b\"; did you mean qwen3:latest? `dragoman models ollama` lists them all"
        )
    );
    assert_eq!(
        models.misnamed("rehearsal", "rehearsal-2").await.as_deref(),
        Some(
            "Rehearsal has no model \"rehearsal-2\"; did you mean rehearsal-1? `dragoman models rehearsal` lists them all"
        )
    );
    for (provider, model, why) in [
        ("ollama", "qwen3", "Ollama means its latest"),
        ("ollama", "mine", "a person lists it"),
        ("own", "anything", "a person's own server"),
        ("vllm", "anything", "it is not running"),
        ("llamacpp", "anything", "it answers to any name"),
        ("anthropic", "claude-9", "it is not connected"),
        ("nobody", "anything", "another refusal says so"),
    ] {
        assert_eq!(models.misnamed(provider, model).await, None, "{why}");
    }
}

#[tokio::test]
async fn what_was_listed_since_is_found_before_a_name_is_refused() {
    let pulled = Arc::new(AtomicBool::new(false));
    let grown = Arc::clone(&pulled);
    let server = Server::start(move |asked: &Asked| match asked.path() {
        "/v1/models" if grown.load(Ordering::SeqCst) => (200, models_list(&["a", "b"])),
        "/v1/models" => (200, models_list(&["a"])),
        other => (404, other.to_owned()),
    })
    .await;
    let models = local("VLLM_BASE_URL", &server).open();
    assert!(models.misnamed("vllm", "b").await.is_some());
    pulled.store(true, Ordering::SeqCst);
    pass(Duration::from_secs(60)).await;
    assert_eq!(models.misnamed("vllm", "b").await, None);
    assert!(models.misnamed("vllm", "c").await.is_some());
    let check = remote_provider(&models, "vllm").check.lock().clone();
    assert!(matches!(
        check.map(|check| check.result),
        Some(CheckResult::Accepted {
            models: Some(2),
            ..
        })
    ));
    drop(server);
    pass(Duration::from_secs(60)).await;
    assert_eq!(
        models.misnamed("vllm", "c").await,
        None,
        "it does not run any more, and may have more when it does"
    );
}
