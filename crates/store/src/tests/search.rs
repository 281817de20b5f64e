//! Whatever is typed, both stores understand it, and find the same.

use std::sync::Arc;

use proptest::prelude::*;
use vocabulary::{SearchQuery, Seq};

use crate::sqlite::SqliteStore;
use crate::testing::memory::MemoryStore;
use crate::testing::story::{a_batch, a_thread, an_event, found, index_all};
use crate::words::{SearchTerms, TextWords};
use crate::{Batch, SharedStore, StoredEvent};

const CASES: u32 = 24;

async fn kept(store: &SharedStore, texts: &[String]) {
    let lease = store.acquire(a_thread(1).card.id).await.expect("free");
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
    index_all(store, 3).await;
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
