//! Who is signed in at OpenAI, and signing in and out: an API key, or ChatGPT in a browser.
//!
//! Nobody has to sign in to talk to us: a thread may use any other provider.

use vocabulary::{AuthMode, Call, Challenge, ProviderStatus, SignInCall, SignedIn};

use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::tell::notify;
use super::wire::account::{
    Account, AccountLoginCompleted, AccountUpdated, CancelLoginAccountParams,
    CancelLoginAccountResponse, CancelLoginAccountStatus, GetAccountResponse, LoginAccountParams,
    LoginAccountResponse,
};
use super::wire::results::Empty;
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

/// The provider an API key is for.
const KEY_PROVIDER: &str = "openai";
const KEY_METHOD: &str = "api_key";
/// The provider that a ChatGPT account pays for.
const CHATGPT_PROVIDER: &str = "codex-cli";
const BROWSER_METHOD: &str = "oauth_cli";
/// Browser sign-ins that one client may have open.
const LOGINS_MAX: usize = 8;

/// The browser sign-ins of one connection that have not ended.
#[derive(Debug, Default)]
pub struct Logins {
    last: u64,
    open: Vec<u64>,
}

impl Logins {
    fn begin(&mut self) -> u64 {
        self.last += 1;
        self.open.push(self.last);
        self.last
    }

    fn end(&mut self, login: u64) -> bool {
        let before = self.open.len();
        self.open.retain(|open| *open != login);
        self.open.len() < before
    }

    fn find(&self, login_id: &str) -> Option<u64> {
        let mut open = self.open.iter().copied();
        open.find(|login| spelled(*login) == login_id)
    }
}

fn spelled(login: u64) -> String {
    format!("login-{login}")
}

impl Codex {
    pub(super) fn account_read(&mut self, out: &mut Vec<Action>, id: Id) {
        let call = Call::GetProviderStatus { verify: false };
        self.calls.make(out, CodexPurpose::Account(id), call);
    }

    pub(super) fn login(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: LoginAccountParams,
    ) -> Result<(), CodexError> {
        let (waiting, call) = match params {
            LoginAccountParams::ApiKey { api_key } => {
                let call = SignInCall::SetKey {
                    provider: KEY_PROVIDER.to_owned(),
                    method: KEY_METHOD.to_owned(),
                    key: api_key.into(),
                };
                (CodexPurpose::LoginKey(id), call)
            }
            LoginAccountParams::Chatgpt {} => {
                if self.logins.open.len() >= LOGINS_MAX {
                    let message = "too many sign-ins are open; cancel one first";
                    return Err(CodexError::request(message));
                }
                let (provider, method) = browser();
                let call = SignInCall::Begin { provider, method };
                (CodexPurpose::LoginBegin(id), call)
            }
            LoginAccountParams::Other => {
                let message = "account/login/start: expected type apiKey or chatgpt";
                return Err(CodexError::params(message));
            }
        };
        self.calls.make(out, waiting, Call::SignIn(call));
        Ok(())
    }

    /// The engine goes on waiting for the browser; what it comes to is told as an update only.
    pub(super) fn cancel_login(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        params: &CancelLoginAccountParams,
    ) {
        let known = self.logins.find(&params.login_id);
        let status = match known {
            Some(_) => CancelLoginAccountStatus::Canceled,
            None => CancelLoginAccountStatus::NotFound,
        };
        send(out, respond(id, &CancelLoginAccountResponse { status }));
        if let Some(login) = known {
            self.logins.end(login);
            completed(out, Some(login), Some("the sign-in was canceled"));
        }
    }

    pub(super) fn logout(&mut self, out: &mut Vec<Action>, id: Id) {
        let call = Call::GetProviderStatus { verify: false };
        self.calls.make(out, CodexPurpose::Logout(id), call);
    }

    /// Signs out of every account there is, one after the other.
    pub(super) fn sign_out(&mut self, out: &mut Vec<Action>, id: &Id, mut left: Vec<&'static str>) {
        let Some(provider) = left.pop() else {
            send(out, respond(id, &Empty {}));
            return updated(out, None);
        };
        let call = SignInCall::SignOut {
            provider: provider.to_owned(),
        };
        let waiting = CodexPurpose::SignOut(id.clone(), left);
        self.calls.make(out, waiting, Call::SignIn(call));
    }

