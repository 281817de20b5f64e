//! The sign-in to one server: what is known of it, and how its sign-in server is found.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
};
use tools::web::Lookup;

use super::guarded_http::GuardedHttp;
use super::kept_sign_in::{OAuthIdentity, TokenStore};
use super::pending::PendingSignIn;
use super::words::reason;

/// A server that one can sign in to, as it is configured.
#[derive(Clone)]
pub struct SignInTarget {
    pub name: String,
    pub url: Url,
    /// What to ask for, instead of what the server says.
    pub scopes: Vec<String>,
    /// What a token is to be good for, instead of what the server says.
    pub resource: Option<String>,
    /// Where a person registered one.
    pub client: Option<OAuthIdentity>,
    /// Where a document about this client is published.
    pub client_document: Option<String>,
    /// Whether a person is to paste the code, because their browser does not reach this machine.
    pub asks_for_code: bool,
    /// Whether the client itself is who comes, and no person signs in.
    pub without_person: bool,
}

/// Shared by all that use the server.
pub struct ServerSignIn {
    /// For work that goes on when nobody waits for it.
    pub(super) this: Weak<Self>,
    pub(super) target: SignInTarget,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) lookup: Arc<dyn Lookup>,
    /// One renews at a time, the others take what it got.
    pub(super) renewal: tokio::sync::Mutex<()>,
    /// One is begun at a time.
    pub(super) beginning: tokio::sync::Mutex<()>,
    pub(super) demand: Arc<Mutex<Demand>>,
    pub(super) pending: Mutex<Option<PendingSignIn>>,
}

/// What the server last asked of who came.
#[derive(Clone, Default)]
pub struct Demand {
    /// Whether somebody is to sign in.
    pub open: bool,
    pub challenge: Option<String>,
    /// What signing in again asks for, beside what there is.
    pub scopes: Vec<String>,
}

/// A sign-in server that was found and may be asked.
pub(super) struct FoundSignIn {
    pub manager: AuthorizationManager,
    pub metadata: AuthorizationMetadata,
    pub source: AuthorizationMetadataSource,
}

impl ServerSignIn {
    pub fn new(
        target: SignInTarget,
        store: Arc<dyn TokenStore>,
        lookup: Arc<dyn Lookup>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            target,
            store,
            lookup,
            renewal: tokio::sync::Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            demand: Arc::default(),
            pending: Mutex::default(),
        })
    }

    /// Whether the server wants a person to sign in, for the first time or for more.
    pub fn is_wanted(&self) -> bool {
        self.demand.lock().open
    }

    /// Finds the sign-in server, by the challenge if there is one.
    pub(super) async fn find(&self, challenge: Option<&str>) -> Result<FoundSignIn, String> {
        let http = self.guarded().await?;
        self.find_with(http, challenge).await
    }

    pub(super) async fn guarded(&self) -> Result<Arc<GuardedHttp>, String> {
        let resource = self.target.resource.clone();
        GuardedHttp::new(&self.target.url, Arc::clone(&self.lookup), resource)
            .await
            .map(Arc::new)
            .map_err(|error| error.to_string())
    }

    pub(super) async fn find_with(
        &self,
        http: Arc<GuardedHttp>,
        challenge: Option<&str>,
    ) -> Result<FoundSignIn, String> {
        let url = self.target.url.clone();
        let client = Arc::clone(&http) as Arc<_>;
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, client)
            .await
            .map_err(|error| reason(&error))?;
        let found = manager
            .resolve_metadata_from_challenge(challenge)
            .await
            .map_err(|error| reason(&error))?;
        let metadata = found.metadata;
        let named = [
            Some(&metadata.authorization_endpoint),
            Some(&metadata.token_endpoint),
            metadata.registration_endpoint.as_ref(),
        ];
        for address in named.into_iter().flatten() {
            let url = Url::parse(address).map_err(|_| format!("{address} is not a URL"))?;
            let checked = http.rule().check_found(&url).await;
            checked.map_err(|error| error.to_string())?;
        }
        manager.set_metadata(metadata.clone());
        Ok(FoundSignIn {
            manager,
            metadata,
            source: found.source,
        })
    }
}
