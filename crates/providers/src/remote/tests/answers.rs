//! Answers: whole, cut, stalled, dropped, and things that are none.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::server::{Server, Step, event, events, events_head, reply};
use super::*;

#[tokio::test]
async fn an_answer_comes_through_and_the_request_was_as_it_should_be() {
    let mut server = Server::saying(events(
        &[r#"{"text":"a"}"#, r#"{"text":"b"}"#, "[DONE]"],
        true,
    ))
    .await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    assert_eq!(
        (parts, error),
        (vec![delta("a"), delta("b"), finish()], None)
    );

    let seen = server.next().await;
    assert!(
        seen.head
            .starts_with("POST /v1/answer?stream=1 HTTP/1.1\r\n"),
        "{}",
        seen.head
    );
    assert_eq!(
        seen.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("accept"), Some("text/event-stream"));
    assert_eq!(seen.header("x-format"), Some("plain"));
    assert_eq!(seen.header("x-configured"), Some("yes"));
    let agent = seen.header("user-agent").expect("a name");
    assert_eq!(agent, concat!("dragoman/", env!("CARGO_PKG_VERSION")));
    assert_eq!(seen.body, r#"{"model":"tiny","system":"Be brief."}"#);
}

#[tokio::test]
async fn a_part_is_told_before_the_next_is_sent() {
    let go = Arc::new(Notify::new());
    let script = Arc::clone(&go);
    let server = Server::start(move |_| {
        vec![
            Step::Send(events(&[r#"{"text":"a"}"#], false)),
            Step::Await(Arc::clone(&script)),
            Step::Send(event("[DONE]")),
        ]
    })
    .await;
    let mut stream = start(&remote(&server.url(), quick())).await;
    assert_eq!(stream.next().await, Some(Ok(delta("a"))));
    go.notify_one();
    assert_eq!(stream.next().await, Some(Ok(finish())));
    assert_eq!(stream.next().await, None);
}

/// The end of the body comes after the end marker; it is read all the same, though nobody waits.
#[tokio::test]
async fn a_connection_serves_again_after_a_whole_answer() {
    let go = Arc::new(Notify::new());
    let script = Arc::clone(&go);
    let mut server = Server::start(move |_| {
        vec![
            Step::Send(events(&[r#"{"text":"a"}"#, "[DONE]"], false)),
            Step::Await(Arc::clone(&script)),
            Step::Send(b"0\r\n\r\n".to_vec()),
        ]
    })
    .await;
    let remote = remote(&server.url(), quick());
    // It is given back by a task of its own, so the very next request may still come too early.
    for _ in 0..100 {
        assert_eq!(run(&remote).await.1, None);
        go.notify_one();
        tokio::task::yield_now().await;
    }
    let requests = server.rest();
    let connections: std::collections::BTreeSet<usize> =
        requests.iter().map(|seen| seen.connection).collect();
    assert_eq!(requests.len(), 100);
    assert!(connections.len() < 100, "no connection was used twice");
}

#[tokio::test]
async fn after_the_end_marker_nothing_is_waited_for() {
    let mut server = Server::start(|_| {
        vec![
            Step::Send(events(&[r#"{"text":"a"}"#, "[DONE]"], false)),
            Step::Hang,
        ]
    })
    .await;
    let before = Instant::now();
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    assert_eq!((parts.len(), error), (2, None));
    assert!(before.elapsed() < Duration::from_millis(500));
    // And the connection is not kept for ever.
    server.gone().await;
}

#[tokio::test]
async fn an_answer_without_its_end_marker_is_an_error_and_asked_for_once() {
    for (last, words) in [
        (Step::Close, "broke"),
        (Step::Reset, "broke"),
        (
            Step::Send(b"0\r\n\r\n".to_vec()),
            "ended before its end marker",
        ),
    ] {
        let last = std::sync::Mutex::new(Some(last));
        let mut server = Server::start(move |_| {
            let last = last.lock().expect("a script").take();
            let text = Step::Send(events(&[r#"{"text":"a"}"#], false));
            std::iter::once(text).chain(last).collect()
        })
        .await;
        let (parts, error) = run(&remote(&server.url(), quick())).await;
        let error = error.expect("an error");
        assert_eq!(parts, [delta("a")]);
        assert_eq!(error.kind, ErrorKind::CutOff, "{error}");
        assert!(error.message.starts_with("Acme (tiny): "), "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.message.contains("(request req_7)"), "{error}");
        assert_eq!(server.rest().len(), 1);
    }
}

#[tokio::test]
async fn silence_is_noticed_at_every_point() {
    let stalled = RetryPolicy {
        first_byte: Duration::from_millis(60),
        idle: Duration::from_millis(60),
        ..quick()
    };
    let scripts = [
        (Vec::new(), 0),
        (events_head(), 0),
        (events(&[r#"{"text":"a"}"#], false), 1),
    ];
    for (said, told) in scripts {
        let mut server = Server::start(move |_| vec![Step::Send(said.clone()), Step::Hang]).await;
        let (parts, error) = run(&remote(&server.url(), stalled)).await;
        let error = error.expect("an error");
        assert_eq!(
            (parts.len(), error.kind),
            (told, ErrorKind::Stalled),
            "{error}"
        );
        assert!(error.message.contains("for 1 s"), "{error}");
        server.gone().await;
        assert_eq!(server.rest().len(), 1, "silence is not asked again");
    }
}

#[tokio::test]
async fn a_slow_answer_is_not_silence() {
    let policy = RetryPolicy {
        first_byte: Duration::from_millis(150),
        idle: Duration::from_millis(150),
        ..quick()
    };
    let go = Arc::new(Notify::new());
    let script = Arc::clone(&go);
    let server = Server::start(move |_| {
        let mut steps = vec![Step::Send(events_head())];
        for _ in 0..6 {
            steps.push(Step::Await(Arc::clone(&script)));
            steps.push(Step::Send(event(r#"{"text":"a"}"#)));
        }
        steps.push(Step::Send(event("[DONE]")));
        steps
    })
    .await;
    let remote = remote(&server.url(), policy);
    let pace = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        loop {
            ticks.tick().await;
            go.notify_one();
        }
    };
    let before = Instant::now();
    let (parts, error) = tokio::select! {
        done = run(&remote) => done,
        () = pace => unreachable!("it never ends"),
    };
    assert_eq!((parts.len(), error), (7, None));
    assert!(
        before.elapsed() > policy.idle,
        "it was too fast to show anything"
    );
}

#[tokio::test]
async fn a_dropped_stream_closes_its_connection_at_once() {
    let mut server = Server::start(|number| match number {
        0 => vec![Step::Send(events(&[r#"{"text":"a"}"#], false)), Step::Hang],
        1 => vec![Step::Send(events_head()), Step::Hang],
        _ => vec![Step::Hang],
    })
    .await;
    let remote = remote(&server.url(), quick());

    let mut stream = start(&remote).await;
    assert_eq!(stream.next().await, Some(Ok(delta("a"))));
    let dropped = Instant::now();
    drop(stream);
    assert!(server.gone().await - dropped < Duration::from_millis(100));
    server.next().await;

    // So does one that is still waiting for its head, or for its first part.
    for _ in 0..2 {
        let mut stream = start(&remote).await;
        tokio::select! {
            told = stream.next() => panic!("nothing was said, but {told:?} came"),
            _ = server.next() => {}
        }
        let dropped = Instant::now();
        drop(stream);
        assert!(server.gone().await - dropped < Duration::from_millis(100));
    }
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_said_so() {
    let page = [("content-type", "text/html; charset=utf-8")];
    let json = [("content-type", "application/json")];
    let text = [("content-type", "text/plain")];
    let error = format!(r#"{{"error": "no such thing for {KEY}"}}"#);
    let cases = [
        (
            reply(200, &page, "<html>Log in</html>"),
            "it answered with text/html instead of a stream",
        ),
        (reply(200, &json, &error), "no such thing for [hidden]"),
        (
            reply(200, &json, r#"{"choices": []}"#),
            "it answered with JSON instead",
        ),
        (reply(200, &text, "Hello!"), "not a stream of events"),
    ];
    for (said, words) in cases {
        let mut server = Server::saying(said).await;
        let error = fail(&remote(&server.url(), quick())).await;
        assert_eq!(error.kind, ErrorKind::Malformed, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.message.contains("check the base URL"), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
        assert_eq!(server.rest().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_does_not_say_what_it_is_is_read() {
    let body = "data: {\"text\":\"a\"}\n\ndata: [DONE]\n";
    for headers in [&[][..], &[("content-type", "text/plain")][..]] {
        let server = Server::saying(reply(200, headers, body)).await;
        let (parts, error) = run(&remote(&server.url(), quick())).await;
        assert_eq!((parts, error), (vec![delta("a"), finish()], None));
    }
}

#[tokio::test]
async fn what_has_no_meaning_is_told_in_its_place() {
    let data = ["{}", r#"{"a":1}"#, r#"{"text":"a"}"#, "{}", "[DONE]"];
    let server = Server::saying(events(&data, true)).await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    let raw = |value| Part::Raw(value);
    let wanted = vec![
        raw(json!({})),
        raw(json!({ "a": 1 })),
        delta("a"),
        raw(json!({})),
        finish(),
    ];
    assert_eq!((parts, error), (wanted, None));
}

#[tokio::test]
async fn an_event_without_end_is_stopped() {
    let mut server = Server::start(|_| {
        let mut steps = vec![Step::Send(events(&[r#"{"text":"a"}"#], false))];
        let line = "x".repeat(8000);
        let chunk = format!("{:x}\r\n{line}\r\n", line.len()).into_bytes();
        steps.extend((0..20).map(|_| Step::Send(chunk.clone())));
        steps.push(Step::Hang);
        steps
    })
    .await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    let error = error.expect("an error");
    assert_eq!(
        (parts.len(), error.kind),
        (1, ErrorKind::Malformed),
        "{error}"
    );
    assert_eq!(server.rest().len(), 1);
}
