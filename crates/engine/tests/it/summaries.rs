//! Summaries: a conversation too long for its model is replaced by one, once in a turn.

use std::sync::Arc;

use engine::ListenFrom;
use providers::catalog::Model;
use providers::{ErrorKind, Message, RequestPurpose, UserMessage};
use serde_json::json;
use vocabulary::Effects;
use vocabulary::{
    Call, Fact, Image, NoteFact, StartTurn, StepFact, StopReason, TurnErrorKind, TurnOutcome,
};

use crate::answers::answer;
use crate::house::{House, Stage, said};
use crate::puppet::{self, Gate, Play, Puppet, big, calls, says};
use crate::toys::Toys;

/// A model that can hold 1,000 tokens.
fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(Toys::new().tool("look", Effects::READS));
    stage.catalog = puppet::catalog(Model {
        context: Some(1_000),
        ..big()
    });
    stage
}

fn summary(text: &str, input: &str) -> String {
    format!(
        "Summary of the conversation so far:\n\n{text}\n\nThe user's latest message, word for \
         word:\n\n{input}"
    )
}

fn going_on(text: &str, input: &str) -> String {
    let rest = "\n\nYou were working on it: go on from where the summary ends.";
    summary(text, input) + rest
}

fn summaries(puppet: &Puppet) -> usize {
    puppet.requests_for(RequestPurpose::Summary).len()
}

fn asked(puppet: &Puppet, nth: usize) -> Vec<Message> {
    puppet.requests_for(RequestPurpose::Answer)[nth]
        .messages
        .clone()
}

#[tokio::test(start_paused = true)]
async fn a_conversation_near_the_limit_is_summarised_for_good() {
    let puppet = Puppet::new([
        Play::new().say("much").end(700, 100),
        says("two"),
        says("three"),
        says("four"),
    ]);
    puppet.then(RequestPurpose::Summary, [says("it was much")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "first words").await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 0);

    house.say(thread, "second words").await.expect("a turn");
    let told = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Step {
                    what: StepFact::Compacted { .. },
                    ..
                }
            )
        })
        .await;
    let text = summary("it was much", "second words");
    assert!(matches!(
        &told,
        Fact::Step { what: StepFact::Compacted { summary, tokens_before: 800..=900, .. }, .. } if *summary == text
    ));
    assert_eq!(ear.completed().await, "two");
    let [Message::User(record)] = &puppet.requests_for(RequestPurpose::Summary)[0].messages[..]
    else {
        panic!("not one message")
    };
    for words in ["User: first words", "Agent: much", "User: second words"] {
        assert!(record.text.contains(words), "{}", record.text);
    }
    let mut talk = vec![Message::user(text)];
    assert_eq!(asked(&puppet, 1), talk);

    house.say(thread, "third").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("two"), Message::user("third")]);
    assert_eq!(asked(&puppet, 2), talk);
    house.kept(thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "fourth").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("three"), Message::user("fourth")]);
    assert_eq!(asked(&puppet, 3), talk);
    assert_eq!(summaries(&puppet), 1);
}

