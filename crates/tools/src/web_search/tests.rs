//! Searches at a server on this machine, which speaks like each of the services.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::scratch::Scratch;
use crate::web::Options;
use crate::web::station::{Station, StationAnswer, field, ok, reply, web, web_with_keys};

type Answers = Box<dyn Fn(&str) -> StationAnswer + Send + Sync>;

const SECRET: &str = "sk-very-secret";

async fn run(web: &Arc<Web>, input: Value) -> Result<String, String> {
    let mut cx = Scratch::new().cx(&Arc::default());
    cx.web = Arc::clone(web);
    match WebSearchTool.run(&cx, input).await {
        Ok(ToolOutput::Text(text)) => Ok(text),
        Err(Failure::Error(message)) => Err(message),
        other => panic!("{other:?}"),
    }
}

/// A web in which only this service is set up, and answers at the station.
fn only(key: SearchService, station: &Station) -> Arc<Web> {
    let options = Options {
        exa_url: station.url(""),
        brave_url: station.url("/"),
        ..Options::default()
    };
    let searxng = station.url("/sx/").replace("http://", "http://me:hush@");
    Arc::new(web_with_keys(options, move |asked| {
        (asked == key).then(|| match key {
            SearchService::Exa | SearchService::Brave => SECRET.to_owned(),
            SearchService::Searxng => searxng.clone(),
        })
    }))
}

#[tokio::test]
async fn exa_is_asked_in_its_own_way() {
    let station = Station::start(|_| {
        let answer = json!({
            "requestId": "b5947044c4b78efa9552a7c89b306d95",
            "resolvedSearchType": "neural",
            "results": [
                {
                    "id": "https://a.test/1", "url": "https://a.test/1", "title": "First\n result",
                    "publishedDate": "2026-01-01T00:00:00.000Z", "author": null, "score": 0.4,
                    "highlights": ["one <T>", "two"], "highlightScores": [0.5, 0.4],
                },
                {"id": "x", "url": "javascript:alert(1)", "title": "bad"},
                {"id": "2", "url": "https://a.test/2", "title": null, "text": "z".repeat(2000)},
                {"id": "3", "url": "https://a.test/3", "title": "Third"},
            ],
            "costDollars": {"total": 0.005},
        });
        ok("application/json", answer.to_string())
    })
    .await;
    let web = only(SearchService::Exa, &station);
    let found = run(&web, json!({"query": " rust \"web\" ", "maxResults": 5})).await;
    let expected = format!(
        "1. First result\n   https://a.test/1\n   one <T> … two\n\n\
         2. https://a.test/2\n   https://a.test/2\n   {}…\n\n\
         3. Third\n   https://a.test/3",
        "z".repeat(600)
    );
    assert_eq!(found, Ok(expected));
    let request = &station.asked()[0];
    assert!(
        request.starts_with("POST /search HTTP/1.1\r\n"),
        "{request}"
    );
    assert_eq!(field(request, "x-api-key").as_deref(), Some(SECRET));
    assert_eq!(
        field(request, "content-type").as_deref(),
        Some("application/json")
    );
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "query": "rust \"web\"", "type": "auto", "numResults": 5,
            "contents": {"highlights": true},
        })
    );
}

#[tokio::test]
async fn brave_is_asked_in_its_own_way() {
    let station = Station::start(|request| {
        let answer = match request.contains("q=nothing") {
            true => json!({"type": "search", "query": {"original": "nothing"}}),
            false => json!({
                "type": "search",
                "query": {"original": "it's", "more_results_available": true},
                "web": {"type": "search", "results": [{
                    "title": "Rust &amp; the web", "url": "https://b.test/",
                    "description": "It&#x27;s <strong>fast</strong>.", "age": "2 days ago",
                    "language": "en", "family_friendly": true,
                }]},
            }),
        };
        ok("application/json", answer.to_string())
    })
    .await;
    let web = only(SearchService::Brave, &station);
    let found = run(&web, json!({"query": "it's"})).await;
    assert_eq!(
        found,
        Ok("1. Rust & the web\n   https://b.test/\n   It's fast.".to_owned())
    );
    let request = &station.asked()[0];
    let line = "GET /res/v1/web/search?q=it%27s&count=10&result_filter=web&text_decorations=false ";
    assert!(request.starts_with(line), "{request}");
    assert_eq!(
        field(request, "x-subscription-token").as_deref(),
        Some(SECRET)
    );
    assert_eq!(
        field(request, "accept").as_deref(),
        Some("application/json")
    );
    let nothing = run(&web, json!({"query": "nothing"})).await;
    assert_eq!(nothing, Ok("Brave Search found nothing.".to_owned()));
}

