//! What survives: crashes, failing stores, sleeping and waking.

use engine::ListenFrom;
use proptest::prelude::*;
use store::StoreError;
use store::testing::faulty::Fault;
use vocabulary::{
    Answer, ApprovalAnswer, AskFact, Call, Changes, Fact, Item, ItemFact, MessagePage, NewThread,
    Reply, Seq, Status, StepFact, ThreadFact, ThreadPage, ToolEvent, ToolFact, ToolOutcome,
    TurnErrorKind, TurnFact, TurnOutcome, Why,
};

use store::Store;

use crate::house::{Ear, House, Told, wish};

#[tokio::test]
async fn a_thread_in_which_nothing_happened_leaves_no_trace() {
    let house = House::new("");
    let thread = house.thread().await;
    let (view, ear) = house.listen(thread, ListenFrom::Head).await;
    assert!(!view.kept);
    drop(ear);
    let Ok(Reply::Threads(ThreadPage { threads, .. })) =
        house.call(Call::ListThreads(Default::default())).await
    else {
        panic!("no list")
    };
    assert_eq!(threads, []);
}

#[tokio::test]
async fn a_running_turn_is_closed_as_failed_after_a_crash() {
    let house = House::new("turn\n say kept words\n call glob {\"pattern\":\"*\"}\nnext\n hold");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.fact(|fact| matches!(fact, Fact::Step { tag, what: StepFact::Started } if tag.step == 2))
        .await;
    let head = house
        .kept(thread)
        .await
        .seqs
        .last()
        .copied()
        .expect("events");

    let house = house.crash();
    assert_eq!(house.engine.recover().await.expect("a recovery"), 1);
    let (view, mut ear) = house.listen(thread, ListenFrom::After(head)).await;
    assert!(view.turn.is_none() && view.thread.status == Status::Error);
    ear.until(|told| matches!(told, Told::CaughtUp(_))).await;
    let Some(Fact::Turn(TurnFact::Finished {
        outcome: TurnOutcome::Failed(error),
        text,
        ..
    })) = ear
        .facts()
        .into_iter()
        .rfind(|fact| matches!(fact, Fact::Turn(TurnFact::Finished { .. })))
    else {
        panic!("the turn has no end")
    };
    assert_eq!(
        (error.kind, text.as_str()),
        (TurnErrorKind::ServerRestart, "kept words")
    );
    assert!(
        view.head.0 > head.0 + 60_000,
        "numbers start past the high-water mark"
    );
    house.kept(thread).await;
    house
        .say(thread, "again")
        .await
        .expect("a thread in error can be used again");
}

#[tokio::test]
async fn partial_text_survives_a_crash() {
    let house = House::new("");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "slow 400").await.expect("a turn");
    let mut grown = 0;
    while house
        .store
        .load(thread)
        .await
        .expect("a read")
        .is_none_or(|kept| kept.drafts.is_empty())
    {
        ear.fact(|fact| {
            matches!(
                fact,
                Fact::Item {
                    what: ItemFact::Grew { .. },
                    ..
                }
            )
        })
        .await;
        grown += 1;
    }
    assert!(
        grown < 60,
        "a draft is at most a second old: {grown} deltas of 50 ms"
    );
    let house = house.crash();
    house.engine.recover().await.expect("a recovery");
    let read = Call::ReadMessages {
        thread,
        offset: 0,
        limit: 10,
    };
    let Ok(Reply::Messages(MessagePage { entries, .. })) = house.call(read).await else {
        panic!("no messages")
    };
    assert!(entries.iter().any(|entry| matches!(
        &entry.event.fact,
        Fact::Item { what: ItemFact::Finished { body: Item::AgentMessage { text, partial: true, .. }, .. }, .. }
            if text.starts_with("w0 w1 ")
    )));
}

