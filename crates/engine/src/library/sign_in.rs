//! Signing in at providers.

use providers::models::{self, SignInError};
use secrecy::SecretString;
use vocabulary::{AuthMode, Challenge, Refusal, Reply, SignInCall, SignedIn, Why};

use crate::tenants::TenantOwn;
use crate::{ExternalAgent, Shared};

pub async fn answer(shared: &Shared, own: &TenantOwn, call: SignInCall) -> Result<Reply, Refusal> {
    let program = shared.agents.external_named(provider_of(&call));
    if let Some(agent) = program.filter(|_| own.may_leave_sandbox()) {
        return external(agent, &call);
    }
    let models = &own.models;
    match call {
        SignInCall::Begin { provider, method } => {
            let challenge = models.begin(&provider, &method).await.map_err(refusal)?;
            Ok(Reply::Challenge(Box::new(challenge)))
        }
        SignInCall::Finish {
            provider,
            method,
            code,
        } => {
            let code = code.map(vocabulary::Secret::reveal);
            signed_in(models.finish(&provider, &method, code.as_deref()).await)
        }
        SignInCall::SetKey {
            provider,
            method,
            key,
        } => {
            if key.is_blank() {
                return Err(Refusal::invalid("apiKey", "an API key must not be empty"));
            }
            let key = SecretString::from(key.reveal());
            signed_in(models.set_key(&provider, &method, key).await)
        }
        SignInCall::SignOut { provider } => {
            let had = models.sign_out(&provider).await.map_err(refusal)?;
            let message = match had {
                true => "Signed out.",
                false => "There was nothing to sign out of.",
            };
            Ok(Reply::SignedIn(SignedIn {
                ok: had,
                mode: Some(AuthMode::Missing),
                message: message.to_owned(),
            }))
        }
    }
}

fn provider_of(call: &SignInCall) -> &str {
    match call {
        SignInCall::Begin { provider, .. }
        | SignInCall::Finish { provider, .. }
        | SignInCall::SetKey { provider, .. }
        | SignInCall::SignOut { provider } => provider,
    }
}

/// A program of the user's signs in by itself: all that can be said is whether it is there, and how.
fn external(agent: &ExternalAgent, call: &SignInCall) -> Result<Reply, Refusal> {
    let standing = agent.standing();
    match call {
        SignInCall::Begin { .. } => match standing {
            Ok(instructions) => Ok(Reply::Challenge(Box::new(Challenge {
                needs_code: false,
                instructions,
                url: None,
                expires_at: None,
            }))),
            Err(why) => Err(Refusal::new(Why::Provider, why)),
        },
        SignInCall::Finish { .. } => Ok(Reply::SignedIn(match standing {
            Ok(message) => SignedIn {
                ok: true,
                mode: Some(AuthMode::OAuth),
                message,
            },
            Err(message) => SignedIn {
                ok: false,
                mode: None,
                message,
            },
        })),
        SignInCall::SetKey { .. } | SignInCall::SignOut { .. } => {
            let how = standing.unwrap_or_else(|why| why);
            let message = format!("no key of it is kept here. {how}");
            Err(Refusal::new(Why::Provider, message))
        }
    }
}

/// What failed on the way is an answer; what could not be asked is a refusal.
fn signed_in(outcome: Result<models::SignInResult, SignInError>) -> Result<Reply, Refusal> {
    let signed_in = match outcome {
        Ok(signed_in) => SignedIn {
            ok: true,
            mode: Some(signed_in.mode),
            message: signed_in.message,
        },
        Err(SignInError::Failed(message)) => SignedIn {
            ok: false,
            mode: None,
            message,
        },
        Err(error) => return Err(refusal(error)),
    };
    Ok(Reply::SignedIn(signed_in))
}

fn refusal(error: SignInError) -> Refusal {
    let why = match error {
        SignInError::UnknownProvider(_) => Why::invalid("provider"),
        SignInError::UnknownMethod(_) => Why::invalid("methodId"),
        SignInError::NotSupported(_) | SignInError::Failed(_) => Why::Provider,
    };
    Refusal::new(why, error.to_string())
}
