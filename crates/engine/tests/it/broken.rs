//! Answers that break off, hang, or never come.

use std::time::Duration;

use engine::ListenFrom;
use providers::{ErrorKind, Message, Part};
use serde_json::json;
use vocabulary::{
    Call, Fact, Item, ItemFact, RetryStage, StepFact, StopReason, ToolEvent, ToolFact, ToolOutcome,
    TurnErrorKind, TurnOutcome,
};

use crate::answers::{answer, stage_with, text, tool_call};
use crate::house::House;
use crate::puppet::{Gate, Play, Puppet, calls, says};
use crate::toys::Toys;

#[tokio::test(start_paused = true)]
async fn a_provider_that_tries_again_is_told_of_and_kept() {
    let retrying = Part::Retrying {
        attempt: 1,
        delay: Duration::from_secs(2),
        why: "overloaded".to_owned(),
    };
    let puppet = Puppet::new([Play::new().part(retrying).say("there").end(1, 1)]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let delayed = |fact: &Fact| {
        matches!(
            fact,
            Fact::Step {
                what: StepFact::Delayed { .. },
                ..
            }
        )
    };
    let told = ear.fact(delayed).await;
    assert!(
        matches!(&told, Fact::Step { what: StepFact::Delayed { attempt: 1, delay_ms: 2_000, error, discards: false, .. }, .. }
            if error == "overloaded"),
        "{told:?}"
    );
    assert_eq!(ear.completed().await, "there");
    let log = house.log(thread).await;
    assert!(log.iter().any(delayed));
    let stages: Vec<_> = log.iter().filter_map(retried).collect();
    assert_eq!(
        stages,
        [(2, RetryStage::Started), (2, RetryStage::Succeeded)]
    );
}

fn retried(fact: &Fact) -> Option<(u32, RetryStage)> {
    match fact {
        Fact::Step {
            what: StepFact::Retried { attempt, stage, .. },
            ..
        } => Some((*attempt, stage.clone())),
        // tidy: wildcard, because only these are looked for.
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_through_and_the_last_one_says_that_it_was() {
    let broken = || {
        let retrying = Part::Retrying {
            attempt: 1,
            delay: Duration::from_secs(2),
            why: "overloaded".to_owned(),
        };
        let play = Play::new().part(retrying).begin("and th");
        play.fail(ErrorKind::CutOff, "cut off")
    };
    let puppet = Puppet::new([broken(), broken(), broken()]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.failed().await;
    let stages: Vec<_> = house.log(thread).await.iter().filter_map(retried).collect();
    let error = "cut off".to_owned();
    let mut expected: Vec<_> = (2..=6).map(|at| (at, RetryStage::Started)).collect();
    expected.push((6, RetryStage::GivenUp { error }));
    assert_eq!(stages, expected);
}

/// Its provider knows that the connection lives, and says nothing of it.
#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_for_an_hour_is_waited_for() {
    let gate = Gate::new();
    let puppet = Puppet::new([Play::new().hold(&gate).say("42").end(1, 1)]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    gate.open();
    assert_eq!(ear.completed().await, "42");
    assert_eq!(puppet.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_is_asked_for_again_and_does_not_count() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        Play::new()
            .say("first half")
            .call("c1", "act", json!({"id": "never"}))
            .begin("and th")
            .fail(ErrorKind::CutOff, "cut off"),
        says("whole"),
        says("next"),
        says("later"),
    ]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let delayed = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Step {
                    what: StepFact::Delayed { .. },
                    ..
                }
            )
        })
        .await;
    assert!(
        matches!(&delayed, Fact::Step { what: StepFact::Delayed { attempt: 1, error, discards: true, .. }, .. } if error == "cut off")
    );
    assert_eq!(ear.completed().await, "whole");
    assert_eq!(toys.notes(), [] as [&str; 0], "its call was not made");
    let requests = puppet.requests();
    assert_eq!(requests[0], requests[1], "the very same request");

    let log = house.log(thread).await;
    assert!(log.iter().any(|fact| matches!(
        fact,
        Fact::Item { what: ItemFact::Finished { body: Item::AgentMessage { text, partial: true, .. }, .. }, .. } if text == "and th"
    )));
    assert!(log.iter().any(|fact| matches!(
        fact,
        Fact::Tool(ToolEvent { what: ToolFact::Finished { outcome: ToolOutcome::NotRun { why }, .. }, .. }) if why.contains("broke off")
    )));
    let read = Call::ReadMessages {
        thread,
        offset: 0,
        limit: 100,
    };
    let page = house.call(read).await.and_then(vocabulary::Reply::messages);
    let entries = page.expect("messages").entries;
    let said = entries.iter().filter_map(|entry| match &entry.event.fact {
        Fact::Item {
            what:
                ItemFact::Finished {
                    body: Item::AgentMessage { text, .. },
                    ..
                },
            ..
        } => Some(text.as_str()),
        // tidy: wildcard, because only texts are looked at.
        _ => None,
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        ["whole"],
        "what broke off is over"
    );
    let mut talk = vec![Message::user("go"), answer("whole"), Message::user("more")];
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    assert_eq!(puppet.requests()[2].messages, talk);
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("next"), Message::user("and")]);
    assert_eq!(puppet.requests()[3].messages, talk);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_within_a_tool_input_takes_no_earlier_step_with_it() {
    let input = Part::ToolInputStart {
        block: 0,
        call_id: "c2".to_owned(),
        name: "look".to_owned(),
    };
    let puppet = Puppet::new([
        calls("c1", "look", json!({"id": "a"})),
        Play::new().part(input).fail(ErrorKind::Stalled, "stalled"),
        says("done"),
        says("next"),
    ]);
    let house = House::staged(stage_with(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let requests = puppet.requests();
    assert_eq!(requests[1], requests[2]);
    let mut talk = requests[2].messages.clone();
    assert_eq!(talk.len(), 3);
    talk.extend([answer("done"), Message::user("more")]);
    assert_eq!(requests[3].messages, talk, "read back from the log");
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_asked_for_three_times_at_most() {
    let broken = |text| Play::new().begin(text).fail(ErrorKind::CutOff, "cut off");
    let puppet = Puppet::new([broken("one"), broken("two"), broken("three"), says("next")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (outcome, text) = ear.ended().await;
    let TurnOutcome::Failed(error) = outcome else {
        panic!("not failed: {outcome:?}")
    };
    assert_eq!(
        (error.kind, error.message.as_str()),
        (TurnErrorKind::Provider, "cut off")
    );
    assert_eq!(
        text, "three",
        "what came last is what the user was left with"
    );
    assert_eq!(puppet.requests().len(), 3);
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let talk = [Message::user("go"), answer("three"), Message::user("more")];
    assert_eq!(puppet.requests()[3].messages, talk);
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_is_not_tried_again() {
    let kinds = [
        ErrorKind::Auth,
        ErrorKind::Quota,
        ErrorKind::BadRequest,
        ErrorKind::UnknownModel,
        ErrorKind::Refused,
        ErrorKind::Other,
    ];
    let broken = |kind| Play::new().begin("x").fail(kind, "no");
    let puppet = Puppet::new(kinds.map(broken));
    // Before anything came, the provider itself has tried again all that makes sense.
    puppet.then(
        providers::RequestPurpose::Answer,
        [Play::new().fail(ErrorKind::Overloaded, "no")],
    );
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    for asked in 1..=kinds.len() + 1 {
        house.say(thread, "go").await.expect("a turn");
        assert_eq!(ear.failed().await.message, "no");
        assert_eq!(puppet.requests().len(), asked);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_lets_the_stream_go_and_keeps_what_was_said() {
    let puppet = Puppet::new([Play::new().begin("half a").hang(), says("next")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("half a").await;
    let before = tokio::time::Instant::now();
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    puppet.was_dropped(1).await;
    assert_eq!(
        ear.ended().await,
        (TurnOutcome::Cancelled, "half a".to_owned())
    );
    assert!(before.elapsed() < Duration::from_secs(1), "at once");
    assert!(ear.facts().iter().any(|fact| matches!(
        fact,
        Fact::Step {
            what: StepFact::Failed {
                reason: StopReason::Aborted,
                ..
            },
            ..
        }
    )));
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let talk = [Message::user("go"), answer("half a"), Message::user("more")];
    assert_eq!(puppet.requests()[1].messages, talk);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait_for_the_next_try() {
    let broken = Play::new().begin("half").fail(ErrorKind::CutOff, "cut off");
    let puppet = Puppet::new([broken]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.fact(|fact| {
        matches!(
            fact,
            Fact::Step {
                what: StepFact::Delayed { .. },
                ..
            }
        )
    })
    .await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    // Nothing came in its place, so it is what the turn said.
    let half = (TurnOutcome::Cancelled, "half".to_owned());
    assert_eq!(ear.ended().await, half);
    assert_eq!(puppet.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_fails_its_turn_only() {
    let puppet = Puppet::new([Play::new().begin("half").panic(), says("well again")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (outcome, text) = ear.ended().await;
    assert!(
        matches!(&outcome, TurnOutcome::Failed(error) if error.kind == TurnErrorKind::Internal),
        "{outcome:?}"
    );
    assert_eq!(text, "half");
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "well again");
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_is_given_up() {
    let again = |attempt| Part::Retrying {
        attempt,
        delay: Duration::MAX,
        why: "busy".to_owned(),
    };
    let half = || Play::new().begin("half").hang();
    let puppet = Puppet::new([
        Play::new().stall(),
        Play::new().hang(),
        half(),
        half(),
        half(),
        Play::new().part(again(1)).hang(),
        (1..=100).map(again).fold(Play::new(), Play::part),
        says("well again"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    for words in [
        "said nothing",
        "said nothing",
        "said nothing",
        "said nothing",
        "not reached",
    ] {
        let before = tokio::time::Instant::now();
        house.say(thread, "go").await.expect("a turn");
        let error = ear.failed().await;
        assert_eq!(error.kind, TurnErrorKind::Provider);
        assert!(error.message.contains(words), "{}", error.message);
        assert!(before.elapsed() < Duration::from_secs(30 * 3_600));
    }
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "well again");
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_end_is_ended() {
    let much = "x".repeat(1 << 20);
    let endless = (0..40).fold(Play::new(), |play, _| play.say(&much));
    let many = (0..400).fold(Play::new(), |play, n| {
        play.call(&format!("c{n}"), "act", json!({}))
    });
    let toys = Toys::new();
    let puppet = Puppet::new([endless, many.end(1, 1), says("short")]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    for _ in 0..2 {
        house.say(thread, "go").await.expect("a turn");
        let error = ear.failed().await;
        assert!(error.message.contains("has no end"), "{}", error.message);
    }
    assert_eq!(toys.notes(), [] as [&str; 0]);
    assert_eq!(
        puppet.requests_for(providers::RequestPurpose::Answer).len(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn text_that_was_never_ended_is_kept_all_the_same() {
    let call = Part::ToolCall {
        block: 2,
        call_id: "c1".to_owned(),
        name: "look".to_owned(),
        input: json!({}),
        native: None,
        problem: None,
    };
    let puppet = Puppet::new([
        Play::new().begin("one").begin("two").part(call).end(1, 1),
        Play::new().begin("three").end(1, 1),
        says("next"),
    ]);
    let house = House::staged(stage_with(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "one\n\ntwo\n\nthree");
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let call = tool_call("c1", "look", json!({}));
    let said = Message::Assistant(vec![text("one"), text("two"), call]);
    let talk = puppet.requests()[2].messages.clone();
    assert_eq!((&talk[1], &talk[3]), (&said, &answer("three")));
}
