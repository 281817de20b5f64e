//! Web push: seals a message so that only one browser can open it (RFC 8291, RFC 8188), and signs who
//! sends it (RFC 8292). Sends nothing itself.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

mod key;
mod sealed;

pub use key::{SenderKey, find as find_key};
pub use sealed::{MESSAGE_BYTES_MAX, seal};

#[derive(Debug, PartialEq, Eq, Error)]
pub enum PushError {
    #[error("p256dh: expected a public key of P-256, 65 bytes in base64url")]
    BrowserKey,
    #[error("auth: expected 16 bytes in base64url")]
    Secret,
    #[error("the message has more than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
    /// The system gave no random numbers, or the key is damaged.
    #[error("the message could not be sealed or signed")]
    Failed,
}

/// What a browser gave, as far as it is needed to seal for it.
#[derive(Clone)]
pub struct BrowserKeys {
    public: Vec<u8>,
    secret: Vec<u8>,
}

impl BrowserKeys {
    /// From base64url, with or without its padding.
    pub fn parse(p256dh: &str, auth: &str) -> Result<Self, PushError> {
        let public = decode(p256dh).ok_or(PushError::BrowserKey)?;
        // An uncompressed point; whether it is on the curve is found out when it is used.
        if public.len() != sealed::POINT_BYTES || public.first() != Some(&4) {
            return Err(PushError::BrowserKey);
        }
        let secret = decode(auth).ok_or(PushError::Secret)?;
        match secret.len() == sealed::SECRET_BYTES {
            true => Ok(Self { public, secret }),
            false => Err(PushError::Secret),
        }
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
