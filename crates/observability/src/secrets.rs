//! What must not leave in any text: the secrets that this server knows of, more of them as they are
//! saved and renewed.

use std::borrow::Cow;

use parking_lot::RwLock;
use secrecy::{ExposeSecret as _, SecretString};

use crate::limits::KNOWN_SECRETS_MAX;

/// Shorter ones are words that anybody may say.
const SECRET_BYTES_MIN: usize = 8;
const LEFT_OUT: &str = "[secret left out]";

/// Shared by all endpoints.
#[derive(Default)]
pub struct KnownSecrets(RwLock<Vec<SecretString>>);

impl KnownSecrets {
    /// What was known stays: a key that was replaced may still be in somebody's words. Only of very many
    /// the oldest go.
    pub fn learn(&self, secrets: impl IntoIterator<Item = SecretString>) {
        for secret in secrets {
            let text = secret.expose_secret();
            let is_it = |known: &SecretString| known.expose_secret() == text;
            if text.len() < SECRET_BYTES_MIN || self.0.read().iter().any(is_it) {
                continue;
            }
            let mut known = self.0.write();
            if known.len() == KNOWN_SECRETS_MAX {
                known.remove(0);
            }
            known.push(secret);
        }
    }

    pub fn left_out<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.0.read();
        let replaced = |text: Cow<'a, str>, secret: &SecretString| {
            let secret = secret.expose_secret();
            match text.contains(secret) {
                true => Cow::Owned(text.replace(secret, LEFT_OUT)),
                false => text,
            }
        };
        known.iter().fold(Cow::Borrowed(text), replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_as_soon_as_they_are_known() {
        let known = KnownSecrets::default();
        let text = "the keys are sk-first-one and sk-second-one, not short";
        assert_eq!(known.left_out(text), text);
        known.learn(["sk-first-one", "short"].map(SecretString::from));
        known.learn(["sk-second-one", "sk-first-one"].map(SecretString::from));
        assert_eq!(
            known.left_out(text),
            "the keys are [secret left out] and [secret left out], not short"
        );
        let many = (0..KNOWN_SECRETS_MAX).map(|number| format!("secret-number-{number}"));
        known.learn(many.map(SecretString::from));
        assert_eq!(known.0.read().len(), KNOWN_SECRETS_MAX);
    }
}
