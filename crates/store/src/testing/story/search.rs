//! Chapters about the index of what was said.

use bytes::Bytes;
use vocabulary::{ArchivedThreads, SearchKind, SearchQuery, Seq, TenantId, Thread, Timestamp};

use super::log::created;
use super::props::{a_batch, a_thread, an_event};
use crate::words::SearchTerms;
use crate::{
    Batch, HiddenTexts, IndexPart, IndexPiece, IndexSearch, InheritedLog, Lease, MatchedText,
    SearchSpan, SearchText, SharedStore, StoreError, StoredEvent, UnindexedEvents,
};

/// The whole payload is what was said.
fn said(seq: u64, text: &str) -> StoredEvent {
    StoredEvent {
        payload: Bytes::from(text.to_owned()),
        ..an_event(seq)
    }
}

fn texts(found: &UnindexedEvents) -> Vec<SearchText> {
    let text = |(thread, event): &(_, StoredEvent)| SearchText {
        thread: *thread,
        seq: event.seq,
        kind: SearchKind::User,
        text: String::from_utf8_lossy(&event.payload).into_owned(),
    };
    found.events.iter().map(text).collect()
}

/// Indexes all that is new, page by page.
pub async fn index_all(store: &SharedStore, limit: u32) {
    loop {
        let found = store.unindexed(IndexPart::New, limit).await.expect("reads");
        if found.span.after == found.end {
            return;
        }
        let piece = IndexPiece {
            span: found.span,
            hidden: Vec::new(),
            texts: texts(&found),
        };
        assert_eq!(store.index(piece).await, Ok(true));
    }
}

async fn say(store: &SharedStore, lease: Lease, after: u64, text: &str) {
    let batch = Batch {
        events: vec![said(after + 1, text)],
        ..a_batch(&[])
    };
    let appended = store.append(lease, Seq(after), batch).await;
    appended.expect("it is kept");
}

/// What a search finds: the number of the thread and the seq of each text.
pub async fn found(store: &SharedStore, query: &SearchQuery) -> Vec<(u128, u64)> {
    let terms = SearchTerms::of(&query.text);
    let span = SearchSpan::Newest;
    let search = IndexSearch {
        terms: &terms,
        query,
        span,
    };
    let local = TenantId::new("local");
    let window = store.search(&local, search).await.expect("searches");
    let place = |found: &crate::SearchMatch| {
        let seq = match &found.text {
            MatchedText::Title(_) => 0,
            MatchedText::Event(event) => event.seq.0,
        };
        (found.thread.0.as_u128(), seq)
    };
    window.matches.iter().map(place).collect()
}

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        ..SearchQuery::default()
    }
}

pub(super) async fn what_was_said_is_found_by_its_words(store: &SharedStore) {
    let lease = created(store, &a_thread(5801), &[1]).await;
    say(store, lease, 1, "The Żubr stands in src/forest_path.rs").await;
    let other = Thread {
        archived: true,
        ..a_thread(5802)
    };
    let second = created(store, &other, &[1]).await;
    say(store, second, 1, "another zubr, elsewhere").await;
    assert_eq!(found(store, &query("zubr")).await, [], "nobody indexed it");
    index_all(store, 2).await;

    assert_eq!(found(store, &query("ZUBR")).await, [(5801, 2)]);
    assert_eq!(found(store, &query("forest_pat")).await, [(5801, 2)]);
    assert_eq!(found(store, &query("\"path forest\"")).await, []);
    let all = SearchQuery {
        archived: ArchivedThreads::Included,
        ..query("zubr")
    };
    assert_eq!(
        found(store, &all).await,
        [(5802, 2), (5801, 2)],
        "newest first"
    );
    let only = |change: fn(&mut SearchQuery)| {
        let mut query = all.clone();
        change(&mut query);
        query
    };
    type SearchCase<'a> = (fn(&mut SearchQuery), &'a [(u128, u64)]);
    let cases: [SearchCase<'_>; 8] = [
        (|it| it.archived = ArchivedThreads::Only, &[(5802, 2)]),
        (|it| it.updated_until = Some(Timestamp(5801)), &[(5801, 2)]),
        (|it| it.updated_since = Some(Timestamp(5802)), &[(5802, 2)]),
        (|it| it.kinds = vec![SearchKind::Agent], &[]),
        (
            |it| it.kinds = vec![SearchKind::User],
            &[(5802, 2), (5801, 2)],
        ),
        (
            |it| it.workspace = Some(vocabulary::WorkspaceId::new("x")),
            &[],
        ),
        (
            |it| it.model = Some("rehearsal/rehearsal".to_owned()),
            &[(5802, 2), (5801, 2)],
        ),
        (|it| it.agent = Some("another".to_owned()), &[]),
    ];
    for (change, expected) in cases {
        let query = only(change);
        assert_eq!(found(store, &query).await, expected, "{query:?}");
    }
    let one = SearchQuery {
        thread: Some(a_thread(5801).card.id),
        ..all.clone()
    };
    assert_eq!(found(store, &one).await, [(5801, 2)]);
    let terms = SearchTerms::of("zubr");
    let with = |tenant: &str| {
        let (tenant, terms) = (TenantId::new(tenant), terms.clone());
        async move { store.threads_with(&tenant, &terms).await.expect("reads") }
    };
    assert_eq!(with("local").await.len(), 2);
    assert_eq!(with("others").await, []);
}

