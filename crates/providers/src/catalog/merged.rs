//! The built-in catalog with a person's own file and the environment laid over it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use vocabulary::AuthMethod;

use super::file::{
    AuthEntry, AuthMethodKind, File, Headers, ModelEntry, OAuthEntry, ProviderEntry,
};
use super::{ApiEndpoint, Model, ModelCatalog, ProviderInfo, address};
use crate::format::Wire;

/// The variables of the process, handed in so that tests are alone with theirs.
pub type Environment = BTreeMap<String, String>;

static BUILT_IN: &str = include_str!("../catalog.toml");

/// Parsed when it is first needed: a start must stay fast.
static BUILT_IN_FILE: LazyLock<File> = LazyLock::new(|| {
    // A test reads it, so it cannot be broken; an empty catalog would still let the server run.
    File::parse(BUILT_IN).unwrap_or_default()
});

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
    /// What is wrong with the settings of this provider: it is listed, but must not be asked, since
    /// a key could then go where it was not meant to go.
    pub broken: Option<String>,
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
}

impl CatalogEntry {
    pub fn method(&self, id: &str) -> Option<&Method> {
        self.methods.iter().find(|each| each.id == id)
    }
}

impl MergedCatalog {
    /// `own`: the text of the person's own file, where there is one.
    pub fn open(own: Option<&str>, environment: &Environment) -> MergedCatalog {
        let mut file = BUILT_IN_FILE.clone();
        let mut warnings = Vec::new();
        match own.map(File::parse) {
            Some(Ok(own)) => lay_over(&mut file, own),
            Some(Err(error)) => warnings.push(format!(
                "config/catalog.toml is not used: {error}; the built-in catalog is"
            )),
            None => {}
        }
        let mut entries = Vec::with_capacity(file.provider.len());
        for written in file.provider {
            let id = written.id.clone();
            match entry(written, environment) {
                Ok(entry) => {
                    let broken = entry.broken.as_ref();
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
        environment.keys().any(|name| {
            let laid_over = name.ends_with("_BASE_URL") || name.ends_with("_HEADERS");
            let ours = name.starts_with("DRAGOMAN_") && laid_over;
            ours || BUILT_IN.contains(&format!("\"{name}\""))
        })
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

fn lay_over(base: &mut File, own: File) {
    for theirs in own.provider {
        match base.provider.iter_mut().find(|each| each.id == theirs.id) {
            Some(ours) => ours.lay_over(theirs),
            None => base.provider.push(theirs),
        }
    }
}

/// What is written replaces; what is not written stays.
fn replace<T>(place: &mut Option<T>, written: Option<T>) {
    if written.is_some() {
        *place = written;
    }
}

impl ProviderEntry {
    fn lay_over(&mut self, own: ProviderEntry) {
        replace(&mut self.name, own.name);
        replace(&mut self.wire, own.wire);
        replace(&mut self.base_url, own.base_url);
        replace(&mut self.base_url_env, own.base_url_env);
        replace(&mut self.host_env, own.host_env);
        replace(&mut self.key_env, own.key_env);
        replace(&mut self.bearer_env, own.bearer_env);
        replace(&mut self.key_base_url, own.key_base_url);
        replace(&mut self.key_base_url_env, own.key_base_url_env);
        replace(&mut self.keyless, own.keyless);
        replace(&mut self.small_model, own.small_model);
        replace(&mut self.auth, own.auth);
        self.quirks = self.quirks.with(&own.quirks);
        if let Some(headers) = own.headers {
            self.headers.get_or_insert_default().0.extend(headers.0);
        }
        if let Some(oauth) = own.oauth {
            self.oauth.get_or_insert_default().lay_over(oauth);
        }
        for theirs in own.model {
            match self.model.iter_mut().find(|each| each.id == theirs.id) {
                Some(ours) => ours.lay_over(theirs),
                None => self.model.push(theirs),
            }
        }
    }
}

impl OAuthEntry {
    fn lay_over(&mut self, own: OAuthEntry) {
        replace(&mut self.issuer, own.issuer);
        replace(&mut self.issuer_env, own.issuer_env);
        replace(&mut self.client_id, own.client_id);
        replace(&mut self.scopes, own.scopes);
        replace(&mut self.callback_ports, own.callback_ports);
        replace(&mut self.parameters, own.parameters);
        replace(&mut self.headers, own.headers);
        replace(&mut self.account_header, own.account_header);
        replace(&mut self.authorize_url, own.authorize_url);
        replace(&mut self.token_url, own.token_url);
        replace(
            &mut self.device_authorization_url,
            own.device_authorization_url,
        );
    }
}

impl ModelEntry {
    fn lay_over(&mut self, own: ModelEntry) {
        replace(&mut self.name, own.name);
        replace(&mut self.context, own.context);
        replace(&mut self.input, own.input);
        replace(&mut self.output, own.output);
        replace(&mut self.price, own.price);
        replace(&mut self.efforts, own.efforts);
        replace(&mut self.default_effort, own.default_effort);
        replace(&mut self.vision, own.vision);
        self.quirks = self.quirks.with(&own.quirks);
    }
}

fn entry(written: ProviderEntry, environment: &Environment) -> Result<CatalogEntry, String> {
    let auth = written.auth.clone().unwrap_or_else(|| {
        vec![AuthEntry {
            id: "api_key".to_owned(),
            kind: AuthMethodKind::Key,
            label: "API key".to_owned(),
            tool: None,
        }]
    });
    let wire = written.wire.unwrap_or(Wire::Chat);
    let mut broken = None;
    let endpoint = match &written.base_url {
        Some(_) => Some(endpoint(&written, wire, environment, &mut broken)?),
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
    Ok(CatalogEntry {
        methods: auth.iter().map(method).collect(),
        provider: ProviderInfo {
            name: written.name.clone().unwrap_or_else(|| written.id.clone()),
            auth: auth.into_iter().map(shown_method).collect(),
            endpoint,
            models: written.model.into_iter().map(model).collect(),
            small_model: written.small_model,
            id: written.id,
        },
        oauth,
        key_base_url,
        broken,
    })
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
        quirks: written.quirks,
    }
}

fn endpoint(
    written: &ProviderEntry,
    wire: Wire,
    environment: &Environment,
    broken: &mut Option<String>,
) -> Result<ApiEndpoint, String> {
    let usual = written.base_url.as_deref().unwrap_or_default();
    let mut base_url_env = vec![variable(&written.id, "BASE_URL")];
    base_url_env.extend(written.base_url_env.iter().flatten().cloned());
    let from_host = || {
        let (_, host) = first_set(written.host_env.as_deref(), environment)?;
        address::from_host(host, usual)
    };
    let base_url = overridden(&base_url_env, wire, environment, broken)
        .or_else(from_host)
        .or_else(|| address::normalised(wire, usual))
        .ok_or("its base_url is not an http URL")?;
    let mut headers: Vec<(String, String)> = written
        .headers
        .clone()
        .unwrap_or_default()
        .0
        .into_iter()
        .collect();
    let name = variable(&written.id, "HEADERS");
    if let Some(lines) = environment.get(&name)
        && let Err(what) = headers_of_lines(lines, &mut headers)
    {
        *broken = Some(format!("{name}: {what}"));
    }
    Ok(ApiEndpoint {
        wire,
        base_url,
        key_env: written.key_env.clone().unwrap_or_default(),
        bearer_env: written.bearer_env.clone().unwrap_or_default(),
        base_url_env,
        headers,
        keyless: written.keyless.unwrap_or(false),
        quirks: written.quirks.clone(),
    })
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
        issuer,
    })
}

#[cfg(test)]
mod tests;
