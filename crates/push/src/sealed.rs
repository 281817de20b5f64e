//! A message for one browser: a key that both sides find, and one record of aes128gcm.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};

use crate::{BrowserKeys, PushError};

pub const POINT_BYTES: usize = 65;
pub const SECRET_BYTES: usize = 16;
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const RECORD_BYTES: u32 = 4_096;
/// Salt, size of a record, length of the key's name, and the key.
const HEADER_BYTES: usize = SALT_BYTES + 4 + 1 + POINT_BYTES;
/// Behind the last record's text.
const LAST_RECORD: u8 = 2;
/// What push services take as a whole is 4096 bytes, with 16 of the seal and one of the end.
pub const MESSAGE_BYTES_MAX: usize = RECORD_BYTES as usize - HEADER_BYTES - 16 - 1;

/// The body of the request that brings a message to a browser, whose `Content-Encoding` is `aes128gcm`.
pub fn seal(browser: &BrowserKeys, message: &[u8]) -> Result<Vec<u8>, PushError> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(PushError::TooLong);
    }
    let random = SystemRandom::new();
    let failed = |_| PushError::Failed;
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).map_err(failed)?;
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(failed)?;
    let point = own.compute_public_key().map_err(failed)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &browser.public);
    let keys = agree_ephemeral(own, &theirs, |shared| {
        derive(shared, browser, point.as_ref(), &salt)
    });
    let (key, nonce) = keys.map_err(|_| PushError::BrowserKey)?.map_err(failed)?;
    let mut text = message.to_vec();
    text.push(LAST_RECORD);
    let key = UnboundKey::new(&AES_128_GCM, &key).map_err(failed)?;
    LessSafeKey::new(key)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut text)
        .map_err(failed)?;
    let mut body = Vec::with_capacity(HEADER_BYTES + text.len());
    body.extend(salt);
    body.extend(RECORD_BYTES.to_be_bytes());
    body.push(POINT_BYTES as u8);
    body.extend(point.as_ref());
    body.extend(text);
    Ok(body)
}

/// How many bytes are drawn.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// The key and the nonce of a message, from what both sides know.
fn derive(
    shared: &[u8],
    browser: &BrowserKeys,
    own_point: &[u8],
    salt: &[u8],
) -> Result<([u8; KEY_BYTES], [u8; NONCE_BYTES]), ring::error::Unspecified> {
    let parts = [b"WebPush: info\0", browser.public.as_slice(), own_point];
    let first = Salt::new(HKDF_SHA256, &browser.secret).extract(shared);
    let mut material = [0; 32];
    first.expand(&parts, Bytes(32))?.fill(&mut material)?;
    let second = Salt::new(HKDF_SHA256, salt).extract(&material);
    let (mut key, mut nonce) = ([0; KEY_BYTES], [0; NONCE_BYTES]);
    let name: [&[u8]; 1] = [b"Content-Encoding: aes128gcm\0"];
    second.expand(&name, Bytes(KEY_BYTES))?.fill(&mut key)?;
    let name: [&[u8]; 1] = [b"Content-Encoding: nonce\0"];
    second.expand(&name, Bytes(NONCE_BYTES))?.fill(&mut nonce)?;
    Ok((key, nonce))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode, encode};

    fn bytes(text: &str) -> Vec<u8> {
        decode(text).expect("base64url")
    }

    /// The worked example of RFC 8291, appendix A.
    #[test]
    fn keys_are_those_of_the_standards_own_example() {
        let browser = BrowserKeys::parse(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
        );
        let own = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw");
        let browser = browser.expect("keys");
        let (key, nonce) = derive(&shared, &browser, &bytes(own), &salt).expect("derived");
        assert_eq!(encode(&key), "oIhVW04MRdy2XN9CiKLxTg");
        assert_eq!(encode(&nonce), "4h_95klXJ5E_qnoN");
    }

    #[test]
    fn what_is_sealed_is_opened_by_the_browser_alone() {
        let random = SystemRandom::new();
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).expect("a key");
        let point = own.compute_public_key().expect("a point");
        let browser = BrowserKeys::parse(&encode(point.as_ref()), &encode(&[7; 16]));
        let browser = browser.expect("keys");
        let sealed = seal(&browser, b"come and see").expect("sealed");
        let (header, text) = sealed.split_at(HEADER_BYTES);
        assert_eq!(header[16..21], [0, 0, 16, 0, 65]);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, &header[21..]);
        let keys = agree_ephemeral(own, &theirs, |shared| {
            derive(shared, &browser, &header[21..], &header[..16])
        });
        let (key, nonce) = keys.expect("agreed").expect("derived");
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).expect("a key"));
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = key.open_in_place(nonce, Aad::empty(), &mut text);
        assert_eq!(opened.expect("opened"), b"come and see\x02");
        let again = seal(&browser, b"come and see").expect("sealed");
        assert_ne!(again, sealed, "no two are alike");
    }

    #[test]
    fn keys_that_are_none_and_messages_that_are_too_long_are_refused() {
        let point = |first: u8| {
            let mut point = vec![9; POINT_BYTES];
            point[0] = first;
            encode(&point)
        };
        let auth = encode(&[1; 16]);
        let wrong = |p256dh: &str, auth: &str| BrowserKeys::parse(p256dh, auth).err();
        assert_eq!(wrong("!", &auth), Some(PushError::BrowserKey));
        assert_eq!(wrong(&point(3), &auth), Some(PushError::BrowserKey));
        assert_eq!(wrong(&point(4), "AAAA"), Some(PushError::Secret));
        let off_curve = BrowserKeys::parse(&point(4), &auth).expect("looks like one");
        assert_eq!(seal(&off_curve, b"x"), Err(PushError::BrowserKey));
        let long = vec![0; MESSAGE_BYTES_MAX + 1];
        assert_eq!(seal(&off_curve, &long), Err(PushError::TooLong));
    }
}
