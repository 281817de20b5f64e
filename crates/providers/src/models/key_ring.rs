//! What lets a request in at one provider: the credential there is, made into headers.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use crate::accounts::renewal::{Lapse, Renewal};
use crate::accounts::{Accounts, Credential, Proof};
use crate::catalog::Reach;
use crate::catalog::book::Entry;
use crate::remote::{Access, Ticket};
use crate::{ErrorKind, ProviderError};

/// The credential of one provider, looked up anew for every request.
pub struct KeyRing {
    accounts: Arc<Accounts>,
    entry: Arc<Entry>,
    reach: Reach,
    renewal: Option<Arc<Renewal>>,
}

impl KeyRing {
    pub fn new(accounts: Arc<Accounts>, entry: Arc<Entry>, reach: Reach) -> Self {
        let renewal = entry
            .oauth
            .clone()
            .map(|oauth| Renewal::new(Arc::clone(&accounts), Arc::clone(&entry), oauth));
        Self {
            accounts,
            entry,
            reach,
            renewal,
        }
    }

    /// A credential that is good now, where there is one.
    pub async fn fresh(&self, refused: bool) -> Result<Option<Credential>, Lapse> {
        match &self.renewal {
            Some(renewal) => match renewal.fresh(refused).await {
                Ok(credential) => Ok(Some(credential)),
                Err(Lapse::Missing) => Ok(None),
                Err(lapse) => Err(lapse),
            },
            None => self
                .accounts
                .credential(&self.entry)
                .map_err(|error| Lapse::Unreadable(error.to_string())),
        }
    }

    fn ticket(&self, credential: Option<Credential>) -> Result<Ticket, ProviderError> {
        let base_url = self.reach.base_url.clone();
        let Some(credential) = credential else {
            if !self.reach.keyless {
                return Err(not_connected(&self.entry));
            }
            return Ok(Ticket {
                base_url,
                headers: Vec::new(),
                renewable: false,
            });
        };
        Ok(match credential.proof {
            Proof::Key(key) => {
                let (name, value) = self.reach.wire.auth_header(key.expose_secret());
                Ticket {
                    base_url: self.entry.key_base_url.clone().unwrap_or(base_url),
                    headers: vec![(name.to_owned(), value.into())],
                    renewable: false,
                }
            }
            Proof::Tokens(tokens) => {
                let bearer = format!("Bearer {}", tokens.access.expose_secret());
                let mut headers = vec![("authorization".to_owned(), bearer.into())];
                headers.extend(self.sign_in_headers(tokens.account_id));
                Ticket {
                    base_url,
                    headers,
                    renewable: true,
                }
            }
        })
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
impl Access for KeyRing {
    async fn access(&self, renew: bool) -> Result<Ticket, ProviderError> {
        let provider = &self.entry.provider;
        if let Some(broken) = &self.entry.broken {
            let message = format!("{} cannot be used: {broken}", provider.name);
            return Err(ProviderError::new(ErrorKind::BadRequest, message));
        }
        let credential = self.fresh(renew).await.map_err(|lapse| match lapse {
            Lapse::Missing => not_connected(&self.entry),
            Lapse::Ended(what) => ProviderError::new(
                ErrorKind::Auth,
                format!(
                    "The sign-in to {} has ended: run `dragoman auth login {}` ({what})",
                    provider.name, provider.id
                ),
            ),
            Lapse::Unreadable(what) => ProviderError::new(
                ErrorKind::Auth,
                format!("{} is not connected: {what}", provider.name),
            ),
            Lapse::Trouble(what) => ProviderError::new(
                ErrorKind::Unreachable,
                format!("{} cannot be asked: {what}", provider.name),
            ),
        })?;
        self.ticket(credential)
    }
}

pub fn not_connected(entry: &Entry) -> ProviderError {
    ProviderError::new(ErrorKind::Auth, how_to_connect(entry))
}

/// `OpenAI is not connected: run …, or set …`
pub fn how_to_connect(entry: &Entry) -> String {
    let provider = &entry.provider;
    let variable = provider
        .reach
        .as_ref()
        .and_then(|reach| reach.key_env.first());
    let or_set = variable
        .map(|name| format!(", or set {name}"))
        .unwrap_or_default();
    format!(
        "{} is not connected: run `dragoman auth login {}`{or_set}",
        provider.name, provider.id
    )
}
