//! `thread/search`: threads by what was said in them.

use serde_json::json;
use vocabulary::{
    ArchivedThreads, Call, FoundThread, Reply, SearchKind, SearchPage, SearchQuery, TextHit,
    Timestamp, WorkspaceId,
};

use super::samples::{THREAD, thread};
use super::stub::Stub;

#[test]
fn hidden_threads_are_left_out_unless_they_are_wanted() {
    let mut stub = Stub::opened(false);
    stub.say(
        "thread/search",
        json!({ "query": "key", "workspace_id": "w", "limit": 3 }),
    );
    let expected = SearchQuery {
        text: "key".to_owned(),
        workspace: Some(WorkspaceId::new("w")),
        unlabelled: vec![("sidebar_visibility".to_owned(), "hidden".to_owned())],
        limit: Some(3),
        ..SearchQuery::default()
    };
    assert_eq!(*stub.call(), Call::SearchThreads(Box::new(expected)));

    let mut stub = Stub::opened(false);
    let params =
        json!({ "query": "key", "include_hidden": true, "kinds": ["agent"], "updated_since": 2 });
    stub.say("thread/search", params);
    let expected = SearchQuery {
        text: "key".to_owned(),
        archived: ArchivedThreads::Included,
        kinds: vec![SearchKind::Agent],
        updated_since: Some(Timestamp(2_000)),
        ..SearchQuery::default()
    };
    assert_eq!(*stub.call(), Call::SearchThreads(Box::new(expected)));
}

#[test]
fn results_have_the_thread_and_its_places() {
    let mut stub = Stub::opened(false);
    stub.say("thread/search", json!({ "query": "key" }));
    let page = SearchPage {
        threads: vec![FoundThread {
            thread: thread(),
            hits: vec![TextHit {
                kind: SearchKind::Title,
                turn: None,
                item: None,
                at: Timestamp(3_000),
                snippet: "the key".to_owned(),
                matches: std::iter::once(4..7).collect(),
            }],
            more_hits: 0,
        }],
        next: None,
        indexing: None,
    };
    stub.reply(Ok(Reply::Search(Box::new(page))));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["results"][0]["thread"]["id"], THREAD);
    let hit = json!({ "kind": "title", "turn_id": null, "item_id": null, "created_at": 3,
        "snippet": "the key", "matches": [{ "start": 4, "end": 7 }] });
    assert_eq!(result["results"][0]["hits"], json!([hit]));
}

#[test]
fn a_search_without_words_is_refused() {
    for params in [
        json!({ "query": " " }),
        json!({ "query": "x", "limit": 0 }),
        json!({}),
    ] {
        let mut stub = Stub::opened(false);
        stub.say("thread/search", params);
        assert_eq!(stub.take()[0]["error"]["code"], -32602);
    }
}