/// Of 2,000 tokens this model reads at most 1,000; the rest is for its answer.
#[tokio::test(start_paused = true)]
async fn a_conversation_is_summarised_before_it_is_more_than_the_model_reads() {
    let puppet = Puppet::new([Play::new().say("much").end(700, 100), says("two")]);
    puppet.then(RequestPurpose::Summary, [says("it was much")]);
    let mut stage = stage(&puppet);
    stage.catalog = puppet::catalog(Model {
        context: Some(2_000),
        input: Some(1_000),
        ..big()
    });
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "first words").await.expect("a turn");
    ear.completed().await;
    let limits = ear.facts().into_iter().filter_map(|fact| match fact {
        Fact::Step {
            what: StepFact::Finished { context_limit, .. },
            ..
        } => *context_limit,
        // tidy: wildcard, because only finished steps tell a limit.
        _ => None,
    });
    assert_eq!(limits.collect::<Vec<_>>(), [2_000], "told as it is");
    house.say(thread, "second words").await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_counted_is_estimated() {
    let puppet = Puppet::new([
        says("one"),
        Play::new().say("two").end(500, 10),
        says("three"),
    ]);
    puppet.then(RequestPurpose::Summary, [says("a"), says("b")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house
        .say(thread, &"four".repeat(800))
        .await
        .expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 1, "nothing was counted yet");
    house.say(thread, "short").await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 1);
    house
        .say(thread, &"four".repeat(300))
        .await
        .expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 2, "510 counted, 300 came since");
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_summarised_once() {
    let full = |id: &str| Play::new().call(id, "look", json!({"id": id})).end(900, 10);
    let puppet = Puppet::new([full("a"), full("b"), full("c"), says("done")]);
    puppet.then(RequestPurpose::Summary, [says("short")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    assert_eq!(summaries(&puppet), 1);
    let first = Message::user(going_on("short", "go"));
    assert_eq!(asked(&puppet, 1), std::slice::from_ref(&first));
    assert_eq!(asked(&puppet, 3).len(), 5);
    assert_eq!(asked(&puppet, 3)[0], first);
}

#[tokio::test(start_paused = true)]
async fn a_refused_conversation_is_summarised_and_asked_once_more() {
    let too_long = || Play::new().refuse(ErrorKind::ContextTooLong, "4096 tokens at most");
    let puppet = Puppet::new([
        too_long(),
        says("fits"),
        too_long(),
        too_long(),
        says("never"),
    ]);
    puppet.then(
        RequestPurpose::Summary,
        [says("short"), says("shorter"), says("never")],
    );
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "fits");
    assert_eq!(asked(&puppet, 1), [Message::user(summary("short", "go"))]);
    house.say(thread, "more").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (TurnErrorKind::Provider, "4096 tokens at most")
    );
    assert_eq!((puppet.requests().len(), summaries(&puppet)), (6, 2));
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_a_refused_conversation_fails_and_a_long_one_goes_on() {
    let puppet = Puppet::new([
        Play::new().refuse(ErrorKind::ContextTooLong, "too long"),
        says("went on"),
    ]);
    puppet.then(
        RequestPurpose::Summary,
        [
            Play::new().fail(ErrorKind::Overloaded, "too busy"),
            Play::new().say("  ").end(5, 1),
        ],
    );
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(
        error.message,
        "too long; summarising it failed too: too busy"
    );

    let long = "four".repeat(800);
    house.say(thread, &long).await.expect("a turn");
    let line = ear
        .fact(|fact| matches!(fact, Fact::Note(NoteFact::Logged { .. })))
        .await;
    assert!(
        matches!(&line, Fact::Note(NoteFact::Logged { line }) if line.contains("summary was empty")),
        "{line:?}"
    );
    assert_eq!(ear.completed().await, "went on");
    assert_eq!(
        asked(&puppet, 1),
        [Message::user("go"), Message::user(long)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_summary() {
    let puppet = Puppet::new([Play::new().refuse(ErrorKind::ContextTooLong, "too long")]);
    puppet.then(RequestPurpose::Summary, [Play::new().begin("it").hang()]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(2).await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    puppet.was_dropped(1).await;
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    let failed = ear.facts().into_iter().find_map(|fact| match fact {
        Fact::Step {
            what: StepFact::Failed { reason, .. },
            ..
        } => Some(*reason),
        // tidy: wildcard, because only that one is looked for.
        _ => None,
    });
    assert_eq!(failed, Some(StopReason::Aborted));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_never_ends_is_given_up() {
    let puppet = Puppet::new([says("went on")]);
    puppet.then(RequestPurpose::Summary, [Play::new().begin("it").hang()]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house
        .say(thread, &"four".repeat(800))
        .await
        .expect("a turn");
    assert_eq!(ear.completed().await, "went on");
}

/// The running turn's own words and pictures are kept whole, whatever is summarised.
#[tokio::test(start_paused = true)]
async fn what_was_said_to_the_running_turn_outlives_the_summary() {
    let (step, summing) = (Gate::new(), Gate::new());
    let puppet = Puppet::new([
        says("before"),
        Play::new()
            .begin("looking")
            .hold(&step)
            .call("c1", "look", json!({"id": "a"}))
            .end(9_000, 10),
        calls("c2", "look", json!({"id": "b"})),
        says("done"),
        says("next"),
        says("later"),
    ]);
    puppet.then(
        RequestPurpose::Summary,
        [Play::new().begin("short").hold(&summing).end(5, 1)],
    );
    let mut stage = stage(&puppet);
    stage.catalog = puppet::catalog(Model {
        context: Some(10_000),
        ..big()
    });
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "old").await.expect("a turn");
    ear.completed().await;
    let picture = Image::Data {
        media_type: "image/png".to_owned(),
        base64: "AAAA".into(),
    };
    let start = StartTurn {
        changes: Box::default(),
        listen: None,
        images: vec![picture],
        ..said(thread, "see this")
    };
    house.call(Call::StartTurn(start)).await.expect("a turn");
    ear.word("looking").await;
    house.steer(thread, "one").await.expect("heard");
    step.open();
    puppet.was_asked(3).await;
    house.steer(thread, "two").await.expect("heard");
    summing.open();
    ear.completed().await;

    let seen = UserMessage {
        text: going_on("short", "see this"),
        images: vec![providers::MessageImage::Data {
            media_type: "image/png".to_owned(),
            base64: "AAAA".into(),
        }],
        ..UserMessage::default()
    };
    let start = [Message::User(seen), Message::user("one")];
    assert_eq!(asked(&puppet, 2), start);
    let second = asked(&puppet, 3);
    assert_eq!(second[..2], start);
    assert_eq!(second[4], Message::user("two"), "said while it was made");

    house.kept(thread).await;
    house.say(thread, "next").await.expect("a turn");
    ear.completed().await;
    let next = [second, vec![answer("done"), Message::user("next")]].concat();
    assert_eq!(asked(&puppet, 4), next, "read back from the log");
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "later").await.expect("a turn");
    ear.completed().await;
    assert_eq!(asked(&puppet, 5)[..next.len()], next);
}
