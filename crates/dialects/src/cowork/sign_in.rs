//! Signing in at a provider: `provider_auth_*` as calls, and how they are answered.

use std::collections::BTreeMap;

use vocabulary::{
    AuthMethod, AuthMode, Call, Catalog, Challenge, Refusal, Secret, SignInCall, SignedIn, Why,
};

use super::calls::{CoworkCalls, CoworkPurpose};
use super::connect::GreetingSlot;
use super::names::ProviderName;
use super::refuse::{code, error_frame};
use super::session::{CoworkSession, send};
use super::wire::ServerEvent;
use super::wire::client::{ProviderAuthAuthorize, ProviderAuthCallback, ProviderAuthSetApiKey};
use super::wire::providers::{
    OauthMode, ProviderAuthChallenge, ProviderAuthChallengeEvent, ProviderAuthResult, SignInMode,
};
use super::wire::session::{ServerErrorCode, ServerErrorSource};
use crate::{Action, Frame};

/// The one sign-in per connection that may wait for a person already does.
pub const FLOW_RUNNING: &str = "Connection flow already running";

pub type ToldAs = (ServerErrorCode, ServerErrorSource);
const PROVIDER: ToldAs = (ServerErrorCode::ProviderError, ServerErrorSource::Provider);
pub const BUSY: ToldAs = (ServerErrorCode::Busy, ServerErrorSource::Session);

