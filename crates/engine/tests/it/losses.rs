//! What survives of a busy turn: one that broke off, spawned, was summarised, was told more.

use std::sync::Arc;
use std::time::Duration;

use engine::ListenFrom;
use proptest::prelude::*;
use providers::catalog::Model;
use providers::{ErrorKind, Message, RequestPurpose};
use serde_json::json;
use store::testing::faulty::Fault;
use store::{Store, StoreError};
use vocabulary::Effects;
use vocabulary::{
    Call, Fact, Seq, StepFact, ToolEvent, ToolFact, ToolOutcome, TurnErrorKind, TurnFact,
    TurnOutcome,
};

use crate::answers::answer;
use crate::house::{Ear, House, Stage, Told, wish};
use crate::puppet::{self, Play, Puppet, calls, native, says, with_small_model};
use crate::toys::Toys;
use crate::turns::opened_ask;

/// A model that does all that a model can do: breaks off, spawns, is summarised, goes on.
fn busy_puppet() -> Arc<Puppet> {
    let look = |id: &str| json!({ "id": id });
    let puppet = Puppet::new([
        Play::new()
            .say("half")
            .call("x", "act", look("never"))
            .fail(ErrorKind::CutOff, "cut off"),
        Play::new()
            .think("hm", native("thought"))
            .say_with("a", native("words"))
            .call("p1", "spawnAgent", json!({"task": "find it"}))
            .call("c1", "look", look("a"))
            .call("c2", "look", look("b"))
            .end(18_000, 10),
        calls("s1", "act", look("c")),
        says("found"),
        calls("c3", "act", look("d")),
        says("b"),
        says("c"),
        says("d"),
        says("e"),
    ]);
    let many = || (0..4).map(|_| says("short"));
    puppet.then(RequestPurpose::Summary, many());
    puppet.then(RequestPurpose::Title, many());
    puppet
}

fn busy_stage(puppet: &Arc<Puppet>, toys: &Toys) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(toys.tool("look", Effects::READS));
    stage.tools.add(toys.tool("act", Effects::RUNS));
    stage.catalog = with_small_model(puppet::catalog(Model {
        context: Some(20_000),
        ..puppet::big()
    }));
    stage
}

