//! The built-in catalog with a person's own file and the environment laid over it.

use std::collections::BTreeMap;

use vocabulary::AuthMethod;

use super::file::{
    AuthEntry, AuthMethodKind, File, Headers, ModelEntry, OAuthEntry, ProviderEntry,
};
use super::own::OwnPart;
use super::template::{self, TemplateError};
use super::{ApiEndpoint, Model, ModelCatalog, ProviderInfo, address, built_in};
use crate::format::Wire;

/// The variables of the process, handed in so that tests are alone with theirs.
pub type Environment = BTreeMap<String, String>;

/// Every provider with all that is known of it.
#[derive(Clone, Debug, Default)]
pub struct MergedCatalog {
    pub entries: Vec<CatalogEntry>,
    /// What was wrong with the person's own settings, for people; they were then not used.
    pub warnings: Vec<String>,
}

/// One provider: what clients see of it, and how it is signed in to and reached.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    pub provider: ProviderInfo,
    pub methods: Vec<Method>,
    pub oauth: Option<OAuth>,
    /// Where a key is used, when a sign-in is used elsewhere.
    pub key_base_url: Option<String>,
    /// The models that a person's own file has, as it has them: they lie over the provider's list.
    pub own: Vec<ModelEntry>,
    /// What is wrong with the settings of this provider: it is listed, but must not be asked, since
    /// a key could then go where it was not meant to go.
    pub broken: Option<String>,
    /// A key in the environment does not make it the one that is used when none is named.
    pub by_name_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    pub id: String,
    pub kind: AuthMethodKind,
    pub tool: Option<String>,
}

/// The endpoints of an authorisation server and who we are to it.
#[derive(Clone, Debug, PartialEq)]
pub struct OAuth {
    pub issuer: String,
    pub client_id: String,
    pub scopes: String,
    pub authorize_url: String,
    pub token_url: String,
    pub device_authorization_url: Option<String>,
    pub callback_ports: Vec<u16>,
    pub parameters: BTreeMap<String, String>,
    pub headers: Headers,
    pub account_header: Option<String>,
    pub client_version: Option<String>,
}

impl CatalogEntry {
    pub fn method(&self, id: &str) -> Option<&Method> {
        self.methods.iter().find(|each| each.id == id)
    }
}

impl MergedCatalog {
    /// `own`: the text of the person's own file, where there is one.
    pub fn open(own: Option<&str>, environment: &Environment) -> MergedCatalog {
        let mut file = built_in::file().clone();
        let mut warnings = Vec::new();
        let mut person = BTreeMap::new();
        match own.map(File::parse) {
            Some(Ok(own)) => {
                person = own.provider.iter().map(OwnPart::of).collect();
                file.lay_over(own);
            }
            Some(Err(error)) => warnings.push(format!(
                "config/catalog.toml is not used: {error}; the built-in catalog is"
            )),
            None => {}
        }
        let mut entries = Vec::with_capacity(file.provider.len());
        for written in file.provider {
            let id = written.id.clone();
            let own = person.remove(&id).unwrap_or_default();
            let wanted = first_set(written.key_env.as_deref(), environment).is_some();
            match entry(written, own, environment) {
                Ok((entry, unset)) => {
                    // Who uses it has set something of it; nobody else need hear of it.
                    let broken = entry.broken.as_ref().filter(|_| wanted || !unset);
                    warnings.extend(broken.map(|what| format!("{id} cannot be used: {what}")));
                    entries.push(entry);
                }
                Err(what) => warnings.push(format!("the provider {id} is not used: {what}")),
            }
        }
        MergedCatalog { entries, warnings }
    }

    /// Whether the environment can make trouble: the built-in catalog alone has none. Read from its
    /// text, so that a start need not parse it.
    pub fn heeds(environment: &Environment) -> bool {
        let ours = environment.keys().any(|name| {
            let laid_over = name.ends_with("_BASE_URL") || name.ends_with("_HEADERS");
            name.starts_with("DRAGOMAN_") && laid_over
        });
        ours || built_in::names_one_of(environment)
    }

    #[cfg(test)]
    pub fn entry(&self, id: &str) -> Option<&CatalogEntry> {
        self.entries.iter().find(|each| each.provider.id == id)
    }

    pub fn catalog(&self) -> ModelCatalog {
        ModelCatalog {
            providers: self
                .entries
                .iter()
                .map(|each| each.provider.clone())
                .collect(),
        }
    }
}

