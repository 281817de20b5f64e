//! The key that says who sends: made once, kept in a file for its owner alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;
use uuid::Uuid;

use crate::{PushError, encode};

const FILE_MODE: u32 = 0o600;
const KEY_BYTES_MAX: u64 = 1_024;
/// How long a signature is good; services take no more than a day.
const SIGNATURE_SECONDS: i64 = 12 * 60 * 60;

pub struct SenderKey {
    pair: EcdsaKeyPair,
}

impl SenderKey {
    fn read(document: &[u8]) -> Result<Self, PushError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document, &SystemRandom::new());
        let pair = pair.map_err(|_| PushError::Failed)?;
        Ok(Self { pair })
    }

    /// What browsers subscribe with: the public key, base64url.
    pub fn public(&self) -> String {
        encode(self.pair.public_key().as_ref())
    }

    /// The value of `Authorization` for requests to this origin, like `https://push.example`.
    pub fn authorization(
        &self,
        origin: &str,
        contact: Option<&str>,
        now_seconds: i64,
    ) -> Result<String, PushError> {
        let head = json!({ "typ": "JWT", "alg": "ES256" });
        let mut claims = json!({ "aud": origin, "exp": now_seconds + SIGNATURE_SECONDS });
        if let Some(contact) = contact {
            claims["sub"] = json!(contact);
        }
        let parts = [head, claims].map(|part| encode(part.to_string().as_bytes()));
        let signed = parts.join(".");
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| PushError::Failed)?;
        let token = format!("{signed}.{}", encode(signature.as_ref()));
        Ok(format!("vapid t={token}, k={}", self.public()))
    }
}

/// The key in a file, made where there is none. It is whole under its name or not there at all; of
/// several processes the first one's counts.
pub fn find(file: &Path) -> io::Result<SenderKey> {
    match read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(file)?;
            read(file)
        }
        found => found,
    }
}

fn read(file: &Path) -> io::Result<SenderKey> {
    let mut document = Vec::new();
    let open = File::open(file)?;
    open.take(KEY_BYTES_MAX).read_to_end(&mut document)?;
    let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    SenderKey::read(&document).map_err(damaged)
}

fn make(file: &Path) -> io::Result<()> {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
    let document = document.map_err(|_| io::Error::other(PushError::Failed))?;
    let beside = file.with_extension(Uuid::new_v4().to_string());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(FILE_MODE);
    let mut open = options.open(&beside)?;
    let written = open.write_all(document.as_ref());
    let linked = written.and_then(|()| open.sync_all()).and_then(|()| {
        match std::fs::hard_link(&beside, file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    std::fs::remove_file(&beside)?;
    linked
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;
    use crate::decode;

    #[test]
    fn the_key_is_made_once_and_for_its_owner_alone() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("push.key");
        let first = find(&file).expect("made").public();
        assert_eq!(find(&file).expect("read").public(), first);
        assert_eq!(decode(&first).expect("a point").len(), 65);
        let found = std::fs::metadata(&file).expect("there");
        assert_eq!(found.mode() & 0o777, FILE_MODE);
        assert_eq!(home.path().read_dir().expect("reads").count(), 1);
        std::fs::write(&file, "no key").expect("written");
        assert!(
            find(&file).is_err(),
            "it is not made anew over what is there"
        );
    }

    #[test]
    fn a_signature_says_for_whom_until_when_and_who() {
        let home = tempfile::tempdir().expect("a directory");
        let key = find(&home.path().join("push.key")).expect("made");
        let contact = Some("mailto:ops@example.com");
        let value = key.authorization("https://push.example", contact, 1_000);
        let value = value.expect("signed");
        let rest = value.strip_prefix("vapid t=").expect("its form");
        let (token, public) = rest.split_once(", k=").expect("its form");
        assert_eq!(public, key.public());
        let (signed, signature) = token.rsplit_once('.').expect("a JWT");
        let known = decode(public).expect("a key");
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, known)
            .verify(signed.as_bytes(), &decode(signature).expect("bytes"))
            .expect("signed by the key");
        let (head, claims) = signed.split_once('.').expect("two parts");
        let text = |part| String::from_utf8(decode(part).expect("bytes")).expect("text");
        assert_eq!(text(head), r#"{"typ":"JWT","alg":"ES256"}"#);
        assert_eq!(
            text(claims),
            r#"{"aud":"https://push.example","exp":44200,"sub":"mailto:ops@example.com"}"#
        );
    }
}
