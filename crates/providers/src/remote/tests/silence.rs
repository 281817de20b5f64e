//! What counts as life, and how long nothing of an answer may come. The response is made here, and
//! time does not pass by itself.

use bytes::Bytes;
use futures_util::stream;
use tokio::time::Instant;

use super::super::attempt_error::AttemptError;
use super::super::response_stream::{ResponseContext, ResponseStream};
use super::*;

const PING: &str = ": ping\n\n";
const ANSWER: &str = "data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n";

/// A response that says these, each so many seconds after the one before, and then nothing.
fn response(pieces: impl IntoIterator<Item = (u64, &'static str)>) -> reqwest::Response {
    let pieces: Vec<_> = pieces.into_iter().collect();
    let said = stream::iter(pieces).then(|(seconds, text)| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Ok::<_, std::io::Error>(Bytes::from_static(text.as_bytes()))
    });
    let body = reqwest::Body::wrap_stream(said.chain(stream::pending()));
    http::Response::new(body).into()
}

async fn read(
    response: reqwest::Response,
    decoder: Box<dyn Decode>,
    policy: &RetryPolicy,
) -> Result<Vec<Part>, AttemptError> {
    let context = ResponseContext {
        place: "a:1".to_owned(),
        secrets: Default::default(),
        request_id: None,
        declared: true,
    };
    let mut answer = ResponseStream::begin(response, decoder, context, policy).await?;
    let mut parts = Vec::new();
    while let Some(part) = answer.next().await {
        parts.push(part?);
    }
    Ok(parts)
}

async fn read_plain(
    pieces: impl IntoIterator<Item = (u64, &'static str)>,
) -> (Result<Vec<Part>, AttemptError>, Duration) {
    let before = Instant::now();
    let decoder = Plain.decoder(&RequestTarget::unknown("tiny"), "");
    let policy = RetryPolicy::default();
    let parts = read(response(pieces), decoder, &policy).await;
    (parts, before.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_for_25_minutes_is_waited_for_while_it_gives_signs_of_life() {
    let pings = std::iter::repeat_n((20, PING), 25 * 3);
    let (parts, took) = read_plain(pings.chain([(1, ANSWER)])).await;
    assert_eq!(parts.expect("an answer"), [delta("a"), finish()]);
    assert!(took >= Duration::from_secs(25 * 60));
}

#[tokio::test(start_paused = true)]
async fn so_is_one_that_thinks_within_its_answer() {
    let begun = (1, "data: {\"text\":\"a\"}\n\n");
    let pings = std::iter::repeat_n((20, PING), 25 * 3);
    let (parts, _) = read_plain([begun].into_iter().chain(pings).chain([(1, ANSWER)])).await;
    assert_eq!(
        parts.expect("an answer"),
        [delta("a"), delta("a"), finish()]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_at_all_is_an_error() {
    let (parts, took) = read_plain([]).await;
    let error = parts.expect_err("silence");
    assert_eq!(error.kind, ErrorKind::Stalled);
    assert_eq!(error.what, "nothing came for 5 min");
    assert_eq!(took.as_secs(), 300);
    let (parts, took) = read_plain([(1, "data: {\"text\":\"a\"}\n\n")]).await;
    assert_eq!(parts.expect_err("silence").kind, ErrorKind::Stalled);
    assert_eq!(took.as_secs(), 241);
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_alone_are_no_answer_for_ever() {
    let (parts, took) = read_plain(std::iter::repeat_n((20, PING), 1000)).await;
    let error = parts.expect_err("no answer");
    assert_eq!(error.kind, ErrorKind::Stalled);
    assert!(
        error.what.contains("nothing of an answer came for 30 min"),
        "{}",
        error.what
    );
    assert_eq!(took.as_secs(), 30 * 60);
}

/// It says that its answer ends, and keeps the connection open, pinging.
#[tokio::test(start_paused = true)]
async fn after_the_last_word_its_counts_are_waited_for_no_longer_than_five_seconds() {
    let chat =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    for (wire, said) in [(Wire::Chat, chat), (Wire::Gemini, gemini)] {
        for pings in [0, 1000] {
            let before = Instant::now();
            let pieces = [(1, said)].into_iter();
            let pieces = pieces.chain(std::iter::repeat_n((2, PING), pings));
            let decoder = wire.decoder(&RequestTarget::unknown("tiny"), "");
            let parts = read(response(pieces), decoder, &RetryPolicy::default()).await;
            let parts = parts.expect("an answer");
            assert!(
                matches!(parts.last(), Some(Part::Finish { .. })),
                "{parts:?}"
            );
            assert_eq!(before.elapsed().as_secs(), 6, "{wire:?}");
        }
    }
}

/// Counts that come in time are read.
#[tokio::test(start_paused = true)]
async fn counts_after_the_last_word_are_read() {
    let said =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let counts =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n";
    let decoder = Wire::Chat.decoder(&RequestTarget::unknown("tiny"), "");
    let parts = read(
        response([(1, said), (3, counts)]),
        decoder,
        &RetryPolicy::default(),
    )
    .await;
    let parts = parts.expect("an answer");
    assert!(
        matches!(parts.last(), Some(Part::Finish { usage, .. }) if usage.input_tokens == 7),
        "{parts:?}"
    );
}
