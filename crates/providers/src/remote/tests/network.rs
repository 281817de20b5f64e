//! Networks as they are: proxies of several kinds, no certificate authorities, sign-in pages.

use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::alone::alone;
use super::server::{Server, events, reply};
use super::*;

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/authority.pem");

fn good() -> Vec<u8> {
    events(&[r#"{"text":"a"}"#, "[DONE]"], true)
}

/// Asks the address that the test was given.
async fn asked() -> (Vec<Part>, Option<ProviderError>) {
    let url = std::env::var("TEST_URL").expect("an address");
    run(&remote(&url, quick())).await
}

#[tokio::test]
#[ignore = "run by other tests"]
async fn is_answered() {
    let (parts, error) = asked().await;
    assert_eq!(error, None);
    assert_eq!(retries(parts).1, [delta("a"), finish()]);
}

/// Every word of `TEST_WORDS` is in the error, and none of a credential.
#[tokio::test]
#[ignore = "run by other tests"]
async fn is_told() {
    let (parts, error) = asked().await;
    let error = error.expect("an error");
    for words in std::env::var("TEST_WORDS").expect("words").split('|') {
        assert!(error.message.contains(words), "{words}: {error}");
    }
    let all = format!("{parts:?} {error:?}");
    assert!(!all.contains("hunter22") && !all.contains(KEY), "{all}");
}

/// A SOCKS5 proxy for one server, whatever it is asked for; what that was.
async fn socks(port: u16, wanted: Arc<Mutex<Vec<String>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let wanted = Arc::clone(&wanted);
            tokio::spawn(async move {
                let asked = socks_greeting(&mut stream).await.expect("a greeting");
                wanted.lock().expect("a list").push(asked);
                let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
                copy_bidirectional(&mut stream, &mut server).await
            });
        }
    });
    own
}

/// What a client of RFC 1928 says first: the methods it knows, then where it wants to go.
async fn socks_greeting(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await?;
    assert_eq!(head[0], 5, "SOCKS5");
    let mut methods = vec![0; head[1].into()];
    stream.read_exact(&mut methods).await?;
    assert!(methods.contains(&0), "without a password");
    stream.write_all(&[5, 0]).await?;
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    let host = match request[3] {
        1 => {
            let mut address = [0; 4];
            stream.read_exact(&mut address).await?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => {
            let length = stream.read_u8().await?;
            let mut name = vec![0; length.into()];
            stream.read_exact(&mut name).await?;
            String::from_utf8_lossy(&name).into_owned()
        }
        other => panic!("an address of kind {other}"),
    };
    let port = stream.read_u16().await?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    Ok(format!("{host}:{port}"))
}

#[tokio::test]
async fn a_socks_proxy_is_used_and_resolves_names_where_it_should() {
    let server = Server::saying(good()).await;
    for (variable, scheme, url, expected) in [
        (
            "ALL_PROXY",
            "socks5h",
            "http://model.example/v1",
            "model.example:80",
        ),
        (
            "all_proxy",
            "socks5",
            "http://192.0.2.7:81/v1",
            "192.0.2.7:81",
        ),
        (
            "HTTP_PROXY",
            "socks5h",
            "http://model.example/v1",
            "model.example:80",
        ),
    ] {
        let wanted = Arc::new(Mutex::new(Vec::new()));
        let port = socks(server.port, Arc::clone(&wanted)).await;
        let variables = vec![
            (variable, format!("{scheme}://127.0.0.1:{port}")),
            ("TEST_URL", url.to_owned()),
        ];
        alone("network::is_answered", variables).await;
        assert_eq!(*wanted.lock().expect("a list"), [expected], "{variable}");
    }
}

#[tokio::test]
async fn no_proxy_is_heeded() {
    let mut proxy = Server::saying(reply(500, &[], "not me")).await;
    let mut server = Server::saying(good()).await;
    // This address is this machine, but not by its name.
    let url = format!("http://0.0.0.0:{}/v1", server.port);
    let variables = vec![
        ("HTTP_PROXY", format!("http://127.0.0.1:{}", proxy.port)),
        ("NO_PROXY", "example.com,0.0.0.0".to_owned()),
        ("TEST_URL", url),
    ];
    alone("network::is_answered", variables).await;
    assert_eq!((proxy.rest().len(), server.rest().len()), (0, 1));
}

#[tokio::test]
async fn a_proxy_that_wants_credentials_is_named_and_not_asked_again() {
    for (variable, url) in [
        ("HTTPS_PROXY", "https://model.example/v1"),
        ("HTTP_PROXY", "http://model.example/v1"),
    ] {
        let mut proxy = Server::saying(reply(407, &[], "who are you?")).await;
        let place = format!("127.0.0.1:{}", proxy.port);
        let variables = vec![
            (variable, format!("http://me:hunter22@{place}")),
            ("SSL_CERT_FILE", AUTHORITY.to_owned()),
            ("TEST_URL", url.to_owned()),
            (
                "TEST_WORDS",
                format!("the proxy http://{place}|407|USER:PASSWORD"),
            ),
        ];
        alone("network::is_told", variables).await;
        assert_eq!(proxy.rest().len(), 1, "{variable}");
    }
}

#[tokio::test]
async fn trouble_with_a_proxy_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let dead = listener.local_addr().expect("bound").port();
    drop(listener);
    let refusing = Server::saying(reply(403, &[], "no")).await;
    for (variable, port, url) in [
        ("HTTP_PROXY", dead, "http://model.example/v1"),
        ("HTTPS_PROXY", dead, "https://model.example/v1"),
        ("HTTPS_PROXY", refusing.port, "https://model.example/v1"),
    ] {
        let place = format!("http://127.0.0.1:{port}");
        let words = format!("model.example|through the proxy {place}|NO_PROXY");
        let variables = vec![
            (variable, format!("http://me:hunter22@127.0.0.1:{port}")),
            ("SSL_CERT_FILE", AUTHORITY.to_owned()),
            ("TEST_URL", url.to_owned()),
            ("TEST_WORDS", words),
        ];
        alone("network::is_told", variables).await;
    }
}