#[tokio::test]
async fn a_waiting_turn_is_picked_up_after_a_crash() {
    let house = House::new(
        "turn\n call bash {\"command\":\"touch x\"}\n call glob {\"pattern\":\"*\"}\nnext\n say did it",
    );
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    let opened = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Ask {
                    what: AskFact::Opened { .. },
                    ..
                }
            )
        })
        .await;
    let Fact::Ask {
        what: AskFact::Opened { ask, .. },
        ..
    } = opened
    else {
        panic!("no ask")
    };

    let house = house.crash();
    let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
    assert!(view.woken && view.thread.status == Status::Waiting);
    assert_eq!(
        view.asks.iter().map(|open| &open.ask).collect::<Vec<_>>(),
        [&ask]
    );
    let answer = Answer::Approval(ApprovalAnswer::Once);
    house
        .call(Call::AnswerAsk {
            thread,
            ask: ask.id,
            answer,
        })
        .await
        .expect("an open ask");
    let Fact::Turn(TurnFact::Finished { outcome, text, .. }) = ear.rest().await else {
        panic!("no end")
    };
    assert_eq!((outcome, text.as_str()), (TurnOutcome::Completed, "did it"));
    let ran = |fact: &&Fact| {
        matches!(
            fact,
            Fact::Tool(ToolEvent {
                what: ToolFact::Finished {
                    outcome: ToolOutcome::Succeeded(_),
                    ..
                },
                ..
            })
        )
    };
    assert_eq!(ear.facts().iter().filter(|fact| ran(fact)).count(), 2);
    house.kept(thread).await;
}

#[tokio::test]
async fn stopping_leaves_a_waiting_turn_waiting_and_fails_a_running_one() {
    let house = House::new(
        "turn\n call bash {\"command\":\"touch x\"}\nnext\n say did it\nturn\n say part\n hold",
    );
    let (waiting, running) = (house.thread().await, house.thread().await);
    let (_, mut ear) = house.listen(waiting, ListenFrom::Head).await;
    house.say(waiting, "go").await.expect("a turn");
    ear.fact(|fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Opened { .. },
                ..
            }
        )
    })
    .await;
    let (_, mut other) = house.listen(running, ListenFrom::Head).await;
    house.say(running, "go").await.expect("a turn");
    let opened = other
        .fact(|fact| {
            matches!(
                fact,
                Fact::Ask {
                    what: AskFact::Opened { .. },
                    ..
                }
            )
        })
        .await;
    let Fact::Ask {
        what: AskFact::Opened { ask, .. },
        ..
    } = opened
    else {
        panic!("no ask")
    };
    let answer = Answer::Approval(ApprovalAnswer::Once);
    house
        .call(Call::AnswerAsk {
            thread: running,
            ask: ask.id,
            answer,
        })
        .await
        .expect("an answer");
    other.rest().await;
    house.say(running, "go on").await.expect("a turn");
    other.word("part").await;

    house
        .engine
        .stop(std::time::Duration::from_millis(50))
        .await;
    let kept = house.kept(waiting).await;
    assert_eq!(kept.state.asks.len(), 1);
    let kept = house.kept(running).await;
    assert!(kept.state.turn.is_none() && kept.state.thread.status == Status::Error);
    let refused = house.say(running, "more").await.expect_err("stopping");
    assert_eq!(refused.why, Why::ShuttingDown);
}

