//! Chapters about what a home keeps beside its logs: the list, client ids, settings, counters.

use vocabulary::{
    ArchivedThreads, TenantId, Thread, ThreadPage, ThreadQuery, Timestamp, TreeThread, WorkspaceId,
};

use super::log::created;
use super::props::a_thread;
use crate::{Counter, SharedStore, StoreError};

fn of_tenant(tenant: &str, number: u64) -> Thread {
    let mut thread = a_thread(number);
    thread.card.tenant = TenantId::new(tenant);
    thread
}

fn millis(page: &ThreadPage) -> Vec<i64> {
    let times = page.threads.iter().map(|thread| thread.updated_at.millis());
    times.collect()
}

pub(super) async fn threads_are_listed_newest_first(store: &SharedStore) {
    let tenant = TenantId::new("lister");
    for (number, archived, workspace) in [
        (201, false, "home"),
        (202, true, "home"),
        (203, false, "work"),
        (204, true, "work"),
    ] {
        let mut thread = of_tenant("lister", number);
        thread.archived = archived;
        thread.card.workspace = WorkspaceId::new(workspace);
        created(store, &thread, &[1]).await;
    }
    created(store, &of_tenant("someone else", 205), &[1]).await;

    let unarchived = ThreadQuery::default();
    let all = ThreadQuery {
        archived: ArchivedThreads::Included,
        ..ThreadQuery::default()
    };
    let archived = ThreadQuery {
        archived: ArchivedThreads::Only,
        ..ThreadQuery::default()
    };
    let at_work = ThreadQuery {
        workspace: Some(WorkspaceId::new("work")),
        ..all.clone()
    };
    for (query, expected) in [
        (&unarchived, vec![203, 201]),
        (&all, vec![204, 203, 202, 201]),
        (&archived, vec![204, 202]),
        (&at_work, vec![204, 203]),
    ] {
        let page = store.threads(&tenant, query).await.expect("lists");
        assert_eq!(millis(&page), expected, "{query:?}");
        assert_eq!(page.next, None, "without a limit there is one page");
    }
    // A tree has the same threads in the same order, and of each what it shows.
    let page = store.threads(&tenant, &at_work).await.expect("lists");
    let expected: Vec<TreeThread> = page.threads.into_iter().map(TreeThread::from).collect();
    let tree = store.tree(&tenant, &WorkspaceId::new("work")).await;
    assert_eq!(tree, Ok(expected));
    let tree = store.tree(&tenant, &WorkspaceId::new("nowhere")).await;
    assert_eq!(tree, Ok(Vec::new()));
    let nobody = TenantId::new("nobody");
    let page = store.threads(&nobody, &all).await;
    assert_eq!(page, Ok(ThreadPage::default()));
}

pub(super) async fn pages_stay_in_place_while_threads_come(store: &SharedStore) {
    let tenant = TenantId::new("pager");
    for number in 211..=215 {
        let mut thread = of_tenant("pager", number);
        // The last three are equally old: the id decides.
        thread.updated_at = Timestamp(i64::from(number > 212));
        thread.archived = number == 214;
        created(store, &thread, &[1]).await;
    }
    let mut query = ThreadQuery {
        archived: ArchivedThreads::Included,
        limit: Some(2),
        ..ThreadQuery::default()
    };
    let mut seen = Vec::new();
    let mut newcomer = 216;
    loop {
        let page = store.threads(&tenant, &query).await.expect("lists");
        assert!(page.threads.len() <= 2);
        seen.extend(page.threads.iter().map(|thread| thread.card.id));
        let Some(next) = page.next else { break };
        query.cursor = Some(next);
        created(store, &of_tenant("pager", newcomer), &[1]).await;
        newcomer += 1;
    }
    let expected = [213, 214, 215, 211, 212].map(|number| a_thread(number).card.id);
    assert_eq!(seen, expected);

    query.cursor = Some("page two, please".to_owned());
    let refused = store.threads(&tenant, &query).await;
    assert_eq!(refused, Err(StoreError::BadCursor));
}

