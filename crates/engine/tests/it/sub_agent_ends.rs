//! How sub-agents end: their caller always reads what they found and why they ended, and can have
//! them go on.

use providers::{ErrorKind, Message};
use serde_json::json;
use vocabulary::{Budgets, ItemId};

use crate::house::{House, Stage};
use crate::puppet::{Play, Puppet, calls, says};
use crate::sub_agents::{item_of, last_result, resumable, stage};
use crate::toys::Toys;

fn spawn() -> Play {
    let input = json!({"task": "find it", "kind": "general"});
    calls("p1", "spawnAgent", input)
}

/// A step that says something and makes a call.
fn search() -> Play {
    Play::new()
        .say("It is not in a.rs.")
        .call("s1", "look", json!({"id": "a"}))
        .end(10, 2)
}

/// Plays these steps of a sub-agent; gives what its caller reads of it, and whether as an error.
async fn told(stage: Stage, puppet: &Puppet) -> (String, bool) {
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "well");
    let requests = puppet.requests();
    let result = last_result(requests.last().expect("a request"));
    (result.text().into_owned(), result.is_error)
}

const FOUND: &str = "What it said so far:\nIt is not in a.rs.";

#[tokio::test(start_paused = true)]
async fn every_end_gives_what_was_found_and_why_it_ended() {
    let cut = || {
        Play::new()
            .say("")
            .call_with("s2", "look", json!({}), None, Some("cut"))
            .cut(5)
    };
    let nothing = || Play::new().end(10, 0);
    let ends: [(Vec<Play>, &str, &str); 5] = [
        (
            vec![Play::new().refuse(ErrorKind::Quota, "no money left")],
            "the sub-agent ended early: no money left",
            FOUND,
        ),
        (
            vec![
                Play::new()
                    .begin("It is in b")
                    .fail(ErrorKind::Other, "broken"),
            ],
            "the sub-agent ended early: broken",
            "It is not in a.rs.\n\nIt is in b",
        ),
        (
            vec![Play::new().refuse(ErrorKind::ContextTooLong, "too long")],
            "the sub-agent's context is full: too long",
            FOUND,
        ),
        (
            vec![cut(), cut()],
            "the sub-agent ended early: the model's answer reached its limit of 5 tokens",
            FOUND,
        ),
        (
            vec![nothing(), nothing(), nothing()],
            "the sub-agent ended early: the model's answer was empty",
            FOUND,
        ),
    ];
    for (plays, why, found) in ends {
        let steps = [spawn(), search()].into_iter().chain(plays);
        let puppet = Puppet::new(steps.chain([says("well")]));
        let (text, is_error) = told(stage(&puppet, &Toys::new()), &puppet).await;
        assert!(is_error && text.starts_with(why), "{text}");
        for part in [found, "- look {\"id\":\"a\"}"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let full = why.contains("full");
        assert_eq!(text.contains("cannot be resumed"), full, "{text}");
        assert_eq!(text.contains("goes on with it"), !full, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_ends_with_its_last_words() {
    let same = || calls("s1", "look", json!({"id": "a"}));
    let steps = std::iter::once(spawn()).chain((0..8).map(|_| same()));
    let puppet = Puppet::new(steps.chain([says("I am stuck"), says("well")]));
    let (text, is_error) = told(stage(&puppet, &Toys::new()), &puppet).await;
    let stopped = "I am stuck\n\n[stopped before its work was done: the same calls gave";
    assert!(!is_error && text.starts_with(stopped), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_may_use_half_of_what_its_turn_has_left() {
    let used = |tokens: u64| {
        Play::new()
            .say("It is not in a.rs.")
            .call("s1", "look", json!({"id": "a"}))
            .end(tokens, 0)
    };
    // 12 of 1,012 are spent when it begins: 500 are its share.
    for (first, wraps_up) in [(499, false), (500, true)] {
        let puppet = Puppet::new([spawn(), used(first), says("half of it"), says("well")]);
        let mut stage = stage(&puppet, &Toys::new());
        stage.budgets = Budgets {
            turn_tokens: Some(1_012),
            ..Budgets::default()
        };
        let (text, is_error) = told(stage, &puppet).await;
        assert!(!is_error && text.starts_with("half of it"), "{text}");
        let says_so = text.contains("may use half of what the turn has left, here 500 tokens");
        assert_eq!(says_so, wraps_up, "{text}");
        assert_eq!(puppet.requests()[2].no_calls, wraps_up);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_finds_its_turns_budget_used_up_tells_what_it_has() {
    let puppet = Puppet::new([
        spawn(),
        Play::new()
            .say("It is not in a.rs.")
            .call("s1", "look", json!({"id": "a"}))
            .end(2_000, 0),
    ]);
    let mut stage = stage(&puppet, &Toys::new());
    stage.budgets = Budgets {
        turn_tokens: Some(1_012),
        ..Budgets::default()
    };
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.failed().await;
    let ends = crate::sub_agents::finished(&ear, "spawnAgent");
    let text = format!("{ends:?}");
    for part in [
        "half of what the turn has left",
        "It is not in a.rs.",
        "look",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

fn resume(id: &str) -> Play {
    calls(
        "p2",
        "spawnAgent",
        json!({"task": "and who calls it?", "resume": id}),
    )
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_goes_on_with_all_it_knows() {
    let puppet = Puppet::new([spawn(), search(), says("it is in b.rs"), says("well")]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let id: ItemId = item_of(&ear, "p1");

    puppet.then(
        providers::RequestPurpose::Answer,
        [resume(id.as_str()), says("main does"), says("thanks")],
    );
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "thanks");
    let requests = puppet.requests();
    let (before, after) = (&requests[2], &requests[5]);
    assert!(after.messages.starts_with(&before.messages));
    let added = &after.messages[before.messages.len()..];
    assert!(matches!(&added[0], Message::Assistant(_)));
    assert_eq!(added[1], Message::user("and who calls it?"));
    assert_eq!(after.cache_key, before.cache_key);
    assert_eq!(
        last_result(&requests[6]).text(),
        resumable("main does", &id)
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_failed_can_go_on() {
    let puppet = Puppet::new([
        spawn(),
        search(),
        Play::new().refuse(ErrorKind::Quota, "no money left"),
        says("well"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let id = item_of(&ear, "p1");
    puppet.then(
        providers::RequestPurpose::Answer,
        [resume(id.as_str()), says("main does"), says("thanks")],
    );
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "thanks");
    let asked = &puppet.requests()[5].messages;
    assert_eq!(
        asked.len(),
        4,
        "the task, an answer, a result, the new task"
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_kept_is_told_in_words() {
    let puppet = Puppet::new([resume("gone"), says("well")]);
    let (text, is_error) = told(stage(&puppet, &Toys::new()), &puppet).await;
    assert!(
        is_error && text.starts_with("there is no sub-agent gone to resume"),
        "{text}"
    );
    assert!(text.contains("Start a new one"), "{text}");
}
