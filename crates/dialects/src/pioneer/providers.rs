//! Providers, their models, and the keys for them.

use vocabulary::{
    Call, Catalog, CatalogModel, CatalogProvider, Refusal, Reply, SignInCall, SignedIn,
};

use super::hear::Wrong;
use super::models::not_found;
use super::steps::{Running, Step};
use super::wire::params::{ProviderParams, ProviderSetApiKeyParams};
use super::wire::provider::{
    Capabilities, Limits, Pricing, Provider, ProviderDeleteApiKeyResponse, ProviderListResponse,
    ProviderModelInfo, ProviderModelsListResponse, ProviderSetApiKeyResponse,
};
use super::{Pioneer, respond, send_error};
use crate::Action;
use crate::jsonrpc::Id;

/// How a key is saved; every provider that takes one calls it so.
const KEY_METHOD: &str = "api_key";
/// A price is in micro-dollars for a million tokens; clients read dollars for one.
const PRICE_OF_A_DOLLAR: f64 = 1e12;

/// A request about a provider, by what it wants to know of the answer.
pub enum ProviderQuery {
    List,
    Models(String),
    SetKey(String),
    DeleteKey(String),
}

impl Pioneer {
    pub(super) fn provider_list(&mut self, out: &mut Vec<Action>, running: &Running) {
        let step = Step::Provider(ProviderQuery::List);
        self.call(out, running, step, Call::GetCatalog);
    }

    pub(super) fn provider_models(
        &mut self,
        out: &mut Vec<Action>,
        running: &Running,
        params: ProviderParams,
    ) {
        let step = Step::Provider(ProviderQuery::Models(params.provider));
        self.call(out, running, step, Call::GetCatalog);
    }

    pub(super) fn set_key(
        &mut self,
        out: &mut Vec<Action>,
        running: &Running,
        params: ProviderSetApiKeyParams,
    ) {
        let call = SignInCall::SetKey {
            provider: params.provider.clone(),
            method: KEY_METHOD.to_owned(),
            key: params.api_key.into(),
        };
        let step = Step::Provider(ProviderQuery::SetKey(params.provider));
        self.call(out, running, step, Call::SignIn(call));
    }

    pub(super) fn delete_key(
        &mut self,
        out: &mut Vec<Action>,
        running: &Running,
        params: ProviderParams,
    ) {
        let provider = params.provider;
        let call = SignInCall::SignOut {
            provider: provider.clone(),
        };
        let step = Step::Provider(ProviderQuery::DeleteKey(provider));
        self.call(out, running, step, Call::SignIn(call));
    }
}

impl ProviderQuery {
    pub fn answer(&self, out: &mut Vec<Action>, id: &Id, reply: Reply) -> Result<(), Refusal> {
        match self {
            ProviderQuery::List => {
                let catalog = reply.catalog()?;
                let name = |provider: &CatalogProvider| Provider {
                    name: provider.id.clone(),
                };
                let providers = catalog.providers.iter().map(name).collect();
                respond(out, id, &ProviderListResponse { providers });
            }
            ProviderQuery::Models(provider) => match models(&*reply.catalog()?, provider) {
                Some(list) => respond(out, id, &list),
                None => send_error(out, Some(id), &Wrong::request(not_found(provider))),
            },
            ProviderQuery::SetKey(provider) => {
                let SignedIn { ok, message, .. } = reply.signed_in()?;
                if !ok {
                    send_error(out, Some(id), &Wrong::request(message));
                    return Ok(());
                }
                let updated = true;
                respond(out, id, &ProviderSetApiKeyResponse { provider, updated });
            }
            ProviderQuery::DeleteKey(provider) => {
                let deleted = reply.signed_in()?.ok;
                let result = ProviderDeleteApiKeyResponse { provider, deleted };
                respond(out, id, &result);
            }
        }
        Ok(())
    }
}

fn models<'a>(catalog: &'a Catalog, name: &str) -> Option<ProviderModelsListResponse<'a>> {
    let provider = catalog.providers.iter().find(|each| each.id == name)?;
    let models = provider.models.iter().map(|model| info(provider, model));
    Some(ProviderModelsListResponse {
        provider: &provider.id,
        models: models.collect(),
    })
}

/// What is not known is null.
fn info<'a>(provider: &'a CatalogProvider, model: &'a CatalogModel) -> ProviderModelInfo<'a> {
    let dollars = |price: u64| price as f64 / PRICE_OF_A_DOLLAR;
    let is_priced = model.input_price.is_some() || model.output_price.is_some();
    ProviderModelInfo {
        id: &model.id,
        name: Some(model.name.as_str()).filter(|name| !name.is_empty()),
        description: None,
        created: None,
        provider: &provider.id,
        owned_by: None,
        limits: Limits {
            max_input_tokens: None,
            max_output_tokens: model.output,
            context_window: model.context,
        },
        capabilities: Capabilities {
            vision: model.vision,
            thinking: (!model.efforts.is_empty()).then_some(true),
            input_modalities: model.vision.map(|vision| match vision {
                true => &["text", "image"][..],
                false => &["text"],
            }),
            ..Capabilities::default()
        },
        pricing: is_priced.then(|| Pricing {
            input_token: model.input_price.map(dollars),
            output_token: model.output_price.map(dollars),
            image: None,
            request: None,
        }),
        active: Some(provider.connected),
        family: None,
        lifecycle_status: None,
    }
}
