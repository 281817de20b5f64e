//! Endings: answers that were cut, empty answers, too many steps, calls that go round in circles.

use std::sync::Arc;

use engine::ListenFrom;
use providers::{Message, Part, ToolResult};
use serde_json::json;
use vocabulary::{Changes, TurnErrorKind, TurnOutcome};

use crate::answers::{answer, stage_with};
use crate::house::{Ear, House};
use crate::puppet::{Asked, Play, Puppet, calls, says};
use crate::toys::Toys;

fn house(puppet: &Arc<Puppet>, toys: &Toys) -> House {
    House::staged(stage_with(puppet, toys))
}

async fn gave_up(ear: &mut Ear) -> (TurnErrorKind, String, String) {
    match ear.ended().await {
        (TurnOutcome::Failed(error), text) => (error.kind, error.message, text),
        other => panic!("not failed: {other:?}"),
    }
}

/// What the user, or we in their place, said last.
fn last_words(request: &Asked) -> &str {
    match request.messages.last() {
        Some(Message::User(said)) => &said.text,
        other => panic!("no words: {other:?}"),
    }
}

fn last_result(request: &Asked) -> &ToolResult {
    let results = request.messages.iter().rev().find_map(|each| match each {
        Message::ToolResults(results) => results.last(),
        Message::User(_) | Message::Assistant(_) => None,
    });
    results.expect("a result")
}

/// Whether the model was told this after its last results.
fn was_told(request: &Asked, words: &str) -> bool {
    matches!(request.messages.last(), Some(Message::User(said)) if said.text.contains(words))
}

/// An answer whose call was cut at this many tokens.
fn cut_call(call_id: &str, tokens: u64) -> Play {
    let written = json!({"arguments": "{\"id\": \"lon"});
    let problem = Some("the arguments are not valid JSON (EOF)");
    Play::new()
        .call_with(call_id, "act", written, None, problem)
        .cut(tokens)
}

fn empty() -> Play {
    Play::new().think("hm", None).end(10, 2)
}

