//! Errors as people read them, and what they never hold.

use super::server::{Server, Step, events, reply};
use super::*;

#[tokio::test]
async fn a_key_that_the_service_repeats_is_hidden() {
    let body = format!("Incorrect key: Bearer {KEY} (is {KEY} yours?)");
    let mut server = Server::saying(reply(401, &[("x-request-id", "req_42")], &body)).await;
    let error = fail(&remote(&server.url(), quick())).await;
    assert_eq!(
        error.message,
        "Acme (tiny): HTTP 401: Incorrect key: Bearer [hidden] (is [hidden] yours?) \
         (request req_42); check the key: dragoman auth login acme"
    );
    assert_eq!((error.kind, error.status), (ErrorKind::Auth, Some(401)));
    assert_eq!(server.rest().len(), 1);

    let in_stream = format!(r#"{{"error": "no: {KEY}"}}"#);
    let server = Server::saying(events(&[&in_stream], true)).await;
    let (parts, error) = run(&remote(&server.url(), quick())).await;
    let everything = format!("{parts:?} {error:?}");
    assert!(everything.contains("no: [hidden]"), "{everything}");
    assert!(!everything.contains(KEY), "{everything}");
}

#[tokio::test]
async fn so_is_one_in_the_base_url() {
    let server = Server::saying(reply(400, &[], "what is sesame99 or hunter22?")).await;
    let url = format!(
        "http://me:hunter22@127.0.0.1:{}/v1?key=sesame99",
        server.port
    );
    let error = fail(&remote(&url, quick())).await;
    assert_eq!(
        error.message,
        "Acme (tiny): HTTP 400: what is [hidden] or [hidden]?; the same request will not be taken; \
         use another model or a new thread"
    );
    let authorization = Authorization {
        base_url: url,
        account: String::new(),
        headers: vec![("authorization".to_owned(), KEY.into())],
        renewable: false,
    };
    let shown = format!("{authorization:?}");
    for secret in ["hunter22", "sesame99", KEY] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn every_kind_says_what_to_do() {
    let cases = [
        (
            404,
            "no tiny",
            "HTTP 404: no tiny; `dragoman models acme` lists them",
        ),
        (
            429,
            "insufficient_quota",
            "HTTP 429: insufficient_quota; add credit",
        ),
        (
            400,
            "bad",
            "HTTP 400: bad; the same request will not be taken",
        ),
        (
            403,
            r#"{"error":{"message":"Country, region, or territory not supported"}}"#,
            "HTTP 403: Country, region, or territory not supported; the service is not offered",
        ),
        (
            400,
            r#"{"error":{"message":"x does not support tools"}}"#,
            "HTTP 400: x does not support tools; this model takes no tools",
        ),
        (
            429,
            r#"{"error":{"type":"usage_limit_reached","message":"Used up","plan_type":"plus","resets_in_seconds":13872}}"#,
            "HTTP 429: Used up (plus plan); it is renewed in 3 h 52 min; until then use another",
        ),
        (
            429,
            r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large for x on tokens per min (TPM)"}}"#,
            "HTTP 429: Request too large for x on tokens per min (TPM); one request may not hold",
        ),
    ];
    for (status, body, words) in cases {
        let mut server = Server::saying(reply(status, &[], body)).await;
        let error = fail(&remote(&server.url(), quick())).await;
        assert!(
            error.message.starts_with(&format!("Acme (tiny): {words}")),
            "{error}"
        );
        assert_eq!(server.rest().len(), 1, "{body}");
    }
}

#[tokio::test]
async fn an_endless_error_is_cut() {
    let mut server = Server::start(|_| {
        let head = b"HTTP/1.1 400 X\r\ncontent-length: 99999999\r\n\r\n".to_vec();
        let text = "x".repeat(super::super::policy::ERROR_BODY_BYTES_MAX + 1000);
        vec![Step::Send(head), Step::Send(text.into_bytes()), Step::Hang]
    })
    .await;
    let error = fail(&remote(&server.url(), quick())).await;
    assert_eq!(error.kind, ErrorKind::BadRequest);
    assert!(error.message.chars().count() < 1100);
    server.gone().await;
}

#[tokio::test]
async fn a_place_that_does_not_answer_is_named_without_its_credentials() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    let url = format!("http://me:hunter22@127.0.0.1:{port}/v1?key=sesame99");
    let (parts, error) = run(&remote(&url, quick())).await;
    let error = error.expect("an error");
    assert_eq!((error.kind, error.status), (ErrorKind::Unreachable, None));
    let begin = format!("Acme (tiny): no connection to 127.0.0.1:{port}: ");
    assert!(error.message.starts_with(&begin), "{error}");
    assert!(
        error.message.ends_with(
            "(tried 3 times); check the network, the base URL, and that the service is running"
        ),
        "{error}"
    );
    let everything = format!("{parts:?} {error:?}");
    for secret in ["hunter22", "sesame99", KEY] {
        assert!(!everything.contains(secret), "{everything}");
    }
    assert_eq!(retries(parts).0.len(), 2);
}

#[tokio::test]
async fn a_credential_follows_no_redirect() {
    let mut other = Server::saying(events(&["[DONE]"], true)).await;
    let target = other.url();
    let mut server =
        Server::start(move |_| vec![Step::Send(reply(307, &[("location", &target)], ""))]).await;
    let error = fail(&remote(&server.url(), quick())).await;
    assert_eq!(error.status, Some(307));
    let words = format!("it points to http://127.0.0.1:{} instead", other.port);
    assert!(error.message.contains(&words), "{error}");
    assert_eq!((server.rest().len(), other.rest().len()), (1, 0));
}

#[tokio::test]
async fn a_failure_of_tls_is_explained_and_final() {
    // This port speaks no TLS: it hears no request, only noise.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let connections = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut count = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            count += 1;
            assert_eq!(count, 1, "it was tried again");
            let mut noise = [0; 64];
            stream.read_exact(&mut noise).await.expect("a greeting");
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .expect("said");
        }
    });
    let (parts, error) = run(&remote(&format!("https://127.0.0.1:{port}"), quick())).await;
    let error = error.expect("an error");
    assert_eq!(
        (parts, error.kind),
        (vec![], ErrorKind::Unreachable),
        "{error}"
    );
    assert!(error.message.contains("it does not speak TLS"), "{error}");
    connections.abort();
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_and_a_base_url_that_is_none() {
    struct Broken(&'static str, &'static str);
    #[async_trait]
    impl Authorizer for Broken {
        async fn access(&self, _renew: bool) -> Result<Authorization, ProviderError> {
            let headers = vec![("authorization".to_owned(), self.1.into())];
            Ok(Authorization {
                base_url: self.0.to_owned(),
                account: String::new(),
                headers,
                renewable: false,
            })
        }
    }
    install_tls();
    let error = fail(&plain(
        Arc::new(Broken("http://127.0.0.1:1", "Bearer a\nsecret-b")),
        quick(),
    ))
    .await;
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(!error.message.contains("secret-b"), "{error}");
    let error = fail(&plain(Arc::new(Broken("nonsense", "Bearer a")), quick())).await;
    assert!(
        error.message.contains("its base URL is not valid"),
        "{error}"
    );
}

