//! Sign-ins in the credentials file of a server's scope.

use std::fs::TryLockError;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::kept_sign_in::{KeptSignIn, TokenStore};
use crate::credentials::{CredentialStore, OAuthPart, ServerCredentials};
use crate::{ConfiguredServer, McpPlace};

/// How long to wait for another process that renews a token.
const RENEWAL_WAIT: Duration = Duration::from_secs(40);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The sign-in to one server, in its file.
pub struct CredentialFileStore {
    pub credentials: CredentialStore,
    pub place: McpPlace,
    pub server: ConfiguredServer,
}

#[async_trait]
impl TokenStore for CredentialFileStore {
    async fn load(&self) -> Result<Option<KeptSignIn>, String> {
        let saved = self.credentials.read(&self.place, &self.server).await;
        saved.map(|saved| read(&saved)).map_err(|e| e.to_string())
    }

    async fn save(&self, kept: Option<KeptSignIn>) -> Result<(), String> {
        self.change(move |saved| {
            let (tokens, client) = kept.as_ref().map(write).unzip();
            saved.set_oauth(OAuthPart::Pending, None);
            saved.set_oauth(OAuthPart::Tokens, tokens);
            saved.set_oauth(OAuthPart::ClientInformation, client);
        })
        .await
    }

    async fn set_pending(&self, until_secs: Option<u64>) -> Result<(), String> {
        let pending = until_secs.map(|until| json!({ "expiresAt": timestamp(until) }));
        self.change(move |saved| saved.set_oauth(OAuthPart::Pending, pending))
            .await
    }

    async fn renewal_lock(&self) -> Result<Box<dyn Send>, String> {
        let file = self.credentials.renewal_file(&self.place, &self.server);
        let file = file.await.map_err(|error| error.to_string())?;
        let deadline = Instant::now() + RENEWAL_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Box::new(file)),
                Err(TryLockError::Error(error)) => return Err(error.to_string()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err("another process renews a token; try again".to_owned());
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }
}

impl CredentialFileStore {
    async fn change(
        &self,
        change: impl FnOnce(&mut ServerCredentials) + Send + 'static,
    ) -> Result<(), String> {
        let changed = self.credentials.change(&self.place, &self.server, change);
        changed.await.map_err(|error| error.to_string())
    }
}

/// The tokens, and who we are to the server that gave them.
fn write(kept: &KeptSignIn) -> (Value, Value) {
    let secret = |secret: &Option<SecretString>| {
        let secret = secret.as_ref();
        secret.map(|secret| secret.expose_secret().to_owned())
    };
    let tokens = json!({
        "accessToken": kept.access_token.expose_secret(),
        "refreshToken": secret(&kept.refresh_token),
        "expiresAt": kept.expires_at.map(timestamp),
        "scope": kept.scopes.join(" "),
        "serverUrl": kept.server_url,
        "issuer": kept.issuer,
    });
    let client = json!({
        "clientId": kept.client_id,
        "clientSecret": secret(&kept.client_secret),
    });
    (tokens, client)
}

/// What others wrote there in another way is nothing that can be used.
fn read(saved: &ServerCredentials) -> Option<KeptSignIn> {
    let tokens = saved.oauth(OAuthPart::Tokens)?;
    let client = saved.oauth(OAuthPart::ClientInformation)?;
    let text = |part: &Value, name: &str| part[name].as_str().map(str::to_owned);
    let expires_at = text(tokens, "expiresAt").map(|at| {
        // One that cannot be read is over.
        let at: Option<Timestamp> = at.parse().ok();
        let seconds = at.map(Timestamp::as_second).unwrap_or_default();
        u64::try_from(seconds).unwrap_or_default()
    });
    let scopes = text(tokens, "scope").unwrap_or_default();
    Some(KeptSignIn {
        server_url: text(tokens, "serverUrl")?,
        issuer: text(tokens, "issuer"),
        client_id: text(client, "clientId")?,
        client_secret: text(client, "clientSecret").map(SecretString::from),
        access_token: text(tokens, "accessToken")?.into(),
        refresh_token: text(tokens, "refreshToken").map(SecretString::from),
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        expires_at,
    })
}

fn timestamp(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::MAX)
        .to_string()
}
