//! Sub-agents: what they may do, what is told of them, and what is left of them.

use std::sync::Arc;

use engine::ListenFrom;
use providers::{ErrorKind, Message, ModelRequest};
use serde_json::json;
use vocabulary::Effects;
use vocabulary::{
    AskFact, AskKind, Call, Changes, Closing, Fact, ItemId, Purpose, SubAgent, ToolEvent, ToolFact,
    ToolOutcome, ToolOutput, TurnFact, TurnOutcome,
};

use crate::answers::{answer, result, tool_call};
use crate::house::{Ear, House, Stage};
use crate::puppet::{PUPPET, Play, Puppet, SMALL, calls, says};
use crate::toys::Toys;
use crate::turns::{approve, opened_ask};

pub fn stage(puppet: &Arc<Puppet>, toys: &Toys) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(toys.tool("look", Effects::READS));
    stage.tools.add(toys.tool("act", Effects::RUNS));
    stage.tools.add(toys.asking_tool("beg", Effects::RUNS));
    stage
}

fn spawn(kind: &str) -> Play {
    calls("p1", "spawnAgent", json!({"task": "find it", "kind": kind}))
}

/// A sub-agent's result as its caller reads it.
pub fn resumable(text: &str, id: &ItemId) -> String {
    format!("{text}\n\n[sub-agent {id}; \"resume\" with this id goes on with it]")
}

/// The item of the call that the model gave this id.
pub fn item_of(ear: &Ear, call_id: &str) -> ItemId {
    let planned = |fact: &&Fact| match fact {
        Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Planned { .. },
            ..
        }) if call.call_id == call_id => Some(call.item.clone()),
        // tidy: wildcard, because only that call is looked for.
        _ => None,
    };
    let mut facts = ear.facts().into_iter();
    facts.find_map(|fact| planned(&fact)).expect("a call")
}

pub fn tools_of(request: &ModelRequest) -> Vec<&str> {
    request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect()
}

/// The result that a sub-agent's own model reads last.
pub fn last_result(request: &ModelRequest) -> &providers::ToolResult {
    match request.messages.last().map(|message| &**message) {
        Some(Message::ToolResults(results)) => results.last().expect("a result"),
        other => panic!("no result: {other:?}"),
    }
}

