//! Fetches from a server on this machine, which behaves well or badly.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use vocabulary::ContentBlock;

use super::*;
use crate::scratch::{Scratch, Witness};
use crate::web::Options;
use crate::web::address::forbidden;
use crate::web::resolver::Lookup;
use crate::web::station::{Station, StationAnswer, allowing, field, ok, redirect, reply, web};

async fn run(web: Web, input: Value) -> Result<ToolOutput, Failure> {
    let mut cx = Scratch::new().cx(&Arc::default());
    cx.web = Arc::new(web);
    WebFetchTool.run(&cx, input).await
}

async fn text(web: Web, url: &str) -> String {
    match run(web, json!({"url": url})).await {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{url}: {other:?}"),
    }
}

async fn refusal(web: Web, url: &str) -> String {
    match run(web, json!({"url": url})).await {
        Err(Failure::Error(message)) => message,
        other => panic!("{url}: {other:?}"),
    }
}

/// A station that must not be asked.
async fn canary() -> Station {
    Station::start(|_| ok("text/plain", "secret")).await
}

#[tokio::test]
async fn text_and_json_come_as_they_are() {
    let station = Station::start(|request| match request.split(' ').nth(1) {
        Some("/json") => ok("application/json", "{\"a\": [1,  2]}"),
        Some("/latin") => ok("text/plain; charset=iso-8859-1", b"gr\xfcn <b>"),
        Some("/moved") => redirect("/json#part"),
        _ => ok("text/plain", "x".repeat(3000)),
    })
    .await;
    let get = async |path: &str| text(web(allowing(&station)), &station.url(path)).await;
    assert_eq!(get("/json#top").await, "{\"a\": [1,  2]}");
    assert_eq!(get("/latin").await, "grün <b>");
    let moved = get("/moved").await;
    let expected = format!(
        "[redirected to {}]\n\n{{\"a\": [1,  2]}}",
        station.url("/json")
    );
    assert_eq!(moved, expected);
    let request = &station.asked()[0];
    assert_eq!(
        field(request, "accept-encoding").as_deref(),
        Some("identity")
    );
    assert_eq!(field(request, "cookie"), None);
    let long = json!({"url": station.url("/long"), "maxLength": 1000});
    let Ok(ToolOutput::Text(cut)) = run(web(allowing(&station)), long).await else {
        panic!("no text");
    };
    let expected = "\n\n[cut: 1000 of 3000 characters shown; maxLength may be up to 200000]";
    assert_eq!(cut, "x".repeat(1000) + expected);
}

#[tokio::test]
async fn a_private_address_is_refused_however_it_is_written() {
    let canary = canary().await;
    let port = canary.address.port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "localhost",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ] {
        let message = refusal(web(Options::default()), &format!("http://{host}:{port}/")).await;
        assert!(
            message.contains("is not on the public internet"),
            "{message}"
        );
    }
    assert_eq!(canary.asked(), [""; 0]);
}

#[tokio::test]
async fn every_redirect_is_checked() {
    let canary = canary().await;
    let port = canary.address.port();
    let table = [
        (canary.url("/"), "(loopback address)"),
        (format!("http://localhost:{port}/"), "(loopback address)"),
        (format!("//127.1:{port}/"), "(loopback address)"),
        (format!("http://[::1]:{port}/"), "(loopback address)"),
        (
            format!("http://[::ffff:127.0.0.1]:{port}/"),
            "(IPv4-mapped address)",
        ),
        (
            "http://169.254.169.254/latest/meta-data".to_owned(),
            "(cloud metadata address)",
        ),
        ("https://10.1.2.3/".to_owned(), "(private address)"),
        ("http://1.1.1.1:25/".to_owned(), "port 25 is not"),
        ("file:///etc/passwd".to_owned(), "only http and https"),
        (
            format!("http://me:pw@127.0.0.1:{port}/"),
            "user name or password",
        ),
    ];
    for (target, expected) in table {
        let to = target.clone();
        // The last of three hops is the bad one.
        let station = Station::start(move |request| match request.split(' ').nth(1) {
            Some("/") => redirect("/second"),
            Some("/second") => redirect("third"),
            _ => redirect(&to),
        })
        .await;
        let message = refusal(web(allowing(&station)), &station.url("/")).await;
        assert!(message.contains(expected), "{target}: {message}");
        assert_eq!(station.asked().len(), 3, "{target}");
    }
    assert_eq!(canary.asked(), [""; 0]);
}

