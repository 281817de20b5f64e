//! What lets a request in at one provider: the credential there is, made into headers.

use std::sync::Arc;

use async_trait::async_trait;
use ring::digest::{Context, SHA256};
use secrecy::{ExposeSecret, SecretString};

use crate::accounts::renewal::{Renewal, RenewalError};
use crate::accounts::{Accounts, Credential, CredentialSource, Proof};
use crate::catalog::ApiEndpoint;
use crate::catalog::merged::CatalogEntry;
use crate::remote::{Authorization, Authorizer};
use crate::{ErrorKind, ProviderError};

/// Enough to tell a person's accounts apart, too little to find a key by.
const ACCOUNT_BYTES: usize = 5;

/// The credential of one provider, looked up anew for every request.
pub struct AccountAuthorizer {
    accounts: Arc<Accounts>,
    entry: Arc<CatalogEntry>,
    endpoint: ApiEndpoint,
    renewal: Option<Arc<Renewal>>,
}

impl AccountAuthorizer {
    pub fn new(accounts: Arc<Accounts>, entry: Arc<CatalogEntry>, endpoint: ApiEndpoint) -> Self {
        let renewal = entry
            .oauth
            .clone()
            .map(|oauth| Renewal::new(Arc::clone(&accounts), Arc::clone(&entry), oauth));
        Self {
            accounts,
            entry,
            endpoint,
            renewal,
        }
    }

    /// A credential that is good now, where there is one.
    pub async fn fresh(&self, refused: bool) -> Result<Option<Credential>, RenewalError> {
        match &self.renewal {
            Some(renewal) => match renewal.fresh(refused).await {
                Ok(credential) => Ok(Some(credential)),
                Err(RenewalError::Missing) => Ok(None),
                Err(lapse) => Err(lapse),
            },
            None => self
                .accounts
                .credential(&self.entry)
                .map_err(|error| RenewalError::Unreadable(error.to_string())),
        }
    }

    fn authorization(
        &self,
        credential: Option<Credential>,
    ) -> Result<Authorization, ProviderError> {
        let base_url = self.endpoint.base_url.clone();
        let account = self.account(credential.as_ref());
        let Some(credential) = credential else {
            if !self.endpoint.keyless {
                return Err(not_connected(&self.entry));
            }
            return Ok(Authorization {
                base_url,
                account,
                headers: Vec::new(),
                renewable: false,
            });
        };
        Ok(match credential.proof {
            Proof::Key(key) => {
                let key = key.expose_secret();
                let (name, value) = match self.is_bearer(&credential.source) {
                    true => ("authorization", format!("Bearer {key}")),
                    false => self.endpoint.wire.auth_header(key),
                };
                Authorization {
                    base_url: self.entry.key_base_url.clone().unwrap_or(base_url),
                    account,
                    headers: vec![(name.to_owned(), value.into())],
                    renewable: false,
                }
            }
            Proof::Tokens(tokens) => {
                let bearer = format!("Bearer {}", tokens.access.expose_secret());
                let mut headers = vec![("authorization".to_owned(), bearer.into())];
                headers.extend(self.sign_in_headers(tokens.account_id));
                Authorization {
                    base_url,
                    account,
                    headers,
                    renewable: true,
                }
            }
        })
    }

    fn is_bearer(&self, source: &CredentialSource) -> bool {
        match source {
            CredentialSource::Environment { variable } => {
                self.endpoint.bearer_env.contains(variable)
            }
            CredentialSource::Saved { .. } | CredentialSource::CodexHome => false,
        }
    }

    /// The service and who is known to it, in a form that gives nothing away.
    fn account(&self, credential: Option<&Credential>) -> String {
        let mut seen = Context::new(&SHA256);
        let base_url = match (&self.entry.key_base_url, credential.map(|each| &each.proof)) {
            (Some(url), Some(Proof::Key(_))) => url,
            (_, _) => &self.endpoint.base_url,
        };
        seen.update(base_url.as_bytes());
        match credential.map(|each| &each.proof) {
            Some(Proof::Key(key)) => seen.update(key.expose_secret().as_bytes()),
            Some(Proof::Tokens(tokens)) => {
                seen.update(tokens.account_id.as_deref().unwrap_or_default().as_bytes());
            }
            None => {}
        }
        let digest = seen.finish();
        let short = digest.as_ref().iter().take(ACCOUNT_BYTES);
        let short: String = short.map(|byte| format!("{byte:02x}")).collect();
        format!("{}:{short}", self.entry.provider.id)
    }

    fn sign_in_headers(&self, account_id: Option<String>) -> Vec<(String, SecretString)> {
        let Some(oauth) = &self.entry.oauth else {
            return Vec::new();
        };
        let named = oauth.account_header.clone().zip(account_id);
        let fixed = oauth.headers.0.clone();
        fixed
            .into_iter()
            .chain(named)
            .map(|(name, value)| (name, value.into()))
            .collect()
    }
}

#[async_trait]
impl Authorizer for AccountAuthorizer {
    async fn access(&self, renew: bool) -> Result<Authorization, ProviderError> {
        let provider = &self.entry.provider;
        if let Some(broken) = &self.entry.broken {
            let message = format!("{} cannot be used: {broken}", provider.name);
            return Err(ProviderError::new(ErrorKind::BadRequest, message));
        }
        let credential = self.fresh(renew).await.map_err(|lapse| match lapse {
            RenewalError::Missing => not_connected(&self.entry),
            RenewalError::Ended(what) => ProviderError::new(
                ErrorKind::Auth,
                format!(
                    "The sign-in to {} has ended: run `dragoman auth login {}` ({what})",
                    provider.name, provider.id
                ),
            ),
            RenewalError::Unreadable(what) => ProviderError::new(
                ErrorKind::Auth,
                format!("{} is not connected: {what}", provider.name),
            ),
            RenewalError::Unavailable(what) => ProviderError::new(
                ErrorKind::Unreachable,
                format!("{} cannot be asked: {what}", provider.name),
            ),
        })?;
        self.authorization(credential)
    }
}

pub fn not_connected(entry: &CatalogEntry) -> ProviderError {
    ProviderError::new(ErrorKind::Auth, how_to_connect(entry))
}

/// `OpenAI is not connected: run …, or set …`
pub fn how_to_connect(entry: &CatalogEntry) -> String {
    let provider = &entry.provider;
    let variable = provider
        .endpoint
        .as_ref()
        .and_then(|endpoint| endpoint.key_env.first());
    let or_set = variable
        .map(|name| format!(", or set {name}"))
        .unwrap_or_default();
    format!(
        "{} is not connected: run `dragoman auth login {}`{or_set}",
        provider.name, provider.id
    )
}
