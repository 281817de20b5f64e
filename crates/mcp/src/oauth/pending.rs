//! A sign-in that is under way: begun, waited for, completed or given up.

use std::sync::Arc;
use std::time::Duration;

use callback::Redirected;
use parking_lot::Mutex;
use reqwest::Url;
use rmcp::transport::auth::AuthorizationManager;
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::kept_sign_in::{KeptSignIn, OAuthIdentity, TokenStore};
use super::server_sign_in::Demand;
use super::words::reason;

/// Where a browser is sent back to.
pub const CALLBACK_PATH: &str = "/oauth/callback";
/// How long a person may take.
pub const SIGN_IN_LIMIT: Duration = Duration::from_secs(10 * 60);
/// A code or address that a person pastes.
const PASTED_BYTES_MAX: usize = 16 * 1024;
const GIVEN_UP: &str = "The sign-in was given up.";
const EXPIRED: &str = "The sign-in has expired: begin it again.";

/// Why a person is not signed in, in words for them.
type SignInEnd = Result<(), String>;

pub struct PendingSignIn {
    ends: Instant,
    end: Arc<watch::Sender<Option<SignInEnd>>>,
    redeemer: Arc<CodeRedeemer>,
    task: AbortHandle,
}

/// What it takes to complete it, by whichever way the code comes.
pub struct CodeRedeemer {
    pub manager: AuthorizationManager,
    pub server_url: Url,
    pub issuer: Option<String>,
    pub client: OAuthIdentity,
    /// Ties an answer to this sign-in.
    pub state: String,
    pub store: Arc<dyn TokenStore>,
    pub demand: Arc<Mutex<Demand>>,
}

impl PendingSignIn {
    /// Listens for the browser until it comes back or the time is over.
    pub fn listen(listener: TcpListener, redeemer: CodeRedeemer) -> Self {
        let redeemer = Arc::new(redeemer);
        let end = Arc::new(watch::Sender::new(None));
        let (told, redeems) = (Arc::clone(&end), Arc::clone(&redeemer));
        let task = tokio::spawn(async move {
            let came = tokio::time::timeout(SIGN_IN_LIMIT, come_back(listener, &redeems)).await;
            let outcome = came.unwrap_or_else(|_| Err(EXPIRED.to_owned()));
            set(&told, outcome);
        });
        Self {
            ends: Instant::now() + SIGN_IN_LIMIT,
            end,
            redeemer,
            task: task.abort_handle(),
        }
    }

    pub fn is_running(&self) -> bool {
        self.end.borrow().is_none() && Instant::now() < self.ends
    }

    /// What waits for its end, or ends it with what a person pasted. It is not bound to this, which
    /// may be given up meanwhile.
    pub fn finishing(&self, pasted: Option<String>) -> impl Future<Output = SignInEnd> + use<> {
        let (end, redeemer) = (Arc::clone(&self.end), Arc::clone(&self.redeemer));
        async move {
            let pasted = pasted.map(|text| text.trim().to_owned());
            let over = end.borrow().is_some();
            // The browser may have been faster; its code is used up then.
            if let Some(pasted) = pasted.filter(|text| !text.is_empty() && !over) {
                let back = redeemer.read(&pasted)?;
                set(&end, redeemer.redeem(back).await);
            }
            let mut ends = end.subscribe();
            let ended = ends.wait_for(Option::is_some).await;
            let ended = ended.ok().and_then(|ended| ended.clone());
            ended.unwrap_or_else(|| Err(GIVEN_UP.to_owned()))
        }
    }
}

impl Drop for PendingSignIn {
    fn drop(&mut self) {
        self.task.abort();
        // Whoever still waits for it must hear of its end.
        set(&self.end, Err(GIVEN_UP.to_owned()));
    }
}

/// The first end counts.
fn set(end: &watch::Sender<Option<SignInEnd>>, outcome: SignInEnd) {
    end.send_if_modified(|known| {
        let first = known.is_none();
        if first {
            *known = Some(outcome);
        }
        first
    });
}

async fn come_back(listener: TcpListener, redeemer: &CodeRedeemer) -> SignInEnd {
    let (back, browser) = callback::wait(&listener, CALLBACK_PATH, &redeemer.state).await;
    // Nobody else is to come.
    drop(listener);
    let outcome = redeemer.redeem(back).await;
    match &outcome {
        Ok(()) => {
            let words = "You can close this page.";
            browser.show(200, "Signed in", words).await;
        }
        Err(words) => browser.show(400, "Not signed in", words).await,
    }
    outcome
}

impl CodeRedeemer {
    /// A code alone, or the whole address that the browser was sent back to.
    fn read(&self, pasted: &str) -> Result<Redirected, String> {
        if pasted.len() > PASTED_BYTES_MAX {
            return Err("This is too long for a code.".to_owned());
        }
        match Url::parse(pasted) {
            Ok(url) if url.has_host() => callback::read(&url, &self.state).map_err(str::to_owned),
            Ok(_) | Err(_) => Ok(Redirected::Code {
                code: pasted.into(),
                issuer: None,
            }),
        }
    }

    async fn redeem(&self, back: Redirected) -> SignInEnd {
        let outcome = self.exchange(back).await;
        if outcome.is_err() {
            // It is over all the same; others see that when its time is, at the latest.
            let _ = self.store.set_pending(None).await;
        }
        outcome
    }

    async fn exchange(&self, back: Redirected) -> SignInEnd {
        let (code, issuer) = match back {
            Redirected::Code { code, issuer } => (code, issuer),
            Redirected::Declined(words) => {
                return Err(format!("The sign-in was declined: {words}."));
            }
        };
        let answer = self
            .manager
            .exchange_code_for_token_with_issuer(
                code.expose_secret(),
                &self.state,
                issuer.as_deref(),
            )
            .await
            .map_err(|error| format!("Not signed in: {}.", reason(&error)))?;
        let scopes = self.manager.get_current_scopes().await;
        let url = self.server_url.as_str();
        let client = self.client.clone();
        let kept = KeptSignIn::granted(url, self.issuer.clone(), client, &answer, scopes);
        let kept = kept.ok_or("Not signed in: the answer has no token.")?;
        self.store.save(Some(kept)).await?;
        *self.demand.lock() = Demand::default();
        Ok(())
    }
}
