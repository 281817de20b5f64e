//! Sections: named parts of the list of threads, in an order of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use engine::Clock;
use vocabulary::{
    ArchivedThreads, Call, Caller, FieldChange, LibraryCall, LibraryReply, ListDirection,
    NewThread, PINNED_SECTION, Refusal, Reply, Section, SectionAppearance, SectionCall,
    SectionFilter, SectionId, SectionPlace, TenantId, ThreadId, ThreadPage, ThreadQuery, Timestamp,
    Why,
};

use crate::house::{House, Stage};

/// No two moments are the same.
#[derive(Debug, Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1_000, Ordering::Relaxed))
    }

    fn new_id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

impl House {
    async fn section_call(&self, call: SectionCall) -> Result<LibraryReply, Refusal> {
        let call = Call::Library(LibraryCall::Sections(call));
        Ok(*self.call(call).await?.library()?)
    }

    async fn made(&self, name: &str) -> Section {
        let call = SectionCall::Create {
            name: name.to_owned(),
            appearance: None,
        };
        match self.section_call(call).await {
            Ok(LibraryReply::Section(section)) => section,
            other => panic!("no section: {other:?}"),
        }
    }

    async fn sections(&self) -> Vec<String> {
        match self.section_call(SectionCall::List).await {
            Ok(LibraryReply::Sections(all)) => all.into_iter().map(|it| it.name).collect(),
            other => panic!("no sections: {other:?}"),
        }
    }

    async fn put(
        &self,
        thread: ThreadId,
        section: &SectionId,
        before: Option<ThreadId>,
    ) -> Result<LibraryReply, Refusal> {
        let section = section.clone();
        let to = Some(SectionPlace { section, before });
        self.section_call(SectionCall::Move { thread, to }).await
    }

    async fn threads_of(&self, query: ThreadQuery) -> ThreadPage {
        let listed = self.call(Call::ListThreads(query)).await;
        listed.and_then(Reply::threads).expect("a page of threads")
    }

    async fn ids(&self, query: ThreadQuery) -> Vec<ThreadId> {
        let page = self.threads_of(query).await;
        page.threads.iter().map(|thread| thread.card.id).collect()
    }

    async fn some_thread(&self) -> ThreadId {
        let new = NewThread {
            keep: true,
            ..NewThread::default()
        };
        let made = self.call(Call::CreateThread(Box::new(new))).await;
        made.and_then(Reply::thread).expect("a thread").card.id
    }

    async fn section_of(&self, thread: ThreadId) -> Option<String> {
        let read = self.call(Call::GetThread { thread }).await;
        let thread = read.and_then(Reply::thread).expect("a thread");
        thread.section.map(|it| it.section.name)
    }
}

fn of(section: &SectionId, in_order: bool) -> ThreadQuery {
    ThreadQuery {
        section: Some(SectionFilter::Of {
            section: section.clone(),
            in_order,
        }),
        direction: ListDirection::OldestFirst,
        ..ThreadQuery::default()
    }
}

fn unsectioned() -> ThreadQuery {
    ThreadQuery {
        section: Some(SectionFilter::Unsectioned),
        ..ThreadQuery::default()
    }
}

fn field(refused: Result<LibraryReply, Refusal>) -> String {
    match refused.map_err(|refusal| refusal.why) {
        Err(Why::Invalid { field }) => field.into_owned(),
        other => panic!("not refused for a field: {other:?}"),
    }
}

#[tokio::test]
async fn threads_are_put_into_sections_in_an_order() {
    let house = House::new("");
    let (one, two, three) = (
        house.some_thread().await,
        house.some_thread().await,
        house.some_thread().await,
    );
    let garden = house.made("Garden").await.id;
    assert_eq!(house.sections().await, ["Pinned", "Garden"]);
    for thread in [one, two] {
        house.put(thread, &garden, None).await.expect("moved");
    }
    house.put(three, &garden, Some(two)).await.expect("moved");
    let all = house.ids(of(&garden, true)).await;
    assert_eq!(all, [one, three, two]);
    let newest = ThreadQuery {
        direction: ListDirection::NewestFirst,
        ..of(&garden, true)
    };
    assert_eq!(house.ids(newest).await, [two, three, one]);
    assert_eq!(house.section_of(three).await.as_deref(), Some("Garden"));
    assert_eq!(house.ids(unsectioned()).await, []);

    // It is in one at most, and out of it again.
    let pinned = SectionId::new(PINNED_SECTION);
    house.put(three, &pinned, None).await.expect("moved");
    assert_eq!(house.ids(of(&garden, true)).await, [one, two]);
    assert_eq!(house.ids(of(&pinned, false)).await, [three]);
    let out = SectionCall::Move {
        thread: three,
        to: None,
    };
    house.section_call(out).await.expect("moved");
    assert_eq!(house.section_of(three).await, None);
    assert_eq!(house.ids(unsectioned()).await, [three]);
}

