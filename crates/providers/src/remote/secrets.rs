//! What must not be repeated: the credentials of one request, taken out of whatever the other side
//! says before anyone reads it.

use secrecy::{ExposeSecret, SecretString};

const MASK: &str = "[hidden]";
/// So much of a secret gives it away: an error text may have been cut in the middle of a key.
const TELLTALE_CHARS: usize = 8;
/// Shorter ones are placeholders (`-`, `x`); hiding them would make nonsense of every sentence.
const SECRET_CHARS_MIN: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    /// The value of a header, and of `Bearer <key>` the key alone.
    pub(crate) fn add(&mut self, value: &str) {
        let key = value.rsplit(' ').next().unwrap_or(value);
        if key.chars().count() >= SECRET_CHARS_MIN {
            self.0.push(key.into());
        }
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = hide(&text, secret.expose_secret());
        }
        text
    }

    /// The longest one, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        let lengths = self.0.iter().map(|secret| secret.expose_secret().len());
        lengths.max().unwrap_or(0)
    }
}

/// Replaces every run that begins as the secret does, as far as it goes on so.
fn hide(text: &str, secret: &str) -> String {
    let telltale: String = secret.chars().take(TELLTALE_CHARS).collect();
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&telltale) {
        hidden.push_str(&rest[..at]);
        hidden.push_str(MASK);
        let same = rest[at..].chars().zip(secret.chars());
        let length: usize = same
            .take_while(|(said, secret)| said == secret)
            .map(|(said, _)| said.len_utf8())
            .sum();
        rest = &rest[at + length..];
    }
    hidden.push_str(rest);
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(secret: &str, text: &str) -> String {
        let mut secrets = Secrets::default();
        secrets.add(secret);
        secrets.mask(text)
    }

    #[test]
    fn a_key_is_hidden_wherever_it_stands() {
        let key = "Bearer sk-0123456789";
        assert_eq!(
            mask(key, "bad key sk-0123456789, (Bearer sk-0123456789)"),
            "bad key [hidden], (Bearer [hidden])"
        );
        assert_eq!(mask(key, "nothing here"), "nothing here");
    }

    #[test]
    fn so_is_one_that_was_cut() {
        assert_eq!(mask("sk-0123456789", "bad: sk-0123456"), "bad: [hidden]");
        assert_eq!(mask("sk-0123456789", "bad: sk-0****89"), "bad: sk-0****89");
    }

    #[test]
    fn a_placeholder_is_not() {
        assert_eq!(mask("Bearer -", "a - b"), "a - b");
        assert_eq!(mask("pass", "pass it"), "[hidden] it");
    }
}
