//! What is shown to a server: the key that was saved for it, or what a sign-in gave.

use std::sync::Arc;

use async_trait::async_trait;

use super::RefusedRequest;
use super::sign_ins::McpSignIns;
use crate::auth_state::key_header;
use crate::credentials::CredentialStore;
use crate::transport::sign_in_advice;
use crate::{ConfiguredServer, HttpAuthorizer, HttpCredential, HttpRefused, McpPlace};

pub struct KnownCredentials {
    pub credentials: CredentialStore,
    pub sign_ins: Arc<McpSignIns>,
}

#[async_trait]
impl HttpAuthorizer for KnownCredentials {
    async fn credential(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
    ) -> Option<HttpCredential> {
        let saved = self.credentials.read(place, server).await.ok()?;
        if let Some((name, value)) = key_header(&server.server, &saved) {
            return Some(HttpCredential::Header { name, value });
        }
        let sign_in = self.sign_ins.of(place, server)?;
        // Without one the server says what it wants, and then it is said why there is none.
        let token = sign_in.bearer().await.ok().flatten();
        token.map(HttpCredential::Bearer)
    }

    async fn refused(
        &self,
        place: &McpPlace,
        server: &ConfiguredServer,
        refused: HttpRefused<'_>,
    ) -> Result<HttpCredential, String> {
        let sent = match refused.sent {
            Some(HttpCredential::Header { .. }) => {
                return Err("it does not take the API key; save another one".to_owned());
            }
            Some(HttpCredential::Bearer(token)) => Some(token),
            None => None,
        };
        let sign_in = self.sign_ins.of(place, server);
        let sign_in = sign_in.ok_or_else(|| sign_in_advice(&server.server.name))?;
        let request = RefusedRequest {
            status: refused.status,
            challenge: refused.challenge,
            sent,
        };
        let another = sign_in.refused(request).await;
        another
            .map(HttpCredential::Bearer)
            .map_err(|failure| failure.to_string())
    }
}