#[tokio::test]
async fn searxng_is_asked_in_its_own_way() {
    let station = Station::start(|_| {
        let result = |n: u32| {
            json!({
                "url": format!("https://s.test/{n}"), "title": format!("Title {n}"),
                "content": "text", "engine": "duckduckgo", "parsed_url": ["https", "s.test"],
                "engines": ["duckduckgo"], "positions": [1], "score": 1.0, "category": "general",
            })
        };
        let answer = json!({
            "query": "a b", "number_of_results": 0,
            "results": (1..=9).map(result).collect::<Vec<_>>(),
            "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
            "unresponsive_engines": [["brave", "timeout"]],
        });
        ok("application/json", answer.to_string())
    })
    .await;
    let web = only(SearchService::Searxng, &station);
    let found = run(&web, json!({"query": "a b", "maxResults": 2})).await;
    let expected = "1. Title 1\n   https://s.test/1\n   text\n\n\
                    2. Title 2\n   https://s.test/2\n   text";
    assert_eq!(found, Ok(expected.to_owned()));
    let request = &station.asked()[0];
    assert!(
        request.starts_with("GET /sx/search?q=a+b&format=json "),
        "{request}"
    );
    assert_eq!(
        field(request, "authorization").as_deref(),
        Some("Basic bWU6aHVzaA==")
    );
}

#[tokio::test]
async fn failures_are_told_without_the_secret() {
    let echo = |status: &'static str| {
        move |_: &str| {
            let answer = json!({"error": format!("bad key {SECRET}"), "tag": "INVALID_API_KEY"});
            reply(status, "Content-Type: application/json", answer.to_string())
        }
    };
    let brave_error = |_: &str| {
        let answer = json!({
            "type": "ErrorResponse", "time": 1,
            "error": {"id": "x", "status": 429, "code": "RATE_LIMITED", "detail": "Slow down."},
        });
        reply(
            "429 Too Many Requests",
            "Content-Type: application/json",
            answer.to_string(),
        )
    };
    let table: [(SearchService, Answers, &str); 6] = [
        (
            SearchService::Exa,
            Box::new(echo("401 Unauthorized")),
            "Exa: it answered 401 Unauthorized (bad key [secret]); check the key",
        ),
        (
            SearchService::Brave,
            Box::new(brave_error),
            "Brave Search: it answered 429 Too Many Requests (Slow down.); wait before searching again",
        ),
        (
            SearchService::Searxng,
            Box::new(|_: &str| reply("403 Forbidden", "X: y", "<h1>Forbidden")),
            "SearXNG: it answered 403 Forbidden; the instance must have \"json\" among",
        ),
        (
            SearchService::Searxng,
            Box::new(|_: &str| ok("text/html", "<p>hello")),
            "SearXNG: its answer is not the JSON it should be",
        ),
        (
            SearchService::Exa,
            Box::new(|_: &str| reply("302 Found", "Location: http://127.0.0.1:1/", "")),
            "Exa: it answered 302 Found",
        ),
        (
            SearchService::Brave,
            Box::new(|_: &str| StationAnswer::Whole(b"nonsense\r\n\r\n".into())),
            "Brave Search: ",
        ),
    ];
    for (key, answer, expected) in table {
        let station = Station::start(answer).await;
        let message = run(&only(key, &station), json!({"query": "q"}))
            .await
            .unwrap_err();
        assert!(
            message.starts_with(&format!("webSearch: {expected}")),
            "{message}"
        );
        assert!(
            !message.contains(SECRET) && !message.contains("hush"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn without_a_key_it_says_how_to_add_one_and_sees_one_that_comes_later() {
    let station = Station::start(|_| ok("application/json", "{\"results\": []}")).await;
    let none = Arc::new(web(Options::default()));
    let message = run(&none, json!({"query": "q"})).await.unwrap_err();
    for named in ["EXA_API_KEY", "BRAVE_API_KEY", "SEARXNG_URL"] {
        assert!(message.contains(named), "{message}");
    }
    let saved = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&saved);
    let options = Options {
        exa_url: station.url(""),
        ..Options::default()
    };
    let later = Arc::new(web_with_keys(options, move |key| {
        (key == SearchService::Exa && seen.load(Ordering::Relaxed)).then(|| SECRET.to_owned())
    }));
    assert!(!format!("{later:?}").contains(SECRET));
    assert_eq!(run(&later, json!({"query": "q"})).await, Err(message));
    saved.store(true, Ordering::Relaxed);
    assert_eq!(
        run(&later, json!({"query": "q"})).await,
        Ok("Exa found nothing.".to_owned())
    );
}

#[tokio::test]
async fn the_next_service_is_asked_when_one_fails() {
    let station = Station::start(|request| match request.starts_with("POST") {
        true => reply("402 Payment Required", "X: y", ""),
        false => ok("application/json", "{\"web\":{\"results\":[]}}"),
    })
    .await;
    let options = Options {
        exa_url: station.url(""),
        brave_url: station.url(""),
        ..Options::default()
    };
    let both = web_with_keys(options, |key| {
        (key != SearchService::Searxng).then(|| SECRET.to_owned())
    });
    let found = run(&Arc::new(both), json!({"query": "q"})).await;
    assert_eq!(found, Ok("Brave Search found nothing.".to_owned()));
    assert_eq!(station.asked().len(), 2);
}

#[tokio::test]
async fn a_bad_input_is_refused() {
    let none = Arc::new(web(Options::default()));
    for (input, expected) in [
        (json!({}), "\"query\" must be a text"),
        (json!({"query": "  "}), "not empty"),
        (json!({"query": "q".repeat(401)}), "at most 400 characters"),
        (json!({"query": "q", "maxResults": 0}), "from 1 to 20"),
        (json!({"query": "q", "maxResults": 21}), "from 1 to 20"),
    ] {
        let message = run(&none, input).await.unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}
