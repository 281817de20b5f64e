//! The sign-ins to all servers of this process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use tools::web::{Lookup, SystemLookup};
use vocabulary::{
    AuthMode, Challenge, McpAuth, McpAuthMode, McpTransport, Refusal, Secret, SignedIn, Why,
};

use super::credential_file::CredentialFileStore;
use super::kept_sign_in::OAuthIdentity;
use super::server_sign_in::{ServerSignIn, SignInTarget};
use crate::credentials::CredentialStore;
use crate::{ConfiguredServer, McpPlace};

/// Variables with which a person says as whom they registered us at a server; its name follows.
const CLIENT_ID: &str = "MCP_CLIENT_ID_";
const CLIENT_SECRET: &str = "MCP_CLIENT_SECRET_";
/// And whether the client itself is who comes, and no person signs in.
const CLIENT_GRANT: &str = "MCP_CLIENT_GRANT_";
const WITHOUT_PERSON: &str = "client_credentials";
/// A mode that asks the person for the code, rather than waiting for the browser.
const CODE_MODE: &str = "code";

/// Where its credentials lie, and its name: one sign-in each.
type SignInKey = (Option<PathBuf>, String);

pub struct McpSignIns {
    credentials: CredentialStore,
    lookup: Arc<dyn Lookup>,
    servers: Mutex<HashMap<SignInKey, (ConfiguredServer, Arc<ServerSignIn>)>>,
}

impl McpSignIns {
    pub fn new(credentials: CredentialStore) -> Self {
        Self {
            credentials,
            lookup: Arc::new(SystemLookup),
            servers: Mutex::default(),
        }
    }

    /// The sign-in to a server; none if it is configured to want something else, or nothing.
    pub fn of(&self, place: &McpPlace, server: &ConfiguredServer) -> Option<Arc<ServerSignIn>> {
        let target = target(server)?;
        let key = key(place, server);
        let mut servers = self.servers.lock();
        // Whoever changes the configuration means another sign-in.
        if let Some((configured, sign_in)) = servers.get(&key)
            && configured == server
        {
            return Some(Arc::clone(sign_in));
        }
        let store = CredentialFileStore {
            credentials: self.credentials.clone(),
            place: place.clone(),
            server: server.clone(),
        };
        let sign_in = ServerSignIn::new(target, Arc::new(store), Arc::clone(&self.lookup));
        let before = servers.insert(key, (server.clone(), Arc::clone(&sign_in)));
        if let Some((_, before)) = before {
            before.give_up();
        }
        Some(sign_in)
    }

    /// Whether a server said that it wants a person to sign in.
    pub fn is_wanted(&self, place: &McpPlace, server: &ConfiguredServer) -> bool {
        let servers = self.servers.lock();
        let known = servers.get(&key(place, server));
        known.is_some_and(|(configured, sign_in)| configured == server && sign_in.is_wanted())
    }

    pub async fn authorize(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
    ) -> Result<Challenge, Refusal> {
        let sign_in = self.of(place, server).ok_or_else(|| no_sign_in(server))?;
        let begun = sign_in.begin().await;
        begun.map_err(|words| Refusal::new(Why::Provider, words))
    }

    pub async fn finish(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
        code: Option<Secret>,
    ) -> Result<(SignedIn, McpAuthMode), Refusal> {
        let sign_in = self.of(place, server).ok_or_else(|| no_sign_in(server))?;
        let (mode, result) = match sign_in.finish(code.map(Secret::reveal)).await {
            Ok(()) => {
                let message = "Signed in.".to_owned();
                (McpAuthMode::OAuth, (true, AuthMode::OAuth, message))
            }
            // It goes on: something else was wrong with what came.
            Err(message) if sign_in.is_pending() => (
                McpAuthMode::OAuthPending,
                (false, AuthMode::OAuthPending, message),
            ),
            Err(message) => (McpAuthMode::Error, (false, AuthMode::Error, message)),
        };
        let (ok, auth_mode, message) = result;
        let signed_in = SignedIn {
            ok,
            mode: Some(auth_mode),
            message,
        };
        Ok((signed_in, mode))
    }

    /// Gives up what is under way.
    pub fn stop(&self) {
        for (_, (_, sign_in)) in self.servers.lock().drain() {
            // Whoever waits for it has it too.
            sign_in.give_up();
        }
    }
}

fn key(place: &McpPlace, server: &ConfiguredServer) -> SignInKey {
    let directory = server.layer.is_of_workspace();
    let directory = directory.then(|| place.directory.clone());
    (directory, server.server.name.clone())
}

fn no_sign_in(server: &ConfiguredServer) -> Refusal {
    let name = &server.server.name;
    let words = match server.server.transport {
        McpTransport::Stdio { .. } => "is a program on this machine, which has no sign-in",
        McpTransport::Http { .. } | McpTransport::Sse { .. } => {
            "is not configured to be signed in to; its `auth` must be of the type oauth"
        }
    };
    Refusal::new(Why::invalid("auth"), format!("{name} {words}"))
}

fn target(server: &ConfiguredServer) -> Option<SignInTarget> {
    let url = match &server.server.transport {
        McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } => Url::parse(url).ok()?,
        McpTransport::Stdio { .. } => return None,
    };
    let (scope, resource, mode) = match &server.server.auth {
        None => (None, None, None),
        Some(McpAuth::OAuth {
            scope,
            resource,
            mode,
        }) => (scope.clone(), resource.clone(), mode.as_deref()),
        Some(McpAuth::None | McpAuth::ApiKey { .. }) => return None,
    };
    let client = registered_client(server);
    Some(SignInTarget {
        name: server.server.name.clone(),
        url,
        scopes: scope
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        resource,
        asks_for_code: mode == Some(CODE_MODE),
        without_person: client.is_some()
            && variable(server, CLIENT_GRANT).as_deref() == Some(WITHOUT_PERSON),
        client,
        client_document: None,
    })
}

fn registered_client(server: &ConfiguredServer) -> Option<OAuthIdentity> {
    Some(OAuthIdentity {
        client_id: variable(server, CLIENT_ID)?,
        client_secret: variable(server, CLIENT_SECRET).map(Into::into),
    })
}

/// From the environment. What the user says there is not for servers that came with a workspace.
fn variable(server: &ConfiguredServer, kind: &str) -> Option<String> {
    if server.layer.is_of_workspace() {
        return None;
    }
    let name = server.server.name.chars();
    let name = name.map(|each| match each.is_ascii_alphanumeric() {
        true => each.to_ascii_uppercase(),
        false => '_',
    });
    let name: String = kind.chars().chain(name).collect();
    let value = std::env::var(name).ok();
    value.filter(|value| !value.is_empty())
}
