//! Calls of one step that are made at the same time: sub-agents, and commands that only read.

use std::time::Duration;

use serde_json::{Value, json};
use vocabulary::{Call, Effects, Fact, ToolOutcome, TurnOutcome};

use crate::house::House;
use crate::puppet::{Gate, Play, Puppet, calls, says};
use crate::sub_agents::{finished, item_of, resumable, stage};
use crate::toys::Toys;
use crate::turns::{approve, opened_ask};

/// One step that gives each of these tasks to a sub-agent.
fn spawns(inputs: &[Value]) -> Play {
    let numbered = inputs.iter().zip(1..);
    let play = numbered.fold(Play::new(), |play, (input, number)| {
        play.call(&format!("p{number}"), "spawnAgent", input.clone())
    });
    play.end(10, 2)
}

fn task(task: &str, kind: &str) -> Value {
    json!({"task": task, "kind": kind})
}

fn held(gate: &Gate, text: &str) -> Play {
    Play::new().hold(gate).say(text).end(10, 2)
}

/// Until nothing more happens by itself: time is paused, and goes on only then.
pub async fn all_quiet() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// The results of the last step, in the order in which the model reads them.
fn last_results(puppet: &Puppet) -> Vec<(String, String)> {
    let requests = puppet.requests();
    let last = requests.last().and_then(|request| request.messages.last());
    match last {
        Some(providers::Message::ToolResults(results)) => results
            .iter()
            .map(|result| (result.call_id.clone(), result.text().into_owned()))
            .collect(),
        other => panic!("no results: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn three_sub_agents_of_one_step_work_at_once() {
    let names = ["one", "two", "three"];
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let puppet = Puppet::new([
        spawns(&names.map(|name| task(name, "explore"))),
        says("all"),
    ]);
    for (name, gate) in names.iter().zip(&gates) {
        puppet.about(name, [held(gate, &format!("found {name}"))]);
    }
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    // All three requests are open before the first is answered.
    puppet.was_asked(4).await;
    gates[2].open();
    gates[0].open();
    gates[1].open();
    assert_eq!(ear.completed().await, "all");
    let told = |name: &str, call: &str| {
        let text = format!("found {name}");
        (call.to_owned(), resumable(&text, &item_of(&ear, call)))
    };
    assert_eq!(
        last_results(&puppet),
        [told("one", "p1"), told("two", "p2"), told("three", "p3")]
    );
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn a_fifth_sub_agent_waits_for_a_place() {
    let names = ["one", "two", "three", "four", "five"];
    let puppet = Puppet::new([
        spawns(&names.map(|name| task(name, "research"))),
        says("all"),
    ]);
    let gates = names.map(|_| Gate::new());
    for (name, gate) in names.iter().zip(&gates) {
        puppet.about(name, [held(gate, name)]);
    }
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    all_quiet().await;
    assert_eq!(puppet.requests().len(), 1 + 4);
    gates[3].open();
    puppet.was_asked(1 + 5).await;
    gates.iter().for_each(Gate::open);
    assert_eq!(ear.completed().await, "all");
    let ids: Vec<_> = last_results(&puppet)
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, ["p1", "p2", "p3", "p4", "p5"]);
}

#[tokio::test(start_paused = true)]
async fn sub_agents_that_may_write_work_one_at_a_time_unless_they_name_their_files() {
    for (files, at_once) in [
        ([json!(null), json!(null)], 1),
        ([json!(["src/a.rs"]), json!(null)], 1),
        ([json!(["src/*.rs"]), json!(["src/a.rs"])], 1),
        ([json!(["src/a.rs"]), json!(["docs/**"])], 2),
    ] {
        let [first, second] = files.clone();
        let puppet = Puppet::new([
            spawns(&[
                json!({"task": "one", "kind": "general", "files": first}),
                task("look", "explore"),
                json!({"task": "two", "kind": "general", "files": second}),
            ]),
            says("all"),
        ]);
        let gates = [Gate::new(), Gate::new(), Gate::new()];
        let told = |name: &str, files: &Value| match files.as_array() {
            None => name.to_owned(),
            Some(files) => format!(
                "{name}\n\nChange only these files, others may be changed by someone else \
                 meanwhile: {}",
                files[0].as_str().expect("a path")
            ),
        };
        puppet.about(&told("one", &files[0]), [held(&gates[0], "one")]);
        puppet.about("look", [held(&gates[1], "look")]);
        puppet.about(&told("two", &files[1]), [held(&gates[2], "two")]);
        let house = House::staged(stage(&puppet, &Toys::new()));
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        all_quiet().await;
        assert_eq!(puppet.requests().len(), 1 + 1 + at_once, "{files:?}");
        gates[0].open();
        puppet.was_asked(4).await;
        gates.iter().for_each(Gate::open);
        assert_eq!(ear.completed().await, "all");
    }
}

#[tokio::test(start_paused = true)]
async fn commands_that_only_read_run_at_once_and_others_in_their_order() {
    let toys = Toys::new();
    let held = |id: &str| json!({"id": id, "hold": true});
    let puppet = Puppet::new([
        Play::new()
            .call("c1", "pwd", held("a"))
            .call("c2", "look", held("b"))
            .call("c3", "pwd", held("c"))
            .call("c4", "touch", held("d"))
            .call("c5", "pwd", held("e"))
            .end(10, 2),
        says("done"),
    ]);
    let mut stage = stage(&puppet, &toys);
    stage.tools.add(toys.command("pwd"));
    stage.tools.add(toys.command("touch"));
    stage.auto_approve = true;
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    toys.noted(&["a begins", "b begins", "c begins"]).await;
    all_quiet().await;
    assert_eq!(toys.notes().len(), 3);
    for id in ["c", "b", "a"] {
        toys.release(id);
    }
    toys.noted(&["d begins"]).await;
    all_quiet().await;
    assert_eq!(toys.notes().last().map(String::as_str), Some("d begins"));
    toys.release("d");
    toys.release("e");
    assert_eq!(ear.completed().await, "done");
    let ids: Vec<_> = last_results(&puppet)
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, ["c1", "c2", "c3", "c4", "c5"]);
}

#[tokio::test(start_paused = true)]
async fn sub_agents_at_once_ask_a_person_one_after_the_other() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        spawns(&[
            json!({"task": "one", "files": ["a"]}),
            json!({"task": "two", "files": ["b"]}),
        ]),
        says("all"),
    ]);
    let words = "Change only these files, others may be changed by someone else meanwhile";
    for (name, file) in [("one", "a"), ("two", "b")] {
        let asks = calls("s1", "beg", json!({ "id": name }));
        puppet.about(&format!("{name}\n\n{words}: {file}"), [asks, says(name)]);
    }
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let first = opened_ask(&mut ear).await;
    all_quiet().await;
    let asks = house.kept(thread).await.state.asks;
    assert_eq!(asks.len(), 1, "the other waits its turn");
    approve(&house, thread, first).await;
    let second = opened_ask(&mut ear).await;
    assert_ne!(first, second);
    approve(&house, thread, second).await;
    assert_eq!(ear.completed().await, "all");
    let mut notes = toys.notes();
    notes.sort();
    assert_eq!(notes, ["one begins", "one ends", "two begins", "two ends"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_all_sub_agents_at_once() {
    let toys = Toys::new();
    let names = ["one", "two", "three"];
    let puppet = Puppet::new([spawns(&names.map(|name| task(name, "explore")))]);
    for name in names {
        let hangs = Play::new().begin(&format!("{name} so far")).hang();
        puppet.about(name, [calls("s1", "grep", json!({"pattern": name})), hangs]);
    }
    let mut stage = stage(&puppet, &toys);
    stage.tools.add(toys.tool("grep", Effects::READS));
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(1 + 3 + 3).await;
    all_quiet().await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    puppet.was_dropped(3).await;
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    let ends = finished(&ear, "spawnAgent");
    assert_eq!(ends.len(), 3);
    for (end, name) in ends.into_iter().zip(names) {
        let ToolOutcome::Interrupted(output) = end else {
            panic!("not interrupted: {end:?}")
        };
        let text = format!("{output:?}");
        for part in ["so far", "It made 1 calls", "- grep"] {
            assert!(text.contains(part), "{name}: {text}");
        }
    }
    let open = ear
        .facts()
        .into_iter()
        .filter(|fact| matches!(fact, Fact::Ask { .. }));
    assert_eq!(open.count(), 0);
    house.kept(thread).await;
}
