//! Keeps one provider's sign-in alive: renews its tokens early, one at a time, across processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::oauth::{self, OAuthError};
use super::tokens::Tokens;
use super::{Accounts, Credential, CredentialSource, Proof, connections, lock, now_ms};
use crate::catalog::merged::{CatalogEntry, OAuth};

/// How long to wait for a process that renews.
const OTHERS_LIMIT: Duration = Duration::from_secs(45);
/// A token younger than this was not the one that a provider refused a moment ago.
const YOUNG: Duration = Duration::from_secs(30);

/// The tokens of one provider, whoever asks for them.
pub struct Renewal {
    accounts: Arc<Accounts>,
    entry: Arc<CatalogEntry>,
    oauth: OAuth,
    /// One renewal at a time in this process; a file lock does it between processes.
    turn: tokio::sync::Mutex<()>,
    memory: Mutex<RenewalState>,
}

#[derive(Default)]
struct RenewalState {
    renewed_at: Option<Instant>,
    /// The access token that was last given to someone.
    given: Option<SecretString>,
    /// A refresh token that was not accepted: it is not shown again and again.
    dead: Option<(SecretString, String)>,
    /// Renewed tokens that could not be saved, and what they take the place of.
    unsaved: Option<(Tokens, Tokens)>,
}

/// Why there is no usable credential, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenewalError {
    /// Nothing is there.
    Missing,
    /// The file it is kept in cannot be read.
    Unreadable(String),
    /// The sign-in has ended; a new one is needed.
    Ended(String),
    /// It may work later.
    Unavailable(String),
}

impl Renewal {
    pub fn new(accounts: Arc<Accounts>, entry: Arc<CatalogEntry>, oauth: OAuth) -> Arc<Self> {
        Arc::new(Self {
            accounts,
            entry,
            oauth,
            turn: tokio::sync::Mutex::default(),
            memory: Mutex::default(),
        })
    }

    /// A credential that is good now. `refused`: a provider did not accept the last one.
    pub async fn fresh(self: &Arc<Self>, refused: bool) -> Result<Credential, RenewalError> {
        let current = self.current()?;
        let Proof::Tokens(tokens) = &current.proof else {
            return Ok(current);
        };
        let due = tokens.ends_soon(now_ms()) || (refused && !self.is_new(tokens));
        if !due {
            return Ok(self.give(current));
        }
        // On its own: whoever waits may be cancelled, but a refresh token that was shown is spent,
        // and the new one must be saved.
        let this = Arc::clone(self);
        let renewing = tokio::spawn(async move { this.renew(current, refused).await });
        let renewed = renewing.await.map_err(|_| {
            RenewalError::Unavailable("the renewal of the sign-in failed".to_owned())
        })??;
        Ok(self.give(renewed))
    }

    /// Whether the tokens are newer than what a provider can have refused.
    fn is_new(&self, tokens: &Tokens) -> bool {
        let memory = self.memory.lock();
        let other = memory
            .given
            .as_ref()
            .is_some_and(|given| given.expose_secret() != tokens.access.expose_secret());
        other || memory.renewed_at.is_some_and(|at| at.elapsed() < YOUNG)
    }

    fn give(&self, credential: Credential) -> Credential {
        if let Proof::Tokens(tokens) = &credential.proof {
            self.memory.lock().given = Some(tokens.access.clone());
        }
        credential
    }

    fn current(&self) -> Result<Credential, RenewalError> {
        let found = self.accounts.credential(&self.entry);
        let mut credential = found
            .map_err(|error| RenewalError::Unreadable(error.to_string()))?
            .ok_or(RenewalError::Missing)?;
        if let Proof::Tokens(tokens) = &mut credential.proof
            && let Some((old, new)) = &self.memory.lock().unsaved
            && tokens.same_access(old)
        {
            *tokens = new.clone();
        }
        Ok(credential)
    }

