//! A signed token as it is written (RFC 7515, 7.1): three parts of base64, and what its header says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::keys::JwtAlgorithm;
use super::{JwtError, unique_json};

/// What a token may call itself; others are made for something else than to sign in.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// A token that was read; nothing of it is believed yet.
pub struct CompactToken<'a> {
    pub algorithm: JwtAlgorithm,
    pub key_id: Option<String>,
    pub claims: Map<String, Value>,
    /// What the signature is of.
    pub signed: &'a [u8],
    pub signature: Vec<u8>,
}

impl<'a> CompactToken<'a> {
    pub fn parse(token: &'a str) -> Result<Self, JwtError> {
        let (signed, signature) = token
            .rsplit_once('.')
            .ok_or(JwtError::Malformed("it is not of three parts"))?;
        let (header, claims) = signed
            .split_once('.')
            .filter(|(_, claims)| !claims.contains('.'))
            .ok_or(JwtError::Malformed("it is not of three parts"))?;
        let (algorithm, key_id) = header_of(&json(header)?)?;
        Ok(Self {
            algorithm,
            key_id,
            claims: json(claims)?,
            signed: signed.as_bytes(),
            signature: bytes(signature)?,
        })
    }
}

fn bytes(part: &str) -> Result<Vec<u8>, JwtError> {
    let decoded = URL_SAFE_NO_PAD.decode(part);
    decoded.map_err(|_| JwtError::Malformed("a part of it is not base64url"))
}

fn json(part: &str) -> Result<Map<String, Value>, JwtError> {
    let words = "a part of it is no JSON object, or says something twice";
    unique_json::object(&bytes(part)?).ok_or(JwtError::Malformed(words))
}

fn header_of(header: &Map<String, Value>) -> Result<(JwtAlgorithm, Option<String>), JwtError> {
    // RFC 7515, 4.1.11: what must be understood and is not, makes it invalid. We know no extension.
    if header.contains_key("crit") {
        return Err(JwtError::CriticalExtension);
    }
    let algorithm = header.get("alg").and_then(Value::as_str);
    let algorithm = algorithm.and_then(JwtAlgorithm::named);
    let algorithm = algorithm.ok_or(JwtError::Algorithm)?;
    match header.get("typ") {
        None => {}
        Some(Value::String(kind)) if is_sign_in(kind) => {}
        Some(_) => return Err(JwtError::Malformed("its `typ` is that of another use")),
    }
    let key_id = match header.get("kid") {
        None => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return Err(JwtError::Malformed("its `kid` is not a text")),
    };
    Ok((algorithm, key_id))
}

fn is_sign_in(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    TYPES.contains(&kind.strip_prefix("application/").unwrap_or(&kind))
}