#[tokio::test]
async fn another_host_behind_a_redirect_must_be_allowed() {
    let canary = canary().await;
    let elsewhere = format!("http://localhost:{}/secret", canary.address.port());
    let to = elsewhere.clone();
    let station = Station::start(move |request| match request.split(' ').nth(1) {
        Some("/") => redirect("/second"),
        _ => redirect(&to),
    })
    .await;
    let mut options = allowing(&station);
    options.allow_private.push("localhost".to_owned());
    let witness = Arc::new(Witness::default());
    let mut cx = Scratch::new().cx(&witness);
    cx.web = Arc::new(web(options));
    let input = json!({"url": station.url("/")});
    *witness.not_followed.lock().unwrap() = Some("the rules say no".to_owned());
    let Err(Failure::Error(message)) = WebFetchTool.run(&cx, input.clone()).await else {
        panic!("it was followed");
    };
    let expected = "webFetch: the redirect to localhost is not followed: the rules say no";
    assert_eq!(message, expected);
    assert_eq!(station.asked().len(), 2, "the same host is not asked about");
    assert_eq!(canary.asked(), [""; 0]);

    *witness.not_followed.lock().unwrap() = None;
    let Ok(ToolOutput::Text(text)) = WebFetchTool.run(&cx, input).await else {
        panic!("it was not followed");
    };
    assert!(text.ends_with("secret"), "{text}");
    let asked = witness.followed.lock().unwrap().clone();
    assert_eq!(asked, [elsewhere.as_str(), elsewhere.as_str()]);
}

#[tokio::test]
async fn five_redirects_are_followed_and_no_more() {
    let station = Station::start(|request| {
        let path = request.split(' ').nth(1).unwrap();
        match path[1..].parse::<u32>().unwrap() {
            0 => ok("text/plain", "arrived"),
            left => redirect(&format!("/{}", left - 1)),
        }
    })
    .await;
    let arrived = text(web(allowing(&station)), &station.url("/5")).await;
    assert!(arrived.ends_with("arrived"), "{arrived}");
    let message = refusal(web(allowing(&station)), &station.url("/6")).await;
    assert!(message.contains("more than 5 redirects"), "{message}");
    assert_eq!(station.asked().len(), 6 + 6);
}

/// A name service that gives one answer after the other.
struct Script {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
}

impl Script {
    fn new(answers: &[&[[u8; 4]]]) -> Arc<Script> {
        let one = |answer: &&[[u8; 4]]| answer.iter().copied().map(IpAddr::from).collect();
        Arc::new(Script {
            answers: Mutex::new(answers.iter().map(one).collect()),
        })
    }

    fn left(&self) -> usize {
        self.answers.lock().unwrap().len()
    }
}

#[async_trait]
impl Lookup for Script {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        assert_eq!(host, "rebind.test");
        Ok(self.answers.lock().unwrap().pop_front().unwrap())
    }
}

const OUTSIDE: [u8; 4] = [127, 0, 0, 2];
const INSIDE: [u8; 4] = [127, 0, 0, 1];

