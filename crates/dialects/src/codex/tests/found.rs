//! Items without their turns, words that were said, and what is kept of a repository.

use serde_json::{Value, json};
use vocabulary::{Call, Changed, Changes, Fact, FieldChange, GitInfo, GitInfoChange, Reply};
use vocabulary::{ThreadFact, Title, TurnSelection};

use super::listing::page;
use super::stub::{Stub, THREAD, card, thread};
use crate::codex::Endpoint;

fn asked(method: &str, mut params: Value) -> Stub {
    params["threadId"] = THREAD.into();
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, method, params);
    stub
}

fn selection(stub: &Stub) -> TurnSelection {
    match stub.call() {
        Call::ReadTurns {
            selection,
            entries: true,
            ..
        } => selection.clone(),
        other => panic!("{other:?}"),
    }
}

fn refused(method: &str, params: Value) -> String {
    let mut stub = asked(method, params);
    assert!(stub.calls.is_empty(), "{:?}", stub.calls);
    let error = stub.take().remove(0)["error"].take();
    assert_eq!(error["code"], -32602);
    error["message"].as_str().unwrap_or_default().to_owned()
}

fn items(params: Value, numbers: &[u64], more: bool) -> (Vec<String>, Value) {
    let mut stub = asked("thread/items/list", params);
    stub.reply(Ok(page(numbers, true, more)));
    let result = stub.take().remove(0)["result"].take();
    let data = result["data"].as_array().expect("a list").iter();
    let ids = data.map(|entry| {
        let (turn, item) = (&entry["turnId"], &entry["item"]["id"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", text(turn), text(item))
    });
    (ids.collect(), result)
}

#[test]
fn items_come_without_their_turns_in_both_directions() {
    let stub = asked("thread/items/list", json!({}));
    assert_eq!(selection(&stub), TurnSelection::Oldest);
    let (ids, result) = items(json!({ "limit": 4 }), &[1, 2], false);
    assert_eq!(ids, ["t1 u1", "t1 a1", "t1 b1", "t2 u2"]);
    assert_eq!(result["data"][0]["item"]["type"], "userMessage");
    let next = result["nextCursor"].clone();
    let stub = asked("thread/items/list", json!({ "cursor": next }));
    assert_eq!(selection(&stub), TurnSelection::After(1));
    let (ids, rest) = items(json!({ "cursor": next }), &[2], false);
    assert_eq!(ids, ["t2 a2", "t2 b2"]);
    assert_eq!(rest["nextCursor"], Value::Null);

    // The other way, from the first of that page on.
    let back = json!({ "cursor": rest["backwardsCursor"], "sortDirection": "desc", "limit": 2 });
    let stub = asked("thread/items/list", back.clone());
    assert_eq!(selection(&stub), TurnSelection::Before(3));
    let (ids, _) = items(back, &[2, 1], false);
    assert_eq!(ids, ["t2 a2", "t2 u2"]);
    let (ids, result) = items(
        json!({ "sortDirection": "desc", "limit": 1 }),
        &[2, 1],
        false,
    );
    assert_eq!(ids, ["t2 b2"]);
    assert!(result["nextCursor"].is_string());
}

#[test]
fn a_page_of_turns_that_says_there_are_more_is_gone_on_from() {
    let (ids, result) = items(json!({ "limit": 100 }), &[1], true);
    assert_eq!(ids.len(), 3);
    let next = result["nextCursor"].clone();
    let (ids, _) = items(json!({ "cursor": next }), &[1, 2], false);
    assert_eq!(ids, ["t2 u2", "t2 a2", "t2 b2"]);
}

#[test]
fn items_of_one_turn_go_on_behind_one_of_them() {
    let params = json!({ "turnId": "t1", "cursor": { "type": "item", "itemId": "u1" } });
    let stub = asked("thread/items/list", params.clone());
    let one = TurnSelection::One(vocabulary::TurnId::new("t1"));
    assert_eq!(selection(&stub), one);
    assert_eq!(items(params, &[1], false).0, ["t1 a1", "t1 b1"]);
    let anchor = json!({ "cursor": { "type": "item", "itemId": "u1" } });
    let message = refused("thread/items/list", anchor);
    assert!(message.contains("turnId"), "{message}");
    let message = refused("thread/items/list", json!({ "cursor": "x" }));
    assert!(message.contains("cursor"), "{message}");
    let mut stub = asked(
        "thread/items/list",
        json!({ "turnId": "t1", "cursor": { "type": "item", "itemId": "gone" } }),
    );
    stub.reply(Ok(page(&[1], true, false)));
    assert_eq!(stub.take()[0]["error"]["code"], -32602);
}

#[test]
fn named_items_of_a_turn_are_read_in_their_order() {
    let params = json!({ "turnId": "t1", "itemIds": ["b1", "u1", "nobodys"] });
    let mut stub = asked("thread/items/read", params);
    stub.reply(Ok(page(&[1], true, false)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"][0]["item"]["id"], "u1");
    assert_eq!(result["data"][1]["item"]["id"], "b1");
    assert_eq!(result["data"].as_array().map(Vec::len), Some(2));
    let message = refused(
        "thread/items/read",
        json!({ "turnId": "t1", "itemIds": [] }),
    );
    assert!(message.contains("itemIds"), "{message}");
}

#[test]
fn words_are_looked_for_until_a_page_is_full_or_the_thread_is_over() {
    let mut stub = asked(
        "thread/searchOccurrences",
        json!({ "searchTerm": "GO", "limit": 2 }),
    );
    assert_eq!(selection(&stub), TurnSelection::After(0));
    stub.reply(Ok(page(&[1], true, true)));
    // Not enough yet.
    assert_eq!(selection(&stub), TurnSelection::After(1));
    stub.reply(Ok(page(&[2, 3], true, false)));
    let result = stub.take().remove(0)["result"].take();
    let data = &result["data"];
    assert_eq!(data[0]["turnId"], "t1");
    assert_eq!(data[1]["itemId"], "u2");
    assert_eq!(data[0]["snippet"], "Go");
    assert_eq!(
        data[0]["snippetMatchRange"],
        json!({ "start": 0, "end": 2 })
    );
    assert_eq!(data.as_array().map(Vec::len), Some(2));

    let next = json!({ "searchTerm": "GO", "cursor": result["nextCursor"] });
    let mut stub = asked("thread/searchOccurrences", next);
    assert_eq!(selection(&stub), TurnSelection::After(2));
    stub.reply(Ok(page(&[3], true, false)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"][0]["turnId"], "t3");
    assert_eq!(result["nextCursor"], Value::Null);
    // Its turn is the first of the pages that begin there.
    for (direction, expected) in [
        ("desc", TurnSelection::Before(4)),
        ("asc", TurnSelection::After(2)),
    ] {
        let cursor = &result["data"][0]["turnCursor"];
        let params = json!({ "cursor": cursor, "sortDirection": direction, "itemsView": "full" });
        assert_eq!(selection(&asked("thread/turns/list", params)), expected);
    }
}

#[test]
fn a_search_goes_on_behind_the_last_place_it_told() {
    let first = json!({ "searchTerm": "b", "limit": 1 });
    let mut stub = asked("thread/searchOccurrences", first);
    stub.reply(Ok(page(&[1, 2], true, false)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"][0]["itemId"], "b1");
    let next = json!({ "searchTerm": "b", "limit": 1, "cursor": result["nextCursor"] });
    let mut stub = asked("thread/searchOccurrences", next);
    stub.reply(Ok(page(&[2], true, false)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"][0]["itemId"], "b2");
}

#[test]
fn a_search_without_words_or_from_nowhere_is_refused() {
    let message = refused("thread/searchOccurrences", json!({ "searchTerm": " " }));
    assert!(message.contains("searchTerm"), "{message}");
    let params = json!({ "searchTerm": "a", "cursor": "x" });
    let message = refused("thread/searchOccurrences", params);
    assert!(message.contains("cursor"), "{message}");
}

#[test]
fn a_search_ends_for_now_after_so_many_reads() {
    let mut stub = asked(
        "thread/searchOccurrences",
        json!({ "searchTerm": "nowhere" }),
    );
    let mut reads = 0;
    while !stub.calls.is_empty() {
        reads += 1;
        stub.reply(Ok(page(&[reads], true, true)));
    }
    assert_eq!(reads, 40);
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"], json!([]));
    assert_eq!(result["nextCursor"], "40.0");
}

#[test]
fn what_is_known_of_a_repository_is_changed_field_by_field() {
    let params = json!({ "gitInfo": { "branch": "main", "sha": null } });
    let mut stub = asked("thread/metadata/update", params);
    let changes = Changes {
        git: Some(Box::new(GitInfoChange {
            branch: FieldChange::Set(Some("main".to_owned())),
            sha: FieldChange::Set(None),
            origin: FieldChange::Stays,
        })),
        ..Changes::default()
    };
    let expected = Call::ChangeThread {
        thread: card().id,
        changes,
    };
    assert_eq!(*stub.call(), expected);
    let mut known = thread();
    known.settings.git = Some(Box::new(GitInfo {
        branch: Some("main".to_owned()),
        sha: None,
        origin: Some("https://example.com".to_owned()),
    }));
    stub.reply(Ok(Reply::Thread(Box::new(known))));
    let shown = stub.take().remove(0)["result"]["thread"].take();
    let git = json!({ "sha": null, "branch": "main", "originUrl": "https://example.com" });
    assert_eq!(shown["gitInfo"], git);

    let out_of_it = asked("thread/metadata/update", json!({ "projectId": "" }));
    assert!(matches!(out_of_it.call(), Call::GetThread { .. }));
    for (params, field) in [
        (json!({}), "gitInfo"),
        (json!({ "gitInfo": {} }), "gitInfo"),
        (json!({ "gitInfo": { "sha": "" } }), "gitInfo.sha"),
        (json!({ "projectId": "p" }), "projectId"),
        (json!({ "daybreakEnabled": true }), "daybreakEnabled"),
    ] {
        let message = refused("thread/metadata/update", params);
        assert!(message.contains(field), "{message}");
    }
}

#[test]
fn what_is_known_of_a_repository_is_no_setting_of_the_client() {
    let mut stub = Stub::started(Endpoint::Codex);
    let changed = |what: Changed| {
        Fact::Thread(ThreadFact::SettingsChanged {
            settings: thread().settings,
            changed: vec![what],
            title: Title::default(),
        })
    };
    assert_eq!(stub.tell(changed(Changed::Git)), Vec::<Value>::new());
    assert!(stub.calls.is_empty());
    stub.tell(changed(Changed::Effort));
    assert!(!stub.calls.is_empty());
}
