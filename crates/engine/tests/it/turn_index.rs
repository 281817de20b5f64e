//! The index of turns: what it says, how it is paged, and what a reset and a crash leave of it.

use engine::ListenFrom;
use vocabulary::{
    Call, Entry, Fact, ItemFact, LiveItem, Reply, StepFact, ThreadId, TurnErrorKind, TurnFact,
    TurnId, TurnOutcome, TurnPage, TurnSelection,
};

use crate::house::House;

async fn read(
    house: &House,
    thread: ThreadId,
    selection: TurnSelection,
    limit: u32,
    entries: bool,
) -> TurnPage {
    let read = Call::ReadTurns {
        thread,
        selection,
        limit,
        entries,
    };
    match house.call(read).await {
        Ok(Reply::Turns(page)) => *page,
        other => panic!("no turns: {other:?}"),
    }
}

fn numbers(page: &TurnPage) -> Vec<u64> {
    page.turns.iter().map(|turn| turn.number).collect()
}

/// The turns that entries belong to, each once.
fn told(entries: &[Entry]) -> Vec<TurnId> {
    let mut turns: Vec<TurnId> = Vec::new();
    for entry in entries {
        if let Fact::Turn(TurnFact::Started { turn, .. }) = &entry.event.fact {
            turns.push(turn.clone());
        }
    }
    turns
}

/// All pages of a direction, one after the other.
async fn walk(house: &House, thread: ThreadId, newest_first: bool, limit: u32) -> Vec<u64> {
    let (mut selection, mut seen) = match newest_first {
        true => (TurnSelection::Newest, Vec::new()),
        false => (TurnSelection::Oldest, Vec::new()),
    };
    loop {
        let page = read(house, thread, selection, limit, true).await;
        let mut ids: Vec<_> = page.turns.iter().map(|turn| turn.turn.clone()).collect();
        if newest_first {
            ids.reverse();
        }
        assert_eq!(
            told(&page.entries),
            ids,
            "a page has the entries of its turns"
        );
        let ordinals: Vec<_> = page.entries.iter().map(|entry| entry.ordinal).collect();
        let (first, last) = (ordinals[0], ordinals[ordinals.len() - 1]);
        assert_eq!(ordinals, (first..=last).collect::<Vec<_>>());
        seen.extend(numbers(&page));
        let Some(last) = seen.last().copied().filter(|_| page.more) else {
            return seen;
        };
        assert_eq!(page.turns.len(), limit as usize, "a page is full");
        selection = match newest_first {
            true => TurnSelection::Before(last),
            false => TurnSelection::After(last),
        };
    }
}

#[tokio::test]
async fn turns_are_paged_both_ways_from_the_last_reset_and_after_a_crash() {
    // After a reset the script begins anew, too.
    let script = "turn\n say one\n".repeat(2)
        + "turn\n say three\n call glob {\"pattern\":\"*\"}\nnext\n say done\n"
        + &"turn\n say more\n".repeat(2)
        + "turn\n say kept\n call glob {\"pattern\":\"*\"}\nnext\n hold";
    let house = House::new(&script);
    let (thread, mut ear) = house.heard_thread().await;
    assert_eq!(
        read(&house, thread, TurnSelection::Newest, 9, true)
            .await
            .turns,
        []
    );
    for number in 1..=7 {
        if number == 3 {
            house
                .call(Call::ResetThread { thread })
                .await
                .expect("a reset");
            let page = read(&house, thread, TurnSelection::Newest, 9, true).await;
            assert_eq!((page.turns, page.entries), (vec![], vec![]));
        }
        house.say(thread, "go").await.expect("a turn");
        ear.ended().await;
    }
    house.say(thread, "and stay").await.expect("a turn");
    ear.fact(|fact| matches!(fact, Fact::Step { tag, what: StepFact::Started } if tag.step == 2))
        .await;
    house.kept(thread).await;
    assert_eq!(walk(&house, thread, true, 2).await, [8, 7, 6, 5, 4, 3]);
    let house = house.crash();
    // One that sleeps is not woken to be read: its last turn has not ended there.
    assert_eq!(walk(&house, thread, false, 4).await, [3, 4, 5, 6, 7, 8]);
    assert_eq!(house.engine.recover().await.expect("a recovery"), 1);
    assert_eq!(walk(&house, thread, true, 5).await, [8, 7, 6, 5, 4, 3]);
    let page = read(&house, thread, TurnSelection::After(6), 9, false).await;
    assert_eq!((numbers(&page), page.entries), (vec![7, 8], vec![]));
    let outcome = |at: usize| &page.turns[at].ended.as_ref().expect("over").outcome;
    assert_eq!(*outcome(0), TurnOutcome::Completed);
    let TurnOutcome::Failed(error) = outcome(1) else {
        panic!("{:?}", outcome(1))
    };
    assert_eq!(error.kind, TurnErrorKind::ServerRestart);
    house.kept(thread).await;
}

#[tokio::test]
async fn one_turn_is_found_by_its_id_and_read_alone() {
    let house = House::new("turn\n say one\nturn\n say two\nturn\n say three");
    let (thread, mut ear) = house.heard_thread().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let started = house.say(thread, "go").await.and_then(Reply::turn);
        ids.push(started.expect("a turn").turn);
        ear.ended().await;
    }
    let one = TurnSelection::One(ids[1].clone());
    let page = read(&house, thread, one, 9, true).await;
    assert_eq!((numbers(&page), page.more), (vec![2], false));
    assert_eq!(told(&page.entries), ids[1..2]);
    let last = &page.entries[page.entries.len() - 1].event;
    let ended = page.turns[0].ended.as_ref().expect("it is over");
    assert!(matches!(last.fact, Fact::Turn(TurnFact::Finished { .. })));
    assert_eq!((ended.last_seq, ended.at), (last.seq, last.at));

    let nobody = TurnSelection::One(TurnId::new("nobody's"));
    assert_eq!(read(&house, thread, nobody, 9, true).await.turns, []);
}

#[tokio::test]
async fn a_turn_that_runs_is_read_with_what_it_is_writing() {
    let house = House::new("turn\n say so far\n hold");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.fact(
        |fact| matches!(fact, Fact::Item { what: ItemFact::Grew { delta, .. }, .. } if delta.contains("far")),
    )
    .await;
    let page = read(&house, thread, TurnSelection::Newest, 1, true).await;
    assert_eq!((page.turns[0].number, &page.turns[0].ended), (1, &None));
    assert_eq!(
        page.entries.len(),
        2,
        "only what the user and the server said"
    );
    let live = &page.view.turn.as_ref().expect("it runs").live;
    let texts = live.iter().map(|growing| match &growing.item {
        LiveItem::Text { text, .. } => text.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(texts.collect::<String>(), "so far");
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.head, page.view.head, "as of the head");
}

#[tokio::test]
async fn a_long_conversation_is_read_whole() {
    const TURNS: u64 = 350;
    let house = House::new("");
    let (thread, mut ear) = house.heard_thread().await;
    for _ in 0..TURNS {
        house.say(thread, "echo x").await.expect("a turn");
        ear.ended().await;
    }
    let recent = u32::MAX;
    let Ok(Reply::View(view)) = house.call(Call::ReadThread { thread, recent }).await else {
        panic!("no view")
    };
    assert!(view.recent.len() > 1_000, "more than a page of entries");
    assert_eq!(told(&view.recent).len() as u64, TURNS);
    let all = (1..=TURNS).collect::<Vec<_>>();
    assert_eq!(walk(&house, thread, false, 400).await, all);
}
