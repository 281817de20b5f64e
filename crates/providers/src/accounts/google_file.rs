//! Google's credential files, as `GOOGLE_APPLICATION_CREDENTIALS` names one: a service account signs a
//! statement of who it is (RFC 7523), a person who is signed in with Google's own tools has a refresh
//! token; both are exchanged for an access token.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::oauth::{self, OAuthError};
use super::tokens::Tokens;

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// How long a statement is good: it is shown at once.
const STATEMENT_SECONDS: i64 = 600;
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// What such a file holds.
#[derive(Clone, Debug)]
pub enum GoogleFile {
    ServiceAccount {
        client_email: String,
        private_key: SecretString,
        private_key_id: Option<String>,
        token_url: String,
    },
    AuthorizedUser {
        client_id: String,
        client_secret: SecretString,
        refresh_token: SecretString,
        token_url: String,
    },
}

impl GoogleFile {
    /// Reads it; what is wrong with it never repeats what it holds.
    pub fn read(path: &Path) -> Result<GoogleFile, String> {
        let unread = |what: &str| format!("{} could not be read: {what}", path.display());
        let file = File::open(path).map_err(|error| unread(&error.to_string()))?;
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut text)
            .map_err(|error| unread(&error.to_string()))?;
        let value = serde_json::from_slice(&text).unwrap_or_default();
        GoogleFile::of(&value).ok_or_else(|| {
            unread("it is neither the key of a service account nor the file of a Google sign-in")
        })
    }

    fn of(value: &Value) -> Option<GoogleFile> {
        let field = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let token_url = field("token_uri").unwrap_or_else(|| TOKEN_URL.to_owned());
        match value.get("type")?.as_str()? {
            "service_account" => Some(GoogleFile::ServiceAccount {
                client_email: field("client_email")?,
                private_key: field("private_key")?.into(),
                private_key_id: field("private_key_id"),
                token_url,
            }),
            "authorized_user" => Some(GoogleFile::AuthorizedUser {
                client_id: field("client_id")?,
                client_secret: field("client_secret")?.into(),
                refresh_token: field("refresh_token")?.into(),
                token_url,
            }),
            _ => None,
        }
    }

    /// Who it is, for telling accounts apart.
    fn account(&self) -> &str {
        match self {
            GoogleFile::ServiceAccount { client_email, .. } => client_email,
            GoogleFile::AuthorizedUser { client_id, .. } => client_id,
        }
    }

    /// An access token that is good for a while.
    pub async fn token(&self, now_ms: i64) -> Result<Tokens, OAuthError> {
        let (answer, secrets) = match self {
            GoogleFile::ServiceAccount { token_url, .. } => {
                let statement = self.statement(token_url, now_ms / 1000)?;
                let form = [
                    ("grant_type", GRANT),
                    ("assertion", statement.expose_secret()),
                ];
                (oauth::post_form(token_url, &form).await?, vec![statement])
            }
            GoogleFile::AuthorizedUser {
                client_id,
                client_secret,
                refresh_token,
                token_url,
            } => {
                let form = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client_id.as_str()),
                    ("client_secret", client_secret.expose_secret()),
                    ("refresh_token", refresh_token.expose_secret()),
                ];
                let secrets = vec![client_secret.clone(), refresh_token.clone()];
                (oauth::post_form(token_url, &form).await?, secrets)
            }
        };
        if !answer.ok() {
            let secrets: Vec<&SecretString> = secrets.iter().collect();
            return Err(oauth::refusal(&answer, &secrets));
        }
        let tokens = Tokens::of_answer(&answer.json(), None, now_ms);
        let mut tokens = tokens.ok_or_else(oauth::no_tokens)?;
        tokens.account_id = Some(self.account().to_owned());
        Ok(tokens)
    }

    /// Who it is and what it wants, signed: a JSON Web Token.
    fn statement(&self, audience: &str, now: i64) -> Result<SecretString, OAuthError> {
        let GoogleFile::ServiceAccount {
            client_email,
            private_key,
            private_key_id,
            ..
        } = self
        else {
            return Err(bad_key());
        };
        let mut header = json!({ "alg": "RS256", "typ": "JWT" });
        if let Some(id) = private_key_id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": client_email, "scope": SCOPE, "aud": audience,
            "iat": now, "exp": now + STATEMENT_SECONDS,
        });
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let said = format!(
            "{}.{}",
            encode(header.to_string().as_bytes()),
            encode(claims.to_string().as_bytes())
        );
        let key = key_pair(private_key.expose_secret())?;
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            said.as_bytes(),
            &mut signature,
        )
        .map_err(|_| bad_key())?;
        Ok(format!("{said}.{}", encode(&signature)).into())
    }
}

/// The key in a PEM text (RFC 7468).
fn key_pair(pem: &str) -> Result<RsaKeyPair, OAuthError> {
    let lines = pem.lines().map(str::trim);
    let body: String = lines.filter(|line| !line.starts_with("-----")).collect();
    let der = BASE64_STANDARD.decode(body).map_err(|_| bad_key())?;
    RsaKeyPair::from_pkcs8(&der).map_err(|_| bad_key())
}

fn bad_key() -> OAuthError {
    let words = "the private key of the service account cannot be used: download its file again";
    OAuthError::NotAccepted(words.to_owned())
}

#[cfg(test)]
mod tests;
