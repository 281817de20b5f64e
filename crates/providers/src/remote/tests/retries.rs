//! What is tried again, how often, and what never is.

use super::server::{Server, Step, events, events_head, reply};
use super::*;

fn good() -> Vec<u8> {
    events(&[r#"{"text":"a"}"#, "[DONE]"], true)
}

/// Fails so often with these steps, then answers.
async fn failing(times: usize, failure: impl Fn() -> Vec<Step> + Send + Sync + 'static) -> Server {
    Server::start(move |number| match number < times {
        true => failure(),
        false => vec![Step::Send(good())],
    })
    .await
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_told() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        let mut server = failing(2, move || {
            vec![Step::Send(reply(status, &[("request-id", "r9")], "busy"))]
        })
        .await;
        let policy = RetryPolicy {
            backoff: Duration::from_millis(10),
            ..quick()
        };
        let (parts, error) = run(&remote(&server.url(), policy)).await;
        assert_eq!(error, None);
        let told: Vec<(u32, Duration)> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Retrying { attempt, delay, .. } => Some((*attempt, *delay)),
                _ => None,
            })
            .collect();
        assert_eq!(
            told.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(),
            [1, 2]
        );
        let (whys, rest) = retries(parts);
        assert_eq!(whys[0], format!("HTTP {status}: busy (request r9)"));
        assert_eq!(rest, [delta("a"), finish()]);

        let seen = server.rest();
        assert_eq!(seen.len(), 3);
        for (two, (_, delay)) in seen.windows(2).zip(told) {
            assert!(two[1].at - two[0].at >= delay, "sent before its time");
        }
    }
}

#[tokio::test]
async fn what_cannot_go_better_is_not() {
    let quota = (429, "insufficient_quota", ErrorKind::Quota);
    let cases = [
        (400, "bad", ErrorKind::BadRequest),
        (401, "bad", ErrorKind::Auth),
        (403, "bad", ErrorKind::Auth),
        (404, "bad", ErrorKind::UnknownModel),
        (413, "bad", ErrorKind::BadRequest),
        (422, "bad", ErrorKind::BadRequest),
        quota,
    ];
    for (status, body, kind) in cases {
        let mut server = Server::saying(reply(status, &[("retry-after", "0")], body)).await;
        let (parts, error) = run(&remote(&server.url(), quick())).await;
        let error = error.expect("an error");
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
        assert_eq!(parts, [], "{status}");
        assert_eq!(server.rest().len(), 1, "{status}");
    }
    let mut server = Server::saying(reply(500, &[("x-should-retry", "false")], "no")).await;
    assert_eq!(
        fail(&remote(&server.url(), quick())).await.kind,
        ErrorKind::Overloaded
    );
    assert_eq!(server.rest().len(), 1);
}

/// The usual patience, without its waits: nine refusals, two minutes.
#[tokio::test(start_paused = true)]
async fn trouble_of_two_minutes_is_outlasted() {
    let mut server = failing(9, || vec![Step::Send(reply(529, &[], "busy"))]).await;
    let before = tokio::time::Instant::now();
    let (parts, error) = run(&remote(&server.url(), RetryPolicy::default())).await;
    assert_eq!(error, None);
    assert_eq!(retries(parts).0.len(), 9);
    assert_eq!(server.rest().len(), 10);
    let took = before.elapsed();
    assert!(took > Duration::from_secs(60), "{took:?}");
}

/// What a model wrote badly is asked for again, though the status says that it is hopeless.
#[tokio::test]
async fn a_slip_of_the_model_is_asked_for_again_a_few_times() {
    let body = r#"{"error":{"code":"tool_use_failed","message":"Failed to call a function."}}"#;
    let policy = RetryPolicy {
        attempts_max: 10,
        ..quick()
    };
    let mut server = failing(1, move || vec![Step::Send(reply(400, &[], body))]).await;
    assert_eq!(run(&remote(&server.url(), policy)).await.1, None);
    assert_eq!(server.rest().len(), 2);
    let mut server = Server::saying(reply(400, &[], body)).await;
    let error = fail(&remote(&server.url(), policy)).await;
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert_eq!(server.rest().len(), 3);
}

#[tokio::test]
async fn it_is_given_up_after_so_many_attempts() {
    let mut server = Server::saying(reply(503, &[], "down for repairs")).await;
    let error = fail(&remote(&server.url(), quick())).await;
    assert_eq!(error.kind, ErrorKind::Overloaded);
    assert_eq!(
        error.message,
        "Acme (tiny): HTTP 503: down for repairs (tried 3 times); try again later or use another model"
    );
    assert_eq!(server.rest().len(), 3);
}

