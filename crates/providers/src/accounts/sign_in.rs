//! Sign-ins that are under way: begun, waited for, completed or given up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use callback::{Redirected, WaitingBrowser};
use parking_lot::Mutex;
use reqwest::Url;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use vocabulary::{AuthMode, Challenge, Timestamp};

use super::oauth::{self, OAuthError, Pkce};
use super::tokens::Tokens;
use super::{Accounts, connections, device, now_ms};
use crate::catalog::file::AuthMethodKind;
use crate::catalog::merged::{CatalogEntry, OAuth};
use crate::models::{SignInError, SignInResult};

/// Where a browser is sent back to, as the Codex CLI has it.
const CALLBACK_PATH: &str = "/auth/callback";
/// How long a browser may take to come back.
pub const BROWSER_LIMIT: Duration = Duration::from_secs(10 * 60);
/// A code or address that a person pastes.
const PASTED_BYTES_MAX: usize = 16 * 1024;

type SignInOutcome = Result<SignInResult, SignInError>;

/// All sign-ins of this process, one per provider at most.
pub struct SignIns {
    accounts: Arc<Accounts>,
    /// How long a second of a server's interval lasts; tests shorten it.
    second: Duration,
    flows: Mutex<BTreeMap<String, SignInFlow>>,
    /// One is begun at a time.
    beginning: tokio::sync::Mutex<()>,
}

struct SignInFlow {
    method: String,
    ends: Instant,
    outcome: Arc<watch::Sender<Option<SignInOutcome>>>,
    task: Option<AbortHandle>,
    pasting: Option<Arc<CodeExchange>>,
}

impl Drop for SignInFlow {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.end("the sign-in was given up");
    }
}

impl SignInFlow {
    /// Tells whoever still waits for it that it is over, unless it has ended before.
    fn end(&self, words: &str) {
        self.outcome.send_if_modified(|outcome| {
            let running = outcome.is_none();
            if running {
                *outcome = Some(Err(failed(words)));
            }
            running
        });
    }

    fn running(&self) -> bool {
        self.outcome.borrow().is_none() && Instant::now() < self.ends
    }
}

/// What it takes to complete a browser's sign-in, by whichever way the code comes.
struct CodeExchange {
    context: SignInContext,
    state: String,
    verifier: SecretString,
    redirect_uri: String,
}

/// Whose sign-in it is.
#[derive(Clone)]
struct SignInContext {
    accounts: Arc<Accounts>,
    oauth: OAuth,
    provider: String,
    name: String,
}

impl SignIns {
    pub fn new(accounts: Arc<Accounts>, second: Duration) -> Self {
        Self {
            accounts,
            second,
            flows: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        }
    }

    /// Whether a sign-in to this provider is under way.
    pub fn pending(&self, provider: &str) -> bool {
        self.flows
            .lock()
            .get(provider)
            .is_some_and(SignInFlow::running)
    }

    /// Starts one in place of what was under way: a person who begins again, perhaps in another way,
    /// has given up the first.
    pub async fn begin(
        &self,
        entry: &CatalogEntry,
        method: &str,
    ) -> Result<Challenge, SignInError> {
        let not_supported = || SignInError::NotSupported(method.to_owned());
        let id = &entry.provider.id;
        let kind = entry.method(method).map(|each| each.kind);
        let kind = kind.ok_or_else(|| SignInError::UnknownMethod(method.to_owned()))?;
        if matches!(kind, AuthMethodKind::Key | AuthMethodKind::ToolKey) {
            return Err(not_supported());
        }
        let context = SignInContext {
            accounts: Arc::clone(&self.accounts),
            oauth: entry.oauth.clone().ok_or_else(not_supported)?,
            provider: id.clone(),
            name: entry.provider.name.clone(),
        };
        let _beginning = self.beginning.lock().await;
        let (challenge, flow) = if kind == AuthMethodKind::Device {
            // It may fail to begin, and what is under way is better than nothing.
            let begun = with_device(context, method, self.second).await?;
            self.replace(id);
            begun
        } else {
            // The one before it must leave the port first.
            self.replace(id);
            browser(context, method).await?
        };
        self.flows.lock().insert(id.clone(), flow);
        Ok(challenge)
    }

    fn replace(&self, provider: &str) {
        if let Some(flow) = self.flows.lock().remove(provider) {
            flow.end("another sign-in was begun instead of this one");
        }
    }

