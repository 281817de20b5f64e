//! A thread that is deleted while somebody is there.

use engine::ListenFrom;
use vocabulary::{Call, Fact, TurnFact, TurnOutcome, Why};

use crate::house::{House, Told};
use crate::puppet::{Play, Puppet};

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
