//! The defaults of projects: what new threads of a directory begin with, and how a client sets it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tools::ProjectDefaults;
use tools::project_defaults::{
    self, EFFORT, ENABLE_MCP, MODEL, OBSERVABILITY, PROVIDER, SUB_AGENT_MODEL,
};
use vocabulary::{
    Caller, Changed, ModelRef, Refusal, Reply, ThreadCard, ThreadId, ThreadSettings, Why,
    WorkFolders,
};

use super::{offer, skills};
use crate::limits::DEFAULTS_WAIT;
use crate::tenants::TenantOwn;
use crate::{Shared, trust};

/// What the files of a directory say, under what the server was started with. Files that do not answer
/// say nothing.
pub async fn read(shared: &Shared, own: &TenantOwn, directory: &Path) -> ProjectDefaults {
    let scope = skills::scope_of(shared, own, directory, Vec::new());
    let reading = tokio::task::spawn_blocking(move || ProjectDefaults::read(&scope));
    let read = tokio::time::timeout(DEFAULTS_WAIT, reading).await;
    let files = read.ok().and_then(Result::ok).unwrap_or_default();
    shared.config.defaults.clone().or(files)
}

/// The model of a new thread whose client named none: the server's own where a flag or a variable named
/// it, else the project's, else what is offered first.
pub async fn model(shared: &Shared, own: &TenantOwn, defaults: &ProjectDefaults) -> ModelRef {
    if let Some(model) = &shared.config.default_model {
        return model.clone();
    }
    let usual = offer::default_model(shared, own).await;
    let Some(model) = named(shared, own, defaults, &usual) else {
        return usual;
    };
    match offer::obstacle(shared, own, &model).await {
        Ok(_) => model,
        Err(_) => {
            tracing::warn!("a project's default model has no known provider; another is used");
            usual
        }
    }
}

fn named(
    shared: &Shared,
    own: &TenantOwn,
    defaults: &ProjectDefaults,
    usual: &ModelRef,
) -> Option<ModelRef> {
    match (&defaults.provider, &defaults.model) {
        (Some(provider), None) => {
            let catalog = own.models.catalog();
            let mut providers = catalog.providers.iter();
            let entry = providers.find(|each| each.id == *provider)?;
            let today = providers::catalog::day(shared.now().0);
            let model = entry.default_model(today)?.id.clone();
            let provider = provider.clone();
            Some(ModelRef { provider, model })
        }
        (provider, Some(model)) => {
            let provider = provider.as_ref().unwrap_or(&usual.provider);
            Some(offer::model_named(own, provider, model))
        }
        (None, None) => None,
    }
}

/// The directories of a new thread beside its own; they are made where they are missing.
pub async fn folders(
    shared: &Shared,
    own: &TenantOwn,
    directory: &Path,
    defaults: &ProjectDefaults,
    usual: bool,
) -> Option<Box<WorkFolders>> {
    // One that is not absolute is meant from the thread's directory on.
    let placed = |folder: &Option<PathBuf>| folder.as_ref().map(|folder| directory.join(folder));
    let mut folders = WorkFolders {
        output: placed(&defaults.output),
        uploads: placed(&defaults.uploads),
    };
    if usual {
        folders = folders.or_usual(directory);
    }
    if own.is_confined() {
        // What a file of the workspace names elsewhere may be another tenant's.
        let inside = |folder: &PathBuf| tools::path::is_below(directory, folder);
        folders.output = folders.output.filter(inside);
        folders.uploads = folders.uploads.filter(inside);
    }
    if folders == WorkFolders::default() {
        return None;
    }
    let wanted: Vec<_> = folders.all().cloned().collect();
    let scope = skills::scope_of(shared, own, directory, wanted.clone());
    let others = usual.then(|| directory.join(tools::folders::OTHER_AGENTS));
    let make = move || {
        // A directory that cannot be made is missed by who uses it, with a reason.
        for folder in &wanted {
            let _ = tools::uploads::make_folder(&scope, folder);
        }
        let _ = others.map(std::fs::create_dir);
    };
    let making = tokio::task::spawn_blocking(make);
    let _ = tokio::time::timeout(DEFAULTS_WAIT, making).await;
    Some(Box::new(folders))
}

/// Writes settings of a thread where new threads of its directory will find them.
pub async fn keep(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    settings: &[Changed],
) -> Result<Reply, Refusal> {
    let found = super::get(shared, caller, thread).await?.reply.thread()?;
    let changes = written(&found.settings, settings);
    if changes.is_empty() {
        return Ok(Reply::Done);
    }
    // One after the other, so that what is trusted of one write is what the next one finds.
    let _alone = shared.library.lock().await;
    let (card, before) = (&found.card, trust::look(shared, &found.card).await?);
    let directory = card.directory.clone();
    let write = move || project_defaults::write(&directory, &changes);
    let writing = tokio::time::timeout(DEFAULTS_WAIT, skills::blocking(write)).await;
    let late = |_| {
        Refusal::new(
            Why::Storage,
            "the disk did not answer; the defaults were not kept",
        )
    };
    let written = writing.map_err(late)??;
    let told = |why| {
        Refusal::new(
            Why::Storage,
            format!("the project's defaults were not kept: {why}"),
        )
    };
    if let Some(written) = written.map_err(told)? {
        keep_trust(shared, card, &before, written).await?;
    }
    Ok(Reply::Done)
}

/// What a client writes through us is trusted by that, and nothing else that lies beside it.
async fn keep_trust(
    shared: &Shared,
    card: &ThreadCard,
    before: &trust::Trust,
    written: project_defaults::WrittenDefaults,
) -> Result<(), Refusal> {
    let file = project_defaults::own_file();
    let change = trust::OwnChange {
        file: &file,
        before: written.before,
        after: written.after,
    };
    trust::keep_through_own(shared, card, before, change).await
}

fn written(now: &ThreadSettings, settings: &[Changed]) -> Vec<(&'static str, Value)> {
    let mut changes = Vec::new();
    for setting in settings {
        match setting {
            Changed::Model => {
                changes.push((PROVIDER, json!(now.model.provider)));
                changes.push((MODEL, json!(now.model.model)));
            }
            Changed::Effort => changes.push((EFFORT, json!(now.effort))),
            Changed::SubAgentModel => changes.push((SUB_AGENT_MODEL, json!(now.sub_agent_model))),
            Changed::Observability => changes.push((OBSERVABILITY, json!(now.observability))),
            Changed::Mcp => changes.push((ENABLE_MCP, json!(now.mcp))),
            // What one session may do, or how, is its own.
            Changed::AutoApprove
            | Changed::Approvals
            | Changed::Sandbox
            | Changed::Network
            | Changed::Mode
            | Changed::Agent
            | Changed::MaxSteps
            | Changed::Verbosity
            | Changed::Summary
            | Changed::Budgets
            | Changed::Assignment
            | Changed::Instructions
            | Changed::Git => {}
        }
    }
    changes
}
