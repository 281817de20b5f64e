//! Tokens that we signed ourselves, good and bad, and issuers that answer as they like.

mod bad_tokens;
mod fetching;
mod refreshing;
mod signer;
mod signing_in;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use vocabulary::Timestamp;

use super::key_source::{FetchedKeys, Fetching, PublishedKeys};
use super::keys::KeySet;
use super::{AuthSettings, JwtError, JwtSettings, JwtVerifier, VerifiedToken};
use signer::Signer;

const ISSUER: &str = "https://login.example/";
const AUDIENCE: &str = "dragoman";
const NOW_S: i64 = 1_790_000_000;
const NOW: Timestamp = Timestamp(NOW_S * 1_000);

fn settings() -> JwtSettings {
    let settings = AuthSettings {
        issuer: Some(ISSUER.to_owned()),
        audience: Some(AUDIENCE.to_owned()),
        role_claim: Some("role".to_owned()),
        ..AuthSettings::default()
    };
    let jwt = settings.jwt().expect("good settings");
    jwt.expect("an issuer")
}

/// What a good token says.
fn claims() -> Value {
    json!({
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "auth0|ada",
        "email": "ada@north.example",
        "tenant_id": "north",
        "role": "admin",
        "iat": NOW_S - 10,
        "nbf": NOW_S - 10,
        "exp": NOW_S + 600,
    })
}

/// The same, but for these.
fn claims_with(changes: Value) -> Value {
    let mut claims = claims();
    let changes = changes.as_object().expect("an object");
    for (name, value) in changes {
        claims[name] = value.clone();
    }
    claims
}

/// An issuer in memory: what it publishes, and how often it was asked.
#[derive(Clone)]
struct Issuer(Arc<Mutex<IssuerState>>);

struct IssuerState {
    keys: Result<Vec<Value>, String>,
    fresh_for: Duration,
    asked: usize,
}

impl Issuer {
    fn of(signers: &[&Signer]) -> Self {
        Self(Arc::new(Mutex::new(IssuerState {
            keys: Ok(signers.iter().map(|signer| signer.jwk()).collect()),
            fresh_for: Duration::from_secs(300),
            asked: 0,
        })))
    }

    fn publish(&self, signers: &[&Signer]) {
        self.0.lock().keys = Ok(signers.iter().map(|signer| signer.jwk()).collect());
    }

    fn break_down(&self) {
        self.0.lock().keys = Err("it answered 503".to_owned());
    }

    fn asked(&self) -> usize {
        self.0.lock().asked
    }

    fn verifier(&self) -> JwtVerifier {
        JwtVerifier::with_keys(settings(), Box::new(self.clone()))
    }
}

impl PublishedKeys for Issuer {
    fn fetch(&self) -> Fetching<'_> {
        let mut state = self.0.lock();
        state.asked += 1;
        let (keys, fresh_for) = (state.keys.clone(), state.fresh_for);
        Box::pin(async move {
            // So that others come while it is under way.
            tokio::task::yield_now().await;
            let document = json!({ "keys": keys? }).to_string();
            let keys = KeySet::parse(document.as_bytes())?;
            Ok(FetchedKeys { keys, fresh_for })
        })
    }
}

#[tokio::test]
async fn good_tokens_of_three_algorithms_say_whom_they_name() {
    let signers = [Signer::rsa("r"), Signer::ec("e"), Signer::ed("d")];
    let verifier = Issuer::of(&signers.each_ref()).verifier();
    for signer in &signers {
        let verified = verifier.verify_at(&signer.sign(&claims()), NOW).await;
        let expected = VerifiedToken {
            subject: "auth0|ada".to_owned(),
            email: Some("ada@north.example".to_owned()),
            tenant: vocabulary::TenantId::new("north"),
            role: Some(vocabulary::Role::Admin),
            expires_at: NOW.plus_millis(660_000),
        };
        assert_eq!(verified, Ok(expected), "{}", signer.algorithm());
    }
}

#[tokio::test]
async fn what_a_token_may_leave_out_it_may() {
    let signer = Signer::ed("d");
    let verifier = Issuer::of(&[&signer]).verifier();
    let few = json!({
        "iss": ISSUER, "aud": ["other", AUDIENCE], "sub": "ada", "tenant_id": "north",
        "exp": NOW_S as f64 + 600.5,
    });
    for header in [
        json!({ "alg": "EdDSA" }),
        json!({ "alg": "EdDSA", "kid": "d", "typ": "at+jwt" }),
        json!({ "alg": "EdDSA", "kid": "d", "typ": "application/JWT" }),
    ] {
        let token = signer.sign_with(&header, &few.to_string());
        let verified = verifier.verify_at(&token, NOW).await.expect("a good token");
        assert_eq!((verified.email, verified.role), (None, None));
    }
}

#[tokio::test]
async fn clocks_may_differ_by_a_minute() {
    let signer = Signer::ed("d");
    let verifier = Issuer::of(&[&signer]).verifier();
    for (changes, expected) in [
        (json!({ "exp": NOW_S - 59 }), Ok(())),
        (json!({ "exp": NOW_S - 60 }), Err(JwtError::Expired)),
        (json!({ "nbf": NOW_S + 60 }), Ok(())),
        (json!({ "nbf": NOW_S + 61 }), Err(JwtError::NotYetValid)),
        (json!({ "iat": NOW_S + 60 }), Ok(())),
        (json!({ "iat": NOW_S + 61 }), Err(JwtError::NotYetValid)),
    ] {
        let token = signer.sign(&claims_with(changes.clone()));
        let verified = verifier.verify_at(&token, NOW).await;
        assert_eq!(verified.map(|_| ()), expected, "{changes}");
    }
}

#[tokio::test]
async fn a_token_that_was_good_is_not_when_it_has_ended() {
    let signer = Signer::ed("d");
    let issuer = Issuer::of(&[&signer]);
    let verifier = issuer.verifier();
    let token = signer.sign(&claims());
    assert!(verifier.verify_at(&token, NOW).await.is_ok());
    let after = NOW.plus_millis(661_000);
    let verified = verifier.verify_at(&token, after).await;
    assert_eq!(verified, Err(JwtError::Expired));
    assert_eq!(issuer.asked(), 1);
}
