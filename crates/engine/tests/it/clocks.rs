//! Time and ids come from one clock: with the same one, what happens is the same to the last field.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Clock, ListenFrom};
use serde_json::json;
use uuid::Uuid;
use vocabulary::{Effects, Event, Fact, StepFact, Timestamp, TurnFact};

use crate::house::{House, Stage, Told};
use crate::puppet::{Puppet, calls, says};
use crate::toys::Toys;

const NOON: Timestamp = Timestamp(1_767_268_800_000);

/// Ids count from one; it is always noon.
#[derive(Debug, Default)]
pub struct Counting(AtomicU64);

impl Clock for Counting {
    fn now(&self) -> Timestamp {
        NOON
    }

    fn new_id(&self) -> Uuid {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u128(u128::from(number))
    }
}

/// A turn with a call, as a listener hears it.
async fn told() -> (House, Vec<Event>) {
    let puppet = Puppet::new([calls("c1", "toy", json!({"id": "one"})), says("done")]);
    let mut stage = Stage::of(&puppet);
    stage.tools.add(Toys::new().tool("toy", Effects::READS));
    stage.clock = Arc::new(Counting::default());
    let house = House::staged(stage);
    let thread = house.thread().await;
    assert_eq!(thread.0, Uuid::from_u128(1));
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "go").await.expect("a turn");
    ear.rest().await;
    let events = ear.heard.iter().filter_map(|told| match told {
        Told::Event(event) => Some((**event).clone()),
        Told::Gap { .. } | Told::CaughtUp(_) | Told::Ended => None,
    });
    let place = house.directory().display().to_string();
    let elsewhere = |mut event: Event| {
        if let Fact::Step {
            what: StepFact::Informed { text },
            ..
        } = &mut event.fact
        {
            *text = text.replace(&place, "the workspace");
        }
        event
    };
    let events = events.map(elsewhere).collect();
    (house, events)
}

#[tokio::test(start_paused = true)]
async fn the_same_story_is_told_in_the_same_events() {
    let (_, first) = told().await;
    let (_, second) = told().await;
    assert_eq!(first, second);
    assert!(first.len() > 5, "{first:?}");
    assert!(first.iter().all(|event| event.at == NOON));
    let started = first.iter().find_map(|event| match &event.fact {
        Fact::Turn(TurnFact::Started { turn, input, .. }) => Some((turn, input)),
        // tidy: wildcard, because one fact is looked for.
        _ => None,
    });
    let (turn, input) = started.expect("a turn");
    assert_eq!(turn.as_str(), Uuid::from_u128(2).to_string());
    assert_eq!(input.item.as_str(), Uuid::from_u128(3).to_string());
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_the_same_too() {
    let (house, _) = told().await;
    let (other, _) = told().await;
    let thread = vocabulary::ThreadId(Uuid::from_u128(1));
    let (mut first, mut second) = (house.kept(thread).await, other.kept(thread).await);
    assert_eq!(first.seqs, second.seqs);
    // Each house stands somewhere else.
    for kept in [&mut first, &mut second] {
        kept.state.thread.card.directory = "/".into();
    }
    assert_eq!(first.state, second.state);
}
