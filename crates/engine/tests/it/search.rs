//! What was said is found: at once, in forks, and no more when it is hidden.

use vocabulary::{
    Call, Caller, Changes, ForkPlace, ForkThread, NewThread, Reply, RevertThread, RevertTo,
    SearchKind, SearchPage, SearchQuery, TextHit, ThreadId, ThreadQuery, Why,
};

use crate::house::House;

const SCRIPT: &str = "
turn
think A zebra would be a secret thought.
say The walrus lives in src/ice_floe.rs.
turn
say The second answer has a narwhal.
turn
say And the third one a narwhal, too.
";

impl House {
    async fn search(&self, query: SearchQuery) -> SearchPage {
        let found = self.call(Call::SearchThreads(Box::new(query))).await;
        *found.and_then(Reply::search).expect("it can be done")
    }

    /// Which threads have the words, and in what kinds of text.
    async fn found(&self, text: &str) -> Vec<(ThreadId, Vec<SearchKind>)> {
        let page = self.search(words(text)).await;
        let found = page.threads.into_iter().map(|found| {
            let kinds = found.hits.iter().map(|hit| hit.kind);
            (found.thread.card.id, kinds.collect())
        });
        found.collect()
    }

    async fn tell(&self, thread: ThreadId, text: &str) {
        let (_, mut ear) = self.listen(thread, engine::ListenFrom::Head).await;
        self.say(thread, text).await.expect("it starts");
        ear.completed().await;
    }
}

fn words(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        ..SearchQuery::default()
    }
}

fn marked(hit: &TextHit) -> Vec<&str> {
    let matches = hit.matches.iter();
    matches.map(|range| &hit.snippet[range.clone()]).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_found_with_its_place() {
    let house = House::new(SCRIPT);
    let thread = house.thread().await;
    house.tell(thread, "Where does the Pinguïn live?").await;
    let page = house.search(words("penguin")).await;
    assert_eq!(page.threads.len(), 0);
    let page = house.search(words("pinguin LIVE")).await;
    assert_eq!(page.indexing, None);
    let [found] = page.threads.as_slice() else {
        panic!("{page:?}")
    };
    assert_eq!(found.thread.card.id, thread);
    let said = found.hits.iter().find(|hit| hit.kind == SearchKind::User);
    let said = said.expect("what the user said");
    assert_eq!(said.snippet, "Where does the Pinguïn live?");
    assert_eq!(marked(said), ["Pinguïn", "live"]);
    assert!(said.turn.is_some() && said.item.is_some());
    // Answers, by the parts of a path; thoughts are not searched.
    let agent = [(thread, vec![SearchKind::Agent])];
    assert_eq!(house.found("ice_floe").await, agent);
    assert_eq!(house.found("\"walrus lives\" floe.rs").await, agent);
    assert_eq!(house.found("zebra").await, []);
    for nothing in ["", "?!", "\"\"", "AND", "NEAR(walrus lives)\0*"] {
        assert_eq!(house.found(nothing).await, [], "{nothing:?}");
    }
    let list = Call::ListThreads(ThreadQuery {
        text: Some("walrus".to_owned()),
        ..ThreadQuery::default()
    });
    let listed = house.call(list).await.and_then(Reply::threads);
    assert_eq!(listed.expect("a list").threads.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_title_is_found_as_it_is_now_and_before_all_else() {
    let house = House::new("turn\nsay The tapir is in here.");
    let (named, told) = (house.thread().await, house.thread().await);
    house.tell(told, "Something else, please").await;
    let title = |title: &str| Changes {
        title: Some(title.to_owned()),
        ..Changes::default()
    };
    house.change(named, title("A tapir, and only that")).await;
    let found = house.found("tapir").await;
    assert_eq!(found[0], (named, vec![SearchKind::Title]));
    assert_eq!(found[1], (told, vec![SearchKind::Agent]));
    house.change(named, title("An okapi")).await;
    assert_eq!(
        house.found("okapi").await,
        [(named, vec![SearchKind::Title])]
    );
    let found = house.found("tapir").await;
    assert!(found.iter().all(|(thread, _)| *thread == told), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_hidden_is_not_found_and_a_fork_has_its_past() {
    let house = House::new(SCRIPT);
    let thread = house.thread().await;
    for text in ["one", "two quaggas", "three"] {
        house.tell(thread, text).await;
    }
    assert_eq!(house.found("narwhal").await[0].1.len(), 2);
    let fork = Call::ForkThread(Box::new(ForkThread {
        thread,
        upto: ForkPlace::Rest,
        directory: None,
        files: false,
        changes: Changes::default(),
        instructions: None,
        ephemeral: false,
    }));
    let forked = house.call(fork).await.and_then(Reply::thread);
    let forked = forked.expect("it can be done").card.id;
    assert_eq!(house.found("quaggas").await.len(), 2);

    let revert = Call::RevertThread(RevertThread {
        thread,
        to: RevertTo::Newest(2),
        files: false,
    });
    house.call(revert).await.expect("it can be done");
    let in_fork = [(forked, vec![SearchKind::User])];
    assert_eq!(house.found("quaggas").await, in_fork);
    assert_eq!(house.found("walrus").await.len(), 2, "what stays is found");
    let reset = Call::ResetThread { thread: forked };
    house.call(reset).await.expect("it can be done");
    assert_eq!(house.found("quaggas").await, []);
    assert_eq!(house.found("walrus").await.len(), 1);
    let delete = Call::DeleteThread { thread };
    house.call(delete).await.expect("it can be done");
    assert_eq!(house.found("walrus").await, []);
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_thread_and_another_tenants_are_not_found() {
    let house = House::new(SCRIPT);
    let new = NewThread {
        ephemeral: true,
        ..NewThread::default()
    };
    let made = house.call(Call::CreateThread(Box::new(new))).await;
    let thread = made.and_then(Reply::thread).expect("made").card.id;
    house.tell(thread, "a quagga").await;
    assert_eq!(house.found("quagga").await, []);
    let kept = house.thread().await;
    house.tell(kept, "a quagga").await;
    assert_eq!(house.found("quagga").await.len(), 1);
    let stranger = Caller {
        tenant: vocabulary::TenantId::new("others"),
        ..Caller::local()
    };
    let search = Call::SearchThreads(Box::new(words("quagga")));
    let theirs = house.call_as(&stranger, search).await;
    if let Ok(page) = theirs.and_then(Reply::search) {
        assert_eq!(page.threads, []);
    }
}

#[tokio::test(start_paused = true)]
async fn pages_go_on_where_they_ended_and_show_each_thread_once() {
    let house = House::new("");
    let mut all = Vec::new();
    for number in 0..7 {
        let new = NewThread {
            title: Some(format!("A numbat, number {number}")),
            keep: true,
            ..NewThread::default()
        };
        let made = house.call(Call::CreateThread(Box::new(new))).await;
        all.push(made.and_then(Reply::thread).expect("made").card.id);
    }
    let (mut shown, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let query = SearchQuery {
            limit: Some(3),
            cursor: cursor.take(),
            ..words("numb")
        };
        let page = house.search(query).await;
        pages += 1;
        shown.extend(page.threads.iter().map(|found| found.thread.card.id));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(pages, 3);
    assert_eq!(shown.len(), 7);
    assert!(all.iter().all(|thread| shown.contains(thread)), "{shown:?}");
    let astray = SearchQuery {
        cursor: Some("7".to_owned()),
        ..words("numbat")
    };
    let refused = house.call(Call::SearchThreads(Box::new(astray))).await;
    assert_eq!(refused.expect_err("no cursor").why, Why::invalid("cursor"));
}