#[tokio::test]
async fn an_error_of_the_credential_is_told_as_it_is() {
    struct NoKey;
    #[async_trait]
    impl Authorizer for NoKey {
        async fn access(&self, _renew: bool) -> Result<Authorization, ProviderError> {
            Err(ProviderError::new(ErrorKind::Auth, "there is no key"))
        }
    }
    let (parts, error) = run(&plain(Arc::new(NoKey), quick())).await;
    assert_eq!(
        (parts, error.expect("an error").message.as_str()),
        (vec![], "there is no key")
    );
}

#[tokio::test]
async fn a_get_is_one_request_with_the_same_words() {
    const LIMIT: Duration = Duration::from_secs(5);
    let mut server = Server::saying(reply(200, &[], r#"{"data":[]}"#)).await;
    let body = remote(&server.url(), quick()).get("/models", LIMIT).await;
    assert_eq!(body, Ok(br#"{"data":[]}"#.to_vec()));
    let seen = server.next().await;
    assert!(
        seen.head.starts_with("GET /v1/models HTTP/1.1\r\n"),
        "{}",
        seen.head
    );
    assert_eq!(
        seen.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );

    assert_eq!(seen.header("x-format"), Some("plain"));

    let mut server = Server::saying(reply(503, &[("retry-after", "0")], KEY)).await;
    let error = remote(&server.url(), quick())
        .get("/models", LIMIT)
        .await
        .expect_err("down");
    assert_eq!(error.message, "Acme: HTTP 503: [hidden]; try again in 0 s");
    assert_eq!(server.rest().len(), 1);

    let mut server = Server::saying(reply(401, &[], "expired")).await;
    let error = remote_with(&server.url(), quick(), true)
        .get("/models", LIMIT)
        .await
        .expect_err("expired");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert_eq!(server.rest().len(), 2, "renewed once");

    let mut server = Server::start(|_| vec![Step::Hang]).await;
    let limit = Duration::from_millis(50);
    let error = remote(&server.url(), quick())
        .get("/models", limit)
        .await
        .expect_err("silence");
    assert_eq!(error.kind, ErrorKind::Stalled);
    server.gone().await;
}
