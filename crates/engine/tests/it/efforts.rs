//! How hard models think and how much they say: whose wish counts, and what is told of it.

use std::sync::Arc;

use engine::ListenFrom;
use providers::RequestPurpose;
use providers::catalog::Model;
use vocabulary::{Call, Changes, NewThread, Reply, SummaryDetail, ThreadId, Verbosity, Why};

use crate::house::{House, Stage};
use crate::puppet::{self, Puppet, big, says, with_small_model};

/// A model that can think in three ways, and by itself thinks in the middle one.
fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.catalog = puppet::catalog(Model {
        efforts: ["low", "medium", "deep"].map(str::to_owned).to_vec(),
        default_effort: Some("medium".to_owned()),
        ..big()
    });
    stage
}

fn effort(word: &str) -> Changes {
    Changes {
        effort: Some(word.to_owned()),
        ..Changes::default()
    }
}

/// What a client is told that looks at a thread.
async fn told(house: &House, thread: ThreadId) -> Option<String> {
    let read = Call::ReadThread { thread, recent: 0 };
    match house.call(read).await {
        Ok(Reply::View(view)) => view.effort,
        other => panic!("no view: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_tells_the_effort_that_is_in_force() {
    let puppet = Puppet::new([]);
    let house = House::staged(stage(&puppet));
    let (thread, _ear) = house.heard_thread().await;
    assert_eq!(told(&house, thread).await.as_deref(), Some("medium"));
    for (wish, expected) in [
        ("deep", "deep"),
        ("max", "medium"),
        ("none", "low"),
        ("", "medium"),
    ] {
        house.change(thread, effort(wish)).await;
        assert_eq!(
            told(&house, thread).await.as_deref(),
            Some(expected),
            "{wish}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_without_efforts_has_none_to_tell() {
    let puppet = Puppet::new([]);
    let house = House::with(&puppet);
    let (thread, _ear) = house.heard_thread().await;
    house.change(thread, effort("high")).await;
    assert_eq!(told(&house, thread).await, None);
}

#[tokio::test(start_paused = true)]
async fn an_effort_that_nobody_knows_is_refused_with_those_there_are() {
    let puppet = Puppet::new([]);
    let house = House::staged(stage(&puppet));
    let (thread, _ear) = house.heard_thread().await;
    let changes = effort("sideways");
    let new = NewThread {
        changes: changes.clone(),
        ..NewThread::default()
    };
    let change = Call::ChangeThread { thread, changes };
    for call in [change, Call::CreateThread(Box::new(new))] {
        let refusal = house.call(call).await.expect_err("no such effort");
        assert_eq!(refusal.why, Why::invalid("effort"));
        assert!(refusal.message.contains("low, medium, deep"), "{refusal}");
    }
    assert_eq!(told(&house, thread).await.as_deref(), Some("medium"));
}

#[tokio::test(start_paused = true)]
async fn a_threads_wishes_count_before_the_servers() {
    let puppet = Puppet::new([says("one"), says("two")]);
    let mut stage = stage(&puppet);
    stage.effort = Some("low".to_owned());
    stage.verbosity = Some(Verbosity::High);
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    assert_eq!(told(&house, thread).await.as_deref(), Some("low"));
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let changes = Changes {
        verbosity: Some(Verbosity::Low),
        summary: Some(SummaryDetail::None),
        ..effort("deep")
    };
    house.change(thread, changes).await;
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let [first, second] = &puppet.requests_for(RequestPurpose::Answer)[..] else {
        panic!("not two requests")
    };
    assert_eq!(first.effort.as_deref(), Some("low"));
    assert_eq!(
        (first.verbosity, first.summary),
        (Some(Verbosity::High), None)
    );
    assert_eq!(second.effort.as_deref(), Some("deep"));
    assert_eq!(
        (second.verbosity, second.summary),
        (Some(Verbosity::Low), Some(SummaryDetail::None))
    );
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(
        view.effort.as_deref(),
        Some("deep"),
        "who listens is told, too"
    );
}

/// What is decided by the service's own default, or by what the request is for.
#[tokio::test(start_paused = true)]
async fn a_title_is_short_and_nobody_wishes_how_hard_it_is_thought_about() {
    let puppet = Puppet::new([says("one")]);
    puppet.then(RequestPurpose::Title, [says("Title")]);
    let mut stage = stage(&puppet);
    stage.effort = Some("deep".to_owned());
    stage.catalog = with_small_model(stage.catalog);
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    puppet.was_asked(2).await;
    let [title] = &puppet.requests_for(RequestPurpose::Title)[..] else {
        panic!("not one title")
    };
    assert_eq!((title.effort.as_deref(), title.verbosity), (None, None));
    assert_eq!(title.max_output_tokens, Some(2_048));
}