    /// Waits for its end, or ends it with what the person pasted.
    pub async fn finish(&self, provider: &str, method: &str, code: Option<&str>) -> SignInOutcome {
        let (outcome, pasting, listens) = {
            let flows = self.flows.lock();
            let flow = flows.get(provider).filter(|flow| flow.method == method);
            let flow = flow.ok_or_else(|| failed("no sign-in is under way: begin it first"))?;
            if code.is_some() && !flow.running() && flow.outcome.borrow().is_none() {
                return Err(expired());
            }
            (
                Arc::clone(&flow.outcome),
                flow.pasting.clone(),
                flow.task.is_some(),
            )
        };
        match (code.map(str::trim).filter(|code| !code.is_empty()), pasting) {
            // The browser may have been faster; its code is spent then.
            (Some(_), Some(_)) if outcome.borrow().is_some() => {}
            (Some(code), Some(pasting)) => pasting.complete(code, &outcome).await?,
            (None, _) if !listens => return Err(failed("enter the address your browser ended at")),
            (None, _) | (Some(_), None) => {}
        }
        let ended = outcome
            .subscribe()
            .wait_for(Option::is_some)
            .await
            .map(|end| end.clone());
        let mut flows = self.flows.lock();
        if flows
            .get(provider)
            .is_some_and(|flow| Arc::ptr_eq(&flow.outcome, &outcome))
        {
            flows.remove(provider);
        }
        ended
            .ok()
            .flatten()
            .unwrap_or_else(|| Err(failed("the sign-in was given up")))
    }

    /// Gives up what is under way.
    pub fn give_up(&self, provider: &str) {
        self.flows.lock().remove(provider);
    }
}

fn failed(words: impl Into<String>) -> SignInError {
    SignInError::Failed(words.into())
}

fn expired() -> SignInError {
    failed("The sign-in has expired: begin it again.")
}

fn not_signed_in(error: &OAuthError) -> SignInError {
    failed(format!("Not signed in: {error}."))
}

fn flow(method: &str, limit: Duration, pasting: Option<Arc<CodeExchange>>) -> SignInFlow {
    SignInFlow {
        method: method.to_owned(),
        ends: Instant::now() + limit,
        outcome: Arc::new(watch::Sender::new(None)),
        task: None,
        pasting,
    }
}

/// Runs to its end in a task, at most until the limit.
fn run(
    flow: &mut SignInFlow,
    limit: Duration,
    work: impl Future<Output = SignInOutcome> + Send + 'static,
) {
    let told = Arc::clone(&flow.outcome);
    let task = tokio::spawn(async move {
        let outcome = tokio::time::timeout(limit, work).await;
        let outcome = outcome.unwrap_or_else(|_| Err(expired()));
        told.send_replace(Some(outcome));
    });
    flow.task = Some(task.abort_handle());
}

async fn browser(
    context: SignInContext,
    method: &str,
) -> Result<(Challenge, SignInFlow), SignInError> {
    let listener = callback::bind(&context.oauth.callback_ports).await.ok();
    let local = listener
        .as_ref()
        .and_then(|listener| listener.local_addr().ok());
    let port = local.map(|address| address.port());
    // Without a free port the browser ends at an error page whose address still holds the code.
    let port = port
        .or_else(|| context.oauth.callback_ports.first().copied())
        .unwrap_or(0);
    let redirect_uri = format!("http://localhost:{port}{}", CALLBACK_PATH);
    let pkce = Pkce::new().map_err(|error| not_signed_in(&error))?;
    let state = oauth::random_text(32).map_err(|error| not_signed_in(&error))?;
    let url = oauth::authorize_url(&context.oauth, &redirect_uri, &pkce.challenge, &state);
    let pasting = Arc::new(CodeExchange {
        context,
        state,
        verifier: pkce.verifier,
        redirect_uri,
    });
    let instructions = match listener {
        Some(_) => {
            "Sign in with your browser; this completes by itself. If the browser runs on \
                    another machine, paste the address it ends at."
        }
        None => {
            "Sign in with your browser, then paste the address it ends at (its page cannot be \
                 shown, because another program uses the port it goes to)."
        }
    };
    let challenge = Challenge {
        needs_code: listener.is_none(),
        instructions: instructions.to_owned(),
        url: Some(url),
        expires_at: Some(ends_at(BROWSER_LIMIT)),
    };
    let mut flow = flow(method, BROWSER_LIMIT, Some(Arc::clone(&pasting)));
    if let Some(listener) = listener {
        run(&mut flow, BROWSER_LIMIT, come_back(listener, pasting));
    }
    Ok((challenge, flow))
}

fn ends_at(limit: Duration) -> Timestamp {
    let limit_ms = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now_ms()).plus_millis(limit_ms)
}

