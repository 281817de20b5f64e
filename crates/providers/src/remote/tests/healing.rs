//! Conversations with something in them that the service does not take: asked again without it,
//! once, and told.

use super::server::{Server, Step, events, reply};
use super::*;
use crate::Message;

const THOUGHTS: &str = r#"{"error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified."}}"#;
const PICTURE: &str = r#"{"error":{"message":"image exceeds 5 MB maximum"}}"#;
const SUMMARY: &str =
    r#"{"error":{"param":"reasoning.summary","message":"Your organization must be verified."}}"#;

fn good() -> Vec<Step> {
    vec![Step::Send(events(&[r#"{"text":"a"}"#, "[DONE]"], true))]
}

fn refused(body: &str) -> Vec<Step> {
    vec![Step::Send(reply(400, &[], body))]
}

/// Takes only requests that hold this.
async fn strict(refusal: &'static str, wanted: &'static str) -> Server {
    Server::hearing(move |_, body| match body.contains(wanted) {
        true => good(),
        false => refused(refusal),
    })
    .await
}

fn conversation(key: &str, users: usize) -> ModelRequest {
    ModelRequest {
        cache_key: Some(key.to_owned()),
        messages: std::iter::repeat_with(|| Arc::new(Message::user("hi")))
            .take(users)
            .collect(),
        ..request()
    }
}

async fn ask(remote: &Remote, request: ModelRequest) -> (Vec<String>, Vec<Part>) {
    let stream = remote.stream(request).await.expect("a stream");
    let (parts, error) = collect(stream).await;
    assert_eq!(error, None);
    for part in &parts {
        if let Part::Retrying { delay, .. } = part {
            assert_eq!(*delay, Duration::ZERO);
        }
    }
    retries(parts)
}

#[tokio::test]
async fn a_thought_that_is_not_taken_back_is_left_out_and_not_sent_again() {
    let mut server = strict(THOUGHTS, r#""natives""#).await;
    let remote = remote(&server.url(), quick());
    let (whys, rest) = ask(&remote, conversation("a", 1)).await;
    assert_eq!(
        whys,
        [
            "HTTP 400: The encrypted content could not be verified.; asked again without the hidden \
          thoughts of earlier answers"
        ]
    );
    assert_eq!(rest, [delta("a"), finish()]);
    assert_eq!(server.rest().len(), 2);

    let (whys, _) = ask(&remote, conversation("a", 2)).await;
    assert_eq!((whys.len(), server.rest().len()), (0, 1), "known by now");
    let (whys, _) = ask(&remote, conversation("b", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (1, 2), "another thread");
}

#[tokio::test]
async fn pictures_go_the_old_ones_first() {
    let mut server = strict(PICTURE, r#""pictures":"Old""#).await;
    let (whys, _) = ask(&remote(&server.url(), quick()), conversation("a", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (1, 2), "{whys:?}");

    let mut server = strict(PICTURE, r#""pictures":"All""#).await;
    let remote = remote(&server.url(), quick());
    let (whys, _) = ask(&remote, conversation("a", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (2, 3), "{whys:?}");
    assert!(
        whys[0].ends_with("without the earlier pictures"),
        "{whys:?}"
    );
    assert!(whys[1].ends_with("without pictures"), "{whys:?}");
    let (whys, _) = ask(&remote, conversation("a", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (0, 1));
    // What the user shows next may be better.
    ask(&remote, conversation("a", 2)).await;
    assert!(server.next().await.body.contains(r#""pictures":"Old""#));
}

#[tokio::test]
async fn an_account_without_summaries_is_asked_for_them_once() {
    let mut server = strict(SUMMARY, r#""summaries""#).await;
    let remote = remote(&server.url(), quick());
    let (whys, _) = ask(&remote, conversation("a", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (1, 2));
    let (whys, _) = ask(&remote, conversation("b", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (0, 1));
}

#[tokio::test]
async fn a_refusal_that_stays_is_an_error_after_one_more_request() {
    for (refusal, requests) in [(THOUGHTS, 2), (PICTURE, 3), (SUMMARY, 2)] {
        let mut server = Server::start(move |_| refused(refusal)).await;
        let remote = remote(&server.url(), quick());
        let stream = remote.stream(conversation("a", 1)).await.expect("a stream");
        let (_, error) = collect(stream).await;
        assert_eq!(error.expect("refused").kind, ErrorKind::BadRequest);
        assert_eq!(server.rest().len(), requests, "{refusal}");
    }
}

#[tokio::test]
async fn what_was_not_in_the_request_is_not_left_out() {
    let mut server = Server::start(|_| refused(PICTURE)).await;
    let remote = remote(&server.url(), quick());
    let (parts, error) = run(&remote).await;
    assert_eq!(
        (parts, error.map(|error| error.kind)),
        (vec![], Some(ErrorKind::BadRequest))
    );
    assert_eq!(server.rest().len(), 1, "there was no picture");
}

#[tokio::test]
async fn an_error_told_in_the_stream_is_healed_too() {
    let mut server = Server::hearing(|_, body| match body.contains("natives") {
        true => good(),
        false => {
            let error = r#"{"refusal":"Invalid `signature` in `thinking` block"}"#;
            vec![Step::Send(events(&[error], true))]
        }
    })
    .await;
    let (whys, _) = ask(&remote(&server.url(), quick()), conversation("a", 1)).await;
    assert_eq!((whys.len(), server.rest().len()), (1, 2));
}
