//! Listening: late joiners, replays, gaps, laggards.

use std::sync::Arc;
use std::time::Duration;

use engine::{Delivered, ListenFrom, Listener, Slot};
use proptest::prelude::*;
use vocabulary::{
    Audience, Call, Caller, Changes, Event, Fact, ItemFact, NamedModel, Refusal, Reply, Seq,
    StartTurn, StartedTurn, Status, ThreadFact, TurnFact, Why,
};

use crate::house::{Ear, House, Stage, Told, said, wish};

#[tokio::test]
async fn two_listeners_hear_the_same() {
    let house = House::new("turn\n say a b c");
    let thread = house.thread().await;
    let (_, mut one) = house.listen(thread, ListenFrom::Head).await;
    let (_, mut two) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    one.rest().await;
    two.rest().await;
    let upto = |ear: &Ear| {
        let end = ear
            .facts()
            .iter()
            .position(|fact| matches!(fact, Fact::Turn(TurnFact::Finished { .. })));
        ear.heard[..=end.expect("an end")].to_vec()
    };
    assert_eq!(upto(&one), upto(&two));
}

/// An event as another process would have it: written, sent and read.
fn carried(event: &Event) -> Delivered {
    let text = serde_json::to_string(event).expect("written");
    let event = serde_json::from_str(&text).expect("read");
    Delivered::Live(Arc::new(Slot::new(event, 0)))
}

#[tokio::test]
async fn a_listener_that_is_fed_from_elsewhere_hears_the_same() {
    let house = House::new("turn\n say a b c");
    let thread = house.thread().await;
    let caller = Caller::local();
    let listening = house.engine.listen(&caller, thread, wish(ListenFrom::Head));
    let (_, mut here) = listening.await.expect("a listener");
    let (feed, fed) = tokio::sync::mpsc::channel(8);
    let mut elsewhere = Ear::new(Listener::fed(Arc::clone(here.card()), fed));
    let (_, mut beside) = house.listen(thread, ListenFrom::Head).await;
    let feeding = tokio::spawn(async move {
        loop {
            for delivered in here.next(64).await.expect("deliveries") {
                let Delivered::Live(slot) = &delivered else {
                    panic!("not live");
                };
                let is_last = matches!(slot.event.fact, Fact::Turn(TurnFact::Finished { .. }));
                feed.send(carried(&slot.event)).await.expect("a listener");
                if is_last {
                    return;
                }
            }
        }
    });
    house.say(thread, "go").await.expect("a turn");
    beside.rest().await;
    elsewhere.rest().await;
    let heard = elsewhere.heard.len();
    assert_eq!(elsewhere.heard, beside.heard[..heard]);
    feeding.await.expect("fed");
    // Who feeds it is gone: so is what it listens to.
    elsewhere.until(|told| *told == Told::Ended).await;
}

#[tokio::test]
async fn what_is_fed_is_ready_up_to_a_place() {
    let house = House::new("turn\n say a b c");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    let events: Vec<_> = ear
        .heard
        .iter()
        .filter_map(|told| match told {
            Told::Event(event) => Some(&**event),
            Told::Gap { .. } | Told::CaughtUp(_) | Told::Ended => None,
        })
        .collect();
    let (feed, fed) = tokio::sync::mpsc::channel(events.len());
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    let mut listener = Listener::fed(Arc::new(view.thread.card), fed);
    assert!(listener.ready(Seq(u64::MAX), 64).is_empty());
    for event in &events {
        feed.send(carried(event)).await.expect("a place");
    }
    let positions =
        |given: Vec<Delivered>| -> Vec<Seq> { given.iter().map(Delivered::position).collect() };
    let seqs: Vec<Seq> = events.iter().map(|event| event.seq).collect();
    assert_eq!(positions(listener.ready(seqs[2], 2)), seqs[..2]);
    assert_eq!(positions(listener.ready(seqs[2], 64)), seqs[2..3]);
    let rest = listener.next(64).await.expect("deliveries");
    assert_eq!(positions(rest), seqs[3..]);
}

#[tokio::test]
async fn a_look_shows_what_a_joiner_sees_and_wakes_nobody() {
    let house = House::new("turn\n say one two\n hold");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("two").await;
    let look = Call::ReadThread { thread, recent: 9 };
    let Ok(Reply::View(seen)) = house.call(look.clone()).await else {
        panic!("not seen")
    };
    let (joined, _) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!((&seen.turn, seen.head), (&joined.turn, joined.head));
    assert_eq!(seen.recent.len(), 2, "what the user said, and the server");
    house
        .call(Call::CancelTurn { thread, turn: None })
        .await
        .expect("a cancel");
    ear.rest().await;

    let house = house.crash();
    let Ok(Reply::View(asleep)) = house.call(look).await else {
        panic!("not seen")
    };
    assert_eq!(asleep.thread.status, Status::Inactive);
    assert_eq!((asleep.turn, asleep.recent.len()), (None, 4));
    let (woken, _) = house.listen(thread, ListenFrom::Head).await;
    assert!(woken.woken, "the look had woken it");
}