    async fn renew(&self, stale: Credential, refused: bool) -> Result<Credential, RenewalError> {
        let Proof::Tokens(old) = &stale.proof else {
            return Ok(stale);
        };
        let _turn = self.turn.lock().await;
        if let Some(other) = self.changed(old)? {
            return Ok(other);
        }
        let path = self.lock_path();
        let lock = tokio::task::spawn_blocking(move || lock::wait_for(&path, OTHERS_LIMIT)).await;
        let _lock = lock
            .map_err(|error| error.to_string())
            .and_then(|lock| lock.map_err(|error| error.to_string()))
            .map_err(|what| {
                RenewalError::Unavailable(format!("the sign-in was not renewed: {what}"))
            })?;
        if let Some(other) = self.changed(old)? {
            return Ok(other);
        }
        self.check_alive(old)?;
        match oauth::renew(&self.oauth, old).await {
            Ok(new) => {
                self.keep(&stale.source, old, &new).await;
                self.memory.lock().renewed_at = Some(Instant::now());
                Ok(Credential {
                    proof: Proof::Tokens(new),
                    source: stale.source.clone(),
                })
            }
            Err(OAuthError::NotAccepted(what)) => {
                let dead = old.refresh.clone().unwrap_or_default();
                self.memory.lock().dead = Some((dead, what.clone()));
                Err(RenewalError::Ended(what))
            }
            // Renewing early failed, but the old one still lives.
            Err(OAuthError::Unavailable(_)) if !refused && !old.ended(now_ms()) => Ok(stale),
            Err(OAuthError::Unavailable(what)) => Err(RenewalError::Unavailable(what)),
        }
    }

    /// What is there by now, if it is no longer this.
    fn changed(&self, old: &Tokens) -> Result<Option<Credential>, RenewalError> {
        let current = self.current()?;
        let same = matches!(&current.proof, Proof::Tokens(tokens) if tokens.same_access(old));
        Ok((!same).then_some(current))
    }

    fn check_alive(&self, old: &Tokens) -> Result<(), RenewalError> {
        let memory = self.memory.lock();
        match (&memory.dead, &old.refresh) {
            (Some((dead, what)), Some(refresh))
                if dead.expose_secret() == refresh.expose_secret() =>
            {
                Err(RenewalError::Ended(what.clone()))
            }
            _ => Ok(()),
        }
    }

    fn lock_path(&self) -> PathBuf {
        let directory = self.accounts.connections.directory();
        directory.join(format!("{}.renewal.lock", self.entry.provider.id))
    }

    async fn keep(&self, source: &CredentialSource, old: &Tokens, new: &Tokens) {
        let kept = match source {
            CredentialSource::CodexHome => self.keep_with_codex(old, new).await,
            CredentialSource::Saved { .. }
            | CredentialSource::Environment { .. }
            | CredentialSource::SharedByOperator => self.keep_here(Some(old), new).await,
        };
        if let Err(what) = kept {
            tracing::warn!(
                "the renewed sign-in could not be saved and ends with this process: {what}"
            );
            self.memory.lock().unsaved = Some((old.clone(), new.clone()));
        }
    }

    async fn keep_with_codex(&self, old: &Tokens, new: &Tokens) -> Result<(), String> {
        let accounts = Arc::clone(&self.accounts);
        let (before, after) = (old.clone(), new.clone());
        let written = tokio::task::spawn_blocking(move || match &accounts.codex {
            Some(codex) => codex
                .replace(&before, &after)
                .map_err(|error| error.to_string()),
            None => Ok(false),
        });
        match written.await.map_err(|error| error.to_string())? {
            // If the Codex CLI signed in anew meanwhile, that sign-in is used from now on.
            Ok(_) => Ok(()),
            Err(what) => {
                tracing::warn!(
                    "the Codex CLI's sign-in was renewed but could not be written back ({what}): \
                     it is kept here, and the Codex CLI must sign in again"
                );
                self.keep_here(None, new).await
            }
        }
    }

    /// Saves the new tokens in our file; in the place of `old` only, so that whoever signed out
    /// meanwhile stays signed out.
    async fn keep_here(&self, old: Option<&Tokens>, new: &Tokens) -> Result<(), String> {
        let id = self.entry.provider.id.clone();
        let (old, new) = (old.cloned(), new.clone());
        let change = move |root: &mut serde_json::Map<String, Value>| {
            let access = root.get("services").and_then(|services| {
                services
                    .get(&id)?
                    .get("oauth")?
                    .get("accessToken")?
                    .as_str()
            });
            match &old {
                None => connections::put_tokens(root, &id, &new),
                Some(old) if access == Some(old.access.expose_secret()) => {
                    connections::put_renewed(root, &id, &new);
                }
                Some(_) => {}
            }
        };
        let saved = self.accounts.connections.change(change).await;
        saved.map(|_| ()).map_err(|error| error.to_string())
    }
}
