//! When an issuer is asked for its keys, and when it is not.

use futures_util::future::join_all;
use tokio::time::advance;

use super::*;
use crate::jwt::limits::{FAILED_FETCH_REST, KEYS_FRESH_MAX, KEYS_STALE_MAX, UNKNOWN_KEY_EVERY};

const FRESH: Duration = Duration::from_secs(300);

/// A token of its own each time, so that none is remembered.
fn token(signer: &Signer, number: usize) -> String {
    signer.sign(&claims_with(json!({ "jti": number })))
}

#[tokio::test(start_paused = true)]
async fn a_crowd_of_tokens_asks_once() {
    let signer = Signer::ed("d");
    let issuer = Issuer::of(&[&signer]);
    let verifier = issuer.verifier();
    let tokens: Vec<_> = (0..20).map(|number| token(&signer, number)).collect();
    let verified = join_all(tokens.iter().map(|token| verifier.verify_at(token, NOW))).await;
    assert!(verified.iter().all(Result::is_ok));
    assert_eq!(issuer.asked(), 1);
    advance(FRESH).await;
    assert!(verifier.verify_at(&token(&signer, 21), NOW).await.is_ok());
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_learnt_without_a_restart_and_the_old_one_goes_with_it() {
    let (old, new) = (Signer::ed("old"), Signer::ec("new"));
    let issuer = Issuer::of(&[&old]);
    let verifier = issuer.verifier();
    let remembered = token(&old, 0);
    assert!(verifier.verify_at(&remembered, NOW).await.is_ok());
    issuer.publish(&[&new]);
    assert!(verifier.verify_at(&remembered, NOW).await.is_ok());
    assert!(verifier.verify_at(&token(&new, 1), NOW).await.is_ok());
    let verified = verifier.verify_at(&remembered, NOW).await;
    assert_eq!(verified, Err(JwtError::UnknownKey));
}

#[tokio::test(start_paused = true)]
async fn an_old_key_goes_by_itself_when_the_keys_are_too_old() {
    let (old, new) = (Signer::ed("old"), Signer::ed("new"));
    let issuer = Issuer::of(&[&old]);
    issuer.0.lock().fresh_for = Duration::from_secs(86_400);
    let verifier = issuer.verifier();
    assert!(verifier.verify_at(&token(&old, 0), NOW).await.is_ok());
    issuer.publish(&[&new]);
    advance(KEYS_FRESH_MAX).await;
    let verified = verifier.verify_at(&token(&old, 1), NOW).await;
    assert_eq!(verified, Err(JwtError::UnknownKey));
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_do_not_make_us_ask_again_and_again() {
    let (signer, stranger) = (Signer::ed("d"), Signer::ed("x"));
    let issuer = Issuer::of(&[&signer]);
    let verifier = issuer.verifier();
    assert!(verifier.verify_at(&token(&signer, 0), NOW).await.is_ok());
    for number in 0..50 {
        let verified = verifier.verify_at(&token(&stranger, number), NOW).await;
        assert_eq!(verified, Err(JwtError::UnknownKey));
    }
    assert_eq!(issuer.asked(), 2);
    advance(UNKNOWN_KEY_EVERY).await;
    let verified = verifier.verify_at(&token(&stranger, 50), NOW).await;
    assert_eq!(verified, Err(JwtError::UnknownKey));
    assert_eq!(issuer.asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn keys_are_used_for_a_while_when_newer_ones_cannot_be_had() {
    let signer = Signer::ed("d");
    let issuer = Issuer::of(&[&signer]);
    let verifier = issuer.verifier();
    assert!(verifier.verify_at(&token(&signer, 0), NOW).await.is_ok());
    issuer.break_down();
    advance(FRESH).await;
    for number in 1..10 {
        assert!(
            verifier
                .verify_at(&token(&signer, number), NOW)
                .await
                .is_ok()
        );
    }
    assert_eq!(issuer.asked(), 2);
    advance(KEYS_STALE_MAX).await;
    let verified = verifier.verify_at(&token(&signer, 11), NOW).await;
    assert_eq!(verified, Err(JwtError::KeysUnavailable));
    // It is left alone for a moment, and then asked again.
    issuer.publish(&[&signer]);
    let verified = verifier.verify_at(&token(&signer, 12), NOW).await;
    assert_eq!(verified, Err(JwtError::KeysUnavailable));
    assert_eq!(issuer.asked(), 3);
    advance(FAILED_FETCH_REST).await;
    assert!(verifier.verify_at(&token(&signer, 13), NOW).await.is_ok());
}