/// A turn whose starter listens to it.
async fn start(house: &House, turn: StartTurn) -> Result<(StartedTurn, Ear), Refusal> {
    let call = Call::StartTurn(StartTurn {
        listen: Some(Audience(0)),
        ..turn
    });
    let replied = house.engine.call(&Caller::local(), call).await?;
    let listener = replied.listener.expect("a listener");
    Ok((replied.reply.turn()?, Ear::new(listener)))
}

#[tokio::test]
async fn who_starts_a_turn_hears_all_of_it() {
    let house = House::new("turn\n say a b\nturn\n hold");
    let thread = house.thread().await;
    let changes = Changes {
        max_steps: Some(7),
        ..Changes::default()
    };
    let turn = StartTurn {
        changes: Box::new(changes),
        client_turn_id: Some("mine".to_owned()),
        ..said(thread, "go")
    };
    let (started, mut ear) = start(&house, turn.clone()).await.expect("a turn");
    let before = started.joined.expect("how it stood");
    assert_eq!(before.turn, None);
    assert_ne!(before.thread.settings.max_steps, 7);
    ear.rest().await;
    let first = ear.facts()[0];
    assert!(
        matches!(first, Fact::Thread(ThreadFact::SettingsChanged { settings, .. }) if settings.max_steps == 7),
        "{first:?}"
    );

    let (again, mut late) = start(&house, turn).await.expect("the same turn");
    assert!(again.again);
    house.say(thread, "more").await.expect("another turn");
    late.fact(|fact| matches!(fact, Fact::Turn(TurnFact::Started { .. })))
        .await;
}

#[tokio::test]
async fn a_turn_that_is_refused_leaves_no_listener_and_no_settings() {
    let house = House::new("turn\n hold");
    let (thread, ear) = house.heard_thread().await;
    let (before, _) = house.listen(thread, ListenFrom::Head).await;
    let refused = |changes| {
        let changes = Box::new(Changes {
            effort: Some("high".to_owned()),
            ..changes
        });
        let turn = StartTurn {
            changes,
            ..said(thread, "go")
        };
        start(&house, turn)
    };
    let nowhere = Changes {
        named_model: Some(NamedModel::DefaultOf("nobody".to_owned())),
        ..Changes::default()
    };
    let too_many = Changes {
        max_steps: Some(u32::MAX),
        ..Changes::default()
    };
    for changes in [nowhere, too_many] {
        let refusal = refused(changes).await.expect_err("a refusal");
        assert!(matches!(refusal.why, Why::Invalid { .. }), "{refusal}");
    }
    house.say(thread, "go").await.expect("a turn");
    let refusal = refused(Changes::default()).await.expect_err("a refusal");
    assert_eq!(refusal.why, Why::Busy);

    let look = Call::ReadThread { thread, recent: 0 };
    let now = house.call(look).await.and_then(Reply::view);
    let now = now.expect("the thread");
    assert_eq!(now.thread.settings, before.thread.settings);
    assert_eq!(now.listeners, 1);
    drop(ear);
}

#[tokio::test]
async fn a_late_joiner_sees_the_turn_so_far_and_the_rest_live() {
    let house = House::new("turn\n call todoWrite {\"todos\":[]}\nnext\n say one two\n hold");
    let thread = house.thread().await;
    let (_, mut early) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    early.word("two").await;
    let (view, mut late) = house.listen(thread, ListenFrom::Head).await;
    let turn = view.turn.expect("a running turn");
    let so_far = turn.so_far();
    let [step, started, grown] = so_far.as_slice() else {
        panic!("not writing: {so_far:?}")
    };
    // What was told, with the numbers it was told with; only the words come at once.
    let told = early.facts();
    assert!(
        told.contains(&step) && told.contains(&started),
        "{so_far:?}"
    );
    let last = told
        .iter()
        .rfind(|fact| {
            matches!(
                fact,
                Fact::Item {
                    what: ItemFact::Grew { .. },
                    ..
                }
            )
        })
        .map(|fact| Fact::clone(fact));
    let Some(Fact::Item {
        tag,
        item,
        content,
        what: ItemFact::Grew { growth, .. },
    }) = last
    else {
        panic!("nothing grew: {told:?}")
    };
    let whole = Fact::Item {
        tag,
        item,
        content,
        what: ItemFact::Grew {
            growth,
            delta: "one two".to_owned(),
        },
    };
    assert_eq!(*grown, whole);
    assert!(matches!(
        turn.events[0].fact,
        Fact::Turn(TurnFact::Started { .. })
    ));
    house
        .call(Call::CancelTurn { thread, turn: None })
        .await
        .expect("a cancel");
    late.rest().await;
}

#[tokio::test]
async fn a_cursor_past_the_head_is_refused() {
    let house = House::new("");
    let thread = house.thread().await;
    let caller = vocabulary::Caller::local();
    let from = ListenFrom::After(Seq(1_000_000_000));
    let listening = house.engine.listen(&caller, thread, wish(from)).await;
    let refusal = listening.expect_err("a refusal");
    assert_eq!(refusal.why, Why::invalid("after"));
}

