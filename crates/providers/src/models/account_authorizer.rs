//! What lets a request in at one provider: the credential there is, made into headers.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ring::digest::{Context, SHA256};
use secrecy::{ExposeSecret, SecretString};

use crate::accounts::google_file::GoogleFile;
use crate::accounts::oauth::OAuthError;
use crate::accounts::renewal::{Renewal, RenewalError};
use crate::accounts::tokens::Tokens;
use crate::accounts::{Accounts, Credential, CredentialSource, Proof, now_ms};
use crate::catalog::ApiEndpoint;
use crate::catalog::merged::CatalogEntry;
use crate::remote::{Authorization, Authorizer, RequestToSign};
use crate::{ErrorKind, ProviderError};

/// Enough to tell a person's accounts apart, too little to find a key by.
const ACCOUNT_BYTES: usize = 5;

/// The credential of one provider, looked up anew for every request.
pub struct AccountAuthorizer {
    accounts: Arc<Accounts>,
    entry: Arc<CatalogEntry>,
    endpoint: ApiEndpoint,
    renewal: Option<Arc<Renewal>>,
    /// What a credential file was last exchanged for.
    exchanged: tokio::sync::Mutex<Option<(PathBuf, Tokens)>>,
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
            exchanged: tokio::sync::Mutex::default(),
        }
    }

    /// A credential that is good now, where there is one.
    pub async fn fresh(&self, refused: bool) -> Result<Option<Credential>, RenewalError> {
        let found = match &self.renewal {
            Some(renewal) => match renewal.fresh(refused).await {
                Ok(credential) => Some(credential),
                Err(RenewalError::Missing) => None,
                Err(lapse) => return Err(lapse),
            },
            None => {
                let found = self.accounts.credential(&self.entry);
                found.map_err(|error| RenewalError::Unreadable(error.to_string()))?
            }
        };
        match found {
            Some(Credential {
                proof: Proof::GoogleFile(path),
                source,
            }) => {
                let tokens = self.exchange(path, refused).await?;
                let proof = Proof::Tokens(tokens);
                Ok(Some(Credential { proof, source }))
            }
            found => Ok(found),
        }
    }

    /// The tokens of a credential file, one exchange at a time.
    async fn exchange(&self, path: PathBuf, refused: bool) -> Result<Tokens, RenewalError> {
        let mut exchanged = self.exchanged.lock().await;
        let now = now_ms();
        if let Some((of, tokens)) = &*exchanged
            && *of == path
            && !refused
            && !tokens.ends_soon(now)
        {
            return Ok(tokens.clone());
        }
        let file = GoogleFile::read(&path).map_err(RenewalError::Unreadable)?;
        let tokens = file.token(now).await.map_err(|error| match error {
            OAuthError::NotAccepted(what) => RenewalError::Unreadable(what),
            OAuthError::Unavailable(what) => RenewalError::Unavailable(what),
        })?;
        *exchanged = Some((path, tokens.clone()));
        Ok(tokens)
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
            // Each request is signed when it is whole.
            Proof::AwsKeys(_) => Authorization {
                base_url,
                account,
                headers: Vec::new(),
                renewable: false,
            },
            // It was exchanged before.
            Proof::GoogleFile(_) => return Err(not_connected(&self.entry)),
            Proof::Key(key) => {
                let key = key.expose_secret();
                let (name, value) = match self.is_bearer(&credential.source) {
                    true => ("authorization".to_owned(), format!("Bearer {key}")),
                    false => self.endpoint.auth_header(key),
                };
                Authorization {
                    base_url: self.entry.key_base_url.clone().unwrap_or(base_url),
                    account,
                    headers: vec![(name, value.into())],
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
            CredentialSource::Saved { .. }
            | CredentialSource::CodexHome
            | CredentialSource::SharedByOperator => false,
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
            Some(Proof::AwsKeys(keys)) => seen.update(keys.id.as_bytes()),
            Some(Proof::GoogleFile(_)) | None => {}
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
        let version = oauth.client_version.clone();
        let version = version.map(|version| ("version".to_owned(), version));
        let fixed = oauth.headers.0.clone();
        fixed
            .into_iter()
            .chain(version)
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

    fn sign(&self, request: &RequestToSign<'_>) -> Vec<(String, SecretString)> {
        if self.endpoint.aws_service.is_none() {
            return Vec::new();
        }
        match self.accounts.credential(&self.entry) {
            Ok(Some(Credential {
                proof: Proof::AwsKeys(keys),
                ..
            })) => keys.sign(request, jiff::Timestamp::now()),
            Ok(_) | Err(_) => Vec::new(),
        }
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