/// The methods of each provider, once the catalog told them.
#[derive(Debug, Default)]
pub struct Methods(Option<BTreeMap<ProviderName, Vec<(String, MethodKind)>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MethodKind {
    Key,
    Oauth,
}

impl Methods {
    pub fn of(catalog: &Catalog) -> Self {
        let method = |method: &AuthMethod| match method {
            AuthMethod::ApiKey { id, .. } => (id.clone(), MethodKind::Key),
            AuthMethod::OAuth { id, .. } => (id.clone(), MethodKind::Oauth),
        };
        let named = catalog.providers.iter().filter_map(|provider| {
            let methods = provider.auth_methods.iter().map(method).collect();
            Some((ProviderName::of(&provider.id)?, methods))
        });
        Self(Some(named.collect()))
    }

    /// Whether nothing is known against it: before the catalog has come, the engine judges.
    pub fn may_have(&self, provider: ProviderName, method: &str) -> bool {
        self.0.is_none() || self.kind(provider, method).is_some()
    }

    fn kind(&self, provider: ProviderName, method: &str) -> Option<MethodKind> {
        let methods = self.0.as_ref()?.get(&provider)?;
        let known = methods.iter().find(|(id, _)| id == method);
        known.map(|(_, kind)| *kind)
    }
}

/// A sign-in that waits for its answer.
#[derive(Debug)]
pub struct SignIn {
    provider: ProviderName,
    method: String,
    /// For a person, and so for minutes.
    pub waits: bool,
}

impl CoworkSession {
    pub fn authorize(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: ProviderAuthAuthorize,
    ) {
        let (provider, method) = (said.provider, said.method_id);
        if self.methods.kind(provider, &method) == Some(MethodKind::Key) {
            let message = format!("Auth method \"{method}\" does not support authorization.");
            return send(out, error_frame(&self.id, &message, PROVIDER));
        }
        let call = SignInCall::Begin {
            provider: provider.as_str().to_owned(),
            method: method.clone(),
        };
        let waiting = CoworkPurpose::Challenge(SignIn::new(provider, method));
        calls.make(out, waiting, Call::SignIn(call));
    }

    pub fn callback(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: ProviderAuthCallback,
    ) {
        let (provider, method) = (said.provider, said.method_id);
        if self.methods.kind(provider, &method) == Some(MethodKind::Key) {
            return self.wrong_kind(out, SignIn::new(provider, method), "an OAuth");
        }
        let code = said.code.map(|code| code.0.trim().to_owned());
        let code = code.filter(|code| !code.is_empty()).map(Secret::new);
        let mut sign_in = SignIn::new(provider, method.clone());
        sign_in.waits = code.is_none();
        let call = SignInCall::Finish {
            provider: provider.as_str().to_owned(),
            method,
            code,
        };
        self.sign_in(out, calls, sign_in, call);
    }

    pub fn set_api_key(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: ProviderAuthSetApiKey,
    ) {
        let (provider, method) = (said.provider, said.method_id);
        if self.methods.kind(provider, &method) == Some(MethodKind::Oauth) {
            return self.wrong_kind(out, SignIn::new(provider, method), "an API key");
        }
        let call = SignInCall::SetKey {
            provider: provider.as_str().to_owned(),
            method: method.clone(),
            key: Secret::new(said.api_key.0.trim()),
        };
        self.sign_in(out, calls, SignIn::new(provider, method), call);
    }

    /// A sign-in that cannot succeed has failed, and that is a result like any other.
    fn wrong_kind(&self, out: &mut Vec<Action>, sign_in: SignIn, kind: &str) {
        let message = format!("Method \"{}\" is not {kind} method.", sign_in.method);
        let end = SignedIn {
            ok: false,
            mode: None,
            message,
        };
        send(out, result_frame(&self.id, &sign_in, &end));
    }

    /// Nobody signs in while a turn runs.
    pub fn refuse_busy(&self, out: &mut Vec<Action>) {
        send(out, error_frame(&self.id, &Refusal::busy().message, BUSY));
    }

    fn sign_in(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        sign_in: SignIn,
        call: SignInCall,
    ) {
        if sign_in.waits && self.signing_in {
            return send(out, error_frame(&self.id, FLOW_RUNNING, BUSY));
        }
        self.signing_in |= sign_in.waits;
        calls.make(out, CoworkPurpose::SignIn(sign_in), Call::SignIn(call));
    }

    pub fn challenged(&mut self, out: &mut Vec<Action>, sign_in: &SignIn, challenge: &Challenge) {
        // It took the place of the one that waited, whose end may be told after this.
        self.signing_in = false;
        send(out, challenge_frame(&self.id, sign_in, challenge));
    }

    /// A success is followed by what it changed.
    pub fn signed_in(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        sign_in: &SignIn,
        end: &SignedIn,
    ) {
        send(out, result_frame(&self.id, sign_in, end));
        if !end.ok {
            return;
        }
        for (slot, call) in [
            (
                GreetingSlot::ProviderStatus,
                Call::GetProviderStatus { verify: false },
            ),
            (GreetingSlot::ProviderCatalog, Call::GetCatalog),
        ] {
            calls.make(out, CoworkPurpose::Asked(slot), call);
        }
    }
}

impl SignIn {
    fn new(provider: ProviderName, method: String) -> Self {
        Self {
            provider,
            method,
            waits: false,
        }
    }
}

fn challenge_frame(session: &str, sign_in: &SignIn, challenge: &Challenge) -> Frame {
    let method = match challenge.needs_code {
        true => OauthMode::Code,
        false => OauthMode::Auto,
    };
    ServerEvent::ProviderAuthChallenge(ProviderAuthChallengeEvent {
        session_id: session,
        provider: sign_in.provider,
        method_id: &sign_in.method,
        challenge: ProviderAuthChallenge {
            method,
            instructions: &challenge.instructions,
            url: challenge.url.as_deref(),
            command: None,
        },
    })
    .frame()
}

fn result_frame(session: &str, sign_in: &SignIn, end: &SignedIn) -> Frame {
    let mode = end.mode.filter(|_| end.ok).and_then(|mode| match mode {
        AuthMode::ApiKey => Some(SignInMode::ApiKey),
        AuthMode::OAuth => Some(SignInMode::Oauth),
        AuthMode::OAuthPending => Some(SignInMode::OauthPending),
        AuthMode::Missing | AuthMode::Error => None,
    });
    ServerEvent::ProviderAuthResult(ProviderAuthResult {
        session_id: session,
        provider: sign_in.provider,
        method_id: &sign_in.method,
        ok: end.ok,
        mode,
        message: &end.message,
    })
    .frame()
}

/// What a sign-in cannot have is the provider's fault, not ours.
pub fn refusal_frame(session: &str, refusal: &Refusal) -> Frame {
    let told_as = match refusal.why {
        Why::NotAvailable => PROVIDER,
        // tidy: wildcard, because every other reason means what it always means.
        _ => code(&refusal.why),
    };
    error_frame(session, &refusal.message, told_as)
}
