//! What is refused, with words, and changes nothing.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_wrong_state_is_refused_and_the_right_one_still_works() {
    let person = Person::at(script()).await;
    let back = person.allow().await;
    let (status, page) = person.go(with(&back, "state", Some("other"))).await;
    assert_eq!(status, 400);
    assert!(page.contains("was not begun here"), "{page}");
    let pasted = with(&back, "state", None).into();
    let refused = person.sign_in.finish(Some(pasted)).await;
    assert!(refused.is_err_and(|words| words.contains("was not begun here")));
    let (status, page) = person.go(with(&back, "code", None)).await;
    assert_eq!(status, 400);
    assert!(page.contains("no code"), "{page}");
    let mut elsewhere = back.clone();
    elsewhere.set_path("/other");
    assert_eq!(person.go(elsewhere).await.0, 404);
    assert!(person.server.script.lock().token_requests.is_empty());

    let (page, finished) = tokio::join!(person.go(back), person.sign_in.finish(None));
    assert_eq!((page.0, finished), (200, Ok(())));
}

#[tokio::test]
async fn a_code_is_good_once() {
    let person = Person::at(script()).await;
    let back = person.allow().await;
    let code = value_of(&back, "code");
    assert_eq!(person.sign_in.finish(code.clone()).await, Ok(()));
    let again = person.sign_in.finish(code.clone()).await;
    assert!(again.is_err_and(|words| words.contains("begin it first")));
    // The listener is gone with the sign-in.
    assert!(person.browser.get(back).send().await.is_err());

    person.allow().await;
    let reused = person.sign_in.finish(code).await;
    let words = reused.expect_err("used up");
    assert!(words.contains("invalid_grant"), "{words}");
    assert!(!words.contains("code-"), "{words}");
}

#[tokio::test]
async fn who_declines_is_not_signed_in() {
    let person = Person::at(Script {
        declines: true,
        ..script()
    })
    .await;
    let back = person.allow().await;
    let (page, finished) = tokio::join!(person.go(back), person.sign_in.finish(None));
    assert_eq!(page.0, 400);
    assert_eq!(
        finished,
        Err("The sign-in was declined: access_denied.".to_owned())
    );
    assert_eq!(person.kept_access(), None);
}

#[tokio::test]
async fn another_issuer_is_refused() {
    let person = Person::at(script()).await;
    let set = |name, value| person.server.script.lock().metadata.insert(name, value);
    set("issuer", json!("https://other.test"));
    let refused = person.sign_in.begin().await.expect_err("another issuer");
    assert!(refused.contains("https://other.test"), "{refused}");

    set("issuer", json!(person.server.origin));
    person.server.script.lock().iss = Some("https://other.test".to_owned());
    let back = person.allow().await;
    let refused = person.sign_in.finish(Some(back.into())).await;
    assert!(refused.is_err_and(|words| words.contains("https://other.test")));
    assert!(person.server.script.lock().token_requests.is_empty());

    set(
        "authorization_response_iss_parameter_supported",
        json!(true),
    );
    person.server.script.lock().iss = None;
    let back = person.allow().await;
    let refused = person.sign_in.finish(Some(back.into())).await;
    assert!(refused.is_err_and(|words| words.contains("does not say")));
}

#[tokio::test]
async fn addresses_that_are_only_reachable_from_here_are_refused() {
    for (name, address, words) in [
        ("token_endpoint", "https://10.0.0.1/token", "private"),
        ("token_endpoint", "https://internal.test/token", "private"),
        (
            "token_endpoint",
            "http://93.184.216.34/token",
            "not an https",
        ),
        ("registration_endpoint", "https://169.254.169.254/", "cloud"),
        (
            "authorization_endpoint",
            "https://[fd00::1]/",
            "unique local",
        ),
        (
            "authorization_endpoint",
            "javascript:alert(1)",
            "not an https",
        ),
    ] {
        let mut script = script();
        script.metadata.insert(name, json!(address));
        let person = Person::at(script).await;
        let refused = person.sign_in.begin().await.expect_err(address);
        assert!(refused.contains(words), "{address}: {refused}");
        assert!(person.server.script.lock().registered.is_empty());
    }
    for address in [
        "https://10.0.0.1",
        "https://internal.test",
        "http://169.254.169.254",
    ] {
        let person = Person::at(Script {
            authorization_servers: Some(vec![address.to_owned()]),
            ..script()
        })
        .await;
        let refused = person.sign_in.begin().await.expect_err(address);
        assert!(refused.contains(address), "{refused}");
    }
}

#[tokio::test]
async fn a_sign_in_server_without_pkce_is_refused() {
    let mut script = script();
    script
        .metadata
        .insert("code_challenge_methods_supported", json!(["plain"]));
    let person = Person::at(script).await;
    let refused = person.sign_in.begin().await.expect_err("no PKCE");
    assert!(refused.contains("PKCE"), "{refused}");
}

#[tokio::test]
async fn a_sign_in_that_takes_too_long_ends() {
    let person = Person::at(script()).await;
    let back = person.allow().await;
    tokio::time::pause();
    let finished = person.sign_in.finish(None).await;
    tokio::time::resume();
    assert!(finished.is_err_and(|words| words.contains("expired")));
    assert!(!person.sign_in.is_pending());
    assert!(person.browser.get(back).send().await.is_err());
}

#[tokio::test]
async fn one_that_is_begun_again_ends_the_one_before() {
    let person = Person::at(script()).await;
    person.allow().await;
    let first = person.sign_in.finish(None);
    let begun = async {
        tokio::task::yield_now().await;
        person.signs_in().await;
    };
    let (first, ()) = tokio::join!(first, begun);
    assert!(first.is_err_and(|words| words.contains("given up")));
    assert_eq!(person.request().await, Ok(200));
}
