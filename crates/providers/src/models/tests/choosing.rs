//! The model that is used when nobody names one.

use vocabulary::AuthMode;

use super::server::{Asked, Server};
use super::{Home, models_list};
use crate::models::{ModelChoice, Models, Obstacle};
use crate::rehearsal;

fn named(choice: &ModelChoice) -> (&str, &str, &str) {
    (&choice.provider, &choice.model, &choice.why)
}

/// Looks for servers at these addresses only, whatever else runs on this machine.
fn with_local(ollama: &str, vllm: &str) -> Home {
    let nobody = "http://127.0.0.1:1/v1";
    let mut home = Home::new()
        .set("OLLAMA_BASE_URL", ollama)
        .set("VLLM_BASE_URL", vllm)
        .set("LMSTUDIO_BASE_URL", nobody)
        .set("LLAMACPP_BASE_URL", nobody);
    home.options.probe_local = true;
    home
}

#[tokio::test]
async fn without_anything_it_is_the_rehearsal_and_says_what_to_do() {
    let home = Home::new();
    let choice = home.open().default_model().await;
    assert_eq!(
        named(&choice),
        ("rehearsal", "rehearsal-1", rehearsal::HOW_TO_CONNECT)
    );
    assert!(choice.why.contains("dragoman auth login"));
    let scripted = Models::scripted(Vec::new()).default_model().await;
    assert_eq!(scripted, choice);
}

#[tokio::test]
async fn a_server_on_this_machine_is_found_and_what_only_looks_like_one_is_not() {
    let page = Server::start(|_: &Asked| (200, "<html>hello</html>".to_owned())).await;
    let server =
        Server::start(|_: &Asked| (200, models_list(&["nomic-embed-text", "qwen3:8b"]))).await;
    let home = with_local(&format!("{}/v1", page.url), &format!("{}/v1", server.url));
    let models = home.open();
    assert!(!models.connected("vllm"), "it was not asked yet");
    let choice = models.default_model().await;
    assert_eq!(
        named(&choice),
        ("vllm", "qwen3:8b", "vLLM is running on this machine")
    );
    assert!(models.connected("vllm"));
    assert!(!models.connected("ollama"));
    models.default_model().await;
    assert_eq!(server.count("/v1/models"), 1, "it was asked a moment ago");

    let statuses = models.statuses(true).await;
    let of = |id: &str| {
        statuses
            .iter()
            .find(|each| each.provider == id)
            .expect("a status")
    };
    assert_eq!(
        (of("vllm").mode, of("vllm").verified),
        (AuthMode::ApiKey, true)
    );
    assert_eq!(of("vllm").message, "Running, no key needed: 1 model");
    assert_eq!(
        of("lmstudio").message,
        "Not running: no answer at http://127.0.0.1:1/v1"
    );
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_model_is_said_with_what_to_do() {
    let server = Server::start(|_: &Asked| (200, models_list(&["qwen3:8b"]))).await;
    let home = with_local(&format!("{}/v1", server.url), "http://127.0.0.1:1/v1")
        .set("ANTHROPIC_API_KEY", "sk-ant-0123456789");
    let models = home.open();
    assert_eq!(models.obstacle("ollama").await, None);
    assert_eq!(models.obstacle("anthropic").await, None);
    let not_connected = |words: &str| Some(Obstacle::NotConnected(words.to_owned()));
    assert_eq!(
        models.obstacle("openai").await,
        not_connected(
            "OpenAI is not connected: run `dragoman auth login openai`, or set OPENAI_API_KEY"
        )
    );
    assert_eq!(
        models.obstacle("vllm").await,
        not_connected("vLLM: Not running: no answer at http://127.0.0.1:1/v1")
    );
    let unknown = models.obstacle("opneai").await;
    let words = unknown.as_ref().map(Obstacle::words).unwrap_or_default();
    assert!(matches!(unknown, Some(Obstacle::Unknown(_))), "{unknown:?}");
    assert!(
        words.starts_with("there is no provider \"opneai\"; there are ")
            && words.contains("openai"),
        "{words}"
    );
}

#[tokio::test]
async fn a_server_without_a_model_is_no_choice() {
    let empty = Server::start(|_: &Asked| (200, models_list(&[]))).await;
    let home = with_local(&format!("{}/v1", empty.url), "http://127.0.0.1:1/v1");
    assert_eq!(home.open().default_model().await.provider, "rehearsal");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_not_waited_for() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let home = with_local(&url, "http://127.0.0.1:1/v1");
    let models = home.open();
    let before = tokio::time::Instant::now();
    assert_eq!(models.default_model().await.provider, "rehearsal");
    assert!(
        before.elapsed() <= std::time::Duration::from_secs(1),
        "{:?}",
        before.elapsed()
    );
}

#[tokio::test]
async fn a_key_comes_before_a_server_and_the_last_saved_before_all() {
    let server = Server::start(|_: &Asked| (200, models_list(&["m"]))).await;
    let home = with_local(&format!("{}/v1", server.url), "http://127.0.0.1:1/v1")
        .set("ANTHROPIC_API_KEY", "a")
        .set("OPENAI_API_KEY", "o");
    let models = home.open();
    let choice = models.default_model().await;
    assert_eq!(
        named(&choice),
        ("openai", "gpt-6.1-sol", "OPENAI_API_KEY is set")
    );
    assert_eq!(server.count("/v1/models"), 0);
    models
        .set_key("deepseek", "api_key", "sk-1".into())
        .await
        .expect("saved");
    let choice = models.default_model().await;
    assert_eq!(
        named(&choice),
        ("deepseek", "deepseek-v4-pro", "DeepSeek is connected")
    );
}