pub(super) async fn what_is_left_out_takes_no_room_in_a_page(store: &SharedStore) {
    let tenant = TenantId::new("searcher");
    for number in 231..=242 {
        let mut thread = of_tenant("searcher", number);
        if number % 3 == 0 {
            thread.card.directory = "/elsewhere".into();
        }
        match number % 4 {
            0 => thread.title.text = "Mend the ÄRMEL".to_owned(),
            1 => thread.preview = "mend the ärmel, please".to_owned(),
            _ => {}
        }
        created(store, &thread, &[1]).await;
    }
    let pages = async |query: &ThreadQuery| -> Vec<Vec<i64>> {
        let (mut query, mut pages) = (query.clone(), Vec::new());
        loop {
            let page = store.threads(&tenant, &query).await.expect("lists");
            pages.push(millis(&page));
            let Some(next) = page.next else { break };
            query.cursor = Some(next);
        }
        pages
    };
    let query = ThreadQuery {
        text: Some("Ärmel".to_owned()),
        limit: Some(2),
        ..ThreadQuery::default()
    };
    let expected = [vec![241, 240], vec![237, 236], vec![233, 232]];
    assert_eq!(pages(&query).await, expected);
    let query = ThreadQuery {
        directories: vec!["/nowhere".into(), "/elsewhere".into()],
        ..query
    };
    assert_eq!(pages(&query).await, [vec![240, 237]], "both must fit");
    let query = ThreadQuery {
        text: None,
        ..query
    };
    assert_eq!(pages(&query).await, [vec![240, 237], vec![234, 231]]);
}

pub(super) async fn a_client_id_names_one_thread_of_its_tenant(store: &SharedStore) {
    let named = |tenant: &str, number| {
        let mut thread = of_tenant(tenant, number);
        thread.card.client_id = Some("my-thread".to_owned());
        thread
    };
    let first = named("one", 221);
    created(store, &first, &[1]).await;
    let elsewhere = named("two", 222);
    created(store, &elsewhere, &[1]).await;

    let late = named("one", 223);
    let lease = store.acquire(late.card.id).await.expect("it is free");
    let batch = crate::Batch {
        thread: Some(late.clone()),
        ..super::a_batch(&[1])
    };
    let taken = store.append(lease, vocabulary::Seq::ZERO, batch).await;
    assert_eq!(taken, Err(StoreError::Taken));
    assert_eq!(store.load(late.card.id).await, Ok(None));

    for (tenant, id) in [
        ("one", Some(first.card.id)),
        ("two", Some(elsewhere.card.id)),
        ("three", None),
    ] {
        let tenant = TenantId::new(tenant);
        let found = store.thread_by_client_id(&tenant, "my-thread").await;
        assert_eq!(found, Ok(id));
    }
}

pub(super) async fn settings_and_counters_outlive_the_process(open: &impl Fn() -> SharedStore) {
    let (one, two) = (TenantId::new("one"), TenantId::new("two"));
    let store = open();
    assert_eq!(store.setting(&one, "revision").await, Ok(None));
    for value in ["6", "7"] {
        let set = store.set_setting(&one, "revision", value).await;
        set.expect("kept");
    }
    assert_eq!(store.reserve(Counter::Ask, 1).await, Ok(1));
    assert_eq!(store.reserve(Counter::Ask, 10).await, Ok(2));
    drop(store);

    let store = open();
    let kept = store.setting(&one, "revision").await;
    assert_eq!(kept, Ok(Some("7".to_owned())));
    assert_eq!(store.setting(&two, "revision").await, Ok(None));
    for (tenant, name) in [
        (&one, "a %b"),
        (&one, "a %a"),
        (&one, "a_%b"),
        (&two, "a %c"),
    ] {
        let set = store.set_setting(tenant, name, name).await;
        set.expect("kept");
    }
    let pair = |name: &str| (name.to_owned(), name.to_owned());
    let found = store.settings_of(&one, "a %").await;
    assert_eq!(found, Ok(vec![pair("a %a"), pair("a %b")]));
    for _ in 0..2 {
        assert_eq!(store.remove_setting(&one, "a %a").await, Ok(()));
    }
    let found = store.settings_of(&one, "a").await;
    assert_eq!(found, Ok(vec![pair("a %b"), pair("a_%b")]));
    assert_eq!(store.reserve(Counter::Ask, 1).await, Ok(12));
    // Two processes never get the same number.
    assert_eq!(open().reserve(Counter::Ask, 5).await, Ok(13));
    assert_eq!(store.reserve(Counter::Ask, 1).await, Ok(18));
}