    pub(super) fn signed_out(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        left: Vec<&'static str>,
        end: SignedIn,
    ) {
        match end.ok {
            true => self.sign_out(out, id, left),
            false => send(out, CodexError::request(end.message).frame(Some(id))),
        }
    }

    pub(super) fn key_saved(&mut self, out: &mut Vec<Action>, id: &Id, end: SignedIn) {
        if !end.ok {
            return send(out, CodexError::request(end.message).frame(Some(id)));
        }
        send(out, respond(id, &LoginAccountResponse::ApiKey {}));
        completed(out, None, None);
        updated(out, Some("apikey"));
    }

    /// The client opens the page; the sign-in completes by itself when the browser comes back.
    pub(super) fn challenged(&mut self, out: &mut Vec<Action>, id: &Id, challenge: Challenge) {
        let (Some(auth_url), false) = (challenge.url, challenge.needs_code) else {
            let message = "this sign-in needs a code, which this protocol cannot ask for";
            return send(out, CodexError::request(message).frame(Some(id)));
        };
        let login = self.logins.begin();
        let login_id = spelled(login);
        let answer = LoginAccountResponse::Chatgpt { login_id, auth_url };
        send(out, respond(id, &answer));
        let (provider, method) = browser();
        let call = SignInCall::Finish {
            provider,
            method,
            code: None,
        };
        self.calls
            .make(out, CodexPurpose::LoginFinish(login), Call::SignIn(call));
    }

    /// A login that was canceled has been told of; what it changed still counts.
    pub(super) fn login_ended(&mut self, out: &mut Vec<Action>, login: u64, end: &SignedIn) {
        let error = (!end.ok).then_some(end.message.as_str());
        if self.logins.end(login) {
            completed(out, Some(login), error);
        }
        if end.ok {
            updated(out, Some("chatgpt"));
        }
    }
}

fn browser() -> (String, String) {
    (CHATGPT_PROVIDER.to_owned(), BROWSER_METHOD.to_owned())
}

/// A ChatGPT account comes before a key, as it does for the app-server.
pub fn account(statuses: &[ProviderStatus]) -> GetAccountResponse<'_> {
    let chatgpt = signed_in(statuses, CHATGPT_PROVIDER).filter(|at| at.mode == AuthMode::OAuth);
    let account = match (chatgpt, signed_in(statuses, KEY_PROVIDER)) {
        (Some(at), _) => Some(Account::Chatgpt {
            email: at.account.as_ref().and_then(|of| of.email.as_deref()),
            plan_type: "unknown",
        }),
        (None, Some(_)) => Some(Account::ApiKey {}),
        (None, None) => None,
    };
    GetAccountResponse {
        account,
        requires_openai_auth: false,
    }
}

/// Where there is something to sign out of.
pub fn accounts(statuses: &[ProviderStatus]) -> Vec<&'static str> {
    let known = |provider: &&str| signed_in(statuses, provider).is_some();
    let providers = [KEY_PROVIDER, CHATGPT_PROVIDER];
    providers.into_iter().filter(known).collect()
}

fn signed_in<'a>(statuses: &'a [ProviderStatus], provider: &str) -> Option<&'a ProviderStatus> {
    let mut statuses = statuses.iter();
    statuses.find(|status| status.provider == provider && status.authorized)
}

fn completed(out: &mut Vec<Action>, login: Option<u64>, error: Option<&str>) {
    let params = AccountLoginCompleted {
        login_id: login.map(spelled),
        success: error.is_none(),
        error,
    };
    send(out, notify("account/login/completed", &params));
}

fn updated(out: &mut Vec<Action>, auth_mode: Option<&'static str>) {
    let plan_type = None;
    let params = AccountUpdated {
        auth_mode,
        plan_type,
    };
    send(out, notify("account/updated", &params));
}
