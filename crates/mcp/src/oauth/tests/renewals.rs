//! Tokens that expire, are revoked, or are used up.

use super::*;

#[tokio::test]
async fn an_expired_token_is_renewed_once_for_all_that_wait() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    let first = person.kept_access();
    person.expires();
    let eight = (0..8).map(|_| person.request());
    for outcome in futures_util::future::join_all(eight).await {
        assert_eq!(outcome, Ok(200));
    }
    assert_eq!(person.server.refreshes(), 1);
    assert_ne!(person.kept_access(), first);
    // The refresh token was replaced as well, and the new one is good.
    person.expires();
    assert_eq!(person.request().await, Ok(200));
    assert_eq!(person.server.refreshes(), 2);
    let script = person.server.script.lock();
    let form = script.token_requests.last().expect("a request");
    assert_eq!(form["resource"], person.server.url().as_str());
}

#[tokio::test]
async fn a_token_that_the_server_no_longer_takes_is_renewed() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    person.server.revoke_access();
    assert_eq!(person.request().await, Ok(200));
    assert_eq!(person.server.refreshes(), 1);
}

#[tokio::test]
async fn a_used_up_refresh_token_is_refused_and_forgotten() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    let old = person.kept.0.lock().clone();
    person.expires();
    assert_eq!(person.request().await, Ok(200));
    // Somebody puts the old ones back.
    *person.kept.0.lock() = old;
    person.server.revoke_access();
    let failure = person.request().await.expect_err("refused");
    assert!(
        matches!(failure, AuthFailure::SignInNeeded(_)),
        "{failure:?}"
    );
    assert_eq!(person.kept_access(), None);
    assert!(person.sign_in.is_wanted());
}

#[tokio::test]
async fn a_fault_of_the_sign_in_server_loses_nothing() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    person.expires();
    person.server.script.lock().broken = true;
    let failure = person.request().await.expect_err("no token");
    assert!(
        matches!(failure, AuthFailure::Unavailable(_)),
        "{failure:?}"
    );
    // Nor is somebody told to sign in, when the request is made without a token.
    let without = RefusedRequest {
        status: 401,
        challenge: None,
        sent: None,
    };
    let failure = person.sign_in.refused(without).await;
    assert!(matches!(failure, Err(AuthFailure::Unavailable(_))));
    assert!(!person.sign_in.is_wanted());
    person.server.script.lock().broken = false;
    assert_eq!(person.request().await, Ok(200));
}

#[tokio::test]
async fn a_renewal_is_kept_also_when_nobody_waits_for_it() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    person.expires();
    let first = person.kept_access();
    {
        let mut request = Box::pin(person.sign_in.bearer());
        // It is begun, and given up at once.
        assert!(futures_util::poll!(&mut request).is_pending());
    }
    // Whoever comes next waits for the same renewal.
    assert_eq!(person.request().await, Ok(200));
    assert_eq!(person.server.refreshes(), 1);
    assert_ne!(person.kept_access(), first);
}

#[tokio::test]
async fn a_token_goes_to_no_other_server_and_back_to_no_other_issuer() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    let moved = Person::at(script()).await;
    *moved.kept.0.lock() = person.kept.0.lock().clone();
    let bearer = moved.sign_in.bearer().await.expect("no failure");
    assert!(bearer.is_none());

    if let Some(kept) = person.kept.0.lock().as_mut() {
        kept.issuer = Some("https://other.test".to_owned());
    }
    person.expires();
    let failure = person.request().await.expect_err("another issuer");
    assert!(
        matches!(failure, AuthFailure::SignInNeeded(_)),
        "{failure:?}"
    );
    assert_eq!(person.server.refreshes(), 0);
}