async fn come_back(listener: TcpListener, pasting: Arc<CodeExchange>) -> SignInOutcome {
    let (back, browser) = callback::wait(&listener, CALLBACK_PATH, &pasting.state).await;
    // Nobody else is to come.
    drop(listener);
    let outcome = match back {
        Redirected::Code { code, .. } => pasting.exchange(code).await,
        Redirected::Declined(words) => Err(failed(format!("The sign-in was declined: {words}."))),
    };
    show(browser, &outcome).await;
    outcome
}

async fn show(browser: WaitingBrowser, outcome: &SignInOutcome) {
    match outcome {
        Ok(_) => {
            browser
                .show(200, "Signed in", "You can close this page.")
                .await
        }
        Err(error) => browser.show(400, "Not signed in", &error.to_string()).await,
    }
}

async fn with_device(
    context: SignInContext,
    method: &str,
    second: Duration,
) -> Result<(Challenge, SignInFlow), SignInError> {
    let waiting = device::start(&context.oauth)
        .await
        .map_err(|error| not_signed_in(&error))?;
    let limit = waiting.lifetime;
    let challenge = Challenge {
        needs_code: false,
        instructions: format!(
            "Open {} on any machine and enter the code {} there. Enter it nowhere else, and never \
             a code that someone sent you.",
            waiting.page, waiting.user_code
        ),
        url: Some(waiting.page.clone()),
        expires_at: Some(ends_at(limit)),
    };
    let mut flow = flow(method, limit, None);
    run(&mut flow, limit, async move {
        let tokens = device::wait(&context.oauth, &waiting, second).await;
        context
            .save(tokens.map_err(|error| not_signed_in(&error))?)
            .await
    });
    Ok((challenge, flow))
}

impl CodeExchange {
    /// A code that was not accepted changes nothing: the person may try again.
    async fn complete(
        self: &Arc<Self>,
        pasted: &str,
        told: &Arc<watch::Sender<Option<SignInOutcome>>>,
    ) -> Result<(), SignInError> {
        let code = self.read(pasted)?;
        let this = Arc::clone(self);
        // On its own: a code is spent once shown, even if nobody waits any more.
        let exchange = tokio::spawn(async move { this.exchange(code).await });
        let signed_in = exchange.await.map_err(|_| failed("the sign-in failed"))??;
        told.send_replace(Some(Ok(signed_in)));
        Ok(())
    }

    /// The code in what was pasted: an address, its query, or `code#state`. A code alone is not
    /// enough: nothing says then that it belongs to this sign-in, and not to one that somebody else
    /// has begun.
    fn read(&self, pasted: &str) -> Result<SecretString, SignInError> {
        if pasted.len() > PASTED_BYTES_MAX {
            return Err(failed("that is too long to be a code"));
        }
        let query = if pasted.contains("://") {
            Url::parse(pasted).ok()
        } else if pasted.contains("code=") || pasted.contains("error=") {
            let query = pasted.trim_start_matches(['?', '/']);
            Url::parse(&format!("http://localhost/?{query}")).ok()
        } else {
            None
        };
        if let Some(url) = query {
            return match callback::read(&url, &self.state).map_err(failed)? {
                Redirected::Code { code, .. } => Ok(code),
                Redirected::Declined(words) => {
                    Err(failed(format!("The sign-in was declined: {words}.")))
                }
            };
        }
        match pasted.split_once('#') {
            Some((code, state)) if state == self.state => Ok(code.into()),
            Some(_) => Err(failed(
                "this code belongs to another sign-in: begin it again",
            )),
            None => Err(failed(format!(
                "a code alone does not tell which sign-in it belongs to: paste the whole address \
                 your browser ended at; it begins with {}?",
                self.redirect_uri
            ))),
        }
    }

    async fn exchange(&self, code: SecretString) -> SignInOutcome {
        let tokens = oauth::exchange(
            &self.context.oauth,
            &code,
            &self.verifier,
            &self.redirect_uri,
        )
        .await;
        self.context
            .save(tokens.map_err(|error| not_signed_in(&error))?)
            .await
    }
}

impl SignInContext {
    async fn save(&self, tokens: Tokens) -> SignInOutcome {
        let context = tokens
            .account()
            .and_then(|account| account.email.or(account.name));
        let message = match context {
            Some(context) => format!("Signed in to {} as {context}.", self.name),
            None => format!("Signed in to {}.", self.name),
        };
        let provider = self.provider.clone();
        let change = move |root: &mut serde_json::Map<String, serde_json::Value>| {
            connections::put_tokens(root, &provider, &tokens);
        };
        let saved = self.accounts.connections.change(change).await;
        let notice = saved.map_err(|error| failed(format!("Not signed in: {error}.")))?;
        Ok(SignInResult {
            mode: AuthMode::OAuth,
            message: notice.map_or(message.clone(), |notice| format!("{message} ({notice})")),
        })
    }
}