/// As in life, but one address of this machine stands for the public internet.
fn fence(address: IpAddr) -> Option<&'static str> {
    match address == IpAddr::from(OUTSIDE) {
        true => None,
        false => forbidden(address),
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_does_not_get_in() {
    let canary = canary().await;
    let port = canary.address.port();
    let station = Station::start_at(&format!("127.0.0.2:{port}"), |request| {
        match request.split(' ').nth(1) {
            Some("/") => redirect("/again"),
            _ => ok("text/plain", "outside"),
        }
    })
    .await;
    let url = format!("http://rebind.test:{port}");

    // The checked answer is the one that is used: the second is never asked for.
    let script = Script::new(&[&[OUTSIDE], &[INSIDE]]);
    let reached = web(Options::default()).with_names(script.clone(), fence);
    assert_eq!(text(reached, &format!("{url}/plain")).await, "outside");
    assert_eq!(script.left(), 1);

    // A later hop that needs a new connection is checked again.
    let script = Script::new(&[&[OUTSIDE], &[INSIDE]]);
    let rebound = web(Options::default()).with_names(script.clone(), fence);
    let message = refusal(rebound, &format!("{url}/")).await;
    let expected = "rebind.test is not on the public internet (loopback address)";
    assert!(message.contains(expected), "{message}");
    assert_eq!(script.left(), 0);

    // Of a mixed answer only the public part is used.
    let script = Script::new(&[&[INSIDE, OUTSIDE, INSIDE]]);
    let mixed = web(Options::default()).with_names(script, fence);
    assert_eq!(text(mixed, &format!("{url}/plain")).await, "outside");

    assert_eq!(station.asked().len(), 3);
    assert_eq!(canary.asked(), [""; 0]);
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let station = Station::start(|_| {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = format!("3e8\r\n{}\r\n", "y".repeat(1000));
        StationAnswer::Endless(head.into(), chunk.into())
    })
    .await;
    let options = Options {
        body_bytes_max: 10_000,
        ..allowing(&station)
    };
    let shown = text(web(options), &station.url("/")).await;
    assert_eq!(
        shown,
        "y".repeat(10_000) + "\n\n[only the first 10000 bytes of it were read]"
    );
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let station = Station::start(|_| {
        let line = format!("X-More: {}\r\n", "z".repeat(1000));
        StationAnswer::Endless("HTTP/1.1 200 OK\r\n".into(), line.into())
    })
    .await;
    let message = refusal(web(allowing(&station)), &station.url("/")).await;
    assert!(message.contains("no answer from 127.0.0.1"), "{message}");
}

#[tokio::test]
async fn what_is_not_text_is_described() {
    let station = Station::start(|request| match request.split(' ').nth(1) {
        Some("/packed") => reply(
            "200 OK",
            "Content-Type: text/html\r\nContent-Encoding: gzip",
            b"\x1f\x8b\x08\0\0",
        ),
        Some("/lie") => ok("text/plain", b"\x7fELF\0\0\0"),
        Some("/unsaid") => reply("200 OK", "X: y", b"GIF89a\0\0"),
        Some("/page") => reply("200 OK", "X: y", "<!DOCTYPE html><p>A <b>page</b>"),
        _ => ok("image/png", b"\x89PNG\0"),
    })
    .await;
    let table = [
        ("/png", "[image/png, 5 bytes: not text, so not shown]"),
        ("/lie", "[text/plain, 7 bytes: not text, so not shown]"),
        (
            "/unsaid",
            "[a file of unknown type, 8 bytes: not text, so not shown]",
        ),
        (
            "/packed",
            "[text/html, 5 bytes, packed as gzip though that was not asked for: not shown]",
        ),
        ("/page", "A **page**"),
    ];
    for (path, expected) in table {
        let shown = text(web(allowing(&station)), &station.url(path)).await;
        assert_eq!(shown, expected, "{path}");
    }
}

#[tokio::test]
async fn a_picture_is_shown_as_one() {
    const DOT: &[u8] =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    let station = Station::start(|_| ok("image/jpeg", DOT)).await;
    let url = station.url("/dot");
    let shown = run(web(allowing(&station)), json!({"url": url})).await;
    let Ok(ToolOutput::Content(blocks)) = shown else {
        panic!("{shown:?}");
    };
    let [
        ContentBlock::Text(words),
        ContentBlock::Image { media_type, base64 },
    ] = &blocks[..]
    else {
        panic!("{blocks:?}");
    };
    assert!(words.starts_with(&format!("{url} is ")), "{words}");
    // What it is, whatever its server says.
    assert_eq!(media_type, "image/png");
    assert!(base64.starts_with("iVBORw0KGgo"), "{base64}");
}

#[tokio::test]
async fn a_server_that_dawdles_is_left() {
    let held = [
        "",
        "HTTP/1.1 200 OK\r\nContent-Ty",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nslow",
    ];
    for start in held {
        let station = Station::start(move |_| StationAnswer::Hold(start.into())).await;
        let options = Options {
            time_limit: Duration::from_millis(300),
            ..allowing(&station)
        };
        let message = refusal(web(options), &station.url("/")).await;
        assert!(message.contains("did not come within 0.3 s"), "{message}");
    }
}

#[tokio::test]
async fn a_cancel_ends_it_at_once() {
    let station = Station::start(|_| StationAnswer::Hold(Vec::new())).await;
    let mut cx = Scratch::new().cx(&Arc::default());
    cx.web = Arc::new(web(allowing(&station)));
    let cancel = cx.cancel.clone();
    let url = station.url("/");
    let input = json!({"url": url});
    let running = tokio::spawn(async move { WebFetchTool.run(&cx, input).await });
    station.next_asked().await;
    cancel.cancel();
    let said = ToolOutput::Text(format!("{url} was not read: cancelled"));
    assert_eq!(running.await.unwrap(), Err(Failure::Cancelled(said)));
}

#[tokio::test]
async fn a_failure_says_what_happened() {
    let station = Station::start(|request| match request.split(' ').nth(1) {
        Some("/html") => reply("404 Not Found", "Content-Type: text/html", "<p>gone"),
        Some("/short") => StationAnswer::Whole(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nshort".into(),
        ),
        _ => reply(
            "500 Oops",
            "Content-Type: application/json",
            "{\"error\":\"tired\"}",
        ),
    })
    .await;
    let get = async |path: &str| refusal(web(allowing(&station)), &station.url(path)).await;
    assert!(get("/html").await.ends_with("/html answered 404 Not Found"));
    let json = get("/json").await;
    assert!(
        json.ends_with("/json answered 500 Internal Server Error: {\"error\":\"tired\"}"),
        "{json}"
    );
    assert!(get("/short").await.contains("/short broke off"));
    let table = [
        (json!({}), "\"url\" must be a text"),
        (json!({"url": "example.com"}), "is not a URL"),
        (json!({"url": "http://"}), "is not a URL"),
        (
            json!({"url": "http://a.test", "maxLength": 999}),
            "from 1000 to 200000",
        ),
        (
            json!({"url": "http://a.test", "maxLength": 200_001}),
            "from 1000 to 200000",
        ),
    ];
    for (input, expected) in table {
        match run(web(Options::default()), input).await {
            Err(Failure::Error(message)) => assert!(message.contains(expected), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}
