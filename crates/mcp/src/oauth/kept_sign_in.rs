//! What a sign-in gave, and where it is kept.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rmcp::transport::auth::{OAuthTokenResponse, StoredCredentials};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

/// A token is renewed so long before it expires: a request takes time, and clocks differ.
const EXPIRY_MARGIN_SECS: u64 = 60;

/// Where the sign-in to one server is kept.
#[async_trait]
pub trait TokenStore: Send + Sync {
    async fn load(&self) -> Result<Option<KeptSignIn>, String>;

    /// Takes the place of what was there; none forgets it.
    async fn save(&self, kept: Option<KeptSignIn>) -> Result<(), String>;

    /// Says to others that a person is signing in, or no longer is.
    async fn set_pending(&self, _until_secs: Option<u64>) -> Result<(), String> {
        Ok(())
    }

    /// Held while a token is renewed, so that no two processes use up the same one.
    async fn renewal_lock(&self) -> Result<Box<dyn Send>, String> {
        Ok(Box::new(()))
    }
}

/// What a sign-in gave, and for whom it is good.
#[derive(Clone)]
pub struct KeptSignIn {
    /// The server that it was given for; no other gets to see it.
    pub server_url: String,
    pub issuer: Option<String>,
    pub client_id: String,
    pub client_secret: Option<SecretString>,
    pub access_token: SecretString,
    pub refresh_token: Option<SecretString>,
    pub scopes: Vec<String>,
    /// In seconds since 1970.
    pub expires_at: Option<u64>,
}

/// Who we are to a sign-in server.
#[derive(Clone)]
pub struct OAuthIdentity {
    pub client_id: String,
    pub client_secret: Option<SecretString>,
}

impl KeptSignIn {
    /// From what a sign-in server answered.
    pub fn granted(
        server_url: &str,
        issuer: Option<String>,
        client: OAuthIdentity,
        answer: &OAuthTokenResponse,
        scopes: Vec<String>,
    ) -> Option<Self> {
        let fields = serde_json::to_value(answer).ok()?;
        let secret = |name: &str| fields[name].as_str().map(SecretString::from);
        let expires_in = fields["expires_in"].as_u64();
        Some(Self {
            server_url: server_url.to_owned(),
            issuer,
            client_id: client.client_id,
            client_secret: client.client_secret,
            access_token: secret("access_token")?,
            refresh_token: secret("refresh_token"),
            scopes,
            expires_at: expires_in.map(|seconds| now_secs().saturating_add(seconds)),
        })
    }

    pub fn client(&self) -> OAuthIdentity {
        OAuthIdentity {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
        }
    }

    pub fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now_secs())
    }

    /// Whether it is to be renewed: it is about to expire, or has.
    pub fn is_stale(&self) -> bool {
        let margin = match self.refresh_token {
            Some(_) => EXPIRY_MARGIN_SECS,
            None => 0,
        };
        let soon = now_secs().saturating_add(margin);
        self.expires_at.is_some_and(|at| at <= soon)
    }

    /// As the SDK wants it, for a renewal.
    pub fn stored(&self) -> Option<StoredCredentials> {
        let refresh_token = self.refresh_token.as_ref()?;
        let answer = serde_json::from_value(json!({
            "access_token": self.access_token.expose_secret(),
            "token_type": "bearer",
            "refresh_token": refresh_token.expose_secret(),
        }));
        let scopes = self.scopes.clone();
        let stored = StoredCredentials::new(self.client_id.clone(), answer.ok(), scopes, None);
        Some(stored.with_issuer(self.issuer.clone()))
    }
}

pub fn now_secs() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