pub(super) async fn a_tenant_finds_only_its_own(store: &SharedStore) {
    let mut theirs = a_thread(5811);
    theirs.card.tenant = TenantId::new("others");
    let lease = created(store, &theirs, &[1]).await;
    say(store, lease, 1, "a xylophone").await;
    index_all(store, 99).await;
    assert_eq!(found(store, &query("xylophone")).await, []);
    let named = SearchQuery {
        thread: Some(theirs.card.id),
        ..query("xylophone")
    };
    assert_eq!(found(store, &named).await, []);
    let (terms, query) = (SearchTerms::of("xylophone"), query("xylophone"));
    // A place in a list that was never theirs.
    let search = IndexSearch {
        terms: &terms,
        query: &query,
        span: SearchSpan::Below(theirs.card.id),
    };
    let local = TenantId::new("local");
    assert_eq!(
        store.search(&local, search).await,
        Err(StoreError::BadCursor)
    );
}

pub(super) async fn what_is_hidden_or_deleted_is_not_found(open: &impl Fn() -> SharedStore) {
    let store = &open();
    let lease = created(store, &a_thread(5821), &[1]).await;
    for seq in 1..=3 {
        say(store, lease, seq, "a quagga").await;
    }
    index_all(store, 2).await;
    assert_eq!(
        found(store, &query("quagga")).await,
        [(5821, 4), (5821, 3), (5821, 2)]
    );
    say(store, lease, 4, "taken back").await;
    let next = store.unindexed(IndexPart::New, 9).await.expect("reads");
    let hides = IndexPiece {
        span: next.span,
        hidden: vec![HiddenTexts {
            thread: a_thread(5821).card.id,
            from: Seq(3),
            upto: Seq(4),
        }],
        texts: Vec::new(),
    };
    assert_eq!(store.index(hides.clone()).await, Ok(true));
    assert_eq!(store.index(hides).await, Ok(false), "once is enough");
    assert_eq!(found(store, &query("quagga")).await, [(5821, 2)]);

    // A thread that takes over the past of another one has it to be indexed.
    let child = a_thread(5822);
    let own = store.acquire(child.card.id).await.expect("it is free");
    let first = Batch {
        thread: Some(child),
        inherits: Some(InheritedLog {
            from: a_thread(5821).card.id,
            after: Seq(1),
            upto: Seq(2),
        }),
        ..a_batch(&[1])
    };
    store.append(own, Seq::ZERO, first).await.expect("kept");
    index_all(store, 2).await;
    assert_eq!(found(store, &query("quagga")).await, [(5822, 2), (5821, 2)]);

    assert_eq!(store.delete(own).await, Ok(true));
    assert_eq!(found(store, &query("quagga")).await, [(5821, 2)]);
    // What comes then is new, whatever numbers were free.
    say(store, lease, 5, "a late quagga").await;
    let other = &open();
    index_all(other, 99).await;
    assert_eq!(found(other, &query("quagga")).await, [(5821, 6), (5821, 2)]);
    assert_eq!(store.delete(lease).await, Ok(true));
    assert_eq!(found(other, &query("quagga")).await, []);
    while store.purge_index().await.expect("it can be done") {}
    assert!(!store.index_standing().await.expect("reads").purge);
}

pub(super) async fn a_text_replaces_the_one_of_its_place(store: &SharedStore) {
    let thread = a_thread(5831).card.id;
    let lease = created(store, &a_thread(5831), &[1]).await;
    for (after, title) in [(1, "an okapi"), (2, "a tapir")] {
        index_all(store, 99).await;
        say(store, lease, after, "retitled").await;
        let next = store.unindexed(IndexPart::New, 9).await.expect("reads");
        let piece = IndexPiece {
            span: next.span,
            hidden: Vec::new(),
            texts: vec![SearchText {
                thread,
                seq: Seq::ZERO,
                kind: SearchKind::Title,
                text: title.to_owned(),
            }],
        };
        assert_eq!(store.index(piece).await, Ok(true));
    }
    assert_eq!(found(store, &query("okapi")).await, []);
    assert_eq!(found(store, &query("tapir")).await, [(5831, 0)]);
    let titles = SearchQuery {
        kinds: vec![SearchKind::Title],
        ..query("tapir")
    };
    assert_eq!(found(store, &titles).await, [(5831, 0)]);
}

pub(super) async fn many_matches_come_window_by_window(store: &SharedStore) {
    for number in 5841..=5850 {
        let lease = created(store, &a_thread(number), &[1]).await;
        let events = (2..=61).map(|seq| said(seq, "a numbat"));
        let batch = Batch {
            events: events.collect(),
            ..a_batch(&[])
        };
        store.append(lease, Seq(1), batch).await.expect("kept");
    }
    index_all(store, 500).await;
    let (terms, query) = (SearchTerms::of("numbat"), query("numbat"));
    let local = TenantId::new("local");
    let look = async |span| {
        let search = IndexSearch {
            terms: &terms,
            query: &query,
            span,
        };
        let window = store.search(&local, search).await.expect("searches");
        let mut threads: Vec<u128> = window
            .matches
            .iter()
            .map(|it| it.thread.0.as_u128())
            .collect();
        assert!(window.frequencies[0] >= 600, "{:?}", window.frequencies);
        threads.dedup();
        (threads, window.matches.len(), window.more)
    };
    // Of each thread fifty, and no thread in part.
    let newest: Vec<u128> = (5843..=5850).rev().collect();
    assert_eq!(look(SearchSpan::Newest).await, (newest, 400, true));
    let last = a_thread(5843).card.id;
    assert_eq!(
        look(SearchSpan::Below(last)).await,
        (vec![5842, 5841], 100, false)
    );
    let between = SearchSpan::Between {
        first: a_thread(5849).card.id,
        last: a_thread(5848).card.id,
    };
    assert_eq!(look(between).await, (vec![5849, 5848], 100, false));
}
