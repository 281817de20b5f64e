//! What the server offers, as frames: providers, sign-in methods, tools.

use std::borrow::Cow;
use std::collections::BTreeMap;

use vocabulary::{AuthMethod, Catalog, CatalogProvider, ModelRef, ProviderStatus};

use super::names::{ProviderName, spell, spell_parts};
use super::wire::ServerEvent;
use super::wire::extras::{ToolInfo, Tools};
use super::wire::providers::{
    Account, AuthMode, AuthType, OauthMode, ProviderAuthMethod, ProviderAuthMethods,
    ProviderCatalog, ProviderCatalogEntry, ProviderStatus as WireStatus, ProviderStatusEvent,
};
use crate::Frame;

/// The four providers the protocol can name. Models of all others are listed under `openai`, which
/// does not make `openai` itself connected.
pub fn provider_catalog(session: &str, catalog: &Catalog, current: &ModelRef) -> Frame {
    let all = entries(catalog);
    let mut default: BTreeMap<_, _> = all
        .iter()
        .map(|entry| (entry.id, entry.default_model.clone()))
        .collect();
    let (provider, model) = spell(current);
    default.insert(provider, Cow::Owned(model.to_string()));
    let connected = catalog.providers.iter().filter(|entry| entry.connected);
    ServerEvent::ProviderCatalog(ProviderCatalog {
        session_id: session,
        connected: connected
            .filter_map(|entry| ProviderName::of(&entry.id))
            .collect(),
        all,
        default,
    })
    .frame()
}

fn entries(catalog: &Catalog) -> Vec<ProviderCatalogEntry<'_>> {
    let (named, others): (Vec<_>, Vec<_>) = catalog
        .providers
        .iter()
        .partition(|entry| ProviderName::of(&entry.id).is_some());
    let mut all: Vec<_> = named.into_iter().filter_map(entry).collect();
    for other in others {
        let spelled = |model| Cow::Owned(spell_parts(&other.id, model).1.to_string());
        let at = all
            .iter()
            .position(|entry| entry.id == ProviderName::Openai);
        let at = at.unwrap_or_else(|| {
            all.push(ProviderCatalogEntry {
                id: ProviderName::Openai,
                name: "OpenAI",
                models: Vec::new(),
                default_model: spelled(&other.default_model),
            });
            all.len() - 1
        });
        all[at]
            .models
            .extend(other.models.iter().map(|model| spelled(&model.id)));
    }
    all
}

fn entry(provider: &CatalogProvider) -> Option<ProviderCatalogEntry<'_>> {
    Some(ProviderCatalogEntry {
        id: ProviderName::of(&provider.id)?,
        name: &provider.name,
        models: provider
            .models
            .iter()
            .map(|model| Cow::from(&model.id))
            .collect(),
        default_model: Cow::from(&provider.default_model),
    })
}

pub fn provider_auth_methods(session: &str, catalog: &Catalog) -> Frame {
    let methods = catalog.providers.iter().filter_map(|provider| {
        let name = ProviderName::of(&provider.id)?;
        Some((
            name,
            provider.auth_methods.iter().map(auth_method).collect(),
        ))
    });
    ServerEvent::ProviderAuthMethods(ProviderAuthMethods {
        session_id: session,
        methods: methods.collect(),
    })
    .frame()
}

fn auth_method(method: &AuthMethod) -> ProviderAuthMethod<'_> {
    let (id, kind, label, oauth_mode) = match method {
        AuthMethod::ApiKey { id, label } => (id, AuthType::Api, label, None),
        AuthMethod::OAuth { id, label } => (id, AuthType::Oauth, label, Some(OauthMode::Auto)),
    };
    ProviderAuthMethod {
        id,
        kind,
        label,
        oauth_mode,
    }
}

pub fn provider_status(session: &str, statuses: &[ProviderStatus]) -> Frame {
    ServerEvent::ProviderStatus(ProviderStatusEvent {
        session_id: session,
        providers: statuses.iter().filter_map(status).collect(),
    })
    .frame()
}

fn status(status: &ProviderStatus) -> Option<WireStatus<'_>> {
    let provider = ProviderName::of(&status.provider)?;
    let mode = match status.mode {
        vocabulary::AuthMode::Missing => AuthMode::Missing,
        vocabulary::AuthMode::Error => AuthMode::Error,
        vocabulary::AuthMode::ApiKey => AuthMode::ApiKey,
        vocabulary::AuthMode::OAuth => AuthMode::Oauth,
        vocabulary::AuthMode::OAuthPending => AuthMode::OauthPending,
    };
    let masks = status
        .masks
        .iter()
        .map(|(id, mask)| (id.as_str(), mask.as_str()));
    Some(WireStatus {
        provider,
        authorized: status.authorized,
        verified: status.verified,
        mode,
        account: status.account.as_ref().map(|account| Account {
            email: account.email.as_deref(),
            name: account.name.as_deref(),
        }),
        message: &status.message,
        checked_at: status.checked_at.iso(),
        saved_api_key_masks: masks.collect(),
    })
}

/// The tool that asks people, and the other name under which this protocol's clients list it: a model may
/// call it by either.
const ASK: &str = "ask";
const ASK_AGAIN: &str = "AskUserQuestion";

pub fn tools(session: &str, tools: &[(String, String)]) -> Frame {
    let other_name = tools.iter().find(|(name, _)| name == ASK);
    let other_name = other_name.map(|(_, description)| (ASK_AGAIN, description.as_str()));
    let tools = tools
        .iter()
        .map(|(name, description)| (name.as_str(), description.as_str()))
        .chain(other_name)
        .map(|(name, description)| ToolInfo { name, description });
    let mut tools: Vec<_> = tools.collect();
    tools.sort_by_key(|tool| tool.name);
    ServerEvent::Tools(Tools {
        session_id: session,
        tools,
    })
    .frame()
}