/// One provider, and whether its address was never set.
fn entry(
    written: ProviderEntry,
    own: OwnPart,
    environment: &Environment,
) -> Result<(CatalogEntry, bool), String> {
    let auth = written.auth.clone().unwrap_or_else(|| {
        vec![AuthEntry {
            id: "api_key".to_owned(),
            kind: AuthMethodKind::Key,
            label: "API key".to_owned(),
            tool: None,
        }]
    });
    let wire = written.wire.unwrap_or(Wire::Chat);
    let (mut broken, mut unset) = (None, false);
    let endpoint = match &written.base_url {
        Some(_) => Some(endpoint(
            &written,
            &own,
            environment,
            &mut broken,
            &mut unset,
        )?),
        None if written.auth.as_ref().is_some_and(Vec::is_empty) => None,
        None => return Err("it has no base_url".to_owned()),
    };
    let oauth = match &written.oauth {
        Some(oauth) => Some(endpoints(oauth, environment)?),
        None => None,
    };
    let key_base_url = match &written.key_base_url {
        Some(usual) => {
            let names = written.key_base_url_env.as_deref().unwrap_or_default();
            let set = overridden(names, wire, environment, &mut broken);
            let usual = || address::normalised(wire, usual);
            Some(
                set.or_else(usual)
                    .ok_or("its key_base_url is not an http URL")?,
            )
        }
        None => None,
    };
    let entry = CatalogEntry {
        methods: auth.iter().map(method).collect(),
        by_name_only: written.by_name_only.unwrap_or(false),
        provider: ProviderInfo {
            name: written.name.clone().unwrap_or_else(|| written.id.clone()),
            auth: auth.into_iter().map(shown_method).collect(),
            endpoint,
            models: written.model.into_iter().map(model).collect(),
            small_model: written.small_model,
            retired: written.retired,
            id: written.id,
        },
        oauth,
        key_base_url,
        own: own.models,
        broken,
    };
    Ok((entry, unset))
}

fn method(written: &AuthEntry) -> Method {
    Method {
        id: written.id.clone(),
        kind: written.kind,
        tool: written.tool.clone(),
    }
}

fn shown_method(written: AuthEntry) -> AuthMethod {
    let AuthEntry { id, label, .. } = written;
    match written.kind {
        AuthMethodKind::Key | AuthMethodKind::ToolKey => AuthMethod::ApiKey { id, label },
        AuthMethodKind::Browser | AuthMethodKind::Device => AuthMethod::OAuth { id, label },
    }
}

fn model(written: ModelEntry) -> Model {
    Model {
        name: written.name.unwrap_or_else(|| written.id.clone()),
        id: written.id,
        context: written.context,
        input: written.input,
        output: written.output,
        price: written.price,
        efforts: written.efforts.unwrap_or_default(),
        default_effort: written.default_effort,
        vision: written.vision,
        tools: written.tools,
        offered: None,
        retires: written.retires,
        successor: written.successor,
        quirks: written.quirks,
    }
}

fn endpoint(
    written: &ProviderEntry,
    own: &OwnPart,
    environment: &Environment,
    broken: &mut Option<String>,
    unset: &mut bool,
) -> Result<ApiEndpoint, String> {
    let wire = written.wire.unwrap_or(Wire::Chat);
    let mut base_url_env = vec![variable(&written.id, "BASE_URL")];
    base_url_env.extend(written.base_url_env.iter().flatten().cloned());
    let base_url = match overridden(&base_url_env, wire, environment, broken) {
        Some(url) => url,
        None => match usual_address(written, wire, environment) {
            Ok(url) => url.ok_or("its base_url is not an http URL")?,
            Err(error) => {
                *unset = matches!(error, TemplateError::Unset(_));
                *broken = Some(no_address(error, written));
                // Not an address, and never asked for.
                written.base_url.clone().unwrap_or_default()
            }
        },
    };
    let keyless = written.keyless.unwrap_or(false);
    let set = first_set(Some(&base_url_env), environment)
        .or_else(|| first_set(written.host_env.as_deref(), environment));
    let usual_place = keyless || (set.is_none() && !own.address);
    let lists_all = written.lists_all.unwrap_or(false) && usual_place;
    let mut quirks = written.quirks.clone();
    // A gateway may not know all that the service behind it does.
    if !usual_place {
        quirks.custom_tools = own.custom_tools;
    }
    Ok(ApiEndpoint {
        wire,
        base_url,
        key_env: written.key_env.clone().unwrap_or_default(),
        google_file_env: written.google_file_env.clone().unwrap_or_default(),
        aws_service: written.aws_service.clone(),
        bearer_env: written.bearer_env.clone().unwrap_or_default(),
        base_url_env,
        headers: headers(written, environment, broken),
        keyless,
        models_path: written.models_path.clone(),
        lists_all: own.lists_all.unwrap_or(lists_all),
        local_api: written.local_api,
        key_header: written.key_header.clone(),
        quirks,
    })
}

