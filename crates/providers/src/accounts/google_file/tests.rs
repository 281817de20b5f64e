//! The exchange of credential files, with a key that is for these tests only.

use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

use super::*;

const KEY: &str = include_str!("key-for-tests.pem");

fn service_account(token_url: &str) -> Value {
    json!({
        "type": "service_account", "project_id": "p", "private_key_id": "k1", "private_key": KEY,
        "client_email": "bot@p.example", "token_uri": token_url,
    })
}

#[test]
fn a_statement_is_signed_and_says_who_wants_what_from_whom() {
    let file = GoogleFile::of(&service_account("https://t.example/token")).expect("a file");
    let statement = file
        .statement("https://t.example/token", 1_000)
        .expect("signed");
    let parts: Vec<&str> = statement.expose_secret().split('.').collect();
    let [header, claims, signature] = parts[..] else {
        panic!("{parts:?}");
    };
    let read = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64");
    let json = |part: &str| -> Value { serde_json::from_slice(&read(part)).expect("JSON") };
    assert_eq!(
        json(header),
        json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" })
    );
    assert_eq!(
        json(claims),
        json!({ "iss": "bot@p.example", "scope": SCOPE, "aud": "https://t.example/token",
                "iat": 1_000, "exp": 1_600 })
    );
    let key = key_pair(KEY).expect("a key");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref());
    let said = format!("{header}.{claims}");
    let verified = public.verify(said.as_bytes(), &read(signature));
    assert!(verified.is_ok());
}

#[test]
fn what_is_wrong_with_a_file_is_said_without_its_secrets() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("key.json");
    let error = GoogleFile::read(&path).expect_err("no file");
    assert!(error.contains("key.json could not be read"), "{error}");
    std::fs::write(&path, "{\"type\": \"sk-secret\"}").expect("written");
    let error = GoogleFile::read(&path).expect_err("no such file");
    assert!(
        error.contains("neither the key of a service account"),
        "{error}"
    );
    assert!(!error.contains("sk-secret"), "{error}");
    let mut broken = service_account("https://t.example/token");
    broken["private_key"] = json!("sk-secret");
    let file = GoogleFile::of(&broken).expect("a file");
    let error = file.statement("a", 0).expect_err("no key").to_string();
    assert!(error.contains("download its file again"), "{error}");
    assert!(!format!("{file:?}").contains("sk-secret"));
}

/// The exchange itself is told with whole providers, in `models::tests::cloud`.
#[test]
fn a_sign_in_of_googles_own_tools_is_read_too() {
    for (absent, readable) in [
        ("client_secret", false),
        ("refresh_token", false),
        ("x", true),
    ] {
        let mut user = json!({ "type": "authorized_user", "client_id": "id", "client_secret": "s",
                               "refresh_token": "r" });
        user[absent] = Value::Null;
        assert_eq!(GoogleFile::of(&user).is_some(), readable, "{absent}");
    }
}
