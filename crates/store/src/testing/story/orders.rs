//! Chapters about the orders of the thread list.

use vocabulary::{ListDirection, TenantId, Thread, ThreadQuery, ThreadSort, Timestamp};

use super::log::created;
use super::props::a_thread;
use crate::{SharedStore, StoreError};

fn numbers(threads: &[Thread]) -> Vec<u128> {
    threads.iter().map(|it| it.card.id.0.as_u128()).collect()
}

/// Its three times are in three different orders.
fn sorted(number: u64, created: i64, updated: i64, active: Option<i64>) -> Thread {
    let mut thread = a_thread(number);
    thread.card.tenant = TenantId::new("sorter");
    thread.card.created_at = Timestamp(created);
    thread.updated_at = Timestamp(updated);
    thread.active_at = active.map(Timestamp);
    thread
}

pub(super) async fn threads_are_listed_by_any_time_both_ways(store: &SharedStore) {
    let tenant = TenantId::new("sorter");
    for thread in [
        sorted(801, 10, 40, Some(20)),
        sorted(802, 20, 30, None),
        sorted(803, 30, 30, Some(35)),
        sorted(804, 40, 10, Some(35)),
    ] {
        created(store, &thread, &[1]).await;
    }
    let mut hidden = sorted(805, 50, 50, Some(50));
    hidden.card.ephemeral = true;
    created(store, &hidden, &[1]).await;

    for (sort, newest_first) in [
        (ThreadSort::Updated, [801, 802, 803, 804]),
        (ThreadSort::Created, [804, 803, 802, 801]),
        (ThreadSort::Active, [803, 804, 801, 802]),
    ] {
        for direction in [ListDirection::NewestFirst, ListDirection::OldestFirst] {
            let mut expected = newest_first;
            if direction == ListDirection::OldestFirst {
                expected.reverse();
            }
            let query = ThreadQuery {
                sort,
                direction,
                ..ThreadQuery::default()
            };
            let all = store
                .threads(&tenant, &query)
                .await
                .expect("it can be done");
            assert_eq!(numbers(&all.threads), expected, "{sort:?} {direction:?}");
            // The same one by one, and back again from the last.
            let mut paged = ThreadQuery {
                limit: Some(1),
                ..query.clone()
            };
            let mut seen = Vec::new();
            let back = loop {
                let page = store
                    .threads(&tenant, &paged)
                    .await
                    .expect("it can be done");
                seen.extend(numbers(&page.threads));
                match page.next {
                    Some(next) => paged.cursor = Some(next),
                    None => break page.back,
                }
            };
            assert_eq!(seen, expected, "{sort:?} {direction:?}");
            let backwards = ThreadQuery {
                cursor: back,
                direction: match direction {
                    ListDirection::NewestFirst => ListDirection::OldestFirst,
                    ListDirection::OldestFirst => ListDirection::NewestFirst,
                },
                ..query
            };
            let page = store
                .threads(&tenant, &backwards)
                .await
                .expect("it can be done");
            expected.reverse();
            assert_eq!(numbers(&page.threads), expected, "{sort:?} {direction:?}");
        }
    }
    let by_creation = ThreadQuery {
        sort: ThreadSort::Created,
        limit: Some(1),
        ..ThreadQuery::default()
    };
    let page = store
        .threads(&tenant, &by_creation)
        .await
        .expect("it can be done");
    let in_another_order = ThreadQuery {
        cursor: page.next,
        ..ThreadQuery::default()
    };
    let refused = store.threads(&tenant, &in_another_order).await;
    assert_eq!(refused, Err(StoreError::BadCursor));
    let nothing = ThreadQuery {
        limit: Some(0),
        ..ThreadQuery::default()
    };
    let page = store
        .threads(&tenant, &nothing)
        .await
        .expect("it can be done");
    assert_eq!((page.threads, page.next), (vec![], None));
}

/// Letters that mean something in a pattern, or are spelled otherwise in a row, are letters like others.
pub(super) async fn words_are_found_as_they_are(store: &SharedStore) {
    let tenant = TenantId::new("searcher");
    for (number, preview) in [
        (811, "100% of it"),
        (812, "100 of it"),
        (813, "a_b and \"quoted\""),
        (814, "axb and \\ ÄRGER"),
    ] {
        let mut thread = a_thread(number);
        thread.card.tenant = tenant.clone();
        thread.preview = preview.to_owned();
        created(store, &thread, &[1]).await;
    }
    for (words, expected) in [
        ("100%", vec![811]),
        ("OF IT", vec![812, 811]),
        ("a_b", vec![813]),
        ("\"Quoted\"", vec![813]),
        ("\\ ", vec![814]),
        ("ärger", vec![814]),
        ("nothing", vec![]),
    ] {
        let query = ThreadQuery {
            text: Some(words.to_owned()),
            ..ThreadQuery::default()
        };
        let page = store
            .threads(&tenant, &query)
            .await
            .expect("it can be done");
        assert_eq!(numbers(&page.threads), expected, "{words}");
    }
}

pub(super) async fn threads_are_left_out_before_a_page_is_cut(store: &SharedStore) {
    let tenant = TenantId::new("sorter");
    let id = |number| a_thread(number).card.id;
    let query = ThreadQuery {
        left_out: [id(801), id(803)].into(),
        limit: Some(1),
        ..ThreadQuery::default()
    };
    let page = store
        .threads(&tenant, &query)
        .await
        .expect("it can be done");
    assert_eq!(numbers(&page.threads), [802]);
    let query = ThreadQuery {
        only: Some(vec![id(804), id(805), id(1), id(802), id(804)]),
        sort: ThreadSort::Created,
        ..ThreadQuery::default()
    };
    let page = store
        .threads(&tenant, &query)
        .await
        .expect("it can be done");
    assert_eq!(numbers(&page.threads), [804, 802]);
    for (providers, count) in [(vec!["rehearsal"], 4), (vec!["openai"], 0), (vec![], 4)] {
        let query = ThreadQuery {
            providers: providers.into_iter().map(str::to_owned).collect(),
            ..ThreadQuery::default()
        };
        let page = store
            .threads(&tenant, &query)
            .await
            .expect("it can be done");
        assert_eq!(page.threads.len(), count);
    }
}
