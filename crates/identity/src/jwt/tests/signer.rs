//! Keys of our own, and tokens signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

/// Made for these tests and used nowhere else: ring makes no RSA keys.
const RSA_KEY: &str = include_str!("rsa_key.txt");

enum SigningKey {
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

pub struct Signer {
    id: &'static str,
    key: SigningKey,
}

impl Signer {
    pub fn rsa(id: &'static str) -> Self {
        let der = STANDARD.decode(RSA_KEY.replace('\n', "")).expect("base64");
        let key = RsaKeyPair::from_pkcs8(&der).expect("a key");
        let key = SigningKey::Rsa(Box::new(key));
        Self { id, key }
    }

    pub fn ec(id: &'static str) -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let der = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, der.as_ref(), &random).expect("a key");
        let key = SigningKey::Ec(key);
        Self { id, key }
    }

    pub fn ed(id: &'static str) -> Self {
        let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let key = Ed25519KeyPair::from_pkcs8(der.as_ref()).expect("a key");
        let key = SigningKey::Ed(key);
        Self { id, key }
    }

    pub fn algorithm(&self) -> &'static str {
        match self.key {
            SigningKey::Rsa(_) => "RS256",
            SigningKey::Ec(_) => "ES256",
            SigningKey::Ed(_) => "EdDSA",
        }
    }

    /// Its public half, as an issuer publishes it.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &self.key {
            SigningKey::Rsa(key) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({ "kty": "RSA", "n": coded(&public.n), "e": coded(&public.e) })
            }
            SigningKey::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": coded(x), "y": coded(y) })
            }
            SigningKey::Ed(key) => {
                let x = coded(key.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x })
            }
        };
        jwk["kid"] = self.id.into();
        jwk["use"] = "sig".into();
        jwk["alg"] = self.algorithm().into();
        jwk
    }

    pub fn header(&self) -> Value {
        json!({ "alg": self.algorithm(), "kid": self.id, "typ": "JWT" })
    }

    pub fn sign(&self, claims: &Value) -> String {
        self.sign_with(&self.header(), &claims.to_string())
    }

    /// Whatever they say.
    pub fn sign_with(&self, header: &Value, claims: &str) -> String {
        let message = unsigned(&header.to_string(), claims);
        let random = SystemRandom::new();
        let signature = match &self.key {
            SigningKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let signed = key.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    message.as_bytes(),
                    &mut signature,
                );
                signed.expect("a signature");
                signature
            }
            SigningKey::Ec(key) => {
                let signature = key.sign(&random, message.as_bytes()).expect("a signature");
                signature.as_ref().to_vec()
            }
            SigningKey::Ed(key) => key.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", coded(&signature))
    }
}

/// Signed with a secret that both sides have.
pub fn hs256(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = unsigned(&header.to_string(), &claims.to_string());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", coded(tag.as_ref()))
}

pub fn unsigned(header: &str, claims: &str) -> String {
    format!("{}.{}", coded(header.as_bytes()), coded(claims.as_bytes()))
}

pub fn coded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
