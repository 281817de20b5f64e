//! Asks a server on this machine what its models run with: a context far smaller than the model's
//! own makes it forget the question before it answers, and the server says nothing.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use super::live::{self, ListedModels};
use super::provider_set::RemoteProvider;
use crate::ProviderError;
use crate::catalog::LocalApi;
use crate::format::{self, LocalFacts};

/// An agent's instructions and tools alone fill this much.
pub const CONTEXT_MIN: u64 = 16_000;
/// The most models that are asked about one by one.
const ASKED_MAX: usize = 32;

/// Adds what the server says beside its list. What it does not say within the limit stays unknown.
pub async fn learn(remote_provider: &RemoteProvider, listed: &mut ListedModels, limit: Duration) {
    let ids: Vec<String> = listed.iter().map(|model| model.id.clone()).collect();
    let asked = async {
        match remote_provider.endpoint.local_api {
            Some(LocalApi::Ollama) => ollama(remote_provider, &ids, limit).await,
            Some(LocalApi::LmStudio) => lm_studio(remote_provider, limit).await,
            None => Vec::new(),
        }
    };
    if let Ok(facts) = tokio::time::timeout(limit, asked).await {
        live::refine(listed, facts);
    }
}

/// What a model's own file asks for, and over it what it runs with.
async fn ollama(
    remote_provider: &RemoteProvider,
    ids: &[String],
    limit: Duration,
) -> Vec<LocalFacts> {
    let remote = &remote_provider.remote;
    let shown = ids.iter().take(ASKED_MAX).map(|id| async move {
        let question = json!({ "model": id });
        let body = remote.post("../api/show", &question, limit).await?;
        format::shown_by_ollama(id, &String::from_utf8_lossy(&body))
    });
    let running = async {
        let body = remote.get("../api/ps", limit).await?;
        format::loaded_at_ollama(&String::from_utf8_lossy(&body))
    };
    let (shown, running): (Vec<Result<LocalFacts, ProviderError>>, _) =
        tokio::join!(join_all(shown), running);
    let mut facts: Vec<LocalFacts> = shown.into_iter().flatten().collect();
    facts.extend(running.unwrap_or_default());
    facts
}

async fn lm_studio(remote_provider: &RemoteProvider, limit: Duration) -> Vec<LocalFacts> {
    let body = remote_provider.remote.get("../api/v0/models", limit).await;
    let told = body.and_then(|body| format::loaded_at_lm_studio(&String::from_utf8_lossy(&body)));
    told.unwrap_or_default()
}

/// What is wrong with how the models of a server on this machine run, for people.
pub fn warning(remote_provider: &RemoteProvider, listed: &ListedModels) -> Option<String> {
    let how = match remote_provider.endpoint.local_api? {
        LocalApi::Ollama => "set OLLAMA_CONTEXT_LENGTH=64000 for its server, and start it again",
        LocalApi::LmStudio => "load it with a context length of 64000",
    };
    let small = listed.iter().find_map(|model| {
        let context = model.context.filter(|context| *context < CONTEXT_MIN)?;
        (!model.hidden).then_some((model, context))
    });
    let (model, context) = small?;
    Some(format!(
        "{} runs with a context of {context} tokens, too few for an agent: {how}",
        model.id
    ))
}
