//! Lists: of threads, and of the turns of one.

use serde_json::{Value, json};
use vocabulary::{
    ArchivedThreads, Call, EndedTurn, Entry, Event, Fact, IndexedTurn, Item, ItemFact, ItemId,
    ListDirection, Reply, SectionFilter, Seq, ThreadPage, ThreadQuery, ThreadSort, TurnError,
    TurnErrorKind, TurnFact, TurnId, TurnOutcome, TurnPage, TurnSelection, UserInput,
};

use super::stub::{NOW, Stub, THREAD, tag, view};
use crate::codex::Endpoint;

const METHOD: &str = "thread/turns/list";

fn outcome(number: u64) -> TurnOutcome {
    match number % 2 {
        0 => TurnOutcome::Completed,
        _ => TurnOutcome::Failed(TurnError {
            kind: TurnErrorKind::Budget,
            message: "spent".to_owned(),
        }),
    }
}

fn indexed(number: u64) -> IndexedTurn {
    IndexedTurn {
        number,
        turn: TurnId::new(format!("t{number}")),
        first_seq: Seq(number * 10),
        first_ordinal: number * 4,
        started_at: NOW,
        ended: Some(EndedTurn {
            last_seq: Seq(number * 10 + 3),
            last_ordinal: number * 4 + 3,
            at: NOW,
            outcome: outcome(number),
        }),
    }
}

/// What happened in a turn: something was said, and answered twice.
fn entries(number: u64) -> Vec<Entry> {
    let turn = TurnId::new(format!("t{number}"));
    let written = |item: &str| {
        let mut tag = tag();
        tag.turn = turn.clone();
        Fact::Item {
            tag,
            item: ItemId::new(format!("{item}{number}")),
            content: 0,
            what: ItemFact::Finished {
                began: None,
                body: Item::AgentMessage {
                    text: item.to_owned(),
                    partial: false,
                    native: None,
                },
            },
        }
    };
    let started = TurnFact::Started {
        turn: turn.clone(),
        cause: vocabulary::Cause::UserMessage,
        input: UserInput {
            images: Vec::new(),
            item: ItemId::new(format!("u{number}")),
            text: "Go".to_owned(),
            display: None,
            client_id: None,
            pieces: Vec::new(),
        },
        model: tag().model,
    };
    let finished = TurnFact::Finished {
        turn: turn.clone(),
        outcome: outcome(number),
        text: String::new(),
        reasoning: Vec::new(),
        usage: None,
        model: tag().model,
        started_at: None,
    };
    let facts = [
        Fact::Turn(started),
        written("a"),
        written("b"),
        Fact::Turn(finished),
    ];
    let entry = |(place, fact)| Entry {
        ordinal: number * 4 + place,
        message: number,
        event: Event {
            seq: Seq(number * 10 + place),
            at: NOW,
            by: None,
            fact,
        },
    };
    (0..).zip(facts).map(entry).collect()
}

pub fn page(numbers: &[u64], with_entries: bool, more: bool) -> Reply {
    let mut oldest_first = numbers.to_vec();
    oldest_first.sort_unstable();
    let entries = oldest_first.into_iter().flat_map(entries);
    Reply::Turns(Box::new(TurnPage {
        view: view(),
        turns: numbers.iter().copied().map(indexed).collect(),
        entries: entries.filter(|_| with_entries).collect(),
        more,
    }))
}

fn read(params: Value) -> (Stub, TurnSelection, u32, bool) {
    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, METHOD, params);
    let Call::ReadTurns {
        selection,
        limit,
        entries,
        ..
    } = stub.call().clone()
    else {
        panic!("{:?}", stub.call())
    };
    (stub, selection, limit, entries)
}