#[tokio::test]
async fn since_when_a_thread_is_there_is_kept_while_it_moves_within() {
    let mut stage = Stage::scripted("");
    stage.clock = Arc::new(Ticking::default());
    let house = House::staged(stage);
    let (one, two) = (house.some_thread().await, house.some_thread().await);
    let garden = house.made("Garden").await.id;
    for thread in [one, two] {
        house.put(thread, &garden, None).await.expect("moved");
    }
    let entered = async |thread: ThreadId| {
        let page = house.threads_of(of(&garden, true)).await;
        let mut found = page.threads.into_iter();
        let found = found.find(|it| it.card.id == thread).expect("it is there");
        found.section.expect("a section").entered_at
    };
    let before = entered(two).await;
    house.put(two, &garden, Some(one)).await.expect("moved");
    assert_eq!(house.ids(of(&garden, true)).await, [two, one]);
    assert_eq!(entered(two).await, before);
}

#[tokio::test]
async fn pages_go_on_where_they_ended_though_threads_leave() {
    let house = House::new("");
    let mut threads = Vec::new();
    let garden = house.made("Garden").await.id;
    for _ in 0..5 {
        let thread = house.some_thread().await;
        house.put(thread, &garden, None).await.expect("moved");
        threads.push(thread);
    }
    let page = |cursor: Option<String>, direction| ThreadQuery {
        limit: Some(2),
        cursor,
        direction,
        ..of(&garden, true)
    };
    let ascending = ListDirection::OldestFirst;
    let first = house.threads_of(page(None, ascending)).await;
    assert_eq!(first.threads[1].card.id, threads[1]);
    // The last one of the page before goes away; nobody is left out and nobody comes twice.
    let out = SectionCall::Move {
        thread: threads[1],
        to: None,
    };
    house.section_call(out).await.expect("moved");
    let second = house.threads_of(page(first.next, ascending)).await;
    let ids: Vec<_> = second.threads.iter().map(|it| it.card.id).collect();
    assert_eq!(ids, threads[2..4]);
    let back = house.threads_of(page(second.back, ListDirection::NewestFirst));
    let ids: Vec<_> = back.await.threads.iter().map(|it| it.card.id).collect();
    assert_eq!(ids, [threads[2], threads[0]]);
    let third = house.threads_of(page(second.next, ascending)).await;
    assert_eq!(third.threads[0].card.id, threads[4]);
    assert_eq!(third.next, None);
    let wrong = page(Some("17".to_owned()), ascending);
    let refused = house.call(Call::ListThreads(wrong)).await;
    assert_eq!(refused.expect_err("refused").why, Why::invalid("cursor"));
}

