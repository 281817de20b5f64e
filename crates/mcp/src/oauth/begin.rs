//! Begins a sign-in: who we are to the sign-in server, what is asked for, and where a person goes.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthorizationMetadataSource, OAuthClientConfig};
use secrecy::{ExposeSecret, SecretString};
use vocabulary::{Challenge, Timestamp};

use super::guarded_http::name_resource;
use super::kept_sign_in::{OAuthIdentity, now_secs};
use super::pending::{CALLBACK_PATH, CodeRedeemer, PendingSignIn, SIGN_IN_LIMIT};
use super::server_sign_in::{FoundSignIn, ServerSignIn};
use super::words::reason;

/// For finding and asking all servers that have a part in it.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);
const CLIENT_NAME: &str = "Dragoman";
const OFFLINE_ACCESS: &str = "offline_access";
const INSTRUCTIONS: &str = "Sign in with your browser; this completes by itself. If the browser \
                            runs on another machine, paste the address it ends at.";

impl ServerSignIn {
    /// Starts a sign-in; one that is under way is given up for it.
    pub async fn begin(&self) -> Result<Challenge, String> {
        let _one = self.beginning.lock().await;
        self.give_up();
        let begun = tokio::time::timeout(BEGIN_LIMIT, self.prepare()).await;
        let (pending, url) = begun.map_err(|_| "the sign-in took too long to begin")??;
        let ends_at = now_secs().saturating_add(SIGN_IN_LIMIT.as_secs());
        self.store.set_pending(Some(ends_at)).await?;
        *self.pending.lock() = Some(pending);
        let ends_at_ms = i64::try_from(ends_at.saturating_mul(1000)).unwrap_or(i64::MAX);
        Ok(Challenge {
            needs_code: self.target.asks_for_code,
            instructions: INSTRUCTIONS.to_owned(),
            url: Some(url.into()),
            expires_at: Some(Timestamp(ends_at_ms)),
        })
    }

    /// Waits for its end, or ends it with the code or the address that a person pasted.
    pub async fn finish(&self, pasted: Option<String>) -> Result<(), String> {
        let finishing = match self.pending.lock().as_ref() {
            Some(pending) => pending.finishing(pasted),
            None => return Err("No sign-in is under way: begin it first.".to_owned()),
        };
        let end = finishing.await;
        let mut pending = self.pending.lock();
        // Not one that was begun since.
        if pending.as_ref().is_some_and(|each| !each.is_running()) {
            *pending = None;
        }
        end
    }

    /// Whether a person is signing in.
    pub fn is_pending(&self) -> bool {
        let pending = self.pending.lock();
        pending.as_ref().is_some_and(PendingSignIn::is_running)
    }

    pub fn give_up(&self) {
        self.pending.lock().take();
    }

    async fn prepare(&self) -> Result<(PendingSignIn, Url), String> {
        let name = &self.target.name;
        let http = self.guarded().await?;
        let known = self.demand().challenge;
        let (asked, challenge) = match known {
            Some(challenge) => (true, Some(challenge)),
            None => {
                let probed = http.probe(&self.target.url).await;
                probed.map_err(|error| format!("{name} does not answer: {error}"))?
            }
        };
        let mut found = self.find_with(http, challenge.as_deref()).await?;
        if found.source == AuthorizationMetadataSource::LegacyEndpointFallback && !asked {
            return Err(format!("{name} does not ask for a sign-in"));
        }
        let no_port = |error| format!("no port to listen on for the browser: {error}");
        let listener = callback::bind(&[0]).await.map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?;
        let redirect_uri = format!("http://{address}{CALLBACK_PATH}");
        let scopes = self.scopes(&found).await?;
        let client = self.identify(&mut found, &redirect_uri, &scopes).await?;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let url = found.manager.get_authorization_url(&scopes).await;
        let url = url.map_err(|error| reason(&error))?;
        let mut url = Url::parse(&url).map_err(|error| error.to_string())?;
        if let Some(resource) = &self.target.resource {
            name_resource(&mut url, resource);
        }
        let state = url.query_pairs().find(|(key, _)| key == "state");
        let state = state.map(|(_, value)| value.into_owned());
        let redeemer = CodeRedeemer {
            manager: found.manager,
            server_url: self.target.url.clone(),
            issuer: found.metadata.issuer,
            client,
            state: state.unwrap_or_default(),
            store: Arc::clone(&self.store),
            demand: Arc::clone(&self.demand),
        };
        Ok((PendingSignIn::listen(listener, redeemer), url))
    }

    /// What to ask for: what is configured, else what the server says; and what it wanted of who came,
    /// beside what they have.
    async fn scopes(&self, found: &FoundSignIn) -> Result<Vec<String>, String> {
        let wanted = self.demand().scopes;
        let mut scopes = Vec::new();
        if !wanted.is_empty() {
            let kept = self.kept().await.map_err(|error| error.to_string())?;
            scopes.extend(kept.map(|kept| kept.scopes).unwrap_or_default());
        }
        if self.target.scopes.is_empty() && scopes.is_empty() {
            scopes = found.manager.select_initial_scopes(&[]).await;
        }
        scopes.extend(self.target.scopes.iter().cloned().chain(wanted));
        let offered = found.metadata.scopes_supported.iter().flatten();
        let renews = offered.into_iter().any(|scope| scope == OFFLINE_ACCESS);
        if renews && !scopes.is_empty() {
            scopes.push(OFFLINE_ACCESS.to_owned());
        }
        let mut unique: Vec<String> = Vec::new();
        for scope in scopes {
            if !unique.contains(&scope) {
                unique.push(scope);
            }
        }
        Ok(unique)
    }

    /// Who we are to the sign-in server: whom a person registered, a document that it can read, or
    /// whom it registers now.
    async fn identify(
        &self,
        found: &mut FoundSignIn,
        redirect_uri: &str,
        scopes: &[String],
    ) -> Result<OAuthIdentity, String> {
        let known = self.target.client.clone().or_else(|| {
            let reads = &found.metadata.additional_fields;
            let reads = reads
                .get("client_id_metadata_document_supported")?
                .as_bool()?;
            let document = self.target.client_document.clone().filter(|_| reads)?;
            Some(OAuthIdentity {
                client_id: document,
                client_secret: None,
            })
        });
        if let Some(client) = known {
            let mut config = OAuthClientConfig::new(&client.client_id, redirect_uri);
            if let Some(secret) = &client.client_secret {
                config = config.with_client_secret(secret.expose_secret());
            }
            let configured = found.manager.configure_client(config);
            configured.map_err(|error| reason(&error))?;
            return Ok(client);
        }
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered = found
            .manager
            .register_client(CLIENT_NAME, redirect_uri, &scopes)
            .await
            .map_err(|error| reason(&error))?;
        Ok(OAuthIdentity {
            client_id: registered.client_id,
            client_secret: registered.client_secret.map(SecretString::from),
        })
    }
}
