//! Titles: the first words at once, a model's own later, a person's above all.

use std::sync::Arc;

use providers::{ErrorKind, Message, RequestPurpose};
use vocabulary::{Call, Changes, Fact, StepFact, ThreadFact, Title, TitleSource, TurnFact};

use crate::house::{Ear, House, Stage};
use crate::puppet::{Gate, Play, Puppet, SMALL, says, with_small_model};

fn house(puppet: &Arc<Puppet>) -> House {
    let mut stage = Stage::of(puppet);
    stage.catalog = with_small_model(stage.catalog);
    House::staged(stage)
}

async fn titled(ear: &mut Ear) -> Title {
    let told = ear
        .fact(|fact| matches!(fact, Fact::Thread(ThreadFact::Titled { .. })))
        .await;
    match told {
        Fact::Thread(ThreadFact::Titled { title, .. }) => title,
        other => panic!("no title: {other:?}"),
    }
}

fn heuristic(text: &str) -> Title {
    Title {
        text: text.to_owned(),
        source: TitleSource::Heuristic,
        model: None,
    }
}

async fn spent_on_title(ear: &mut Ear) {
    ear.fact(|fact| {
        matches!(
            fact,
            Fact::Turn(TurnFact::UsageAdded {
                purpose: vocabulary::Purpose::Title,
                turn: None,
                ..
            })
        )
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_small_model_gives_the_title_while_the_first_turn_runs() {
    let gate = Gate::new();
    let first = Play::new().begin("one").hold(&gate).end(10, 2);
    let puppet = Puppet::new([first, says("two")]);
    puppet.then(
        RequestPurpose::Title,
        [Play::new().say("\"Lost keys.\"\n").end(30, 3)],
    );
    let house = house(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house
        .say(thread, "where are my keys?")
        .await
        .expect("a turn");
    assert_eq!(titled(&mut ear).await, heuristic("where are my keys"));
    let by_model = Title {
        text: "Lost keys".to_owned(),
        source: TitleSource::Model,
        model: Some(SMALL.to_owned()),
    };
    assert_eq!(titled(&mut ear).await, by_model);
    gate.open();
    ear.completed().await;
    let [asked] = &puppet.requests_for(RequestPurpose::Title)[..] else {
        panic!("not asked once")
    };
    let [Message::User(framed)] = &asked.messages[..] else {
        panic!("not one message")
    };
    assert_eq!(asked.model, SMALL);
    assert!(framed.text.contains("\n---\nwhere are my keys?\n---\n"));
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    assert_eq!(puppet.requests_for(RequestPurpose::Title).len(), 1);
    let kept = house.kept(thread).await;
    assert_eq!(kept.state.thread.title, by_model);
    assert_eq!(kept.state.usage.total_tokens(), 12 + 33 + 12);
}

#[tokio::test(start_paused = true)]
async fn a_persons_title_wins_even_while_the_model_thinks() {
    let gate = Gate::new();
    let puppet = Puppet::new([says("one")]);
    puppet.then(
        RequestPurpose::Title,
        [Play::new().begin("Model's").hold(&gate).end(30, 3)],
    );
    let house = house(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    puppet.was_asked(2).await;
    let changes = Changes {
        title: Some("Mine".to_owned()),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    gate.open();
    spent_on_title(&mut ear).await;
    assert_eq!(house.kept(thread).await.state.thread.title.text, "Mine");
}

#[tokio::test(start_paused = true)]
async fn a_title_that_was_set_is_not_thought_about() {
    let puppet = Puppet::new([says("one")]);
    let house = house(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let changes = Changes {
        title: Some("Mine".to_owned()),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    house.engine.stop(std::time::Duration::from_secs(1)).await;
    assert_eq!(puppet.requests_for(RequestPurpose::Title), []);
}

/// A slow title delays nothing, is given up, and what it costs is not the next turn's.
#[tokio::test(start_paused = true)]
async fn a_slow_title_holds_nothing_up_and_is_no_turns_expense() {
    let gate = Gate::new();
    let puppet = Puppet::new([says("one"), Play::new().begin("two").hold(&gate).end(10, 2)]);
    let thinking = Gate::new();
    puppet.then(
        RequestPurpose::Title,
        [Play::new().begin("Slow").hold(&thinking).end(30, 3)],
    );
    let house = house(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    puppet.was_asked(2).await;
    house.say(thread, "more").await.expect("a turn");
    ear.word("two").await;
    thinking.open();
    spent_on_title(&mut ear).await;
    gate.open();
    let Fact::Turn(TurnFact::Finished { usage, .. }) = ear.rest().await else {
        panic!("no end")
    };
    assert_eq!(usage.map(|usage| usage.total_tokens()), Some(12));
    let thread_usage = ear.facts().into_iter().rev().find_map(|fact| match fact {
        Fact::Step {
            what: StepFact::Finished { thread_usage, .. },
            ..
        } => Some(thread_usage.total_tokens()),
        // tidy: wildcard, because only the end of a step has it.
        _ => None,
    });
    assert_eq!(thread_usage, Some(12 + 33 + 12));
    assert_eq!(house.kept(thread).await.state.thread.title.text, "Slow");
}

#[tokio::test(start_paused = true)]
async fn without_a_title_from_the_model_the_first_words_stay() {
    for play in [
        Play::new().fail(ErrorKind::Overloaded, "busy"),
        Play::new().say(" \n").end(1, 1),
        Play::new().panic(),
        Play::new().hang(),
    ] {
        let puppet = Puppet::new([says("one"), says("two")]);
        puppet.then(RequestPurpose::Title, [play]);
        let house = house(&puppet);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "first words").await.expect("a turn");
        ear.completed().await;
        puppet.was_asked(2).await;
        tokio::time::advance(std::time::Duration::from_secs(60)).await;
        house.say(thread, "more").await.expect("a turn");
        assert_eq!(ear.completed().await, "two");
        assert_eq!(
            house.kept(thread).await.state.thread.title,
            heuristic("first words")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_may_spend_no_more_gets_no_title() {
    let puppet = Puppet::new([says("one")]);
    let mut stage = Stage::of(&puppet);
    stage.catalog = with_small_model(stage.catalog);
    stage.budgets.thread_tokens = Some(0);
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.failed().await;
    house.engine.stop(std::time::Duration::from_secs(1)).await;
    assert_eq!(puppet.requests_for(RequestPurpose::Title), []);
}

#[tokio::test(start_paused = true)]
async fn a_scripted_model_is_not_asked_for_titles() {
    let puppet = Puppet::new([says("one")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    house.engine.stop(std::time::Duration::from_secs(1)).await;
    assert_eq!(puppet.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_turn_that_fails_or_is_cancelled_has_a_title_all_the_same() {
    let gate = Gate::new();
    for first in [
        Play::new().fail(ErrorKind::Auth, "no key"),
        Play::new().begin("never").hold(&gate).end(1, 1),
    ] {
        let puppet = Puppet::new([first]);
        puppet.then(RequestPurpose::Title, [says("Now")]);
        let house = house(&puppet);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        assert_eq!(titled(&mut ear).await, heuristic("go"));
        let cancel = Call::CancelTurn { thread, turn: None };
        // One that has failed already has nothing to cancel.
        let _ = house.call(cancel).await;
        assert_eq!(titled(&mut ear).await.text, "Now");
        assert_eq!(puppet.requests_for(RequestPurpose::Title).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_small_model_fails_the_threads_own_is_asked_once() {
    let puppet = Puppet::new([says("one")]);
    let busy = Play::new().fail(ErrorKind::Overloaded, "busy");
    puppet.then(RequestPurpose::Title, [busy, says("By the large one")]);
    let house = house(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(titled(&mut ear).await, heuristic("go"));
    let title = titled(&mut ear).await;
    assert_eq!(title.text, "By the large one");
    let asked = puppet.requests_for(RequestPurpose::Title);
    assert_eq!((asked.len(), asked[0].model.as_str()), (2, SMALL));
    assert_eq!(title.model.as_deref(), Some(asked[1].model.as_str()));
}
