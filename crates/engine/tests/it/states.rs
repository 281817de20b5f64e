//! The states of a thread: told in steps that can follow each other, and shown in lists as they were
//! told last.

use std::sync::Arc;
use std::time::Duration;

use engine::{ListenFrom, Watcher};
use proptest::prelude::*;
use providers::{ErrorKind, RequestPurpose};
use serde_json::json;
use vocabulary::{
    Answer, ApprovalAnswer, Call, Caller, Fact, NewThread, Notice, Reply, Status, StatusReason,
    ThreadFact, ThreadId, ThreadQuery,
};

use crate::house::{Ear, House};
use crate::puppet::{Play, Puppet, calls, says};
use crate::turns::opened_ask;

/// Longer than a thread stays awake that nobody needs.
const LONG: Duration = Duration::from_secs(600);

async fn kept(house: &House) -> ThreadId {
    let new = NewThread {
        keep: true,
        ..NewThread::default()
    };
    match house.call(Call::CreateThread(Box::new(new))).await {
        Ok(Reply::Thread(thread)) => thread.card.id,
        other => panic!("no thread: {other:?}"),
    }
}

async fn listed(house: &House) -> Status {
    let list = Call::ListThreads(ThreadQuery::default());
    match house.call(list).await {
        Ok(Reply::Threads(page)) => page.threads[0].status,
        other => panic!("no list: {other:?}"),
    }
}

/// The next word on whether it is awake.
async fn shown(watcher: &mut Watcher) -> Status {
    loop {
        if let Some(Notice::ThreadStatusChanged { thread }) = watcher.next().await {
            return thread.status;
        }
    }
}

fn told(ear: &Ear) -> Vec<(Status, StatusReason)> {
    let facts = ear.facts();
    let status = |fact: &&Fact| match fact {
        Fact::Thread(ThreadFact::StatusChanged { status, reason }) => Some((*status, *reason)),
        _ => None,
    };
    facts.iter().filter_map(status).collect()
}

#[tokio::test(start_paused = true)]
async fn who_comes_wakes_a_thread_and_when_all_are_gone_lists_hear_that_it_sleeps() {
    let house = House::with(&Puppet::new([says("done")]));
    let mut watcher = house.engine.watch(&Caller::local()).expect("a watcher");
    let thread = kept(&house).await;
    assert_eq!(listed(&house).await, Status::Inactive);
    for round in 0..2 {
        let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
        assert_eq!(view.thread.status, Status::Inactive, "as it was before");
        assert_eq!(shown(&mut watcher).await, Status::Ready);
        assert_eq!(listed(&house).await, Status::Ready);
        if round == 0 {
            house.say(thread, "go").await.expect("a turn");
            ear.completed().await;
        }
        // Somebody is there: it stays awake, however long nothing happens.
        tokio::time::sleep(LONG).await;
        assert_eq!(listed(&house).await, Status::Ready);
        drop(ear);
        tokio::time::sleep(LONG).await;
        assert_eq!(shown(&mut watcher).await, Status::Inactive);
        assert_eq!(listed(&house).await, Status::Inactive);
    }
}

#[tokio::test(start_paused = true)]
async fn who_only_reads_wakes_nobody_up() {
    let house = House::with(&Puppet::new([]));
    let thread = kept(&house).await;
    for _ in 0..2 {
        let read = Call::ReadThread { thread, recent: 10 };
        house.call(read).await.expect("a view");
        assert_eq!(listed(&house).await, Status::Inactive);
        tokio::time::sleep(LONG).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_failed_says_so_asleep_too_and_is_used_again_by_way_of_inactive() {
    let house = House::with(&Puppet::new([
        Play::new().fail(ErrorKind::Auth, "no such luck"),
        says("better"),
    ]));
    let thread = kept(&house).await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.ended().await;
    drop(ear);
    tokio::time::sleep(LONG).await;
    assert_eq!(listed(&house).await, Status::Error);
    let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.thread.status, Status::Error);
    house.say(thread, "again").await.expect("a turn");
    ear.completed().await;
    let began = StatusReason::TurnStarted;
    let way = [
        Status::Inactive,
        Status::Activating,
        Status::Ready,
        Status::Running,
    ];
    assert_eq!(told(&ear)[..4], way.map(|status| (status, began)));
}

/// What happens to a thread, by whoever.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Say,
    Ask,
    Fail,
    Cancel,
    Crash,
    Leave,
    Sleep,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let one = prop_oneof![
        Just(Deed::Say),
        Just(Deed::Ask),
        Just(Deed::Fail),
        Just(Deed::Cancel),
        Just(Deed::Crash),
        Just(Deed::Leave),
        Just(Deed::Sleep),
    ];
    proptest::collection::vec(one, 1..12)
}

