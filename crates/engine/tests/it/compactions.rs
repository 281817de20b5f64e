//! Long turns: as many summaries as needed, and what each of them leaves to the next.

use std::sync::Arc;

use engine::ListenFrom;
use providers::catalog::Model;
use providers::{Message, RequestPurpose};
use serde_json::json;
use vocabulary::{Call, Effects, Fact, Purpose, Reply, StepFact, TurnErrorKind, TurnFact};

use crate::house::{House, Stage};
use crate::puppet::{self, Play, Puppet, big, calls, says};
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

/// Looks at so much that a summary is due.
fn looks_at_much(n: usize) -> Play {
    let input = json!({"id": format!("look {n}"), "words": 8_600});
    let call = format!("c{n}");
    Play::new().call(&call, "look", input).end(9_000, 10)
}

fn texts(messages: &[Message]) -> Vec<&str> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::User(said) => Some(said.text.as_str()),
        Message::Assistant(_) | Message::ToolResults(_) => None,
    });
    texts.collect()
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_summarised_ten_times_and_keeps_its_order_its_plan_and_its_files() {
    let todos = json!({"todos": [
        {"content": "Paint the roof", "status": "in_progress"},
        {"content": "Mend the door", "status": "pending"},
    ]});
    let file = json!({"filePath": "roof.txt", "content": "red"});
    let start = Play::new()
        .call("p", "todoWrite", todos)
        .call("w", "write", file)
        .end(9_000, 10);
    let plays = (0..10).map(looks_at_much);
    let puppet = Puppet::new([start].into_iter().chain(plays).chain([says("done")]));
    let told = (0..10).map(|n| says(&format!("summary number {n}")));
    puppet.then(RequestPurpose::Summary, told);
    puppet.then(RequestPurpose::Answer, [says("next")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house
        .say(thread, "Paint the house red")
        .await
        .expect("a turn");
    assert_eq!(ear.completed().await, "done");

    let answers = puppet.requests_for(RequestPurpose::Answer);
    let summaries = puppet.requests_for(RequestPurpose::Summary);
    assert_eq!((answers.len(), summaries.len()), (12, 10));
    for (n, request) in answers[2..].iter().enumerate() {
        let said = texts(&request.messages);
        assert_eq!(said[0], "Paint the house red");
        for words in [
            &format!("summary number {n}"),
            "- [in progress] Paint the roof",
            "- [pending] Mend the door",
            "- roof.txt",
        ] {
            assert!(said[1].contains(words), "{words}: {}", said[1]);
        }
        assert_eq!(said.len(), 2, "no summary stands in the next one");
    }
    for (n, request) in summaries.iter().enumerate() {
        assert!(
            request.messages.starts_with(&answers[n + 1].messages),
            "{n}"
        );
    }
    let is_summary = |fact: &&&Fact| {
        matches!(
            fact,
            Fact::Step {
                what: StepFact::Compacted { .. },
                ..
            }
        )
    };
    assert_eq!(ear.facts().iter().filter(is_summary).count(), 10);

    house.kept(thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "And now?").await.expect("a turn");
    ear.completed().await;
    let next = &puppet.requests_for(RequestPurpose::Answer)[12].messages;
    assert!(next.starts_with(&answers[11].messages));
}

#[tokio::test(start_paused = true)]
async fn summaries_that_free_nothing_end_the_turn_in_words() {
    let looks = |n: usize| {
        let input = json!({"id": format!("look {n}"), "words": 2_500});
        let call = format!("c{n}");
        Play::new().call(&call, "look", input).end(14_600, 10)
    };
    let puppet = Puppet::new((0..5).map(looks));
    let long = "long ".repeat(8_000);
    let told = (0..5).map(|_| Play::new().say(&long).end(10, 10));
    puppet.then(RequestPurpose::Summary, told);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::ContextFull);
    assert!(
        error.message.contains("choose a model"),
        "{}",
        error.message
    );
    let summaries = puppet.requests_for(RequestPurpose::Summary).len();
    let answers = puppet.requests_for(RequestPurpose::Answer).len();
    assert_eq!((answers, summaries), (2, 2));
    house.kept(thread).await;
}

/// The newest steps stay as they were, of the turn before too, from a whole step on.
#[tokio::test(start_paused = true)]
async fn the_newest_steps_outlive_a_summary_whole() {
    let small = |n: usize| {
        let input = json!({"id": format!("small {n}"), "words": 600});
        Play::new()
            .call(&format!("s{n}"), "look", input)
            .end(9_000, 10)
    };
    let puppet = Puppet::new([looks_at_much(0), small(1), small(2), small(3)]);
    let full = Play::new().say("all seen").end(17_000, 10);
    puppet.then(RequestPurpose::Answer, [full, says("done"), says("next")]);
    puppet.then(RequestPurpose::Summary, ["a", "b"].map(says));
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "first").await.expect("a turn");
    ear.completed().await;
    house.say(thread, "second").await.expect("a turn");
    ear.completed().await;
    let whole = &puppet.requests_for(RequestPurpose::Summary)[1].messages;
    let shortened = puppet.requests_for(RequestPurpose::Answer)[5]
        .messages
        .clone();
    assert_eq!(texts(&shortened)[0], "first");
    // Three steps of 600 tokens, the last answer, and what the user said then.
    let newest = &whole[whole.len() - 1 - 8..whole.len() - 1];
    assert!(matches!(newest[0], Message::Assistant(_)));
    assert_eq!(shortened[2..], *newest);
    assert!(texts(&shortened)[1].contains("The newest 8 messages follow"));

    house.kept(thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "third").await.expect("a turn");
    ear.completed().await;
    let next = &puppet.requests_for(RequestPurpose::Answer)[6].messages;
    assert!(next.starts_with(&shortened));
}

