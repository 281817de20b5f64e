//! The tokens of a sign-in, and what their claims say.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use vocabulary::Account;

/// The most bytes of one token.
pub const TOKEN_BYTES_MAX: usize = 64 * 1024;
/// A token is renewed this long before it ends, so that no request is made with one about to.
pub const EARLY_MS: i64 = 5 * 60 * 1000;

const AUTH_CLAIM: &str = "https://api.openai.com/auth";
const PROFILE_CLAIM: &str = "https://api.openai.com/profile";

#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: SecretString,
    pub refresh: Option<SecretString>,
    pub id: Option<SecretString>,
    pub account_id: Option<String>,
    /// In milliseconds since 1970, where it is known.
    pub expires_at: Option<i64>,
}

impl Tokens {
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        let others = self.refresh.iter().chain(&self.id);
        std::iter::once(&self.access).chain(others)
    }

    /// Reads the answer of a token endpoint. What it leaves out stays as it was `before`.
    pub fn of_answer(answer: &Value, before: Option<&Tokens>, now: i64) -> Option<Tokens> {
        let access = token(answer, "access_token")?;
        let expires_in = answer.get("expires_in").and_then(Value::as_i64);
        let expires_at = expires_in
            .map(|seconds| now.saturating_add(seconds.saturating_mul(1000)))
            .or_else(|| expiry(&access));
        let id = token(answer, "id_token").or_else(|| before?.id.clone());
        let account_id = account_id(id.as_ref(), &access);
        Some(Tokens {
            refresh: token(answer, "refresh_token").or_else(|| before?.refresh.clone()),
            account_id: account_id.or_else(|| before?.account_id.clone()),
            access,
            id,
            expires_at,
        })
    }

    /// Reads the `tokens` of a Codex CLI's file.
    pub fn of_codex(tokens: &Value) -> Option<Tokens> {
        let access = token(tokens, "access_token")?;
        let id = token(tokens, "id_token");
        let told = tokens.get("account_id").and_then(Value::as_str);
        Some(Tokens {
            refresh: token(tokens, "refresh_token"),
            account_id: told
                .map(str::to_owned)
                .or_else(|| account_id(id.as_ref(), &access)),
            expires_at: expiry(&access),
            access,
            id,
        })
    }

    /// Reads what `to_saved` wrote.
    pub fn of_saved(saved: &Value) -> Option<Tokens> {
        Some(Tokens {
            access: token(saved, "accessToken")?,
            refresh: token(saved, "refreshToken"),
            id: token(saved, "idToken"),
            account_id: saved
                .get("accountId")
                .and_then(Value::as_str)
                .map(str::to_owned),
            expires_at: saved.get("expiresAt").and_then(Value::as_i64),
        })
    }

    pub fn to_saved(&self) -> Value {
        let mut saved = Map::new();
        let mut put = |name: &str, secret: Option<&SecretString>| {
            if let Some(secret) = secret {
                saved.insert(name.to_owned(), json!(secret.expose_secret()));
            }
        };
        put("accessToken", Some(&self.access));
        put("refreshToken", self.refresh.as_ref());
        put("idToken", self.id.as_ref());
        if let Some(account) = &self.account_id {
            saved.insert("accountId".to_owned(), json!(account));
        }
        if let Some(at) = self.expires_at {
            saved.insert("expiresAt".to_owned(), json!(at));
        }
        Value::Object(saved)
    }

    pub fn ended(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    pub fn ends_soon(&self, now: i64) -> bool {
        self.expires_at
            .is_some_and(|at| at <= now.saturating_add(EARLY_MS))
    }

    pub fn same_access(&self, other: &Tokens) -> bool {
        self.access.expose_secret() == other.access.expose_secret()
    }

    /// Who signed in. The token came over TLS from its issuer, so its signature proves nothing more.
    pub fn account(&self) -> Option<Account> {
        let claims = claims(self.id.as_ref()?)?;
        let text = |claims: &Value, name: &str| claims.get(name)?.as_str().map(str::to_owned);
        let email = text(&claims, "email").or_else(|| text(claims.get(PROFILE_CLAIM)?, "email"));
        let name = text(&claims, "name");
        (email.is_some() || name.is_some()).then_some(Account { email, name })
    }
}