/// As in a slim image: no file of authorities anywhere.
#[tokio::test]
async fn without_certificate_authorities_plain_http_works_and_the_rest_says_what_to_do() {
    let server = Server::saying(good()).await;
    let none = || {
        vec![
            ("SSL_CERT_FILE", "/nowhere/authorities.pem".to_owned()),
            ("SSL_CERT_DIR", "/nowhere".to_owned()),
        ]
    };
    for host in ["127.0.0.1", "0.0.0.0"] {
        let mut variables = none();
        variables.push(("TEST_URL", format!("http://{host}:{}/v1", server.port)));
        alone("network::is_answered", variables).await;
    }
    let mut variables = none();
    variables.push(("TEST_URL", "https://127.0.0.1:1/v1".to_owned()));
    variables.push((
        "TEST_WORDS",
        "no certificate authorities|ca-certificates|SSL_CERT_FILE".to_owned(),
    ));
    alone("network::is_told", variables).await;
}

#[tokio::test]
async fn authorities_that_other_programs_are_told_of_count_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let dead = listener.local_addr().expect("bound").port();
    drop(listener);
    for variable in [
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    ] {
        let variables = vec![
            ("SSL_CERT_FILE", "/nowhere/authorities.pem".to_owned()),
            (variable, AUTHORITY.to_owned()),
            ("TEST_URL", format!("https://127.0.0.1:{dead}/v1")),
            // It got as far as the network.
            ("TEST_WORDS", format!("no connection to 127.0.0.1:{dead}")),
        ];
        alone("network::is_told", variables).await;
    }
}

/// A network that wants a sign-in answers in the place of the service.
#[tokio::test]
async fn the_sign_in_page_of_a_network_is_said_to_be_one() {
    let page = [("content-type", "text/html")];
    let away = [("location", "http://portal.example/login")];
    for (said, words) in [
        (
            reply(200, &page, "<html>Welcome</html>"),
            "sign-in page of a network",
        ),
        (
            reply(302, &away, ""),
            "it points to http://portal.example:80 instead",
        ),
        (reply(302, &away, ""), "sign-in page of a network"),
        (reply(511, &[], "x"), "this network wants a sign-in first"),
    ] {
        let mut server = Server::saying(said).await;
        let error = fail(&remote(&server.url(), quick())).await;
        assert!(error.message.contains(words), "{error}");
        assert_eq!(server.rest().len(), 1);
    }
}
