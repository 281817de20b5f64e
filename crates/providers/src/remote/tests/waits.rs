//! Waits that a provider asks for: obeyed to the moment, and together.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::join_all;
use tokio::sync::{Barrier, Notify};
use tokio::time::Instant;

use super::server::{Seen, Server, Step, events, reply};
use super::*;

fn good() -> Vec<u8> {
    events(&[r#"{"text":"a"}"#, "[DONE]"], true)
}

async fn limited_once(headers: Vec<(&'static str, String)>) -> Server {
    Server::start(move |number| {
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        match number {
            0 => vec![Step::Send(reply(429, &headers, "slow down"))],
            _ => vec![Step::Send(good())],
        }
    })
    .await
}

#[tokio::test]
async fn the_wait_is_at_least_what_was_asked_for() {
    let now = SystemTime::now();
    let date = |seconds| httpdate::fmt_http_date(now + Duration::from_secs(seconds));
    let cases = [
        (vec![("retry-after-ms", "300".to_owned())], 300),
        (vec![("retry-after", "1".to_owned())], 1000),
        (vec![("date", date(0)), ("retry-after", date(1))], 1000),
    ];
    for (headers, milliseconds) in cases {
        let mut server = limited_once(headers).await;
        let (parts, error) = run(&remote(&server.url(), quick())).await;
        assert_eq!(error, None);
        let asked = Duration::from_millis(milliseconds);
        let Some(Part::Retrying {
            attempt: 1, delay, ..
        }) = parts.first()
        else {
            panic!("no retry was told: {parts:?}");
        };
        assert!(*delay >= asked && *delay < asked * 2, "{delay:?}");
        let (first, second) = (server.next().await, server.next().await);
        assert!(second.at - first.at >= asked);
    }
}

#[tokio::test]
async fn a_wait_beyond_patience_fails_at_once_and_says_when() {
    let mut server = Server::saying(reply(429, &[("retry-after", "3660")], "slow down")).await;
    let remote = remote(&server.url(), quick());
    let before = Instant::now();
    let error = fail(&remote).await;
    assert!(before.elapsed() < Duration::from_secs(1));
    assert_eq!(
        error.message,
        "Acme (tiny): HTTP 429: slow down; try again in 1 h 1 min"
    );
    assert_eq!(
        (error.kind, error.status),
        (ErrorKind::RateLimited, Some(429))
    );
    assert_eq!(server.rest().len(), 1);
}

/// A plan that is renewed soon is waited for, where a person allows such waits.
#[tokio::test]
async fn a_quota_that_is_renewed_in_time_is_waited_for() {
    let body =
        r#"{"error":{"type":"usage_limit_reached","message":"Used up","resets_in_seconds":1}}"#;
    let mut server = Server::start(move |number| match number {
        0 => vec![Step::Send(reply(429, &[], body))],
        _ => vec![Step::Send(good())],
    })
    .await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    assert_eq!((retries(parts).0.len(), error), (1, None));
    let (first, second) = (server.next().await, server.next().await);
    assert!(second.at - first.at >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_wait_told_in_words_counts_in_a_refusal_and_in_a_stream() {
    let words = "Rate limit reached. Please try again in 700ms.";
    let refusal = serde_json::json!({ "error": { "message": words } }).to_string();
    let within = serde_json::json!({ "error": words }).to_string();
    for said in [reply(429, &[], &refusal), events(&[&within], true)] {
        let mut server = Server::start(move |number| match number {
            0 => vec![Step::Send(said.clone())],
            _ => vec![Step::Send(good())],
        })
        .await;
        assert_eq!(run(&remote(&server.url(), quick())).await.1, None);
        let (first, second) = (server.next().await, server.next().await);
        assert!(second.at - first.at >= Duration::from_millis(700));
    }
}

/// All of them are refused at the same moment. The server counts who comes back too early.
#[tokio::test]
async fn twenty_requests_meet_a_limit_and_none_comes_back_before_its_time() {
    const REQUESTS: usize = 20;
    let wait = Duration::from_millis(400);
    let all_here = Arc::new(Notify::new());
    let script = Arc::clone(&all_here);
    let mut server = Server::start(move |number| match number {
        ..REQUESTS => vec![
            Step::Await(Arc::clone(&script)),
            Step::Send(reply(429, &[("retry-after-ms", "400")], "slow down")),
        ],
        _ => vec![Step::Send(good())],
    })
    .await;
    let remote = remote(&server.url(), quick());
    let calls: Vec<_> = (0..REQUESTS)
        .map(|_| {
            let remote = remote.clone();
            tokio::spawn(async move { run(&remote).await })
        })
        .collect();
    for _ in 0..REQUESTS {
        server.next().await;
    }
    let refused = Instant::now();
    all_here.notify_waiters();
    for call in join_all(calls).await {
        let (parts, error) = call.expect("no panic");
        assert_eq!(error, None);
        let (whys, rest) = retries(parts);
        assert!(!whys.is_empty());
        assert_eq!(rest, [delta("a"), finish()]);
    }
    let again: Vec<Seen> = server.rest();
    assert_eq!(again.len(), REQUESTS, "each came back once");
    let early = again.iter().filter(|seen| seen.at < refused + wait);
    assert_eq!(early.count(), 0);
    let first = again.iter().map(|seen| seen.at).min().expect("some");
    let last = again.iter().map(|seen| seen.at).max().expect("some");
    assert!(
        last - first > Duration::from_millis(10),
        "they came back all at once"
    );
}

/// One is refused; another that starts meanwhile does not even try.
#[tokio::test]
async fn who_comes_while_another_waits_waits_too() {
    let mut server = limited_once(vec![("retry-after-ms", "500".to_owned())]).await;
    let remote = remote(&server.url(), quick());
    let mut first = start(&remote).await;
    let told = first.next().await.expect("a part").expect("a retry");
    assert!(matches!(told, Part::Retrying { .. }));
    let refused = server.next().await.at;

    let (second, rest_of_first) = tokio::join!(run(&remote), collect(first));
    assert_eq!(rest_of_first, (vec![delta("a"), finish()], None));
    let (whys, rest) = retries(second.0);
    assert!(whys[0].starts_with("Acme asked to wait 1 s"), "{whys:?}");
    assert_eq!(rest, [delta("a"), finish()]);
    for seen in server.rest() {
        assert!(seen.at - refused >= Duration::from_millis(500));
    }
}

/// The limit lasts longer than was said: those who wait behind the gate do not use up their attempts,
/// and the server is asked a few times instead of by everyone.
#[tokio::test]
async fn a_limit_that_goes_on_is_not_stormed() {
    const REQUESTS: usize = 20;
    let begin = Arc::new(Barrier::new(REQUESTS));
    let opened = Instant::now() + Duration::from_millis(500);
    let mut server = Server::start(move |_| match Instant::now() < opened {
        true => vec![Step::Send(reply(
            429,
            &[("retry-after-ms", "100")],
            "slow down",
        ))],
        false => vec![Step::Send(good())],
    })
    .await;
    let remote = remote(
        &server.url(),
        RetryPolicy {
            attempts_max: 8,
            backoff: Duration::from_millis(40),
            ..quick()
        },
    );
    let calls: Vec<_> = (0..REQUESTS)
        .map(|_| {
            let (remote, begin) = (remote.clone(), Arc::clone(&begin));
            tokio::spawn(async move {
                begin.wait().await;
                run(&remote).await
            })
        })
        .collect();
    for call in join_all(calls).await {
        assert_eq!(call.expect("no panic").1, None);
    }
    let seen = server.rest();
    // Everyone once at first and once in the end; in between, five waits of a tenth of a second.
    assert!(seen.len() < REQUESTS * 5, "{} requests", seen.len());
}