fn token(value: &Value, name: &str) -> Option<SecretString> {
    let token = value.get(name)?.as_str()?;
    let fine = !token.is_empty()
        && token.len() <= TOKEN_BYTES_MAX
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    fine.then(|| token.into())
}

fn claims(token: &SecretString) -> Option<Value> {
    let payload = token.expose_secret().split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD
        .decode(payload.trim_end_matches('='))
        .ok()?;
    serde_json::from_slice(&payload).ok()
}

fn expiry(token: &SecretString) -> Option<i64> {
    let seconds = claims(token)?.get("exp")?.as_i64()?;
    Some(seconds.saturating_mul(1000))
}

fn account_id(id: Option<&SecretString>, access: &SecretString) -> Option<String> {
    let of = |token: &SecretString| {
        let claims = claims(token)?;
        let account = claims.get(AUTH_CLAIM)?.get("chatgpt_account_id")?;
        account.as_str().map(str::to_owned)
    };
    id.and_then(of).or_else(|| of(access))
}

#[cfg(test)]
pub fn unsigned(claims: &Value) -> String {
    let payload = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
    format!("e30.{payload}.c2ln")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_tell_who_it_is_and_how_long() {
        let id = unsigned(&json!({
            "email": "a@b.c", "name": "Ann", AUTH_CLAIM: {"chatgpt_account_id": "acc"}
        }));
        let answer = json!({
            "access_token": unsigned(&json!({"exp": 100})), "id_token": id, "refresh_token": "r1"
        });
        let tokens = Tokens::of_answer(&answer, None, 0).expect("tokens");
        assert_eq!(tokens.account_id.as_deref(), Some("acc"));
        assert_eq!(tokens.expires_at, Some(100_000));
        let account = tokens.account().expect("an account");
        assert_eq!(
            (account.email.as_deref(), account.name.as_deref()),
            (Some("a@b.c"), Some("Ann"))
        );
        assert!(!tokens.ends_soon(100_000 - EARLY_MS - 1));
        assert!(tokens.ends_soon(100_000 - EARLY_MS));
        assert!(tokens.ended(100_000));

        let answer = json!({"access_token": "opaque", "expires_in": 60});
        let renewed = Tokens::of_answer(&answer, Some(&tokens), 1000).expect("tokens");
        assert_eq!(renewed.expires_at, Some(61_000));
        assert_eq!(
            renewed.account_id.as_deref(),
            Some("acc"),
            "what is not told stays"
        );
        assert_eq!(renewed.refresh.expect("a token").expose_secret(), "r1");
    }

    #[test]
    fn what_is_saved_reads_back() {
        let answer = json!({"access_token": "a", "refresh_token": "r", "expires_in": 1});
        let tokens = Tokens::of_answer(&answer, None, 5).expect("tokens");
        let again = Tokens::of_saved(&tokens.to_saved()).expect("tokens");
        assert!(again.same_access(&tokens));
        assert_eq!(again.expires_at, Some(1005));
        assert_eq!(
            format!("{:?}", again.refresh),
            format!("{:?}", tokens.refresh)
        );
        assert!(!format!("{again:?}").contains("\"a\""));
    }

    #[test]
    fn what_is_no_token_is_not_taken() {
        for broken in [
            json!({}),
            json!({"access_token": ""}),
            json!({"access_token": "a b"}),
        ] {
            assert!(Tokens::of_answer(&broken, None, 0).is_none(), "{broken}");
        }
        let huge = "x".repeat(TOKEN_BYTES_MAX + 1);
        assert!(Tokens::of_answer(&json!({"access_token": huge}), None, 0).is_none());
    }
}
