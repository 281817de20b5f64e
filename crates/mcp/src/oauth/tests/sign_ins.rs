//! Ways to sign in that work.

use super::*;

#[tokio::test]
async fn a_person_signs_in_with_a_browser_and_the_server_is_used() {
    let person = Person::at(script()).await;
    let before = person.request().await.expect_err("nobody signed in");
    assert!(
        matches!(&before, AuthFailure::SignInNeeded(_)),
        "{before:?}"
    );
    assert!(before.to_string().contains("dragoman mcp login notes"));
    assert!(person.sign_in.is_wanted());

    let back = person.allow().await;
    assert!(person.sign_in.is_pending());
    let (page, finished) = tokio::join!(person.go(back), person.sign_in.finish(None));
    assert_eq!(finished, Ok(()));
    assert_eq!(page.0, 200);
    assert!(page.1.contains("Signed in"), "{}", page.1);
    assert_eq!(person.request().await, Ok(200));
    assert!(!person.sign_in.is_pending() && !person.sign_in.is_wanted());

    let script = person.server.script.lock();
    let asked = &script.authorized[0];
    assert_eq!(asked["resource"], person.server.url().as_str());
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["scope"], "read");
    assert_eq!(asked["client_id"], "client-1");
    assert_eq!(script.token_requests[0]["resource"], asked["resource"]);
    let redirect = &script.registered[0]["redirect_uris"][0];
    assert_eq!(redirect.as_str(), Some(asked["redirect_uri"].as_str()));
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
}

#[tokio::test]
async fn a_code_alone_is_enough() {
    let person = Person::at(script()).await;
    let back = person.allow().await;
    let code = value_of(&back, "code");
    assert_eq!(person.sign_in.finish(code).await, Ok(()));
    assert_eq!(person.request().await, Ok(200));
}

#[tokio::test]
async fn signing_in_again_asks_for_what_the_server_wants_beside_what_there_is() {
    let person = Person::at(script()).await;
    person.signs_in().await;
    person.server.script.lock().required_scope = "write".to_owned();
    let failure = person.request().await.expect_err("not allowed");
    assert!(matches!(&failure, AuthFailure::MoreScopesNeeded(_)));
    assert!(failure.to_string().contains("(write)"), "{failure}");
    assert!(person.sign_in.is_wanted());
    person.signs_in().await;
    assert_eq!(
        person.server.script.lock().authorized[1]["scope"],
        "read write"
    );
    assert_eq!(person.request().await, Ok(200));
}

#[tokio::test]
async fn what_is_configured_goes_before_what_the_server_says() {
    let mut person = Person::at(script()).await;
    let target = SignInTarget {
        scopes: vec!["read".to_owned(), "more".to_owned()],
        resource: Some("urn:notes".to_owned()),
        ..person.sign_in.target.clone()
    };
    let kept = Arc::clone(&person.kept) as Arc<_>;
    person.sign_in = ServerSignIn::new(target, kept, Arc::new(Names));
    person.signs_in().await;
    let script = person.server.script.lock();
    assert_eq!(script.authorized[0]["scope"], "read more");
    assert_eq!(script.authorized[0]["resource"], "urn:notes");
    assert_eq!(script.token_requests[0]["resource"], "urn:notes");
}
