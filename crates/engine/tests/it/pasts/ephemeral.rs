//! Threads that are in no list and go with their last listener.

use engine::ListenFrom;
use store::Store;
use vocabulary::{Call, Caller, ForkPlace, ForkThread, NewThread, Notice, Reply, ThreadId, Why};

use super::{forked, listed, said, stage, turn};
use crate::house::{House, Told};
use crate::puppet::{Play, Puppet, says};

async fn ephemeral(house: &House) -> ThreadId {
    let new = NewThread {
        ephemeral: true,
        ..NewThread::default()
    };
    let reply = house.call(Call::CreateThread(Box::new(new))).await;
    reply
        .and_then(Reply::thread)
        .expect("it can be done")
        .card
        .id
}

async fn until_gone(house: &House, thread: ThreadId) {
    let gone = async {
        while house
            .store
            .thread(thread)
            .await
            .expect("it can be done")
            .is_some()
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(house.patience, gone)
        .await
        .expect("gone");
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_thread_is_in_no_list_and_gone_with_its_last_listener() {
    let puppet = Puppet::new([says("a"), Play::new().begin("b").hang()]);
    let house = House::staged(stage(&puppet));
    let mut watcher = house
        .engine
        .watch(&Caller::local())
        .expect("it can be done");
    let thread = ephemeral(&house).await;
    let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
    let (_, second) = house.listen(thread, ListenFrom::Head).await;
    assert!(view.thread.card.ephemeral);
    turn(&house, &mut ear, thread, "one").await;
    assert_eq!(said(&house, thread).await, ["one"]);
    let kept = house.kept(thread).await;
    assert_eq!(kept.state.thread.title.text, "", "it needs no title");
    assert!(listed(&house).await.is_empty());
    drop(second);
    // Even a turn that runs keeps it not.
    house.say(thread, "two").await.expect("it can be done");
    ear.word("b").await;
    drop(ear);
    until_gone(&house, thread).await;
    let call = Call::GetThread { thread };
    assert_eq!(
        house.call(call).await.expect_err("a refusal").why,
        Why::UnknownThread
    );
    // Whoever watches lists heard nothing of it: the next notice is another thread's.
    let new = NewThread {
        keep: true,
        ..NewThread::default()
    };
    let reply = house.call(Call::CreateThread(Box::new(new))).await;
    let other = reply
        .and_then(Reply::thread)
        .expect("it can be done")
        .card
        .id;
    let Some(Notice::ThreadAdded { thread }) = watcher.next().await else {
        panic!("another notice")
    };
    assert_eq!(thread.card.id, other);
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_thread_of_a_dead_process_is_gone_when_the_next_one_starts() {
    let puppet = Puppet::new([says("a"), says("b")]);
    let house = House::staged(stage(&puppet));
    let (parent, mut ear) = house.heard_thread().await;
    turn(&house, &mut ear, parent, "one").await;
    let call = ForkThread {
        ephemeral: true,
        ..forked(parent, ForkPlace::Rest)
    };
    let reply = house.call(Call::ForkThread(Box::new(call))).await;
    let thread = reply
        .and_then(Reply::thread)
        .expect("it can be done")
        .card
        .id;
    let (_, mut side) = house.listen(thread, ListenFrom::Head).await;
    turn(&house, &mut side, thread, "aside").await;
    assert_eq!(said(&house, thread).await, ["one", "aside"]);
    assert_eq!(listed(&house).await, [parent]);
    house.kept(thread).await;
    let house = house.crash();
    house.engine.recover().await.expect("it can be done");
    until_gone(&house, thread).await;
    assert_eq!(listed(&house).await, [parent]);
    assert_eq!(said(&house, parent).await, ["one"]);
    // Who still hears the old process learns of its end, whatever it is.
    side.until(|told| matches!(told, Told::Ended | Told::Event(_)))
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_thread_that_nobody_came_to_goes_by_itself() {
    let house = House::staged(stage(&Puppet::new([says("a")])));
    let parent = house.thread().await;
    let (_, mut ear) = house.listen(parent, ListenFrom::Head).await;
    turn(&house, &mut ear, parent, "one").await;
    let call = ForkThread {
        ephemeral: true,
        ..forked(parent, ForkPlace::Rest)
    };
    let reply = house.call(Call::ForkThread(Box::new(call))).await;
    let thread = reply
        .and_then(Reply::thread)
        .expect("it can be done")
        .card
        .id;
    tokio::time::advance(std::time::Duration::from_secs(3_600)).await;
    until_gone(&house, thread).await;
}
