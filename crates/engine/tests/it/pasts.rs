//! A thread's past: turns that are taken back, and threads that begin with the past of another one.

mod ephemeral;
mod random;

use std::sync::Arc;

use engine::ListenFrom;
use providers::RequestPurpose;
use providers::catalog::Model;
use serde_json::json;
use store::{Store, StoreError};
use vocabulary::{
    Call, Changes, Effects, Fact, ForkPlace, ForkThread, Refusal, Reply, RevertThread, RevertTo,
    Status, Thread, ThreadFact, ThreadId, ThreadQuery, TurnFact, TurnId, TurnSelection, Why,
};

use crate::house::{Ear, House, Stage};
use crate::puppet::{self, Gate, Play, Puppet, big, says};
use crate::toys::Toys;

/// A summary is due at 17,000 tokens.
fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.auto_approve = true;
    stage.tools.add(Toys::new().tool("look", Effects::READS));
    stage.catalog = puppet::catalog(Model {
        context: Some(20_000),
        ..big()
    });
    stage
}

fn forked(thread: ThreadId, upto: ForkPlace) -> ForkThread {
    ForkThread {
        thread,
        upto,
        directory: None,
        files: false,
        changes: Changes::default(),
        instructions: None,
        ephemeral: false,
    }
}

async fn fork(house: &House, thread: ThreadId, upto: ForkPlace) -> Result<Thread, Refusal> {
    let call = Call::ForkThread(Box::new(forked(thread, upto)));
    Ok(*house.call(call).await?.thread()?)
}

async fn revert(house: &House, thread: ThreadId, to: RevertTo) -> Result<Thread, Refusal> {
    let files = false;
    let call = Call::RevertThread(RevertThread { thread, to, files });
    Ok(*house.call(call).await?.thread()?)
}

/// The ids of a thread's turns, oldest first.
async fn turns(house: &House, thread: ThreadId) -> Vec<TurnId> {
    let call = Call::ReadTurns {
        thread,
        selection: TurnSelection::Oldest,
        limit: 1_000,
        entries: false,
    };
    let page = house
        .call(call)
        .await
        .and_then(Reply::turns)
        .expect("it can be done");
    page.turns.into_iter().map(|turn| turn.turn).collect()
}

/// What the user said, as the messages have it.
async fn said(house: &House, thread: ThreadId) -> Vec<String> {
    let call = Call::ReadMessages {
        thread,
        offset: 0,
        limit: 1_000,
    };
    let page = house
        .call(call)
        .await
        .and_then(Reply::messages)
        .expect("it can be done");
    let said = page
        .entries
        .iter()
        .filter_map(|entry| match &entry.event.fact {
            Fact::Turn(TurnFact::Started { input, .. }) => Some(input.text.clone()),
            _ => None,
        });
    said.collect()
}

/// The same, as the log tells it.
async fn told(house: &House, thread: ThreadId) -> Vec<String> {
    let facts = house.log(thread).await;
    let said = facts.into_iter().filter_map(|fact| match fact {
        Fact::Turn(TurnFact::Started { input, .. }) => Some(input.text),
        _ => None,
    });
    said.collect()
}

async fn listed(house: &House) -> Vec<ThreadId> {
    let call = Call::ListThreads(ThreadQuery::default());
    let page = house
        .call(call)
        .await
        .and_then(Reply::threads)
        .expect("it can be done");
    page.threads.into_iter().map(|it| it.card.id).collect()
}

async fn turn(house: &House, ear: &mut Ear, thread: ThreadId, text: &str) {
    house.say(thread, text).await.expect("a turn");
    ear.completed().await;
}