/// The address a host variable makes, else the one that is written.
fn usual_address(
    written: &ProviderEntry,
    wire: Wire,
    environment: &Environment,
) -> Result<Option<String>, TemplateError> {
    let usual = written.base_url.as_deref().unwrap_or_default();
    if let Some((_, host)) = first_set(written.host_env.as_deref(), environment)
        && let Some(url) = address::from_host(host, &template::shape(usual))
    {
        return Ok(Some(url));
    }
    let usual = template::filled_address(usual, environment)?;
    Ok(address::normalised(wire, &usual))
}

fn no_address(error: TemplateError, written: &ProviderEntry) -> String {
    match error {
        TemplateError::NotAName(name) => format!("{name} is not a plain name"),
        TemplateError::Unset(names) => match written.host_env.as_deref() {
            Some([host, ..]) => format!("its address is not known: set {names}, or {host}"),
            Some([]) | None => format!("its address is not known: set {names}"),
        },
    }
}

/// What is written, as far as the environment fills it in, and the environment's own.
fn headers(
    written: &ProviderEntry,
    environment: &Environment,
    broken: &mut Option<String>,
) -> Vec<(String, String)> {
    let listed = written.headers.iter().flat_map(|headers| &headers.0);
    // One that names a variable is sent where that is set.
    let filled = listed.filter_map(|(name, value)| {
        let value = template::filled(value, environment).ok()?;
        Some((name.clone(), value))
    });
    let mut headers: Vec<_> = filled.collect();
    let name = variable(&written.id, "HEADERS");
    if let Some(lines) = environment.get(&name)
        && let Err(what) = headers_of_lines(lines, &mut headers)
    {
        *broken = Some(format!("{name}: {what}"));
    }
    headers
}

/// The base URL that one of these variables gives.
fn overridden(
    names: &[String],
    wire: Wire,
    environment: &Environment,
    broken: &mut Option<String>,
) -> Option<String> {
    let (name, url) = first_set(Some(names), environment)?;
    let url = address::normalised(wire, url);
    if url.is_none() {
        *broken = Some(format!("{name} is not an http URL"));
    }
    url
}

/// `DRAGOMAN_CODEX_CLI_HEADERS` for `codex-cli`.
fn variable(id: &str, what: &str) -> String {
    let id = id.to_ascii_uppercase().replace(['-', '.'], "_");
    format!("DRAGOMAN_{id}_{what}")
}

/// Lines of `Name: value`, laid over the headers there are.
fn headers_of_lines(lines: &str, headers: &mut Vec<(String, String)>) -> Result<(), String> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    for (number, line) in lines.enumerate() {
        let (name, value) = line
            .split_once(':')
            .ok_or(format!("line {} is not `Name: value`", number + 1))?;
        let name = name.trim();
        headers.retain(|(each, _)| !each.eq_ignore_ascii_case(name));
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Ok(())
}

/// The first of these variables that is set to something.
pub fn first_set<'a>(
    names: Option<&'a [String]>,
    environment: &'a Environment,
) -> Option<(&'a str, &'a str)> {
    names.unwrap_or_default().iter().find_map(|name| {
        let value = environment.get(name)?.trim();
        (!value.is_empty()).then_some((name.as_str(), value))
    })
}

fn endpoints(written: &OAuthEntry, environment: &Environment) -> Result<OAuth, String> {
    let issuer = first_set(written.issuer_env.as_deref(), environment)
        .map(|(_, issuer)| issuer)
        .or(written.issuer.as_deref())
        .and_then(|issuer| address::normalised(Wire::Chat, issuer))
        .ok_or("its oauth issuer is not an http URL")?;
    let join = |url: Option<&str>, usual: &str| {
        let url = url.unwrap_or(usual);
        if url.contains("://") {
            url.to_owned()
        } else {
            format!("{issuer}/{}", url.trim_start_matches('/'))
        }
    };
    Ok(OAuth {
        client_id: written
            .client_id
            .clone()
            .ok_or("its oauth has no client_id")?,
        scopes: written.scopes.clone().unwrap_or_default(),
        authorize_url: join(written.authorize_url.as_deref(), "oauth/authorize"),
        token_url: join(written.token_url.as_deref(), "oauth/token"),
        device_authorization_url: written
            .device_authorization_url
            .as_deref()
            .map(|url| join(Some(url), url)),
        callback_ports: written.callback_ports.clone().unwrap_or_else(|| vec![0]),
        parameters: written.parameters.clone().unwrap_or_default(),
        headers: written.headers.clone().unwrap_or_default(),
        account_header: written.account_header.clone(),
        client_version: written.client_version.clone(),
        issuer,
    })
}

#[cfg(test)]
mod tests;
