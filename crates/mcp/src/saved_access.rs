//! What was saved for servers, shown to them with each request.

use async_trait::async_trait;

use crate::auth_state::key_header;
use crate::credentials::CredentialStore;
use crate::transport::{Authorizer, HttpCredential};
use crate::{ConfiguredServer, Place};

/// Shows saved keys.
pub(crate) struct SavedAccess {
    credentials: CredentialStore,
}

impl SavedAccess {
    pub fn new(credentials: CredentialStore) -> Self {
        Self { credentials }
    }
}

#[async_trait]
impl Authorizer for SavedAccess {
    async fn credential(&self, place: &Place, server: &ConfiguredServer) -> Option<HttpCredential> {
        // Whoever cannot read what was saved comes without; the state of the server says why.
        let saved = self.credentials.read(place, server).await.ok()?;
        let (name, value) = key_header(&server.server, &saved)?;
        Some(HttpCredential::Header { name, value })
    }
}