fn ids(result: &Value) -> Vec<String> {
    let data = result["data"].as_array().expect("a list").iter();
    data.map(|turn| turn["id"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn turns_are_listed_newest_first_in_short() {
    let (mut stub, selection, limit, entries) = read(json!({ "threadId": THREAD }));
    assert_eq!(
        (selection, limit, entries),
        (TurnSelection::Newest, 25, true)
    );
    stub.reply(Ok(page(&[7, 6], true, true)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(ids(&result), ["t7", "t6"]);
    let turn = &result["data"][0];
    assert_eq!(turn["itemsView"], "summary");
    let items = turn["items"].as_array().expect("items").iter();
    let items: Vec<_> = items.map(|item| &item["id"]).collect();
    assert_eq!(items, ["u7", "b7"], "what was asked, and the last answer");
    assert_eq!(turn["error"]["message"], "spent");
    assert_eq!(
        (&result["nextCursor"], &result["backwardsCursor"]),
        (&json!("6"), &json!("6"))
    );
}

#[test]
fn a_cursor_goes_on_and_turns_round() {
    let params = json!({ "threadId": THREAD, "cursor": "6", "limit": 1_000 });
    let (mut stub, selection, limit, _) = read(params);
    assert_eq!((selection, limit), (TurnSelection::Before(6), 100));
    stub.reply(Ok(page(&[5, 4], true, false)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["nextCursor"], Value::Null);
    let round = &result["backwardsCursor"];

    let params = json!({ "threadId": THREAD, "cursor": round, "sortDirection": "asc" });
    let (mut stub, selection, ..) = read(params);
    assert_eq!(
        selection,
        TurnSelection::After(4),
        "it begins with turn 5 again"
    );
    stub.reply(Ok(page(&[5, 6], true, true)));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(ids(&result), ["t5", "t6"]);
    assert_eq!(
        (&result["nextCursor"], &result["backwardsCursor"]),
        (&json!("6"), &json!("6"))
    );

    let mut stub = Stub::ready(Endpoint::Codex);
    stub.ask(1, METHOD, json!({ "threadId": THREAD, "cursor": "x" }));
    let error = stub.take().remove(0)["error"].take();
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| text.contains("start the list again"))
    );
}

#[test]
fn turns_come_with_all_items_or_none() {
    for (view, count) in [("full", 3), ("notLoaded", 0)] {
        let params = json!({ "threadId": THREAD, "itemsView": view, "sortDirection": "asc" });
        let (mut stub, selection, _, entries) = read(params);
        assert_eq!((selection, entries), (TurnSelection::Oldest, count > 0));
        stub.reply(Ok(page(&[1, 2], count > 0, false)));
        let result = stub.take().remove(0)["result"].take();
        let turn = &result["data"][0];
        assert_eq!(turn["items"].as_array().map(Vec::len), Some(count));
        assert_eq!(
            (&turn["itemsView"], &turn["status"]),
            (&json!(view), &json!("failed"))
        );
        assert_eq!(turn["startedAt"], json!(NOW.seconds()));
        assert_eq!(turn["completedAt"], json!(NOW.seconds()));
        assert_eq!(turn["error"]["message"], "spent");
    }
}

#[test]
fn a_resume_may_bring_a_first_page() {
    let wanted = json!({ "limit": 2, "itemsView": "full" });
    let params = json!({ "threadId": THREAD, "excludeTurns": true, "initialTurnsPage": wanted });
    let resumed = |message_count| {
        let mut stub = Stub::ready(Endpoint::Codex);
        stub.ask(1, "thread/resume", params.clone());
        assert!(matches!(
            stub.call(),
            Call::ReadTurns {
                selection: TurnSelection::Newest,
                limit: 2,
                entries: true,
                ..
            }
        ));
        stub.reply(Ok(page(&[7, 6], true, true)));
        let mut heard = view();
        heard.thread.message_count = message_count;
        stub.reply(Ok(Reply::View(Box::new(heard))));
        stub.take().remove(0)["result"].take()
    };
    let result = resumed(0);
    assert_eq!(result["thread"]["turns"], json!([]));
    let first = &result["initialTurnsPage"];
    assert_eq!(ids(first), ["t7", "t6"]);
    assert_eq!(first["data"][0]["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(first["nextCursor"], "6");
    let changed = resumed(3);
    let missing = changed.get("initialTurnsPage").is_none();
    assert!(missing, "a turn came and went while the page was read");
}

/// A view that brings what happened in these turns.
fn bringing(numbers: &[u64]) -> Reply {
    let mut heard = view();
    heard.recent = numbers.iter().copied().flat_map(entries).collect();
    Reply::View(Box::new(heard))
}

/// A long thread is read page by page, and shown as it would be as a whole.
#[test]
fn a_long_thread_is_resumed_as_a_whole_that_never_was_there_at_once() {
    for endpoint in [Endpoint::Codex, Endpoint::Zane] {
        let whole = {
            let mut stub = Stub::ready(endpoint);
            stub.ask(1, "thread/resume", json!({ "threadId": THREAD }));
            stub.reply(Ok(bringing(&[0, 1, 2, 3, 4])));
            stub.take()
        };
        let read_on = |messages: u64, head: u64| {
            let mut stub = Stub::ready(endpoint);
            stub.ask(1, "thread/resume", json!({ "threadId": THREAD }));
            // What is brought does not begin with the first message.
            stub.reply(Ok(bringing(&[4])));
            assert_eq!(stub.unlistened.len(), 1, "nothing is heard meanwhile");
            for (wanted, numbers, more) in [
                (TurnSelection::Oldest, &[0, 1][..], true),
                (TurnSelection::After(1), &[2, 3], true),
                (TurnSelection::After(3), &[4], false),
            ] {
                match stub.call() {
                    Call::ReadTurns {
                        selection, entries, ..
                    } => assert_eq!((selection, *entries), (&wanted, true)),
                    other => panic!("no turns are read: {other:?}"),
                }
                stub.reply(Ok(page(numbers, true, more)));
            }
            assert_eq!(stub.take(), [json!(null); 0]);
            let mut heard = view();
            heard.thread.message_count = messages;
            heard.head = Seq(heard.head.0 + head);
            heard.recent = entries(4);
            stub.reply(Ok(Reply::View(Box::new(heard))));
            stub
        };
        assert_eq!(read_on(0, 0).take(), whole, "{endpoint:?}");
        // Where something happened meanwhile, it is read at once after all: as many messages may be others.
        for (messages, head) in [(3, 0), (0, 2)] {
            let mut stub = read_on(messages, head);
            assert_eq!(stub.take(), [json!(null); 0]);
            stub.reply(Ok(bringing(&[0, 1, 2, 3, 4])));
            assert_eq!(stub.take(), whole);
        }
    }
}

#[test]
fn threads_are_filtered_before_they_are_paged() {
    let mut stub = Stub::ready(Endpoint::Codex);
    let params = json!({ "cwd": ["/a", "/b"], "searchTerm": "Mend", "limit": 3, "cursor": "c",
        "archived": true, "modelProviders": ["openai"], "excludedThreadIds": [THREAD],
        "sortKey": "recency_at", "sortDirection": "asc", "sourceKinds": ["cli", "vscode"],
        "sectionId": null, "projectId": null, "originators": [], "useStateDbOnly": true });
    stub.ask(1, "thread/list", params);
    let expected = ThreadQuery {
        archived: ArchivedThreads::Only,
        directories: vec!["/a".into(), "/b".into()],
        text: Some("Mend".to_owned()),
        providers: vec!["openai".to_owned()],
        left_out: [super::stub::card().id].into(),
        sort: ThreadSort::Active,
        direction: ListDirection::OldestFirst,
        limit: Some(3),
        cursor: Some("c".to_owned()),
        section: Some(SectionFilter::Unsectioned),
        ..ThreadQuery::default()
    };
    assert_eq!(*stub.call(), Call::ListThreads(expected));
}

fn asked(endpoint: Endpoint, params: Value) -> ThreadQuery {
    let mut stub = Stub::ready(endpoint);
    stub.ask(1, "thread/list", params);
    match stub.call() {
        Call::ListThreads(query) => query.clone(),
        other => panic!("no list: {other:?}"),
    }
}

#[test]
fn a_list_without_wishes_is_in_the_usual_order_of_its_endpoint() {
    for (endpoint, sort) in [
        (Endpoint::Codex, ThreadSort::Created),
        (Endpoint::Zane, ThreadSort::Updated),
    ] {
        let query = asked(endpoint, json!({}));
        assert_eq!(
            (query.sort, query.limit, query.only),
            (sort, Some(25), None)
        );
    }
    let query = asked(Endpoint::Codex, json!({ "limit": 0 }));
    assert_eq!(query.limit, Some(0));
    let query = asked(Endpoint::Codex, json!({ "limit": 1_000 }));
    assert_eq!(query.limit, Some(100));
}

#[test]
fn a_section_is_listed_by_time_or_in_its_own_order() {
    let in_order = |params| {
        let query = asked(Endpoint::Codex, params);
        let Some(SectionFilter::Of { section, in_order }) = query.section else {
            panic!("{:?}", query.section)
        };
        assert_eq!(section.as_str(), "s");
        (in_order, query.direction)
    };
    let (newest, oldest) = (ListDirection::NewestFirst, ListDirection::OldestFirst);
    let params = json!({ "sectionId": "s" });
    assert_eq!(in_order(params), (false, newest));
    let params = json!({ "sectionId": "s", "sortKey": "section_position" });
    assert_eq!(in_order(params), (true, oldest));
    let params =
        json!({ "sectionId": "s", "sortKey": "section_position", "sortDirection": "desc" });
    assert_eq!(in_order(params), (true, newest));
    assert_eq!(asked(Endpoint::Codex, json!({})).section, None);
}

#[test]
fn of_what_there_is_none_here_a_list_has_none() {
    for params in [
        json!({ "sourceKinds": ["exec"] }),
        json!({ "projectId": "p" }),
        json!({ "parentThreadId": THREAD }),
        json!({ "ancestorThreadId": THREAD }),
        json!({ "attachedToThreadId": THREAD }),
    ] {
        let query = asked(Endpoint::Codex, params.clone());
        assert_eq!(query.only, Some(Vec::new()), "{params}");
    }
}

#[test]
fn filters_that_cannot_be_kept_are_refused_by_their_names() {
    for (params, field) in [
        (json!({ "originators": ["me"] }), "originators"),
        (
            json!({ "excludedThreadIds": vec![THREAD; 101] }),
            "excludedThreadIds",
        ),
        (
            json!({ "parentThreadId": THREAD, "ancestorThreadId": THREAD }),
            "ancestorThreadId",
        ),
        (json!({ "sortKey": "size" }), "sortKey"),
        (json!({ "sortKey": "section_position" }), "sectionId"),
        (
            json!({ "sortKey": "section_position", "sectionId": null }),
            "sectionId",
        ),
    ] {
        let mut stub = Stub::ready(Endpoint::Codex);
        stub.ask(1, "thread/list", params);
        let error = stub.take().remove(0)["error"].take();
        assert_eq!(error["code"], -32602);
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(field), "{message}");
        assert!(stub.calls.is_empty());
    }
}

#[test]
fn a_page_says_how_to_go_on_both_ways_and_what_is_heard_is_loaded() {
    let mut stub = Stub::started(Endpoint::Codex);
    stub.ask(2, "thread/list", json!({}));
    let mut asleep = super::stub::thread();
    asleep.status = vocabulary::Status::Inactive;
    let page = || ThreadPage {
        threads: vec![asleep.clone()],
        next: Some("n".to_owned()),
        back: Some("b".to_owned()),
    };
    stub.reply(Ok(Reply::Threads(page())));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["nextCursor"], "n");
    assert_eq!(result["backwardsCursor"], "b");
    assert_eq!(result["data"][0]["status"]["type"], "idle");
    stub.ask(3, "thread/loaded/list", Value::Null);
    stub.reply(Ok(Reply::Threads(page())));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"], json!([THREAD]));
    stub.ask(4, "thread/search", json!({ "searchTerm": "MEND" }));
    let Call::ListThreads(query) = stub.call() else {
        panic!("no list")
    };
    assert_eq!(query.text.as_deref(), Some("MEND"));
    let mut named = asleep.clone();
    named.title.text = "Mend the door".to_owned();
    stub.reply(Ok(Reply::Threads(ThreadPage {
        threads: vec![named],
        ..page()
    })));
    let result = stub.take().remove(0)["result"].take();
    assert_eq!(result["data"][0]["snippet"], "Mend the door");
    assert_eq!(result["data"][0]["thread"]["id"], THREAD);
}