#[tokio::test]
async fn or_after_so_much_time() {
    let mut server = Server::saying(reply(503, &[], "down")).await;
    let policy = RetryPolicy {
        attempts_max: 1000,
        total_max: Duration::from_millis(60),
        ..quick()
    };
    let before = tokio::time::Instant::now();
    let error = fail(&remote(&server.url(), policy)).await;
    assert_eq!(error.kind, ErrorKind::Overloaded);
    assert!(before.elapsed() < Duration::from_secs(2));
    assert!(server.rest().len() < 40);
}

#[tokio::test]
async fn an_overload_told_in_the_stream_counts_too_but_only_before_the_answer() {
    let mut server = failing(1, || {
        vec![Step::Send(events(&[r#"{"error":"overloaded"}"#], true))]
    })
    .await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    let (whys, rest) = retries(parts);
    assert_eq!(
        (whys, error),
        (vec!["overloaded (request req_7)".to_owned()], None)
    );
    assert_eq!(rest, [delta("a"), finish()]);
    assert_eq!(server.rest().len(), 2);

    let late = events(&[r#"{"text":"a"}"#, r#"{"error":"overloaded"}"#], true);
    let mut server = Server::saying(late).await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    assert_eq!(parts, [delta("a")]);
    assert_eq!(error.expect("an error").kind, ErrorKind::Overloaded);
    assert_eq!(server.rest().len(), 1);
}

#[tokio::test]
async fn a_response_that_breaks_before_its_first_part_is_asked_for_again() {
    let breaks: [fn() -> Vec<Step>; 4] = [
        || vec![Step::Send(events_head()), Step::Close],
        || vec![Step::Send(events_head()), Step::Reset],
        || vec![Step::Send(events(&[], true))],
        || vec![Step::Send(events(&["{}"], false)), Step::Close],
    ];
    for steps in breaks {
        let mut server = failing(1, steps).await;
        let (parts, error) = run(&remote(&server.url(), quick())).await;
        let (whys, rest) = retries(parts);
        assert_eq!((whys.len(), error), (1, None), "{whys:?}");
        assert_eq!(rest, [delta("a"), finish()]);
        assert_eq!(server.rest().len(), 2);
    }
}

#[tokio::test]
async fn a_service_that_never_answers_a_connection_is_unreachable() {
    let mut server = Server::start(|_| vec![Step::Reset]).await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    let error = error.expect("an error");
    assert_eq!(error.kind, ErrorKind::Unreachable);
    let words = format!(
        "127.0.0.1:{} closed the connection without an answer",
        server.port
    );
    assert!(error.message.contains(&words), "{error}");
    assert!(error.message.contains("(tried 3 times)"), "{error}");
    assert_eq!(retries(parts).0.len(), 2);
    assert_eq!(
        server.rest().len(),
        4,
        "three that count, and one in place of a stale one"
    );
}

#[tokio::test]
async fn a_stale_connection_is_replaced_in_silence() {
    let mut server = Server::start(|number| match number {
        // Keeps the connection after the answer, and drops it when it is used again.
        0 => vec![Step::Send(good()), Step::CloseOnNext],
        _ => vec![Step::Send(good())],
    })
    .await;
    let remote = remote(&server.url(), quick());
    assert_eq!(run(&remote).await.1, None);
    let first = server.next().await;
    // Until the connection has been given back, a request opens its own; one of these meets it.
    loop {
        let (parts, error) = run(&remote).await;
        assert_eq!((parts, error), (vec![delta("a"), finish()], None));
        let seen = server.rest();
        if seen[0].connection == first.connection {
            assert_eq!(seen.len(), 2);
            assert_ne!(seen[1].connection, first.connection);
            break;
        }
    }
}

#[tokio::test]
async fn a_credential_is_renewed_once() {
    let mut server = Server::start(|number| match number {
        0 => vec![Step::Send(reply(401, &[], "expired"))],
        _ => vec![Step::Send(good())],
    })
    .await;
    let (parts, error) = run(&remote_with(&server.url(), quick(), true)).await;
    assert_eq!((parts, error), (vec![delta("a"), finish()], None));
    assert_eq!(
        server.next().await.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(
        server.next().await.header("authorization"),
        Some(format!("Bearer {KEY}-1").as_str())
    );

    let mut server = Server::saying(reply(401, &[], "expired")).await;
    let error = fail(&remote_with(&server.url(), quick(), true)).await;
    assert_eq!(error.kind, ErrorKind::Auth);
    assert_eq!(server.rest().len(), 2);
}
