//! Summaries: a conversation too long for its model is replaced by one, and by what outlives it.

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
use crate::house::{Ear, House, Stage, said};
use crate::puppet::{self, Asked, Gate, Play, Puppet, big, calls, says};
use crate::toys::Toys;

/// A model that can hold 20,000 tokens: at 17,000 a summary is due, and 2,040 tokens of the newest
/// steps outlive it.
fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(Toys::new().tool("look", Effects::READS));
    stage.catalog = puppet::catalog(Model {
        context: Some(20_000),
        ..big()
    });
    stage
}

/// So many tokens, or nearly.
fn words(tokens: usize) -> String {
    "word ".repeat(tokens * 4 / 5)
}

fn summaries(puppet: &Puppet) -> usize {
    puppet.requests_for(RequestPurpose::Summary).len()
}

fn asked(puppet: &Puppet, nth: usize) -> Vec<Message> {
    puppet.requests_for(RequestPurpose::Answer)[nth]
        .messages
        .clone()
}

/// The newest summary as the model reads it.
fn told_summary(ear: &Ear) -> String {
    let told = ear.facts().into_iter().rev().find_map(|fact| match fact {
        Fact::Step {
            what: StepFact::Compacted { summary, .. },
            ..
        } => Some(summary.clone()),
        // tidy: wildcard, because only that one is looked for.
        _ => None,
    });
    told.expect("a summary")
}

/// Asked as one more message of the conversation that the request before it had.
fn continues(summary: &Asked, before: &Asked) -> bool {
    summary.messages.starts_with(&before.messages)
        && (&summary.system, &summary.tools) == (&before.system, &before.tools)
        && (&summary.cache_key, &summary.effort) == (&before.cache_key, &before.effort)
}

#[tokio::test(start_paused = true)]
async fn a_conversation_near_the_limit_is_summarised_for_good() {
    let puppet = Puppet::new([
        Play::new().say("much").end(16_800, 190),
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

    house.say(thread, &words(50)).await.expect("a turn");
    assert_eq!(ear.completed().await, "two");
    let requests = puppet.requests();
    assert!(continues(&requests[1], &requests[0]));
    assert_eq!(requests[1].max_output_tokens, Some(2_000));
    assert!(!requests[1].no_calls, "that would be another prefix");
    let summary = told_summary(&ear);
    assert!(summary.contains("it was much"), "{summary}");
    assert!(
        summary.contains("The newest 2 messages follow"),
        "{summary}"
    );
    let mut talk = vec![
        Message::user("first words"),
        Message::note(summary),
        answer("much"),
        Message::user(words(50)),
    ];
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

/// Of 40,000 tokens this model reads at most 20,000; the rest is for its answer.
#[tokio::test(start_paused = true)]
async fn a_conversation_is_summarised_before_it_is_more_than_the_model_reads() {
    let puppet = Puppet::new([Play::new().say("much").end(17_000, 10), says("two")]);
    puppet.then(RequestPurpose::Summary, [says("it was much")]);
    let mut stage = stage(&puppet);
    stage.catalog = puppet::catalog(Model {
        context: Some(40_000),
        input: Some(20_000),
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
    assert_eq!(limits.collect::<Vec<_>>(), [40_000], "told as it is");
    house.say(thread, "second words").await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_counted_is_estimated() {
    let puppet = Puppet::new([
        says("one"),
        Play::new().say("two").end(12_000, 10),
        says("three"),
    ]);
    puppet.then(RequestPurpose::Summary, [says("a"), says("b")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, &words(18_000)).await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 1, "nothing was counted yet");
    house.say(thread, "short").await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 1);
    house.say(thread, &words(5_500)).await.expect("a turn");
    ear.completed().await;
    assert_eq!(summaries(&puppet), 2, "12,010 counted, 5,500 came since");
}

#[tokio::test(start_paused = true)]
async fn a_refused_conversation_is_summarised_from_its_record_as_long_as_that_helps() {
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
        ["short", "shorter", "as short", "never"].map(says),
    );
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, &words(20_000)).await.expect("a turn");
    assert_eq!(ear.completed().await, "fits");
    let record = &puppet.requests_for(RequestPurpose::Summary)[0];
    assert!(
        matches!(&record.messages[..], [Message::User(said)] if said.text.contains("\n\nUser: word"))
    );
    assert_eq!(
        (record.tools.len(), record.effort.as_deref()),
        (0, Some("low"))
    );
    assert_eq!(record.max_output_tokens, Some(16_000));

    house.say(thread, "more").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::ContextFull);
    assert!(
        error.message.contains("start a new thread"),
        "{}",
        error.message
    );
    assert_eq!((puppet.requests().len(), summaries(&puppet)), (7, 3));
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_made_from_a_record_where_the_conversation_gives_none() {
    for first in [
        Play::new().refuse(ErrorKind::ContextTooLong, "too long"),
        Play::new().fail(ErrorKind::Overloaded, "too busy"),
        Play::new()
            .say("I look first")
            .call("c", "look", json!({"id": "x"}))
            .end(5, 1),
        Play::new().end(5, 1),
    ] {
        let puppet = Puppet::new([says("went on")]);
        puppet.then(RequestPurpose::Summary, [first, says("short")]);
        let house = House::staged(stage(&puppet));
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, &words(18_000)).await.expect("a turn");
        assert_eq!(ear.completed().await, "went on");
        assert_eq!(summaries(&puppet), 2);
        let record = &puppet.requests_for(RequestPurpose::Summary)[1];
        assert_eq!(record.messages.len(), 1);
        assert!(told_summary(&ear).contains("short"));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_a_refused_conversation_fails_and_a_long_one_goes_on() {
    let busy = || Play::new().fail(ErrorKind::Overloaded, "too busy");
    let puppet = Puppet::new([
        Play::new().refuse(ErrorKind::ContextTooLong, "too long"),
        calls("c1", "look", json!({"id": "a"})),
        says("went on"),
    ]);
    let empty = Play::new().say("  ").end(5, 1);
    puppet.then(RequestPurpose::Summary, [busy(), busy(), empty]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(
        error.message,
        "too long; summarising it failed too: too busy"
    );

    let long = words(18_000);
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
    assert_eq!(summaries(&puppet), 3, "not tried again at every step");
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
    let endless = || Play::new().begin("it").hang();
    puppet.then(RequestPurpose::Summary, [endless(), endless()]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, &words(18_000)).await.expect("a turn");
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
            .call("c1", "look", json!({"id": "a", "words": 3_000}))
            .end(18_000, 10),
        calls("c2", "look", json!({"id": "b"})),
        says("done"),
        says("next"),
        says("later"),
    ]);
    puppet.then(
        RequestPurpose::Summary,
        [Play::new().begin("short").hold(&summing).end(5, 1)],
    );
    let house = House::staged(stage(&puppet));
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
        text: told_summary(&ear),
        images: vec![providers::MessageImage::Data {
            media_type: "image/png".to_owned(),
            base64: "AAAA".into(),
        }],
        is_note: true,
    };
    let start = [
        Message::user("old"),
        Message::user("see this"),
        Message::user("one"),
        Message::User(seen),
    ];
    assert_eq!(asked(&puppet, 2), start);
    let second = asked(&puppet, 3);
    assert_eq!(second[..4], start);
    assert_eq!(second[6], Message::user("two"), "said while it was made");

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
