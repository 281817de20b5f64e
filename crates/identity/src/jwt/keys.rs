//! Keys that an issuer publishes (RFC 7517), and what is signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::{Map, Value};

use super::compact::CompactToken;
use super::limits::KEYS_MAX;
use super::{JwtError, unique_json};

/// How a token may be signed. Only ways in which who checks cannot sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtAlgorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl JwtAlgorithm {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            // tidy: wildcard, because the registry has many more, and none of them is taken.
            _ => None,
        }
    }
}

/// One key. What it is for follows from its kind, never from a token.
#[derive(Debug, PartialEq, Eq)]
struct PublishedKey {
    id: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug, PartialEq, Eq)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The keys of an issuer that can be used.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySet(Vec<PublishedKey>);

impl KeySet {
    /// Of a document; what it says that we cannot use is passed over, as RFC 7517 (5) wants.
    pub fn parse(document: &[u8]) -> Result<Self, &'static str> {
        let document = unique_json::object(document).ok_or("it is no JSON object")?;
        let Some(Value::Array(listed)) = document.get("keys") else {
            return Err("it has no list of `keys`");
        };
        if listed.len() > KEYS_MAX {
            return Err("it has too many keys");
        }
        let keys = listed.iter().filter_map(Value::as_object);
        let keys: Vec<_> = keys.filter_map(PublishedKey::read).collect();
        match keys.is_empty() {
            true => Err("it has no key for RS256, ES256 or EdDSA"),
            false => Ok(Self(keys)),
        }
    }

    /// Whether a token may be signed with one of these.
    pub fn knows(&self, token: &CompactToken<'_>) -> bool {
        self.fitting(token).next().is_some()
    }

    pub fn check(&self, token: &CompactToken<'_>) -> Result<(), JwtError> {
        let mut fitting = self.fitting(token);
        let key = fitting.next().ok_or(JwtError::UnknownKey)?;
        if fitting.next().is_some() {
            // A token that names none, or issuers that use a name twice: nobody's guess.
            return Err(JwtError::UnknownKey);
        }
        match key.signed(token.signed, &token.signature) {
            true => Ok(()),
            false => Err(JwtError::Signature),
        }
    }

    fn fitting<'a>(
        &'a self,
        token: &'a CompactToken<'_>,
    ) -> impl Iterator<Item = &'a PublishedKey> {
        let named = move |key: &&PublishedKey| match &token.key_id {
            Some(wanted) => key.id.as_ref() == Some(wanted),
            None => true,
        };
        let usable = self
            .0
            .iter()
            .filter(|key| key.algorithm() == token.algorithm);
        usable.filter(named)
    }
}

impl PublishedKey {
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        if key.contains_key("use") && text("use") != Some("sig") {
            return None;
        }
        let verifies = |uses: &Value| {
            let mut uses = uses.as_array().into_iter().flatten();
            uses.any(|each| each == "verify")
        };
        if key.get("key_ops").is_some_and(|uses| !verifies(uses)) {
            return None;
        }
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => KeyMaterial::Rsa {
                n: number(text("n")?)?,
                e: number(text("e")?)?,
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(text("x")?)?, bytes(text("y")?)?);
                (x.len() == 32 && y.len() == 32).then_some(())?;
                KeyMaterial::P256([&[4], &x[..], &y[..]].concat())
            }
            ("OKP", Some("Ed25519")) => {
                let x = bytes(text("x")?)?;
                (x.len() == 32).then_some(())?;
                KeyMaterial::Ed25519(x)
            }
            // tidy: wildcard, because other kinds of keys are for other algorithms.
            _ => return None,
        };
        let read = Self {
            id: text("kid").map(str::to_owned),
            material,
        };
        let meant_for = key.get("alg");
        let fits = |name: &Value| {
            let named = name.as_str().and_then(JwtAlgorithm::named);
            named == Some(read.algorithm())
        };
        meant_for.is_none_or(fits).then_some(read)
    }

    fn algorithm(&self) -> JwtAlgorithm {
        match &self.material {
            KeyMaterial::Rsa { .. } => JwtAlgorithm::Rs256,
            KeyMaterial::P256(_) => JwtAlgorithm::Es256,
            KeyMaterial::Ed25519(_) => JwtAlgorithm::EdDsa,
        }
    }

    fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let checked = match &self.material {
            KeyMaterial::Rsa { n, e } => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            KeyMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            KeyMaterial::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
        };
        checked.is_ok()
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// A number without the zeros that some write in front of it.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = bytes(text)?;
    let from = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[from..].to_vec())
}
