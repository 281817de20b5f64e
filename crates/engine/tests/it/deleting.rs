//! A thread that is deleted while somebody is there.

use engine::{ListenFrom, ThreadIdKey};
use vocabulary::{Call, Caller, Fact, NewThread, Reply, TenantId, TurnFact, TurnOutcome, Why};

use crate::house::{House, Stage, Told};
use crate::puppet::{Play, Puppet, says};

#[tokio::test(start_paused = true)]
async fn whoever_listens_hears_the_turn_end_and_then_the_thread() {
    let puppet = Puppet::new([Play::new().begin("half").hang()]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let (_, mut other) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("half").await;
    let delete = Call::DeleteThread { thread };
    house.call(delete.clone()).await.expect("deleted");
    puppet.was_dropped(1).await;
    for ear in [&mut ear, &mut other] {
        assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
        assert_eq!(ear.until(|told| *told == Told::Ended).await, Told::Ended);
        let ends = |fact: &&&Fact| matches!(fact, Fact::Turn(TurnFact::Finished { .. }));
        assert_eq!(ear.facts().iter().filter(ends).count(), 1);
    }
    let gone = house.call(delete).await.expect_err("deleted twice");
    assert_eq!(gone.why, Why::UnknownThread);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_never_kept_is_deleted_too() {
    let house = House::with(&Puppet::new([]));
    let (thread, mut ear) = house.heard_thread().await;
    let delete = Call::DeleteThread { thread };
    house.call(delete).await.expect("deleted");
    ear.until(|told| *told == Told::Ended).await;
}

#[tokio::test(start_paused = true)]
async fn who_only_knows_an_id_neither_deletes_the_thread_nor_gets_it() {
    let mut stage = Stage::of(&Puppet::new([says("done")]));
    stage.thread_id_key = Some(ThreadIdKey::new([7; 32]));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let stranger = Caller {
        tenant: TenantId::new("other"),
        ..Caller::local()
    };
    let resumed = || {
        Call::CreateThread(Box::new(NewThread {
            resumed: Some(thread),
            ..NewThread::default()
        }))
    };
    // While it is awake, and while it sleeps.
    let mut house = house;
    for _ in 0..2 {
        let delete = Call::DeleteThread { thread };
        let refused = house.call_as(&stranger, delete).await;
        assert_eq!(refused.expect_err("not theirs").why, Why::UnknownThread);
        let made = house.call_as(&stranger, resumed()).await;
        let Ok(Reply::Thread(made)) = made else {
            panic!("no thread: {made:?}")
        };
        assert_ne!(made.card.id, thread);
        let Ok(Reply::Thread(kept)) = house.call(resumed()).await else {
            panic!("it is gone")
        };
        assert_eq!((kept.card.id, kept.message_count), (thread, 2));
        house = house.crash();
    }
}