#[tokio::test]
async fn sections_are_renamed_and_deleted_but_for_the_pinned_one() {
    let house = House::new("");
    let thread = house.some_thread().await;
    let garden = house.made("  Garden ").await.id;
    house.put(thread, &garden, None).await.expect("moved");
    let update = |section: &str, name: &str, appearance| SectionCall::Update {
        section: SectionId::new(section),
        name: name.to_owned(),
        appearance,
    };
    let green = Some(SectionAppearance {
        color: Some("green".to_owned()),
        icon: None,
    });
    let drawn = async |change| {
        let call = update(garden.as_str(), "Allotment", change);
        match house.section_call(call).await {
            Ok(LibraryReply::Section(section)) => section.appearance,
            other => panic!("no section: {other:?}"),
        }
    };
    assert_eq!(drawn(FieldChange::Set(green.clone())).await, green);
    assert_eq!(drawn(FieldChange::Stays).await, green);
    assert_eq!(drawn(FieldChange::Set(None)).await, None);
    assert_eq!(house.section_of(thread).await.as_deref(), Some("Allotment"));

    let stays = || FieldChange::Stays;
    let refused = house.section_call(update(PINNED_SECTION, "Mine", stays()));
    assert_eq!(field(refused.await), "section");
    let section = SectionId::new(PINNED_SECTION);
    let refused = house.section_call(SectionCall::Delete { section });
    assert_eq!(field(refused.await), "section");
    let refused = house.section_call(update(garden.as_str(), " ", stays()));
    assert_eq!(field(refused.await), "name");
    let long = "x".repeat(201);
    let refused = house.section_call(update(garden.as_str(), &long, stays()));
    assert_eq!(field(refused.await), "name");

    let section = garden.clone();
    let deleted = house.section_call(SectionCall::Delete { section }).await;
    assert_eq!(deleted.expect("deleted"), LibraryReply::Deleted(true));
    assert_eq!(house.sections().await, ["Pinned"]);
    assert_eq!(house.section_of(thread).await, None);
    assert_eq!(field(house.put(thread, &garden, None).await), "section");
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused_and_stays_where_it_is() {
    let house = House::new("");
    let (one, two) = (house.some_thread().await, house.some_thread().await);
    let garden = house.made("Garden").await.id;
    house.put(one, &garden, None).await.expect("moved");
    assert_eq!(field(house.put(one, &garden, Some(one)).await), "before");
    assert_eq!(field(house.put(one, &garden, Some(two)).await), "before");
    let nowhere = SectionId::new("nowhere");
    assert_eq!(field(house.put(one, &nowhere, None).await), "section");
    assert_eq!(house.ids(of(&garden, true)).await, [one]);

    // To another tenant neither the thread nor the section is there.
    let other = Caller {
        tenant: TenantId::new("other"),
        ..Caller::local()
    };
    let to = Some(SectionPlace {
        section: garden.clone(),
        before: None,
    });
    let call = SectionCall::Move { thread: two, to };
    let call = Call::Library(LibraryCall::Sections(call));
    let refused = house.engine.call(&other, call).await.expect_err("refused");
    assert_eq!(refused.why, Why::UnknownThread);
    let call = Call::ListThreads(of(&garden, false));
    let listed = house.engine.call(&other, call).await.expect("a list");
    assert_eq!(listed.reply.threads().expect("threads").threads, []);
}

#[tokio::test]
async fn sections_survive_and_a_deleted_thread_leaves_its_own() {
    let house = House::new("");
    let (one, two) = (house.some_thread().await, house.some_thread().await);
    let garden = house.made("Garden").await.id;
    for thread in [one, two] {
        house.put(thread, &garden, None).await.expect("moved");
    }
    let house = house.crash();
    assert_eq!(house.ids(of(&garden, true)).await, [one, two]);
    let deleted = house.call(Call::DeleteThread { thread: one }).await;
    assert_eq!(deleted.expect("deleted"), Reply::Done);
    assert_eq!(house.ids(of(&garden, true)).await, [two]);
    assert_eq!(field(house.put(two, &garden, Some(one)).await), "before");

    // Archived ones are in it, and in no list that leaves them out.
    let changes = vocabulary::Changes {
        archived: Some(true),
        ..Default::default()
    };
    let thread = two;
    let archived = house.call(Call::ChangeThread { thread, changes }).await;
    let archived = archived.and_then(Reply::thread).expect("a thread");
    assert!(archived.section.is_some());
    assert_eq!(house.ids(of(&garden, true)).await, []);
    let query = ThreadQuery {
        archived: ArchivedThreads::Only,
        ..of(&garden, true)
    };
    assert_eq!(house.ids(query).await, [two]);
}

#[tokio::test]
async fn nothing_of_a_section_is_kept_with_its_threads() {
    let house = House::new("");
    let thread = house.some_thread().await;
    let pinned = SectionId::new(PINNED_SECTION);
    house.put(thread, &pinned, None).await.expect("moved");
    let changes = vocabulary::Changes {
        title: Some("Named".to_owned()),
        ..Default::default()
    };
    let changed = house.call(Call::ChangeThread { thread, changes }).await;
    let changed = changed.and_then(Reply::thread).expect("a thread");
    assert!(changed.section.is_some());
    let kept = store::Store::thread(&*house.store, thread).await;
    assert_eq!(kept.expect("read").expect("there").section, None);
}

#[tokio::test]
async fn a_section_that_is_full_makes_room_for_none_but_in_the_place_of_who_is_gone() {
    let house = House::new("");
    let (one, two) = (house.some_thread().await, house.some_thread().await);
    let garden = house.made("Garden").await;
    // As many as there may be, of which none is there but one.
    let gone = (1..1_000_u128).map(|number| ThreadId(uuid::Uuid::from_u128(number)));
    let members: Vec<_> = gone.chain([one]).collect();
    let member = |thread: &ThreadId| serde_json::json!({ "thread": thread, "entered_at": 1 });
    let threads: Vec<_> = members.iter().map(member).collect();
    let record = serde_json::json!({ "section": garden, "threads": threads });
    let tenant = TenantId::new(TenantId::LOCAL);
    let kind = store::RecordKind::Section;
    let read = store::Store::records(&*house.store, &tenant, kind).await;
    let read = read.expect("records");
    let change = store::RecordChange {
        kind,
        id: read.records[0].id.clone(),
        value: Some(record.to_string().into()),
    };
    let written = store::Store::write_records(&*house.store, &tenant, read.revision, vec![change]);
    written.await.expect("written");
    house.put(two, &garden.id, None).await.expect("moved");
    assert_eq!(house.ids(of(&garden.id, true)).await, [one, two]);
}
