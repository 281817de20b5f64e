//! The token for a request: the one that is kept, or a new one for it.

use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, ClientCredentialsConfig, CredentialStore, InMemoryCredentialStore,
    OAuthClientConfig, WWWAuthenticateParams,
};
use secrecy::{ExposeSecret, SecretString};

use super::kept_sign_in::{KeptSignIn, OAuthIdentity};
use super::server_sign_in::{Demand, ServerSignIn};
use super::words::reason;
use super::{AuthFailure, RefusedRequest};

/// For a renewal with all it takes, and for whoever waits for it.
const RENEWAL_LIMIT: Duration = Duration::from_secs(60);
const FORBIDDEN: u16 = 403;

impl ServerSignIn {
    /// The token for the next request, renewed if it is about to expire. None where nobody signed in:
    /// the request is made without, since not every server asks.
    pub async fn bearer(&self) -> Result<Option<SecretString>, AuthFailure> {
        let kept = self.kept().await?;
        if kept.is_none() && !self.target.without_person {
            return Ok(None);
        }
        // As long as it is good there is no hurry.
        let still_good = kept.as_ref().filter(|kept| !kept.is_expired());
        match still_good.map(|kept| kept.access_token.clone()) {
            Some(token) if !kept.is_some_and(|kept| kept.is_stale()) => Ok(Some(token)),
            still_good => match self.renewed(None).await {
                Err(AuthFailure::Unavailable(_)) if still_good.is_some() => Ok(still_good),
                renewed => renewed.map(Some),
            },
        }
    }

    /// The server said no. Gives another token to try once more with, or says why there is none.
    pub async fn refused(&self, request: RefusedRequest<'_>) -> Result<SecretString, AuthFailure> {
        let challenge = request.challenge.unwrap_or_default();
        let asked = WWWAuthenticateParams::parse(challenge, &self.target.url);
        if request.status == FORBIDDEN {
            return Err(self.forbidden(&asked));
        }
        self.demand.lock().challenge = request.challenge.map(str::to_owned);
        if self.kept().await?.is_none() && !self.target.without_person {
            return Err(self.sign_in_needed("asks for a sign-in"));
        }
        self.renewed(request.sent.cloned()).await
    }

    /// What is kept and was given for this server at this address.
    pub(super) async fn kept(&self) -> Result<Option<KeptSignIn>, AuthFailure> {
        let kept = self.store.load().await.map_err(AuthFailure::Unavailable)?;
        Ok(kept.filter(|kept| kept.server_url == self.target.url.as_str()))
    }

    fn forbidden(&self, asked: &WWWAuthenticateParams) -> AuthFailure {
        let name = &self.target.name;
        if !asked.is_insufficient_scope() {
            return AuthFailure::Forbidden("it does not allow this to who signed in".to_owned());
        }
        let wanted = asked.scope.clone().unwrap_or_default();
        let mut demand = self.demand.lock();
        demand.open = true;
        for scope in wanted.split_whitespace() {
            if !demand.scopes.iter().any(|each| each == scope) {
                demand.scopes.push(scope.to_owned());
            }
        }
        AuthFailure::MoreScopesNeeded(format!(
            "it wants the sign-in to allow more ({wanted}); run `dragoman mcp login {name}`"
        ))
    }

    pub(super) fn sign_in_needed(&self, why: &str) -> AuthFailure {
        let name = &self.target.name;
        self.demand.lock().open = true;
        AuthFailure::SignInNeeded(format!("it {why}; run `dragoman mcp login {name}`"))
    }