#[tokio::test]
async fn a_failed_append_refuses_the_call_and_the_disk_is_the_truth() {
    let house = House::new("turn\n say one\nturn\n say two");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    let next = house.store.appends() + 1;
    house
        .store
        .fail_append(next, Fault::Refused(StoreError::Full));
    let changes = Changes {
        title: Some("lost".to_owned()),
        ..Changes::default()
    };
    let change = Call::ChangeThread { thread, changes };
    let refused = house.call(change.clone()).await.expect_err("a full disk");
    assert_eq!(refused.why, Why::Storage);
    ear.until(|told| *told == Told::Ended).await;
    let titled = |told: &Told| matches!(told, Told::Event(event) if matches!(&event.fact, Fact::Thread(ThreadFact::Titled { title, .. }) if title.text == "lost"));
    assert!(
        !ear.heard.iter().any(titled),
        "nobody was told what is not on disk"
    );
    assert_ne!(house.kept(thread).await.state.thread.title.text, "lost");
    house
        .call(change)
        .await
        .expect("the thread was folded again from disk");
    assert_eq!(house.kept(thread).await.state.thread.title.text, "lost");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Whatever append fails, written or not: memory and disk agree afterwards, what was
    /// acknowledged is there, and numbers only grow.
    #[test]
    fn memory_and_disk_agree_after_any_failed_append(nth in 1u64..14, written in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let house = House::new("turn\n think hm\n say a b\n call glob {\"pattern\":\"*\"}\nnext\n say c\nturn\n say d");
            let error = StoreError::Failed("injected".to_owned());
            let fault = if written { Fault::Unacknowledged(error) } else { Fault::Refused(error) };
            house.store.fail_append(nth, fault);
            let thread = house.thread().await;
            let mut acknowledged = 0;
            let mut head = Seq::ZERO;
            for text in ["one", "two", "three"] {
                let Ok((view, listener)) = house.engine
                    .listen(&vocabulary::Caller::local(), thread, wish(ListenFrom::Head)).await
                else { continue };
                assert!(view.head >= head, "numbers only grow");
                head = view.head;
                let mut ear = Ear::new(listener);
                if house.say(thread, text).await.is_ok() {
                    acknowledged += 1;
                    ear.until(|told| match told {
                        Told::Ended => true,
                        Told::Event(event) => matches!(event.fact, Fact::Turn(TurnFact::Finished { .. })),
                        Told::Gap { .. } | Told::CaughtUp(_) => false,
                    }).await;
                }
            }
            if house.call(Call::ReadMessages { thread, offset: 0, limit: 100 }).await.is_err() {
                assert_eq!(acknowledged, 0, "an acknowledged thread is there");
                return;
            }
            let kept = house.kept(thread).await;
            assert!(kept.seqs.is_sorted());
            let (view, _) = house.listen(thread, ListenFrom::Head).await;
            assert_eq!(view.thread.message_count, kept.state.thread.message_count);
            let turns = house.turns(thread).await;
            assert!(turns >= acknowledged, "{turns} turns for {acknowledged} acknowledged");
        });
    }
}

#[tokio::test]
async fn a_thread_that_is_to_be_kept_is_on_disk_when_it_is_acknowledged() {
    let house = House::new("");
    let new = NewThread {
        client_id: Some("mine".to_owned()),
        keep: true,
        ..NewThread::default()
    };
    let Ok(Reply::Thread(thread)) = house.call(Call::CreateThread(Box::new(new.clone()))).await
    else {
        panic!("no thread")
    };
    house.kept(thread.card.id).await;
    let Ok(Reply::Thread(again)) = house.call(Call::CreateThread(Box::new(new))).await else {
        panic!("no thread")
    };
    assert_eq!(
        again.card.id, thread.card.id,
        "the same id names the same thread"
    );
    let next = house.store.appends() + 1;
    let fault = Fault::Refused(StoreError::Full);
    house.store.fail_append(next, fault);
    let new = NewThread {
        keep: true,
        ..NewThread::default()
    };
    assert!(house.call(Call::CreateThread(Box::new(new))).await.is_err());
}

#[tokio::test]
async fn stopping_does_not_wait_for_threads_in_which_nothing_happened() {
    let house = House::new("");
    let thread = house.thread().await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    let stopping = house.engine.stop(std::time::Duration::from_secs(60));
    tokio::time::timeout(std::time::Duration::from_secs(10), stopping)
        .await
        .expect("an end");
    ear.until(|told| *told == Told::Ended).await;
}