#[tokio::test(start_paused = true)]
async fn a_text_that_was_cut_goes_on_where_it_ended() {
    let puppet = Puppet::new([
        Play::new().say("one, tw").cut(8),
        says("o, three"),
        says("next"),
    ]);
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "count").await.expect("a turn");
    assert_eq!(ear.completed().await, "one, two, three");
    let requests = puppet.requests();
    let before = [Message::user("count"), answer("one, tw")];
    assert_eq!(requests[1].messages[..2], before);
    let note = last_words(&requests[1]);
    assert!(note.contains("limit of 8 tokens"), "{note}");

    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let mut talk = requests[1].messages.clone();
    talk.extend([answer("o, three"), Message::user("more")]);
    assert_eq!(puppet.requests()[2].messages, talk);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_text_without_end_is_continued_three_times() {
    let puppet = Puppet::new(["a", "b", "c", "d"].map(|text| Play::new().say(text).cut(8)));
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (kind, message, text) = gave_up(&mut ear).await;
    assert_eq!((kind, text.as_str()), (TurnErrorKind::OutputLimit, "abcd"));
    assert!(message.contains("limit of 8 tokens"), "{message}");
    assert_eq!(puppet.requests().len(), 4);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_is_told_the_limit_and_may_be_made_in_parts() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        cut_call("c1", 8_192),
        calls("c2", "act", json!({"id": "part"})),
        cut_call("c3", 8_192),
        says("done"),
    ]);
    let house = house(&puppet, &toys);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write it").await.expect("a turn");
    assert_eq!(ear.completed().await, "done", "not twice in a row");
    assert_eq!(toys.notes(), ["part begins", "part ends"]);
    let requests = puppet.requests();
    let told = last_result(&requests[1]);
    assert!(told.is_error);
    let words = told.text();
    assert!(words.contains("limit of 8192 tokens"), "{words}");
    assert!(words.contains("in parts") && !words.contains("JSON"));
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_twice_ends_the_turn_in_words() {
    let puppet = Puppet::new([cut_call("c1", 8_192), cut_call("c2", 8_192)]);
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write it").await.expect("a turn");
    let (kind, message, _) = gave_up(&mut ear).await;
    assert_eq!(kind, TurnErrorKind::OutputLimit);
    assert!(message.contains("limit of 8192 tokens"), "{message}");
    assert!(message.contains("in parts"), "{message}");
    assert_eq!(puppet.requests().len(), 2);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_of_which_nothing_is_left_is_told_the_limit_too() {
    let lost = |call_id: &str| {
        let start = Part::ToolInputStart {
            block: 0,
            call_id: call_id.to_owned(),
            name: "act".to_owned(),
        };
        Play::new().part(start).cut(9)
    };
    let puppet = Puppet::new([lost("c1"), says("in parts, then"), lost("c2"), lost("c3")]);
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "in parts, then");
    let note = last_words(&puppet.requests()[1]).to_owned();
    assert!(note.contains("limit of 9 tokens"), "{note}");
    house.say(thread, "again").await.expect("a turn");
    assert_eq!(gave_up(&mut ear).await.0, TurnErrorKind::OutputLimit);
    assert_eq!(puppet.requests().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_asked_for_again_as_if_it_had_not_been() {
    let puppet = Puppet::new([empty(), says("done"), says("next")]);
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let requests = puppet.requests();
    assert_eq!(requests[1].messages, requests[0].messages);
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let talk = [Message::user("go"), answer("done"), Message::user("more")];
    assert_eq!(puppet.requests()[2].messages, talk);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_told_so_and_then_the_turn_fails() {
    let puppet = Puppet::new([
        Play::new().end(10, 0),
        empty(),
        says("sorry"),
        empty(),
        Play::new().say(" \n").end(10, 1),
        empty(),
    ]);
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "sorry");
    let note = last_words(&puppet.requests()[2]).to_owned();
    assert!(note.contains("was empty"), "{note}");
    house.say(thread, "more").await.expect("a turn");
    let (kind, message, _) = gave_up(&mut ear).await;
    assert_eq!(kind, TurnErrorKind::EmptyAnswer);
    assert!(message.contains("3 times in a row"), "{message}");
    assert_eq!(puppet.requests().len(), 6);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_at_its_step_limit_says_how_things_stand() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        calls("c1", "act", json!({"id": "a"})),
        calls("c2", "act", json!({"id": "b"})),
        Play::new()
            .say("a and b are done, c is not")
            .call("c3", "act", json!({"id": "c"}))
            .end(10, 2),
    ]);
    let house = house(&puppet, &toys);
    let (thread, mut ear) = house.heard_thread().await;
    let changes = Changes {
        max_steps: Some(2),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    let (kind, message, text) = gave_up(&mut ear).await;
    assert_eq!(kind, TurnErrorKind::StepLimit);
    assert!(message.contains("limit of 2 steps"), "{message}");
    assert_eq!(text, "a and b are done, c is not");
    assert_eq!(toys.notes(), ["a begins", "a ends", "b begins", "b ends"]);
    let requests = puppet.requests();
    let note = last_words(&requests[2]);
    assert!(note.contains("limit of 2 steps"), "{note}");
    assert_eq!(
        requests
            .iter()
            .map(|each| each.no_calls)
            .collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(requests[2].tools, requests[0].tools, "the prefix stays");
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_go_round_in_circles_are_noticed() {
    let toys = Toys::new();
    let again = |number: usize| calls(&format!("c{number}"), "act", json!({"id": "a"}));
    let puppet = Puppet::new((1..=8).map(again).chain([says("I am stuck")]));
    let house = house(&puppet, &toys);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (kind, message, text) = gave_up(&mut ear).await;
    assert_eq!((kind, text.as_str()), (TurnErrorKind::Loop, "I am stuck"));
    assert!(message.contains("8 times in a row"), "{message}");
    let requests = puppet.requests();
    assert_eq!(requests.len(), 9);
    assert!(requests[8].no_calls);
    let results: Vec<_> = requests[1..8].iter().map(last_result).collect();
    assert_eq!(results[1].text(), "a did it");
    assert_eq!(results[2].text(), "a did it");
    let told = |asked: &Asked| was_told(asked, "same result 3 times");
    assert_eq!(requests.iter().position(told), Some(3));
    assert!(!results[3].is_error && results[4].is_error);
    assert!(results[4].text().starts_with("not run"));
    assert_eq!(toys.notes().len(), 2 * 4, "made four times");
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_lead_somewhere_are_no_circle() {
    let toys = Toys::new();
    let act = |number: usize, id: &str| calls(&format!("c{number}"), "act", json!({"id": id}));
    let each = (0..10).map(|number| match number % 3 {
        2 => act(number, &number.to_string()),
        _ => act(number, "same"),
    });
    let puppet = Puppet::new(each.chain([says("done")]));
    let house = house(&puppet, &toys);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    assert_eq!(toys.notes().len(), 2 * 10);
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_are_worth_a_word() {
    let wrong = |number: usize| calls(&format!("c{number}"), &format!("no{number}"), json!({}));
    let puppet = Puppet::new((1..=6).map(wrong).chain([says("done")]));
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let requests = puppet.requests();
    let told: Vec<_> = requests[1..7]
        .iter()
        .map(|request| was_told(request, "calls in a row failed"))
        .collect();
    assert_eq!(told, [false, false, false, false, true, false]);
}

fn spawn() -> Play {
    let input = json!({"task": "find it", "kind": "general"});
    calls("p1", "spawnAgent", input)
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_at_its_step_limit_gives_what_it_has() {
    let step = |number: usize| {
        calls(
            &format!("s{number}"),
            "look",
            json!({"id": number.to_string()}),
        )
    };
    let plays = (1..=50).map(step);
    let plays = std::iter::once(spawn()).chain(plays);
    let puppet = Puppet::new(plays.chain([says("half of it is there"), says("thanks")]));
    let house = house(&puppet, &Toys::new());
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "thanks");
    let requests = puppet.requests();
    assert!(requests[51].no_calls && !requests[52].no_calls);
    let result = last_result(&requests[52]);
    assert!(!result.is_error);
    let words = result.text();
    assert!(
        words.starts_with("half of it is there\n\n[stopped at the limit of 50 steps"),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_ends_as_its_agent_would() {
    let toys = Toys::new();
    let again = |number: usize| calls(&format!("s{number}"), "look", json!({"id": "a"}));
    let cases: [(Vec<Play>, bool, &str); 4] = [
        (
            (1..=8).map(again).chain([says("stuck")]).collect(),
            false,
            "stuck\n\n[stopped",
        ),
        (vec![empty(), says("found")], false, "found"),
        (
            vec![Play::new().say("fo").cut(8), says("und")],
            false,
            "found",
        ),
        (
            vec![empty(), empty(), empty()],
            true,
            "the sub-agent ended early: the model's answer was empty",
        ),
    ];
    for (plays, is_error, words) in cases {
        let plays = std::iter::once(spawn())
            .chain(plays)
            .chain([says("thanks")]);
        let puppet = Puppet::new(plays);
        let house = house(&puppet, &toys);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        assert_eq!(ear.completed().await, "thanks");
        let requests = puppet.requests();
        let result = last_result(requests.last().expect("a request"));
        assert_eq!(result.is_error, is_error, "{words}");
        assert!(result.text().starts_with(words), "{}", result.text());
    }
}