    /// A new token instead of `refused`, or of one that expires.
    async fn renewed(&self, refused: Option<SecretString>) -> Result<SecretString, AuthFailure> {
        let gone = || AuthFailure::Unavailable("the sign-in was given up".to_owned());
        let this = self.this.upgrade().ok_or_else(gone)?;
        // To its end, also when nobody waits any more: the old token may be used up already, and the
        // new one must be kept.
        let work = tokio::spawn(async move {
            let work = this.renew(refused.as_ref());
            tokio::time::timeout(RENEWAL_LIMIT, work)
                .await
                .unwrap_or_else(|_| Err(this.unavailable("it took too long")))
        });
        work.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn renew(&self, refused: Option<&SecretString>) -> Result<SecretString, AuthFailure> {
        let _one = self.renewal.lock().await;
        let elsewhere = self.store.renewal_lock().await;
        let _elsewhere = elsewhere.map_err(|words| self.unavailable(&words))?;
        let kept = self.kept().await?;
        if let Some(kept) = &kept {
            let another = match refused {
                Some(refused) => refused.expose_secret() != kept.access_token.expose_secret(),
                None => !kept.is_stale(),
            };
            if another {
                return Ok(kept.access_token.clone());
            }
        }
        let renewed = match (&self.target.client, kept) {
            (Some(client), _) if self.target.without_person => self.as_client(client).await?,
            (_, Some(kept)) if kept.refresh_token.is_some() => self.refresh(kept).await?,
            (_, Some(_)) => {
                self.forget().await;
                return Err(self.sign_in_needed("no longer takes the sign-in"));
            }
            (_, None) => return Err(self.sign_in_needed("asks for a sign-in")),
        };
        let token = renewed.access_token.clone();
        let saved = self.store.save(Some(renewed)).await;
        saved.map_err(AuthFailure::Unavailable)?;
        Ok(token)
    }

    async fn refresh(&self, kept: KeptSignIn) -> Result<KeptSignIn, AuthFailure> {
        let challenge = self.demand.lock().challenge.clone();
        let found = self.find(challenge.as_deref()).await;
        let mut found = found.map_err(|words| self.unavailable(&words))?;
        if kept.issuer != found.metadata.issuer {
            // A token goes back only to who gave it.
            self.forget().await;
            return Err(self.sign_in_needed("has another sign-in server now"));
        }
        let mut client = OAuthClientConfig::new(&kept.client_id, self.target.url.as_str());
        if let Some(secret) = &kept.client_secret {
            client = client.with_client_secret(secret.expose_secret());
        }
        let configured = found.manager.configure_client(client);
        configured.map_err(|error| self.unavailable(&reason(&error)))?;
        let memory = InMemoryCredentialStore::new();
        if let Some(stored) = kept.stored() {
            let saved = memory.save(stored).await;
            saved.map_err(|error| self.unavailable(&reason(&error)))?;
        }
        found.manager.set_credential_store(memory);
        let answer = match found.manager.refresh_token().await {
            Ok(answer) => answer,
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                self.forget().await;
                return Err(self.sign_in_needed("no longer takes the sign-in"));
            }
            Err(error) => return Err(self.unavailable(&reason(&error))),
        };
        let scopes = found.manager.get_current_scopes().await;
        let url = self.target.url.as_str();
        KeptSignIn::granted(url, kept.issuer.clone(), kept.client(), &answer, scopes)
            .ok_or_else(|| self.unavailable("the answer has no token"))
    }

    /// A token for the client itself.
    async fn as_client(&self, client: &OAuthIdentity) -> Result<KeptSignIn, AuthFailure> {
        let challenge = self.demand.lock().challenge.clone();
        let found = self.find(challenge.as_deref()).await;
        let mut found = found.map_err(|words| self.unavailable(&words))?;
        let secret = client
            .client_secret
            .as_ref()
            .map(ExposeSecret::expose_secret);
        let scopes = match self.target.scopes.as_slice() {
            [] => found.manager.select_initial_scopes(&[]).await,
            configured => configured.to_vec(),
        };
        let url = self.target.url.as_str();
        let resource = self.target.resource.as_deref().unwrap_or(url);
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: client.client_id.clone(),
            client_secret: secret.unwrap_or_default().to_owned(),
            scopes: scopes.clone(),
            resource: Some(resource.to_owned()),
        };
        let answer = async {
            found
                .manager
                .validate_client_credentials_metadata(&config)?;
            found.manager.configure_client_credentials(&config)?;
            found.manager.exchange_client_credentials(&config).await
        };
        let answer = answer.await;
        let answer = answer.map_err(|error| self.unavailable(&reason(&error)))?;
        KeptSignIn::granted(url, found.metadata.issuer, client.clone(), &answer, scopes)
            .ok_or_else(|| self.unavailable("the answer has no token"))
    }

    /// What is no longer good is not sent again. If it cannot be deleted it is refused again.
    async fn forget(&self) {
        if let Err(words) = self.store.save(None).await {
            tracing::warn!(server = self.target.name, words, "a sign-in is not deleted");
        }
    }

    fn unavailable(&self, words: &str) -> AuthFailure {
        AuthFailure::Unavailable(format!("its sign-in cannot be renewed now: {words}"))
    }

    /// What the server last wanted of who came, until they sign in.
    pub(super) fn demand(&self) -> Demand {
        self.demand.lock().clone()
    }
}
