//! What is said to people about sign-ins that fail.

use callback::said;
use rmcp::transport::auth::AuthError;

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
