//! Tokens that must not let anybody in, each for its own reason.

use super::signer::{coded, hs256, unsigned};
use super::*;
use crate::jwt::limits::TOKEN_BYTES_MAX;

async fn refused(verifier: &JwtVerifier, token: &str) -> JwtError {
    let verified = verifier.verify_at(token, NOW).await;
    verified.expect_err("a bad token was taken")
}

#[tokio::test]
async fn a_token_for_others_or_for_another_time_is_refused() {
    let signer = Signer::rsa("r");
    let verifier = Issuer::of(&[&signer]).verifier();
    for (changes, expected) in [
        (json!({ "exp": NOW_S - 3_600 }), JwtError::Expired),
        (json!({ "nbf": NOW_S + 3_600 }), JwtError::NotYetValid),
        (json!({ "iss": "https://login.example" }), JwtError::Issuer),
        (json!({ "iss": [ISSUER] }), JwtError::Issuer),
        (json!({ "iss": null }), JwtError::Issuer),
        (json!({ "aud": "another" }), JwtError::Audience),
        (json!({ "aud": ["another"] }), JwtError::Audience),
        (json!({ "aud": null }), JwtError::Audience),
        (json!({ "exp": null }), JwtError::Claim("exp")),
        (json!({ "exp": "2099" }), JwtError::Claim("exp")),
        (json!({ "exp": NOW_S * 1_000_000 }), JwtError::Claim("exp")),
        (json!({ "nbf": true }), JwtError::Claim("nbf")),
        (json!({ "iat": -1 }), JwtError::Claim("iat")),
        (json!({ "sub": "" }), JwtError::Claim("sub")),
        (json!({ "sub": 7 }), JwtError::Claim("sub")),
        (json!({ "sub": "a\nb" }), JwtError::Claim("sub")),
        (json!({ "sub": "a".repeat(256) }), JwtError::Claim("sub")),
        (json!({ "email": 7 }), JwtError::Claim("email")),
        (json!({ "tenant_id": null }), JwtError::Tenant),
        (json!({ "tenant_id": "North" }), JwtError::Tenant),
        (json!({ "tenant_id": "../south" }), JwtError::Tenant),
        (json!({ "tenant_id": "_north" }), JwtError::Tenant),
        (json!({ "tenant_id": "" }), JwtError::Tenant),
        (json!({ "tenant_id": "a".repeat(65) }), JwtError::Tenant),
    ] {
        let token = signer.sign(&claims_with(changes.clone()));
        assert_eq!(refused(&verifier, &token).await, expected, "{changes}");
    }
}

#[tokio::test]
async fn a_token_that_is_not_signed_as_it_must_be_is_refused() {
    let (rsa, ec) = (Signer::rsa("r"), Signer::ec("e"));
    let verifier = Issuer::of(&[&rsa, &ec]).verifier();
    let none = |alg: &str| unsigned(&json!({ "alg": alg }).to_string(), &claims().to_string());
    let header = |alg: &str, kid: &str| json!({ "alg": alg, "kid": kid });
    let text = claims().to_string();
    let public_key = rsa.jwk()["n"].as_str().expect("a number").to_owned();
    let hs = hs256(public_key.as_bytes(), &header("HS256", "r"), &claims());
    for (token, expected) in [
        (format!("{}.", none("none")), JwtError::Algorithm),
        (format!("{}.", none("None")), JwtError::Algorithm),
        (hs, JwtError::Algorithm),
        (
            rsa.sign_with(&header("RS384", "r"), &text),
            JwtError::Algorithm,
        ),
        (
            rsa.sign_with(&header("rs256", "r"), &text),
            JwtError::Algorithm,
        ),
        (
            rsa.sign_with(&json!({ "kid": "r" }), &text),
            JwtError::Algorithm,
        ),
        // A key of another kind than the algorithm needs.
        (
            ec.sign_with(&header("ES256", "r"), &text),
            JwtError::UnknownKey,
        ),
        (
            rsa.sign_with(&header("EdDSA", "r"), &text),
            JwtError::UnknownKey,
        ),
        (
            rsa.sign_with(&header("RS256", "x"), &text),
            JwtError::UnknownKey,
        ),
        (Signer::ec("e").sign(&claims()), JwtError::Signature),
    ] {
        assert_eq!(refused(&verifier, &token).await, expected, "{token}");
    }
    let crit = json!({ "alg": "RS256", "kid": "r", "crit": ["exp"] });
    let token = rsa.sign_with(&crit, &text);
    assert_eq!(
        refused(&verifier, &token).await,
        JwtError::CriticalExtension
    );
}