#[tokio::test(start_paused = true)]
async fn the_parts_of_a_busy_turn_are_numbered_without_holes() {
    let puppet = busy_puppet();
    let house = House::staged(busy_stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "a\n\nb");
    let told = |is: fn(&&&Fact) -> bool| ear.facts().iter().filter(is).count();
    assert_eq!(
        told(|fact| matches!(
            fact,
            Fact::Step {
                what: StepFact::Compacted { .. },
                ..
            }
        )),
        1
    );
    assert_eq!(
        told(|fact| matches!(
            fact,
            Fact::Step {
                what: StepFact::Delayed { .. },
                ..
            }
        )),
        1
    );
    let mut next = 0;
    for fact in ear.facts() {
        let mut fact = fact.clone();
        let parts = 1;
        if let Some(tag) = fact.tag_mut() {
            assert_eq!(tag.part, next);
            next += parts;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_an_answer_broke_off_keeps_the_newest_part_only() {
    let puppet = Puppet::new([
        Play::new()
            .begin("first half")
            .fail(ErrorKind::CutOff, "cut off"),
        Play::new().begin("second half").hang(),
        says("next"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("second half").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    while house
        .store
        .load(thread)
        .await
        .expect("a read")
        .is_none_or(|kept| kept.drafts.is_empty())
    {
        tokio::task::yield_now().await;
    }
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::After(Seq::ZERO)).await;
    let (outcome, text) = ear.ended().await;
    assert!(matches!(outcome, TurnOutcome::Failed(_)));
    assert_eq!(text, "second half");
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let talk = [
        Message::user("go"),
        answer("second half"),
        Message::user("more"),
    ];
    assert_eq!(puppet.requests()[2].messages, talk);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_loses_its_store_lets_the_model_go() {
    let puppet = Puppet::new([Play::new().begin("half").hang(), says("next")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("half").await;
    house.store.fail_from_now_on(StoreError::Full);
    house.steer(thread, "lost").await.expect_err("a full disk");
    puppet.was_dropped(1).await;
    ear.until(|told| *told == Told::Ended).await;
    house.store.heal();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let last = puppet.requests()[1].messages.clone();
    assert!(!last.contains(&Message::user("lost")));
}

/// Says three things to a busy puppet and more to each turn, with an append that fails.
async fn live_with_a_failing_append(nth: u64, fault: Fault) {
    let puppet = busy_puppet();
    let toys = Toys::new();
    let house = House::staged(busy_stage(&puppet, &toys));
    house.store.fail_append(nth, fault);
    let thread = house.thread().await;
    let (mut turns, mut steers) = (0, 0);
    for text in ["one", "two", "three"] {
        let caller = vocabulary::Caller::local();
        let listening = house.engine.listen(&caller, thread, wish(ListenFrom::Head));
        let Ok((_, listener)) = listening.await else {
            continue;
        };
        let mut ear = Ear::new(listener);
        ear.patience = house.patience;
        if house.say(thread, text).await.is_err() {
            continue;
        }
        turns += 1;
        steers += usize::from(house.steer(thread, "and this").await.is_ok());
        ear.until(|told| match told {
            Told::Ended => true,
            Told::Event(event) => matches!(event.fact, Fact::Turn(TurnFact::Finished { .. })),
            Told::Gap { .. } | Told::CaughtUp(_) => false,
        })
        .await;
    }
    let read = Call::ReadMessages {
        thread,
        offset: 0,
        limit: 1_000,
    };
    if house.call(read).await.is_err() {
        assert_eq!(turns, 0, "an acknowledged thread is there");
        return;
    }
    house.kept(thread).await;
    let log = house.log(thread).await;
    let count = |is: fn(&&Fact) -> bool| log.iter().filter(is).count();
    assert!(count(|fact| matches!(fact, Fact::Turn(TurnFact::Started { .. }))) >= turns);
    assert!(count(|fact| matches!(fact, Fact::Turn(TurnFact::Steered { .. }))) >= steers);
    let effects = toys.notes();
    for id in ["c", "d"] {
        let begins = format!("{id} begins");
        let times = effects.iter().filter(|note| **note == begins).count();
        assert!(times <= 1, "{id} ran {times} times");
    }
    assert!(!effects.contains(&"never begins".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Whatever append fails, written or not, and whatever the turn does: memory and disk agree,
    /// what was acknowledged is there, and no effect happens twice.
    #[test]
    fn memory_and_disk_agree_whatever_a_turn_does(nth in 1u64..40, written in any::<bool>()) {
        let error = StoreError::Failed("injected".to_owned());
        let fault = if written { Fault::Unacknowledged(error) } else { Fault::Refused(error) };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(live_with_a_failing_append(nth, fault));
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_turn_whose_model_is_gone_fails_with_every_call_ended() {
    let toys = Toys::new();
    let puppet = Puppet::new([calls("c1", "beg", json!({"id": "a"}))]);
    let mut stage = Stage::of(&puppet);
    stage.tools.add(toys.asking_tool("beg", Effects::RUNS));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    opened_ask(&mut ear).await;
    let house = house.crash_into(Stage::scripted("turn *\n say hello"));
    let (_, mut ear) = house.listen(thread, ListenFrom::After(Seq::ZERO)).await;
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Provider);
    assert!(error.message.contains("no provider"), "{}", error.message);
    let log = house.log(thread).await;
    assert!(log.iter().any(|fact| matches!(
        fact,
        Fact::Tool(ToolEvent {
            what: ToolFact::Finished {
                outcome: ToolOutcome::NotRun { .. },
                ..
            },
            ..
        })
    )));
    assert_eq!(toys.notes(), [] as [&str; 0]);
    house.kept(thread).await;
}
