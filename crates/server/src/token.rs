//! The shared secret that lets a client in.

use std::fmt;
use std::path::Path;

use anyhow::{Context, bail};

use crate::limits::TOKEN_BYTES_MIN;

/// Where a token may come from, besides a file: never a flag, which every user of a machine sees.
pub const TOKEN_VARIABLE: &str = "DRAGOMAN_TOKEN";

/// Only a hash is kept: what is not in memory cannot be logged, and comparing hashes takes the
/// same time for every wrong guess, whatever its length.
#[derive(Clone)]
pub struct Token(blake3::Hash);

impl Token {
    pub fn new(secret: &str) -> anyhow::Result<Self> {
        let secret = secret.trim();
        if secret.len() < TOKEN_BYTES_MIN {
            bail!(
                "the token is too short to be safe; use at least {TOKEN_BYTES_MIN} characters, \
                 for example from `openssl rand -hex 32`"
            );
        }
        Ok(Self(blake3::hash(secret.as_bytes())))
    }

    /// What the operator configured: the file when one is named, else the environment.
    pub fn configured(file: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let secret = match file {
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the token file {}", path.display()))?,
            ),
            None => std::env::var(TOKEN_VARIABLE).ok(),
        };
        secret.as_deref().map(Self::new).transpose()
    }

    pub fn is(&self, candidate: &str) -> bool {
        self.0 == blake3::hash(candidate.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "correct horse battery staple";

    #[test]
    fn only_the_whole_secret_is_it() {
        let token = Token::new(&format!("{SECRET}\n")).expect("long enough");
        assert!(token.is(SECRET));
        for wrong in ["", "correct", "correct horse battery staplf", &SECRET[1..]] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn neither_debug_nor_an_error_tells_it() {
        let token = Token::new(SECRET).expect("long enough");
        assert_eq!(format!("{token:?}"), "Token(redacted)");
        let error = Token::new("hunter2").expect_err("too short");
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}
