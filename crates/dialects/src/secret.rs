//! A secret in a client's frame: read, handed on, and never shown.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use vocabulary::Secret;

/// What a client calls an API key. There is no way to write it.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SecretText(String);

impl From<SecretText> for Secret {
    fn from(text: SecretText) -> Self {
        Secret::new(text.0)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}
