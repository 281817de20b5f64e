//! `dragoman/search`: threads by what was said in them.

use serde_json::{Value, json};
use vocabulary::{
    ArchivedThreads, Call, FoundThread, IndexingProgress, ItemId, Reply, SearchKind, SearchPage,
    SearchQuery, TextHit, Timestamp, TurnId,
};

use super::stub::{Stub, THREAD, card, thread};
use crate::codex::Endpoint;

fn asked(params: Value) -> Stub {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, "dragoman/search", params);
    stub
}

#[test]
fn every_filter_is_passed_on() {
    let stub = asked(
        json!({ "searchTerm": "key \"the mat\"", "cwd": "/a", "archived": "only",
        "updatedSince": 5, "updatedUntil": 9, "agent": "", "model": "openai/gpt-5.2",
        "kinds": ["command", "path"], "threadId": THREAD, "limit": 7, "cursor": "c" }),
    );
    let expected = SearchQuery {
        text: "key \"the mat\"".to_owned(),
        archived: ArchivedThreads::Only,
        directories: vec!["/a".into()],
        updated_since: Some(Timestamp(5_000)),
        updated_until: Some(Timestamp(9_000)),
        agent: Some(String::new()),
        model: Some("openai/gpt-5.2".to_owned()),
        kinds: vec![SearchKind::Command, SearchKind::Path],
        thread: Some(card().id),
        limit: Some(7),
        cursor: Some("c".to_owned()),
        ..SearchQuery::default()
    };
    assert_eq!(*stub.call(), Call::SearchThreads(Box::new(expected)));
}

#[test]
fn hits_have_their_places_in_utf_16() {
    let mut stub = asked(json!({ "searchTerm": "key" }));
    let page = SearchPage {
        threads: vec![FoundThread {
            thread: thread(),
            hits: vec![TextHit {
                kind: SearchKind::User,
                turn: Some(TurnId::new("t1")),
                item: Some(ItemId::new("u1")),
                at: Timestamp(61_000),
                snippet: "…é🙂 key".to_owned(),
                matches: std::iter::once(10..13).collect(),
            }],
            more_hits: 2,
        }],
        next: Some("n".to_owned()),
        indexing: Some(IndexingProgress { done: 1, total: 4 }),
    };
    stub.reply(Ok(Reply::Search(Box::new(page))));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["nextCursor"], "n");
    assert_eq!(result["indexing"], json!({ "done": 1, "total": 4 }));
    let found = &result["data"][0];
    assert_eq!(found["thread"]["id"], THREAD);
    assert_eq!(found["moreHits"], 2);
    let hit = json!({ "kind": "user", "turnId": "t1", "itemId": "u1", "createdAt": 61,
        "snippet": "…é🙂 key", "matches": [{ "start": 5, "end": 8 }] });
    assert_eq!(found["hits"], json!([hit]));
}

#[test]
fn what_is_no_search_is_refused() {
    for (params, field) in [
        (json!({ "searchTerm": " " }), "searchTerm"),
        (json!({ "searchTerm": "x".repeat(1_001) }), "searchTerm"),
        (json!({ "searchTerm": "x", "limit": 0 }), "limit"),
        (json!({ "searchTerm": "x", "limit": 101 }), "limit"),
        (
            json!({ "searchTerm": "x", "kinds": ["thought"] }),
            "thought",
        ),
    ] {
        let mut stub = asked(params);
        assert!(stub.calls.is_empty());
        let error = stub.take().remove(0)["error"].take();
        assert_eq!(error["code"], -32602);
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(field), "{message}");
    }
}
