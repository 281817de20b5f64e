//! Whatever is typed, both stores understand it, and find the same.

use std::sync::Arc;

use proptest::prelude::*;
use vocabulary::{IndexingProgress, SearchKind, SearchQuery, Seq};

use crate::sqlite::SqliteStore;
use crate::testing::memory::MemoryStore;
use crate::testing::story::{a_batch, a_thread, an_event, found, index_all};
use crate::words::{SearchTerms, TextWords};
use crate::{Batch, IndexPart, IndexPiece, Lease, SearchText, SharedStore, StoredEvent};

const CASES: u32 = 24;

async fn kept(store: &SharedStore, texts: &[String]) {
    let lease = store.acquire(a_thread(1).card.id).await.expect("free");
    append(store, lease, texts).await;
    index_all(store, 3).await;
}

async fn append(store: &SharedStore, lease: Lease, texts: &[String]) {
    let event = |(text, seq): (&String, u64)| StoredEvent {
        payload: bytes::Bytes::from(text.clone()),
        ..an_event(seq)
    };
    let batch = Batch {
        thread: Some(a_thread(1)),
        events: texts.iter().zip(1..).map(event).collect(),
        ..a_batch(&[])
    };
    store.append(lease, Seq::ZERO, batch).await.expect("kept");
}

/// Texts as people and programs write them, and any other.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("foo_bar.rs".to_owned()),
        Just("HTTPServer".to_owned()),
        Just("Éclair".to_owned()),
        Just("設定".to_owned()),
        Just("AND".to_owned()),
        Just("NEAR(a b)".to_owned()),
        "[a-c]{1,4}",
    ];
    let words = prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "));
    prop_oneof![words, any::<String>()]
}

/// What was typed: words of texts, quotes, FTS5's own signs, anything.
fn typed() -> impl Strategy<Value = String> {
    let sign = prop_oneof![
        Just("\"".to_owned()),
        Just("*".to_owned()),
        Just("words:".to_owned()),
        Just("^a".to_owned()),
        Just("- + ( ) { }".to_owned()),
        Just("\0".to_owned()),
        Just("'; DROP TABLE search; --".to_owned()),
        text(),
    ];
    prop::collection::vec(sign, 1..4).prop_map(|signs| signs.join(" "))
}

/// One piece of what was there before the index; how far it is then.
async fn index_old(store: &SharedStore, limit: u32) -> Option<IndexingProgress> {
    let next = store.unindexed(IndexPart::Old, limit).await.expect("reads");
    let text = |(thread, event): (_, StoredEvent)| SearchText {
        thread,
        seq: event.seq,
        kind: SearchKind::User,
        text: String::from_utf8_lossy(&event.payload).into_owned(),
    };
    let piece = IndexPiece {
        span: next.span,
        hidden: Vec::new(),
        texts: next.events.into_iter().map(text).collect(),
    };
    assert_eq!(store.index(piece).await, Ok(true));
    store.index_standing().await.expect("reads").indexing
}

#[tokio::test]
async fn what_was_there_before_the_index_is_indexed_piece_by_piece() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let path = home.path().join("sessions.db");
    let open = || -> SharedStore { Arc::new(SqliteStore::open(&path, "a test").expect("opens")) };
    let store = open();
    let texts: Vec<String> = (0..5)
        .map(|number| format!("an old quagga {number}"))
        .collect();
    let lease = store.acquire(a_thread(1).card.id).await.expect("free");
    append(&store, lease, &texts).await;
    drop(store);
    // As a home of an older version is when it first has the index.
    let db = rusqlite::Connection::open(&path).expect("opens");
    let older = "DROP TABLE search; DROP TABLE search_marks; PRAGMA user_version = 7";
    db.execute_batch(older).expect("it can be done");
    drop(db);

    let store = open();
    let query = SearchQuery {
        text: "quagga".to_owned(),
        ..SearchQuery::default()
    };
    index_all(&store, 99).await;
    assert_eq!(found(&store, &query).await, []);
    let standing = store.index_standing().await.expect("reads").indexing;
    assert_eq!(standing, Some(IndexingProgress { done: 0, total: 5 }));
    let standing = index_old(&store, 2).await;
    assert_eq!(standing, Some(IndexingProgress { done: 2, total: 5 }));
    drop(store);
    // Where one process left off another goes on.
    let store = open();
    assert_eq!(found(&store, &query).await, [(1, 2), (1, 1)]);
    while index_old(&store, 2).await.is_some() {}
    assert_eq!(found(&store, &query).await.len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_query_finds_the_same_in_both_stores(
        texts in prop::collection::vec(text(), 1..6),
        queries in prop::collection::vec(typed(), 8),
    ) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let home = tempfile::tempdir().expect("a scratch directory");
            let path = home.path().join("sessions.db");
            let file: SharedStore = Arc::new(SqliteStore::open(&path, "a test").expect("opens"));
            let memory: SharedStore = Arc::new(MemoryStore::new());
            kept(&file, &texts).await;
            kept(&memory, &texts).await;
            for text in queries.into_iter().chain(texts.clone()) {
                let query = SearchQuery { text: text.clone(), ..SearchQuery::default() };
                assert_eq!(found(&file, &query).await, found(&memory, &query).await, "{text:?}");
            }
        });
    }

    #[test]
    fn a_word_of_a_text_finds_it_where_it_stands(text in text(), place in any::<prop::sample::Index>()) {
        let words: Vec<&str> = text.split_whitespace().collect();
        prop_assume!(!words.is_empty());
        let word = words[place.index(words.len())].replace('"', " ");
        let terms = SearchTerms::of(&word);
        prop_assume!(!terms.is_empty());
        let places = terms.find(&TextWords::of(&text));
        let places = places.expect("it is there");
        for range in places.iter().flat_map(|phrase| &phrase.places) {
            prop_assert!(text.get(range.clone()).is_some_and(|it| !it.is_empty()), "{range:?}");
        }
    }
}
