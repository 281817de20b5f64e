//! What the engine has to offer: models and tools.

use std::sync::Arc;

use providers::catalog;
use providers::models::Obstacle;
use tools::Toolbox;
use vocabulary::{Catalog, CatalogModel, CatalogProvider, Changes, ModelRef, Refusal, ThreadCard};

use crate::Shared;
use crate::tenants::TenantOwn;

pub async fn catalog(shared: &Shared, own: &TenantOwn) -> Catalog {
    let known = own.models.catalog();
    let today = catalog::day(shared.now().0);
    let provider = |entry: &catalog::ProviderInfo| CatalogProvider {
        id: entry.id.clone(),
        name: entry.name.clone(),
        models: offered(entry).map(|each| model(each, today)).collect(),
        default_model: entry
            .default_model(today)
            .map(|model| model.id.clone())
            .unwrap_or_default(),
        auth_methods: entry.auth.clone(),
        connected: own.models.connected(&entry.id),
    };
    // Programs of the server's user are for who may leave the sandbox.
    let external = shared.agents.external().iter();
    let external = external.filter(|_| own.may_leave_sandbox());
    let external = external.map(|agent| agent.catalog_entry());
    Catalog {
        providers: known
            .providers
            .iter()
            .map(provider)
            .chain(external)
            .collect(),
        default: default_model(shared, own).await,
        permissions: super::permissions::offer(shared, own).await,
    }
}

/// What its provider says it does not have cannot be chosen.
fn offered(entry: &catalog::ProviderInfo) -> impl Iterator<Item = &catalog::Model> {
    let models = entry.models.iter();
    models.filter(|model| model.offered != Some(false))
}

/// What a thread uses that names nothing else.
pub async fn default_model(shared: &Shared, own: &TenantOwn) -> ModelRef {
    let config = &shared.config;
    if let Some(model) = config
        .default_model
        .as_ref()
        .or(config.fallback_model.as_ref())
    {
        return model.clone();
    }
    let choice = own.models.default_model().await;
    ModelRef {
        provider: choice.provider,
        model: choice.model,
    }
}

/// The model that a text means: one of this provider, or, as `provider/model`, one of another. A name of
/// the provider's own may have a slash in it, too.
pub fn model_named(own: &TenantOwn, provider: &str, text: &str) -> ModelRef {
    let of = |provider: &str, model: &str| ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    };
    let catalog = own.models.catalog();
    let is_own = own.models.model(provider, text).is_some();
    match text.split_once('/') {
        Some((other, model)) if !is_own && !model.is_empty() => {
            let mut known = catalog.providers.iter();
            match known.any(|each| each.id == other) {
                true => of(other, model),
                false => of(provider, text),
            }
        }
        Some(_) | None => of(provider, text),
    }
}

/// Looks up the model that changes name. One that its provider does not have is refused.
pub async fn settle_model(
    shared: &Shared,
    own: &TenantOwn,
    changes: &mut Changes,
    in_use: Option<&ModelRef>,
) -> Result<(), Refusal> {
    if let Some(named) = changes.named_model.take() {
        changes.model = catalog(shared, own).await.find(&named, in_use)?;
    }
    let model = changes.model.as_ref();
    let Some(model) = model.filter(|model| Some(*model) != in_use) else {
        return Ok(());
    };
    // Which models a program of the user's has, only it knows, and only when it runs.
    if own.may_leave_sandbox() && shared.agents.external_named(&model.provider).is_some() {
        return Ok(());
    }
    match own.models.misnamed(&model.provider, &model.model).await {
        Some(words) => Err(Refusal::invalid("model", words)),
        None => Ok(()),
    }
}

/// Trims the name of a sub-agents' model. One that names its provider must be one of that one's models.
pub async fn settle_sub_agent_model(
    own: &TenantOwn,
    changes: &mut Changes,
    provider: &str,
) -> Result<(), Refusal> {
    let Some(text) = &mut changes.sub_agent_model else {
        return Ok(());
    };
    *text = text.trim().to_owned();
    let named = model_named(own, provider, text);
    if named.model == *text {
        return Ok(());
    }
    match own.models.misnamed(&named.provider, &named.model).await {
        Some(words) => Err(Refusal::invalid("subAgentModel", words)),
        None => Ok(()),
    }
}

/// What keeps a model from being used, now or soon, for people. One of an unknown provider is refused.
pub async fn obstacle(
    shared: &Shared,
    own: &TenantOwn,
    model: &ModelRef,
) -> Result<Option<String>, Refusal> {
    let program = shared.agents.external_named(&model.provider);
    if let Some(agent) = program.filter(|_| own.may_leave_sandbox()) {
        return Ok(agent.obstacle());
    }
    match own.models.obstacle(&model.provider).await {
        Some(Obstacle::Unknown(words)) => Err(Refusal::invalid("model", words)),
        Some(Obstacle::NotConnected(words)) => Ok(Some(words)),
        None => {
            let today = catalog::day(shared.now().0);
            let ModelRef { provider, model } = model;
            Ok(own.models.retirement(provider, model, today))
        }
    }
}

fn model(model: &catalog::Model, today: catalog::Day) -> CatalogModel {
    CatalogModel {
        id: model.id.clone(),
        name: model.shown_name(today),
        context: model.context,
        output: model.output,
        input_price: model.price.as_ref().map(|price| price.input),
        output_price: model.price.as_ref().map(|price| price.output),
        efforts: model.efforts.clone(),
        default_effort: model.default_effort.clone(),
        vision: model.vision,
    }
}

pub fn tool_names(shared: &Shared, card: &ThreadCard) -> Vec<(String, String)> {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let named =
        |tool: &Arc<dyn tools::Tool>| (tool.name().to_owned(), first_line(tool.description()));
    let tools = Toolbox::of(&shared.tools, card);
    // What is only another face of these is no other ability.
    let is_face = |tool: &&Arc<dyn tools::Tool>| {
        let instead = tools::ToolFaces::Own.instead_of(tool.name());
        instead.is_some_and(|name| tools.get(name).is_some())
    };
    let list = tools.list();
    list.iter()
        .filter(|tool| !is_face(tool))
        .map(named)
        .collect()
}
