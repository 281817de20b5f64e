//! Answers of a model: what it gets back, and the calls it makes.

use engine::ListenFrom;
use providers::{Block, Message, Part, ToolResult};
use serde_json::json;
use vocabulary::Effects;
use vocabulary::{AgentMode, Call, Changes, Fact, StepFact, ToolEvent, ToolFact, TurnOutcome};

use crate::house::{House, Stage};
use crate::puppet::{Gate, Play, Puppet, calls, native, says};
use crate::sub_agents_at_once::all_quiet;
use crate::toys::Toys;

pub fn text(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
        native: None,
    }
}

pub fn answer(said: &str) -> Message {
    Message::Assistant(vec![text(said)])
}

pub fn tool_call(call_id: &str, name: &str, input: serde_json::Value) -> Block {
    Block::ToolCall {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        input,
        native: None,
    }
}

pub fn result(call_id: &str, name: &str, text: &str) -> ToolResult {
    ToolResult {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        content: vec![providers::ResultBlock::Text(text.to_owned())],
        is_error: false,
    }
}

pub fn stage_with(puppet: &std::sync::Arc<Puppet>, toys: &Toys) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(toys.tool("look", Effects::READS));
    stage.tools.add(toys.tool("act", Effects::RUNS));
    stage
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_wants_back_comes_back_as_it_was() {
    let puppet = Puppet::new([
        Play::new()
            .think("hm", native("thought"))
            .say_with("looking", native("words"))
            .call_with("c1", "look", json!({"id": "a"}), native("call"), None)
            .end(10, 2),
        says("done"),
        says("again"),
        says("later"),
    ]);
    let house = House::staged(stage_with(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "looking\n\ndone");
    let mut talk = vec![
        Message::user("go"),
        Message::Assistant(vec![
            Block::Reasoning {
                text: "hm".to_owned(),
                native: native("thought"),
            },
            Block::Text {
                text: "looking".to_owned(),
                native: native("words"),
            },
            Block::ToolCall {
                call_id: "c1".to_owned(),
                name: "look".to_owned(),
                input: json!({"id": "a"}),
                native: native("call"),
            },
        ]),
        Message::ToolResults(vec![result("c1", "look", "a did it")]),
    ];
    assert_eq!(puppet.requests()[1].messages, talk, "in the next step");

    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("done"), Message::user("more")]);
    assert_eq!(puppet.requests()[2].messages, talk, "in the next turn");

    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("again"), Message::user("and")]);
    assert_eq!(puppet.requests()[3].messages, talk, "after a restart");
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn steps_of_a_turn_are_asked_for_in_the_same_words() {
    let puppet = Puppet::new([calls("c1", "look", json!({})), says("done")]);
    let house = House::staged(stage_with(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    let effort = Some("high".to_owned());
    let changes = Changes {
        effort: effort.clone(),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let [first, second] = &puppet.requests()[..] else {
        panic!("not two steps")
    };
    assert_eq!(first.effort, effort);
    let mut same = (**second).clone();
    // What the server tells of the surroundings, and what the user said.
    same.messages.truncate(2);
    assert_eq!(**first, same, "all but the messages is the same");
    assert_eq!(first.cache_key, Some(thread.to_string()));
}

#[tokio::test(start_paused = true)]
async fn arguments_that_cannot_be_read_go_back_to_the_model_and_nothing_runs() {
    let toys = Toys::new();
    let written = json!({"arguments": "{\"id\": "});
    let problem = Some("the arguments are not JSON");
    let puppet = Puppet::new([
        Play::new()
            .call_with("c1", "act", written.clone(), None, problem)
            .call("c2", "act", json!({"id": "b"}))
            .end(10, 2),
        says("sorry"),
    ]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "sorry");
    assert_eq!(toys.notes(), ["b begins", "b ends"]);
    let bad = ToolResult {
        is_error: true,
        ..result("c1", "act", "the arguments are not JSON")
    };
    let good = result("c2", "act", "b did it");
    assert_eq!(
        puppet.requests()[1].messages[1..],
        [
            Message::Assistant(vec![
                tool_call("c1", "act", written),
                tool_call("c2", "act", json!({"id": "b"}))
            ]),
            Message::ToolResults(vec![bad, good])
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn arguments_that_cannot_be_read_run_nothing_after_a_crash_either() {
    let toys = Toys::new();
    let problem = Some("the arguments are not JSON");
    let puppet = Puppet::new([
        Play::new()
            .call("c1", "beg", json!({"id": "a"}))
            .call_with("c2", "act", json!({"arguments": "{"}), None, problem)
            .end(10, 2),
        says("sorry"),
    ]);
    let mut stage = stage_with(&puppet, &toys);
    stage.tools.add(toys.asking_tool("beg", Effects::RUNS));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let ask = crate::turns::opened_ask(&mut ear).await;
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    crate::turns::approve(&house, thread, ask).await;
    assert_eq!(ear.completed().await, "sorry");
    assert_eq!(toys.notes(), ["a begins", "a ends"]);
    let Some(Message::ToolResults(results)) = puppet.requests()[1].messages.last().cloned() else {
        panic!("no results")
    };
    assert_eq!(results[0], result("c1", "beg", "a did it"));
    assert!(results[1].is_error && results[1].text() == "the arguments are not JSON");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_not_offered_does_not_run() {
    let toys = Toys::new();
    let puppet = Puppet::new([calls("c1", "act", json!({"id": "a"})), says("oh")]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    let changes = Changes {
        mode: Some(AgentMode::Chat),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "oh");
    assert_eq!(toys.notes(), [] as [&str; 0]);
    assert!(puppet.requests()[0].tools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_that_only_read_are_made_together_and_all_others_one_by_one() {
    let toys = Toys::new();
    let held = |id: &str| json!({"id": id, "hold": true});
    let puppet = Puppet::new([
        Play::new()
            .call("c1", "look", held("a"))
            .call("c2", "look", held("b"))
            .call("c3", "act", held("c"))
            .call("c4", "act", held("d"))
            .call("c5", "look", held("e"))
            .end(10, 2),
        says("done"),
        says("next"),
    ]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    toys.noted(&["a begins", "b begins"]).await;
    toys.release("b");
    toys.noted(&["b ends"]).await;
    for id in ["a", "c", "d", "e"] {
        toys.release(id);
    }
    assert_eq!(ear.completed().await, "done");
    assert_eq!(
        toys.notes()[2..],
        [
            "b ends", "a ends", "c begins", "c ends", "d begins", "d ends", "e begins", "e ends"
        ]
    );
    let results = Message::ToolResults(vec![
        result("c1", "look", "a did it"),
        result("c2", "look", "b did it"),
        result("c3", "act", "c did it"),
        result("c4", "act", "d did it"),
        result("c5", "look", "e did it"),
    ]);
    assert_eq!(puppet.requests()[1].messages[2], results);
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    assert_eq!(
        puppet.requests()[2].messages[2],
        results,
        "read back from the log, in the order of the calls"
    );
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_are_made_together_and_no_more() {
    let toys = Toys::new();
    let ids: Vec<String> = (0..10).map(|n| format!("r{n}")).collect();
    let many = ids.iter().fold(Play::new(), |play, id| {
        play.call(id, "look", json!({"id": id, "hold": true}))
    });
    let puppet = Puppet::new([many.end(10, 2), says("done")]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let begun: Vec<String> = ids[..8].iter().map(|id| format!("{id} begins")).collect();
    toys.noted(&begun.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    all_quiet().await;
    assert_eq!(toys.notes().len(), 8);
    toys.release("r5");
    toys.noted(&["r5 ends", "r8 begins"]).await;
    all_quiet().await;
    assert_eq!(toys.notes().len(), 8 + 2, "a place is free, not two");
    for id in &ids {
        toys.release(id);
    }
    assert_eq!(ear.completed().await, "done");
    assert_eq!(toys.notes().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_all_calls_and_starts_none() {
    let toys = Toys::new();
    let held = |id: &str| json!({"id": id, "hold": true});
    let puppet = Puppet::new([
        Play::new()
            .call("c1", "look", held("a"))
            .call("c2", "look", held("b"))
            .call("c3", "act", held("c"))
            .end(10, 2),
        says("next"),
    ]);
    let house = House::staged(stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    toys.noted(&["a begins", "b begins"]).await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    let mut notes = toys.notes();
    notes.sort();
    assert_eq!(
        notes,
        ["a begins", "a is cancelled", "b begins", "b is cancelled"]
    );
    let ends = ear
        .facts()
        .iter()
        .filter(|fact| {
            matches!(
                fact,
                Fact::Tool(ToolEvent {
                    what: ToolFact::Finished { .. },
                    ..
                })
            )
        })
        .count();
    assert_eq!(ends, 3, "every call has an end");
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let talk = puppet.requests()[1].messages.clone();
    assert!(matches!(&talk[2], Message::ToolResults(results) if results.len() == 3));
}

#[tokio::test(start_paused = true)]
async fn a_held_stream_holds_nobody_else_up() {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new().begin("slow").hold(&gate).end(1, 1),
        says("quick"),
    ]);
    let house = House::with(&puppet);
    let (slow, mut slow_ear) = house.heard_thread().await;
    house.say(slow, "go").await.expect("a turn");
    slow_ear.word("slow").await;
    let (quick, mut quick_ear) = house.heard_thread().await;
    house.say(quick, "go").await.expect("a turn");
    assert_eq!(quick_ear.completed().await, "quick");
    gate.open();
    assert_eq!(slow_ear.completed().await, "slow");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_the_model_made_is_kept_and_shown_to_it_again_and_a_source_is_told() {
    let file = || Part::File {
        block: 1,
        media_type: "image/png".to_owned(),
        base64: "aGk=".into(),
        native: native("picture"),
    };
    let source = Part::Source {
        url: "https://a.example/".to_owned(),
        title: None,
    };
    let puppet = Puppet::new([
        // A picture alone is an answer.
        Play::new().part(source).part(file()).end(10, 2),
        says("larger"),
        says("later"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "draw").await.expect("a turn");
    let cited = |fact: &Fact| matches!(fact, Fact::Step { what: StepFact::Cited { url, .. }, .. } if url == "https://a.example/");
    ear.fact(cited).await;
    assert_eq!(ear.completed().await, "");
    assert_eq!(puppet.requests().len(), 1, "it was not asked again");
    let mut talk = vec![
        Message::user("draw"),
        Message::Assistant(vec![Block::File {
            media_type: "image/png".to_owned(),
            base64: "aGk=".into(),
            native: native("picture"),
        }]),
        Message::user("more"),
    ];
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    assert_eq!(puppet.requests()[1].messages, talk);
    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("larger"), Message::user("and")]);
    assert_eq!(puppet.requests()[2].messages, talk);
    let log = house.log(thread).await;
    assert!(!log.iter().any(cited));
    house.kept(thread).await;
}