#[tokio::test]
async fn a_token_that_was_changed_is_refused() {
    for signer in [Signer::rsa("r"), Signer::ec("e"), Signer::ed("d")] {
        let verifier = Issuer::of(&[&signer]).verifier();
        let token = signer.sign(&claims());
        let (signed, signature) = token.rsplit_once('.').expect("a signature");
        let (header, _) = signed.split_once('.').expect("a header");
        let other = claims_with(json!({ "tenant_id": "south" })).to_string();
        let forged = format!("{header}.{}.{signature}", coded(other.as_bytes()));
        assert_eq!(refused(&verifier, &forged).await, JwtError::Signature);
        for signature in ["", "AAAA", &coded(&[0; 64]), &coded(&[0; 256])] {
            let forged = format!("{signed}.{signature}");
            assert_eq!(refused(&verifier, &forged).await, JwtError::Signature);
        }
        // The first is remembered, which helps none of the others.
        assert!(verifier.verify_at(&token, NOW).await.is_ok());
        assert_eq!(refused(&verifier, &forged).await, JwtError::Signature);
    }
}

#[tokio::test]
async fn what_is_no_token_at_all_is_refused_before_anybody_is_asked() {
    let signer = Signer::ed("d");
    let issuer = Issuer::of(&[&signer]);
    let verifier = issuer.verifier();
    let text = claims().to_string();
    let twice = text.replacen('{', r#"{"tenant_id":"south","#, 1);
    let header_twice = format!(
        "{}.{}.AAAA",
        coded(br#"{"alg":"EdDSA","alg":"EdDSA"}"#),
        coded(text.as_bytes())
    );
    let whole = signer.sign(&claims());
    for token in [
        "",
        "a.b",
        "....",
        "eyJhbGciOiJFZERTQSJ9..AAAA",
        &whole.replace('.', ":"),
        &format!("{whole}="),
        &format!("{whole} "),
        &format!(" {whole}"),
        &format!("{whole}.AAAA"),
        &signer.sign_with(&signer.header(), &twice),
        &signer.sign_with(&signer.header(), "[]"),
        &signer.sign_with(&signer.header(), &format!("{text}{text}")),
        &signer.sign_with(&json!({ "alg": "EdDSA", "kid": 7 }), &text),
        &signer.sign_with(&json!({ "alg": "EdDSA", "typ": "logout+jwt" }), &text),
        &header_twice,
    ] {
        let error = refused(&verifier, token).await;
        assert!(matches!(error, JwtError::Malformed(_)), "{token}: {error}");
    }
    let padding = "a".repeat(TOKEN_BYTES_MAX);
    let long = signer.sign(&claims_with(json!({ "padding": padding })));
    assert_eq!(refused(&verifier, &long).await, JwtError::TooLong);
    assert_eq!(issuer.asked(), 0);
}

#[tokio::test]
async fn keys_that_are_not_for_this_are_passed_over() {
    let (signer, text) = (Signer::ec("e"), claims().to_string());
    for (name, value) in [
        ("use", json!("enc")),
        ("key_ops", json!(["sign"])),
        ("alg", json!("RS256")),
        ("crv", json!("P-384")),
        ("kty", json!("RSA")),
        ("x", json!("AAAA")),
    ] {
        let good = Signer::ed("d");
        let issuer = Issuer::of(&[&signer, &good]);
        if let Ok(keys) = &mut issuer.0.lock().keys {
            keys[0][name] = value;
        }
        let verifier = issuer.verifier();
        let error = refused(&verifier, &signer.sign(&claims())).await;
        assert_eq!(error, JwtError::UnknownKey, "{name}");
        assert!(verifier.verify_at(&good.sign(&claims()), NOW).await.is_ok());
    }
    // Which of two keys is meant, a token has to say.
    let issuer = Issuer::of(&[&signer, &Signer::ec("f")]);
    let token = signer.sign_with(&json!({ "alg": "ES256" }), &text);
    assert_eq!(
        refused(&issuer.verifier(), &token).await,
        JwtError::UnknownKey
    );
}