pub fn finished<'a>(ear: &'a Ear, name: &str) -> Vec<&'a ToolOutcome> {
    let of = |fact: &&'a Fact| match fact {
        Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Finished { outcome, .. },
            ..
        }) if call.name == name => Some(outcome),
        // tidy: wildcard, because only ends of calls are looked for.
        _ => None,
    };
    ear.facts().iter().filter_map(of).collect()
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_works_for_a_call_and_leaves_only_its_result() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        spawn("general"),
        Play::new()
            .think("hm", None)
            .say("searching")
            .call("s1", "look", json!({"id": "a"}))
            .end(100, 10),
        Play::new().say("it is there").end(200, 20),
        says("told you"),
        says("next"),
    ]);
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    let changes = Changes {
        // As the server itself would tell it.
        sub_agent_model: Some(format!("{PUPPET}/{SMALL}")),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "where is it?").await.expect("a turn");
    assert_eq!(
        ear.completed().await,
        "told you",
        "its text is not the turn's"
    );

    let requests = puppet.requests();
    assert_eq!(requests[1].model, SMALL);
    assert_eq!(requests[1].messages, [Message::user("find it")]);
    assert!(!requests[1].system.is_empty() && requests[1].system == requests[2].system);
    assert_eq!(last_result(&requests[2]), &result("s1", "look", "a did it"));
    let input = json!({"task": "find it", "kind": "general"});
    let parent = item_of(&ear, "p1");
    let found = resumable("it is there", &parent);
    let talk = vec![
        Message::user("where is it?"),
        Message::Assistant(vec![tool_call("p1", "spawnAgent", input)]),
        Message::ToolResults(vec![result("p1", "spawnAgent", &found)]),
    ];
    assert_eq!(requests[3].messages, talk);

    let shown: Vec<_> = ear
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Tool(ToolEvent {
                call,
                what: ToolFact::Wrote { delta, .. },
                ..
            }) if call.item == parent => Some(delta.as_str()),
            // tidy: wildcard, because only its output is looked for.
            _ => None,
        })
        .collect();
    assert_eq!(shown.concat(), "searching\nit is there\n");
    let agent = SubAgent {
        parent,
        kind: "general".to_owned(),
        depth: 1,
    };
    assert!(ear.facts().iter().any(|fact| matches!(
        fact,
        Fact::Tool(ToolEvent { call, what: ToolFact::Planned { .. }, .. })
            if call.name == "look" && call.call_id == "p1/s1" && call.agent.as_deref() == Some(&agent)
    )));
    let spent: Vec<_> = ear
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Turn(TurnFact::UsageAdded {
                model,
                purpose: Purpose::SubAgent,
                usage,
                ..
            }) => Some((model.model.as_str(), usage.total_tokens())),
            // tidy: wildcard, because only what was spent is looked for.
            _ => None,
        })
        .collect();
    assert_eq!(spent, [(SMALL, 110), (SMALL, 220)]);
    let kept = house.kept(thread).await;
    assert_eq!(kept.state.usage.total_tokens(), 110 + 220 + 24);

    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let again = [talk, vec![answer("told you"), Message::user("more")]].concat();
    assert_eq!(
        puppet.requests()[4].messages,
        again,
        "read back from the log"
    );
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_has_the_tools_of_its_kind_only() {
    let toys = Toys::new();
    let write = json!({"path": "x.txt", "content": "no"});
    let puppet = Puppet::new([
        spawn("explore"),
        calls("s1", "write", write),
        calls("s2", "act", json!({"id": "a"})),
        calls("s3", "spawnAgent", json!({"task": "you do it"})),
        says("I could not"),
        says("well"),
    ]);
    let mut stage = stage(&puppet, &toys);
    stage.auto_approve = true;
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "well");
    let requests = puppet.requests();
    assert_eq!(
        tools_of(&requests[1]),
        ["bash", "glob", "grep", "job", "read"]
    );
    for (nth, name) in [(2, "write"), (3, "act"), (4, "spawnAgent")] {
        let result = last_result(&requests[nth]);
        let told = result.text();
        assert!(result.is_error && told.starts_with(&format!("there is no tool named {name:?}")));
        assert!(
            told.ends_with("There are: bash, glob, grep, job, read"),
            "{told}"
        );
    }
    assert!(!house.directory().join("x.txt").exists());
    assert_eq!(toys.notes(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn sub_agents_go_two_deep() {
    let deeper = || calls("d", "spawnAgent", json!({"task": "deeper"}));
    let puppet = Puppet::new([
        spawn("general"),
        deeper(),
        deeper(),
        says("the deepest"),
        says("the middle"),
        says("the top"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "the top");
    let requests = puppet.requests();
    let may_spawn: Vec<_> = requests[..3]
        .iter()
        .map(|request| tools_of(request).contains(&"spawnAgent"))
        .collect();
    assert_eq!(may_spawn, [true, true, false]);
    assert!(last_result(&requests[3]).is_error);
    let deepest = resumable("the deepest", &item_of(&ear, "p1/d"));
    assert_eq!(
        last_result(&requests[4]),
        &result("d", "spawnAgent", &deepest)
    );
    let middle = resumable("the middle", &item_of(&ear, "p1"));
    assert_eq!(
        last_result(&requests[5]),
        &result("p1", "spawnAgent", &middle)
    );
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn the_state_row_does_not_grow_with_what_a_sub_agent_does() {
    let toys = Toys::new();
    let puppet = Puppet::new([spawn("general")]);
    let step = |n: u32| calls(&format!("s{n}"), "look", json!({"id": n.to_string()}));
    puppet.then(providers::RequestPurpose::Answer, (1..=20).map(step));
    let held = json!({"id": "last", "hold": true});
    puppet.then(
        providers::RequestPurpose::Answer,
        [calls("s21", "act", held), says("done"), says("well")],
    );
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    toys.noted(&["last begins"]).await;
    let turn = house.kept(thread).await.state.turn.expect("a turn");
    let names: Vec<_> = turn
        .calls
        .iter()
        .map(|call| call.call.name.as_str())
        .collect();
    assert_eq!(names, ["spawnAgent", "act"]);
    toys.release("last");
    ear.completed().await;
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_fails_is_a_call_that_failed() {
    let puppet = Puppet::new([
        spawn("general"),
        Play::new().refuse(ErrorKind::Quota, "no money left"),
        says("a pity"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "a pity");
    let requests = puppet.requests();
    let result = last_result(&requests[2]);
    let told = result.text();
    let early =
        "the sub-agent ended early: no money left\n\nIt had said nothing yet.\n\n[sub-agent ";
    assert!(result.is_error && told.starts_with(early), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_sub_agents_answer_that_breaks_off_is_asked_for_again() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        spawn("general"),
        Play::new()
            .say("half")
            .call("s1", "act", json!({"id": "never"}))
            .fail(ErrorKind::CutOff, "cut off"),
        says("whole"),
        says("well"),
        says("next"),
    ]);
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "well");
    let requests = puppet.requests();
    assert_eq!(requests[1], requests[2]);
    assert_eq!(
        last_result(&requests[3]).text(),
        resumable("whole", &item_of(&ear, "p1"))
    );
    assert_eq!(toys.notes(), [] as [&str; 0]);
    assert!(matches!(
        finished(&ear, "act")[..],
        [ToolOutcome::NotRun { .. }]
    ));
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let next = puppet.requests()[4].messages.clone();
    assert!(
        next.starts_with(&requests[3].messages),
        "nothing of the step is discarded"
    );
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_sub_agent_must_ask_is_asked_and_answered() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        spawn("general"),
        calls("s1", "beg", json!({"id": "a"})),
        says("did it"),
        says("well"),
    ]);
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let opened = ear
        .fact(|fact| {
            matches!(
                fact,
                Fact::Ask {
                    what: AskFact::Opened { .. },
                    ..
                }
            )
        })
        .await;
    let Fact::Ask {
        what: AskFact::Opened { ask, .. },
        ..
    } = opened
    else {
        panic!("no ask")
    };
    assert!(matches!(&ask.kind, AskKind::Approval(approval) if approval.command == "beg"));
    assert_eq!(ask.call.agent.map(|agent| agent.depth), Some(1));
    approve(&house, thread, ask.id).await;
    assert_eq!(ear.completed().await, "well");
    assert_eq!(toys.notes(), ["a begins", "a ends"]);
    let told = resumable("did it", &item_of(&ear, "p1"));
    assert_eq!(last_result(&puppet.requests()[3]).text(), told);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_sub_agent_with_all_it_does() {
    let toys = Toys::new();
    let held = json!({"id": "a", "hold": true});
    let puppet = Puppet::new([
        spawn("general"),
        calls("s1", "act", held),
        spawn("general"),
        Play::new().begin("writing").hang(),
    ]);
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.say(thread, "go").await.expect("a turn");
    toys.noted(&["a begins"]).await;
    house.call(cancel.clone()).await.expect("a cancel");
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    assert_eq!(toys.notes(), ["a begins", "a is cancelled"]);
    assert!(matches!(
        finished(&ear, "act")[..],
        [ToolOutcome::Interrupted(_)]
    ));
    assert!(matches!(
        finished(&ear, "spawnAgent")[..],
        [ToolOutcome::Interrupted(_)]
    ));

    house.say(thread, "go").await.expect("a turn");
    ear.word("writing").await;
    house.call(cancel).await.expect("a cancel");
    puppet.was_dropped(1).await;
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    house.kept(thread).await;
}

/// With real processes, and so in real time.
#[tokio::test]
async fn a_cancel_leaves_no_process_of_a_sub_agent() {
    let command = "echo $$; exec sleep 1000";
    let puppet = Puppet::new([
        spawn("explore"),
        calls("s1", "bash", json!({"command": command})),
    ]);
    let mut stage = stage(&puppet, &Toys::new());
    stage.auto_approve = true;
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let output = |fact: &Fact| {
        matches!(
            fact,
            Fact::Tool(ToolEvent {
                what: ToolFact::Wrote { .. },
                ..
            })
        )
    };
    let Fact::Tool(ToolEvent {
        what: ToolFact::Wrote { delta, .. },
        ..
    }) = ear.fact(output).await
    else {
        panic!("no output")
    };
    let process = std::path::Path::new("/proc").join(delta.trim());
    assert!(process.exists());
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    assert!(!process.exists());
}

#[tokio::test(start_paused = true)]
async fn a_crash_ends_a_sub_agent_that_waited_and_its_turn_goes_on() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        Play::new()
            .call("p1", "spawnAgent", json!({"task": "find it"}))
            .call("p2", "act", json!({"id": "after"}))
            .end(10, 2),
        calls("s1", "beg", json!({"id": "never"})),
        says("went on"),
    ]);
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let head = house
        .kept(thread)
        .await
        .seqs
        .last()
        .copied()
        .expect("events");

    let house = house.crash();
    let (view, mut ear) = house.listen(thread, ListenFrom::After(head)).await;
    assert_eq!(view.asks, []);
    assert_eq!(ear.completed().await, "went on");
    assert!(ear.facts().iter().any(|fact| matches!(
        fact,
        Fact::Ask { what: AskFact::Closed { ask: closed, closing: Closing::Lost { .. }, .. }, .. } if closed.id == ask
    )));
    assert!(matches!(
        finished(&ear, "beg")[..],
        [ToolOutcome::NotRun { .. }]
    ));
    assert_eq!(
        finished(&ear, "spawnAgent"),
        [&ToolOutcome::Interrupted(ToolOutput::Text(
            "interrupted: the server stopped".to_owned()
        ))]
    );
    assert_eq!(toys.notes(), ["after begins", "after ends"]);
    let Some(Message::ToolResults(results)) = puppet.requests()[2].messages.last().cloned() else {
        panic!("no results")
    };
    let ids: Vec<_> = results
        .iter()
        .map(|result| result.call_id.as_str())
        .collect();
    assert_eq!(ids, ["p1", "p2"]);
    house.kept(thread).await;
}