#[tokio::test(start_paused = true)]
async fn turns_that_are_taken_back_are_read_by_nobody_and_stay_in_the_log() {
    let puppet = Puppet::new(["a", "b", "c", "d", "e"].map(says));
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    for text in ["one", "two", "three"] {
        turn(&house, &mut ear, thread, text).await;
    }
    let ids = turns(&house, thread).await;
    let shown = revert(&house, thread, RevertTo::Before(ids[1].clone())).await;
    let shown = shown.expect("it goes back");
    assert_eq!((shown.message_count, shown.preview.as_str()), (2, "one"));
    let is_told = |fact: &Fact| matches!(fact, Fact::Thread(ThreadFact::Reverted { .. }));
    ear.fact(is_told).await;
    assert_eq!(turns(&house, thread).await, ids[..1]);
    assert_eq!(said(&house, thread).await, ["one"]);
    assert_eq!(told(&house, thread).await, ["one"]);
    let kept = house.kept(thread).await;
    let log = house.store.events(thread, vocabulary::Seq::ZERO, 999).await;
    assert_eq!(
        log.expect("it can be done").len(),
        kept.seqs.len(),
        "the log has it all"
    );

    turn(&house, &mut ear, thread, "other").await;
    let asked = puppet.requests_for(RequestPurpose::Answer);
    let read: Vec<_> = asked[3].messages.to_vec();
    assert!(read.starts_with(&asked[0].messages), "as it was before");
    assert_eq!(read.len(), 3, "{read:#?}");
    house.kept(thread).await;

    // One who comes later hears the same, and so does the process after the next.
    let house = house.crash();
    let (view, mut late) = house
        .listen(thread, ListenFrom::After(vocabulary::Seq::ZERO))
        .await;
    assert_eq!(view.thread.message_count, 4);
    late.until(|told| matches!(told, crate::house::Told::CaughtUp(_)))
        .await;
    let replayed = late.facts().into_iter().filter_map(|fact| match fact {
        Fact::Turn(TurnFact::Started { input, .. }) => Some(input.text.as_str()),
        _ => None,
    });
    assert_eq!(replayed.collect::<Vec<_>>(), ["one", "other"]);
    assert_eq!(said(&house, thread).await, ["one", "other"]);
    // All of them, though there are fewer than were named.
    let shown = revert(&house, thread, RevertTo::Newest(9))
        .await
        .expect("it can be done");
    assert_eq!((shown.message_count, shown.preview.as_str()), (0, ""));
    assert_eq!(told(&house, thread).await, [""; 0]);
    house.kept(thread).await;
    let nothing = revert(&house, thread, RevertTo::Newest(1)).await;
    assert_eq!(nothing.expect_err("a refusal").why, Why::invalid("turn"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_back_while_a_turn_runs_or_that_is_not_there() {
    let gate = Gate::new();
    let puppet = Puppet::new([says("a"), Play::new().begin("b").hold(&gate).end(1, 1)]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, &mut ear, thread, "one").await;
    let unknown = RevertTo::Before(TurnId::new("nobody's"));
    let refused = revert(&house, thread, unknown)
        .await
        .expect_err("a refusal");
    assert_eq!(refused.why, Why::invalid("turn"), "{refused}");
    house.say(thread, "two").await.expect("it can be done");
    ear.word("b").await;
    let refused = revert(&house, thread, RevertTo::Newest(1)).await;
    assert_eq!(refused.expect_err("a refusal"), Refusal::busy());
    let ids = turns(&house, thread).await;
    let running = fork(&house, thread, ForkPlace::After(ids[1].clone())).await;
    assert_eq!(running.expect_err("a refusal").why, Why::invalid("turn"));
    // What runs does not go along.
    let child = fork(&house, thread, ForkPlace::Rest)
        .await
        .expect("it can be done");
    assert_eq!(said(&house, child.card.id).await, ["one"]);
    gate.open();
    ear.completed().await;
    assert_eq!(said(&house, thread).await, ["one", "two"]);
    house.kept(child.card.id).await;
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_that_is_taken_back_leaves_a_thread_at_rest() {
    let fails = Play::new().refuse(providers::ErrorKind::BadRequest, "no");
    let puppet = Puppet::new([says("a"), fails, says("b")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, &mut ear, thread, "one").await;
    house.say(thread, "two").await.expect("it can be done");
    ear.failed().await;
    let shown = revert(&house, thread, RevertTo::Newest(1))
        .await
        .expect("it can be done");
    assert_eq!(shown.status, Status::Ready);
    turn(&house, &mut ear, thread, "three").await;
    let asked = puppet.requests_for(RequestPurpose::Answer);
    assert_eq!(asked[2].messages.len(), 3, "{:#?}", asked[2].messages);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn before_a_summary_the_older_context_is_back() {
    let much = |n: usize| {
        let input = json!({"id": format!("look {n}"), "words": 8_600});
        let play = Play::new().call(&format!("c{n}"), "look", input);
        [play.end(9_000, 10), Play::new().say("seen").end(18_000, 10)]
    };
    let plays = (1..=2)
        .flat_map(much)
        .chain([says("c"), says("d"), says("e")]);
    let puppet = Puppet::new(plays);
    puppet.then(RequestPurpose::Summary, (0..9).map(|_| says("in short")));
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, &mut ear, thread, "one").await;
    let before = puppet.requests_for(RequestPurpose::Answer).len();
    turn(&house, &mut ear, thread, "two").await;
    turn(&house, &mut ear, thread, "three").await;
    assert!(!puppet.requests_for(RequestPurpose::Summary).is_empty());
    let ids = turns(&house, thread).await;
    revert(&house, thread, RevertTo::Before(ids[1].clone()))
        .await
        .expect("it can be done");
    house.kept(thread).await;
    turn(&house, &mut ear, thread, "four").await;
    let asked = puppet.requests_for(RequestPurpose::Answer);
    let last = asked.last().expect("it can be done");
    // A summary is due, as it was then; it is made of the first turn alone.
    let summary = puppet.requests_for(RequestPurpose::Summary);
    let summary = summary.last().expect("it can be done");
    assert!(summary.messages.starts_with(&asked[before - 1].messages));
    let texts = format!("{:?}", last.messages);
    assert!(
        !texts.contains("two") && !texts.contains("three"),
        "{texts}"
    );
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_the_past_of_its_parent_and_outlives_it() {
    let puppet = Puppet::new(["a", "b", "c", "d", "e"].map(says));
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    for text in ["one", "two", "three"] {
        turn(&house, &mut ear, thread, text).await;
    }
    let title = "The three".to_owned();
    let named = Changes {
        title: Some(title.clone()),
        ..Changes::default()
    };
    house.change(thread, named).await;
    let ids = turns(&house, thread).await;

    let changes = Changes {
        max_steps: Some(7),
        ..Changes::default()
    };
    let instructions = Some("Be brief.".into());
    let call = ForkThread {
        changes,
        instructions,
        ..forked(thread, ForkPlace::After(ids[1].clone()))
    };
    let reply = house.call(Call::ForkThread(Box::new(call))).await;
    let child = *reply.and_then(Reply::thread).expect("it can be done");
    let id = child.card.id;
    let from = child.card.forked_from.as_ref().expect("it can be done");
    assert_eq!(from.thread, thread);
    assert_eq!(
        (child.title.text.as_str(), child.preview.as_str()),
        ("The three", "one")
    );
    assert_eq!(child.settings.max_steps, 7);
    assert_eq!(child.settings.instructions.as_deref(), Some("Be brief."));
    assert_eq!(child.message_count, 4);
    assert_eq!(turns(&house, id).await, ids[..2]);
    assert_eq!(said(&house, id).await, ["one", "two"]);
    assert_eq!(told(&house, id).await, ["one", "two"]);
    // Both may have changed in the same moment.
    let mut all = listed(&house).await;
    all.sort();
    assert_eq!(all, [thread, id]);
    house.kept(id).await;
    let earlier = fork(&house, thread, ForkPlace::Before(ids[1].clone())).await;
    let earlier = earlier.expect("it can be done").card.id;
    assert_eq!(said(&house, earlier).await, ["one"]);
    let whole = fork(&house, id, ForkPlace::Rest)
        .await
        .expect("it can be done")
        .card
        .id;
    assert_eq!(said(&house, whole).await, ["one", "two"]);
    house.kept(whole).await;

    house
        .call(Call::DeleteThread { thread })
        .await
        .expect("it can be done");
    let house = house.crash();
    let (_, mut ear) = house.listen(id, ListenFrom::Head).await;
    turn(&house, &mut ear, id, "four").await;
    let asked = puppet.requests_for(RequestPurpose::Answer);
    let (then, now) = (&asked[1].messages, &asked[3].messages);
    assert!(now.starts_with(then), "{now:#?}");
    assert_eq!(now.len(), then.len() + 2);
    house.kept(id).await;
    assert_eq!(said(&house, whole).await, ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_thread_in_which_nothing_happened_can_be_forked() {
    let house = House::staged(stage(&Puppet::new([says("a")])));
    let (thread, _ear) = house.heard_thread().await;
    let child = fork(&house, thread, ForkPlace::Rest)
        .await
        .expect("it can be done")
        .card
        .id;
    assert_eq!(said(&house, child).await, [""; 0]);
    house.kept(child).await;
    let (_, mut ear) = house.listen(child, ListenFrom::Head).await;
    turn(&house, &mut ear, child, "one").await;
    house.kept(child).await;
}

#[tokio::test(start_paused = true)]
async fn a_fork_or_a_revert_that_the_disk_refuses_did_not_happen() {
    let puppet = Puppet::new(["a", "b", "c", "d"].map(says));
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    for text in ["one", "two"] {
        turn(&house, &mut ear, thread, text).await;
    }
    house.kept(thread).await;
    house.store.fail_from_now_on(StoreError::Full);
    fork(&house, thread, ForkPlace::Rest)
        .await
        .expect_err("a refusal");
    revert(&house, thread, RevertTo::Newest(1))
        .await
        .expect_err("a refusal");
    let house = house.crash();
    assert_eq!(listed(&house).await, [thread]);
    assert_eq!(said(&house, thread).await, ["one", "two"]);
    house.kept(thread).await;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    turn(&house, &mut ear, thread, "three").await;
    house.kept(thread).await;
}