/// Follows what one listener is told, and fails at a step that cannot be.
struct Follower {
    ear: Ear,
    at: Status,
    heard: usize,
}

impl Follower {
    async fn join(house: &House, thread: ThreadId) -> Self {
        let (view, ear) = house.listen(thread, ListenFrom::Head).await;
        // Joining wakes it, which a client is told from the view.
        let at = match view.thread.status {
            Status::Inactive => Status::Ready,
            other => other,
        };
        Self { ear, at, heard: 0 }
    }

    /// Waits for the state after the end of the turn.
    async fn settle(&mut self) {
        self.ear.rest().await;
        let is_status =
            |fact: &Fact| matches!(fact, Fact::Thread(ThreadFact::StatusChanged { .. }));
        self.ear.fact(is_status).await;
    }

    fn check(&mut self) {
        let told = told(&self.ear);
        for (status, _) in &told[self.heard..] {
            self.at = self.at.to(*status).expect("a legal step");
        }
        self.heard = told.len();
    }
}

async fn play(deeds: Vec<Deed>) {
    let puppet = Puppet::new([]);
    let mut house = House::with(&puppet);
    let thread = kept(&house).await;
    let mut follower = Follower::join(&house, thread).await;
    for deed in deeds {
        match deed {
            Deed::Say => {
                puppet.then(RequestPurpose::Answer, [says("done")]);
                house.say(thread, "go").await.expect("a turn");
                follower.settle().await;
            }
            Deed::Fail => {
                puppet.then(
                    RequestPurpose::Answer,
                    [Play::new().fail(ErrorKind::Auth, "no")],
                );
                house.say(thread, "go").await.expect("a turn");
                follower.settle().await;
            }
            Deed::Ask => ask(&house, &puppet, thread, &mut follower).await,
            Deed::Cancel => {
                puppet.then(RequestPurpose::Answer, [Play::new().begin("half").hang()]);
                house.say(thread, "go").await.expect("a turn");
                follower.ear.word("half").await;
                let cancel = Call::CancelTurn { thread, turn: None };
                house.call(cancel).await.expect("cancelled");
                follower.settle().await;
            }
            Deed::Crash => {
                puppet.then(RequestPurpose::Answer, [Play::new().begin("half").hang()]);
                house.say(thread, "go").await.expect("a turn");
                follower.ear.word("half").await;
                follower.check();
                house = house.crash();
                follower = Follower::join(&house, thread).await;
                assert_eq!(follower.at, Status::Error, "a turn was lost");
            }
            Deed::Leave => follower = Follower::join(&house, thread).await,
            Deed::Sleep => {
                drop(follower);
                tokio::time::sleep(LONG).await;
                follower = Follower::join(&house, thread).await;
            }
        }
        follower.check();
        assert_eq!(listed(&house).await, follower.at, "after {deed:?}");
    }
}

async fn ask(house: &House, puppet: &Arc<Puppet>, thread: ThreadId, follower: &mut Follower) {
    puppet.then(
        RequestPurpose::Answer,
        [calls("c1", "bash", json!({"command": "rm -rf x"}))],
    );
    puppet.then(RequestPurpose::Answer, [says("done")]);
    house.say(thread, "go").await.expect("a turn");
    let ask = opened_ask(&mut follower.ear).await;
    let answer = Call::AnswerAsk {
        thread,
        ask,
        answer: Answer::Approval(ApprovalAnswer::Deny),
    };
    house.call(answer).await.expect("answered");
    follower.settle().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_only_legal_steps_are_told(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(play(deeds));
    }
}