#[tokio::test]
async fn a_laggard_is_told_of_the_gap_and_gets_every_durable_event() {
    let house = House::new("turn\n repeat 70000 x");
    let thread = house.thread().await;
    let (_, mut quick) = house.listen(thread, ListenFrom::Head).await;
    let (_, mut slow) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    quick.rest().await;
    slow.rest().await;
    assert!(
        slow.heard
            .iter()
            .any(|told| matches!(told, Told::Gap { .. })),
        "no gap"
    );
    let durable = |ear: &Ear| {
        let facts = ear.facts().into_iter().filter(|fact| fact.durable());
        facts.cloned().collect::<Vec<_>>().len()
    };
    assert_eq!(durable(&slow), durable(&quick));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_thread_lets_go_of_what_it_told() {
    let script = "turn\n repeat 3000 x\nturn\n repeat 2 y";
    let house = House::staged(Stage::scripted(script));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    let held = ear.held();
    assert!(held.events > 3_000, "nobody had time to hear it: {held:?}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let held = ear.held();
    assert!(held.events <= 16 && held.bytes <= 16 << 10, "{held:?}");
    // Whoever joins hears all that is kept, and whoever was there hears what comes.
    let (_, mut late) = house.listen(thread, ListenFrom::After(Seq::ZERO)).await;
    house.say(thread, "again").await.expect("a turn");
    ear.rest().await;
    late.rest().await;
    late.rest().await;
    let durable = |ear: &Ear| {
        let durable = |told: &Told| match told {
            Told::Event(event) if event.fact.durable() => {
                let mut event = (**event).clone();
                // The log does not keep it.
                if let Some(tag) = event.fact.tag_mut() {
                    tag.part = 0;
                }
                Some(event)
            }
            _ => None,
        };
        ear.heard.iter().filter_map(durable).collect::<Vec<_>>()
    };
    let (early, late) = (durable(&ear), durable(&late));
    // Who was there from the start did not hear of the creation itself.
    assert_eq!(late[late.len() - early.len()..], early);
    let gap = |told: &Told| matches!(told, Told::Gap { .. });
    assert!(!ear.heard.iter().any(gap), "a gap");
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_lets_go_of_what_all_have_heard_and_of_nothing_else() {
    let script = "turn\n repeat 300 x\nturn\n repeat 300 x\nturn\n repeat 2 y";
    let house = House::staged(Stage::scripted(script));
    let (thread, mut quick) = house.heard_thread().await;
    let (_, mut slow) = house.listen(thread, ListenFrom::Head).await;
    for _ in 0..2 {
        house.say(thread, "go").await.expect("a turn");
        quick.rest().await;
    }
    let held = quick.held();
    assert!(held.events > 600, "the slow one has heard none: {held:?}");
    slow.rest().await;
    slow.rest().await;
    let gap = |told: &Told| matches!(told, Told::Gap { .. });
    assert!(!slow.heard.iter().any(gap), "a gap");
    house.say(thread, "go").await.expect("a turn");
    quick.rest().await;
    let held = quick.held();
    assert!(held.events < 100, "all have heard the rest: {held:?}");
}

/// Every number after the cursor is told once or lies in one gap.
fn covers(heard: &[Told], after: Seq, head: Seq) {
    let mut at = after;
    for told in heard {
        match told {
            Told::Event(event) => {
                assert_eq!(event.seq, at.next(), "in {heard:#?}");
                at = event.seq;
            }
            Told::Gap { after, to } => {
                assert_eq!(*after, at);
                assert!(to > after);
                at = *to;
            }
            Told::CaughtUp(caught) => {
                assert_eq!((*caught, at), (head, head));
                return;
            }
            Told::Ended => panic!("ended"),
        }
    }
    panic!("never caught up");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn replay_and_gaps_cover_every_number_once(cuts in prop::collection::vec(0.0f64..1.0, 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let house = House::new("turn\n think hm\n say a b\n call todoWrite {\"todos\":[]}\nnext\n say c\nturn\n say d");
            let thread = house.thread().await;
            let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
            house.say(thread, "one").await.expect("a turn");
            ear.rest().await;
            house.say(thread, "two").await.expect("a turn");
            ear.rest().await;
            let changes = Changes { title: Some("named".to_owned()), ..Changes::default() };
            let Ok(Reply::Thread(_)) = house.call(Call::ChangeThread { thread, changes }).await else {
                panic!("not named")
            };
            let (view, _) = house.listen(thread, ListenFrom::Head).await;
            for cut in cuts {
                let after = Seq((view.head.0 as f64 * cut) as u64);
                let (again, mut ear) = house.listen(thread, ListenFrom::After(after)).await;
                ear.until(|told| matches!(told, Told::CaughtUp(_))).await;
                covers(&ear.heard, after, again.head);
            }
        });
    }
}
