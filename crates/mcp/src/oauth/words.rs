//! What is said to people about sign-ins that fail.

use rmcp::transport::auth::AuthError;

/// The most characters of someone else's words that are repeated.
const SAID_CHARS_MAX: usize = 300;

/// Someone else's words, in one line and not too many.
pub fn said(words: &str) -> String {
    let clean = words
        .chars()
        .map(|each| if each.is_control() { ' ' } else { each });
    let line: String = clean.take(SAID_CHARS_MAX).collect();
    line.trim().to_owned()
}

/// Why a step of a sign-in failed.
pub fn reason(error: &AuthError) -> String {
    let known = match error {
        AuthError::AuthorizationServerMismatch {
            expected_issuer,
            received_issuer,
        } => Some(format!(
            "the sign-in server says that it is {received_issuer}, not {expected_issuer}"
        )),
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => Some(format!(
            "the sign-in server does not say that it is {expected_issuer}"
        )),
        AuthError::PkceUnsupported => {
            Some("the sign-in server does not know PKCE with S256".to_owned())
        }
        AuthError::NoAuthorizationSupport => Some("the server has no sign-in".to_owned()),
        // The SDK may add kinds; its words are good enough for those.
        _ => None,
    };
    said(&known.unwrap_or_else(|| error.to_string()))
}