/// 17,000 tokens make a summary due; so results go from 8,500 on, but for the newest 6,800, and for not
/// less than 3,400.
#[tokio::test(start_paused = true)]
async fn old_results_make_room_when_a_turn_starts_and_never_come_back() {
    let look = |n: usize| {
        let input = json!({"id": format!("look {n}"), "words": 2_600});
        Play::new()
            .call(&format!("c{n}"), "look", input)
            .end(9_000, 10)
    };
    let puppet = Puppet::new((0..4).map(look));
    let answers = ["seen", "two", "three", "four"];
    puppet.then(
        RequestPurpose::Answer,
        answers.map(|text| Play::new().say(text).end(15_000, 10)),
    );
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "look four times").await.expect("a turn");
    ear.completed().await;
    let before = puppet.requests()[4].messages.clone();
    assert_eq!(cleared(&before), [false; 4], "not within a turn");

    house.say(thread, "and now?").await.expect("a turn");
    ear.completed().await;
    let pruned = puppet.requests()[5].messages.clone();
    assert_eq!(cleared(&pruned), [true, true, false, false]);
    let is_told = |fact: &&&Fact| matches!(fact, Fact::Step { what: StepFact::Pruned { results }, .. } if results.len() == 2);
    assert_eq!(ear.facts().iter().filter(is_told).count(), 1);

    house.say(thread, "and then?").await.expect("a turn");
    ear.completed().await;
    assert!(puppet.requests()[6].messages.starts_with(&pruned));
    house.kept(thread).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and in the end?").await.expect("a turn");
    ear.completed().await;
    assert!(puppet.requests()[7].messages.starts_with(&pruned));
    assert_eq!(puppet.requests_for(RequestPurpose::Summary).len(), 0);

    let (offset, limit) = (0, 100);
    let read = Call::ReadMessages {
        thread,
        offset,
        limit,
    };
    let Ok(Reply::Messages(page)) = house.call(read).await else {
        panic!("no messages")
    };
    let shown = format!("{page:?}");
    assert!(
        shown.contains("look 0 did it now now"),
        "people still see it"
    );
}

fn cleared(messages: &[Message]) -> Vec<bool> {
    let results = messages.iter().filter_map(|message| match message {
        Message::ToolResults(results) => Some(results.iter()),
        Message::User(_) | Message::Assistant(_) => None,
    });
    results
        .flatten()
        .map(|result| result.text() == "[cleared; read it again if needed]")
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_is_summarised_as_often_as_needed_and_keeps_its_task() {
    let task = json!({"task": "Find the red door", "kind": "general"});
    let spawn = calls("p1", "spawnAgent", task);
    let plays = [spawn, looks_at_much(0), looks_at_much(1)];
    let puppet = Puppet::new(plays.into_iter().chain(["found", "done"].map(says)));
    puppet.then(RequestPurpose::Summary, ["one", "two"].map(says));
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let requests = puppet.requests();
    let purposes = requests
        .iter()
        .map(|asked| asked.purpose == RequestPurpose::Summary);
    let purposes: Vec<bool> = purposes.collect();
    assert_eq!(purposes, [false, false, true, false, true, false, false]);
    for (nth, summary) in [(3, "one"), (5, "two")] {
        let said = texts(&requests[nth].messages);
        assert!(said[0].contains("Find the red door"), "{said:?}");
        assert!(said[1].contains(summary), "{said:?}");
        assert_eq!(
            requests[nth].whole()[0],
            requests[1].whole()[0],
            "its surroundings"
        );
        assert_eq!(requests[nth].messages.len(), 2);
    }
    let is_spent = |fact: &&&Fact| {
        let purpose = Purpose::Compaction;
        matches!(fact, Fact::Turn(TurnFact::UsageAdded { purpose: of, .. }) if *of == purpose)
    };
    assert_eq!(ear.facts().iter().filter(is_spent).count(), 2);
}
