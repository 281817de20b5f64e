//! Kinds of sub-agents: their models, their prompts, and those that people wrote down.

use providers::ModelRequest;
use serde_json::{Value, json};
use vocabulary::Call;

use crate::house::{House, Stage};
use crate::puppet::{self, BIG, Puppet, SMALL, calls, says, with_small_model};
use crate::sub_agents::{last_result, stage, tools_of};
use crate::toys::Toys;
use crate::turns::{approve, opened_ask};

fn with_small(puppet: &std::sync::Arc<Puppet>) -> Stage {
    let mut stage = stage(puppet, &Toys::new());
    stage.catalog = with_small_model(puppet::catalog(puppet::big()));
    stage
}

async fn asked_of(input: Value) -> ModelRequest {
    let puppet = Puppet::new([
        calls("p1", "spawnAgent", input),
        says("found"),
        says("well"),
    ]);
    puppet.then(providers::RequestPurpose::Title, [says("a title")]);
    let house = House::staged(with_small(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "well");
    (*puppet.requests_for(providers::RequestPurpose::Answer)[1]).clone()
}

#[tokio::test(start_paused = true)]
async fn exploring_is_small_work_unless_the_call_says_otherwise() {
    let explore = asked_of(json!({"task": "x", "kind": "explore"})).await;
    assert_eq!(
        (explore.model.as_str(), explore.effort.as_deref()),
        (SMALL, Some("low"))
    );
    let same = asked_of(json!({"task": "x", "kind": "explore", "model": "same"})).await;
    assert_eq!(same.model, BIG);
    let general = asked_of(json!({"task": "x"})).await;
    assert_eq!((general.model.as_str(), general.effort), (BIG, None));
    let small = asked_of(json!({"task": "x", "model": "small"})).await;
    assert_eq!(small.model, SMALL);
    assert_ne!(explore.system, general.system);
}

#[tokio::test(start_paused = true)]
async fn what_explores_may_not_write() {
    for (kind, notes) in [
        ("explore", &["a begins", "a may not write", "a ends"][..]),
        ("general", &["a begins", "a ends"]),
    ] {
        let toys = Toys::new();
        let puppet = Puppet::new([
            calls("p1", "spawnAgent", json!({"task": "x", "kind": kind})),
            calls("s1", "bash", json!({"id": "a"})),
            says("found"),
            says("well"),
        ]);
        let mut stage = stage(&puppet, &toys);
        stage.tools.add(toys.command("bash"));
        stage.auto_approve = true;
        let house = House::staged(stage);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        assert_eq!(ear.completed().await, "well");
        assert_eq!(toys.notes(), notes, "{kind}");
    }
}

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews a change\n\
    tools: Read, look, ask\nmodel: small\n---\nYou review changes.\n";

#[tokio::test(start_paused = true)]
async fn a_kind_of_the_workspace_is_used_once_a_person_trusts_it() {
    let review = || {
        calls(
            "p1",
            "spawnAgent",
            json!({"task": "review", "kind": "reviewer"}),
        )
    };
    let puppet = Puppet::new([
        review(),
        says("refused"),
        review(),
        says("fine"),
        says("well"),
    ]);
    puppet.then(providers::RequestPurpose::Title, [says("a title")]);
    let house = House::staged(with_small(&puppet));
    let agents = house.directory().join(".cowork/agents");
    std::fs::create_dir_all(&agents).expect("a directory");
    std::fs::write(agents.join("reviewer.md"), REVIEWER).expect("written");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let no = vocabulary::Answer::Approval(vocabulary::ApprovalAnswer::Deny);
    let answer = Call::AnswerAsk {
        thread,
        ask,
        answer: no,
    };
    house.call(answer).await.expect("an answer");
    assert_eq!(ear.completed().await, "refused");
    let requests = puppet.requests_for(providers::RequestPurpose::Answer);
    let told = last_result(&requests[1]).text().into_owned();
    assert!(told.contains("the user does not trust it"), "{told}");

    house.say(thread, "go on").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    approve(&house, thread, ask).await;
    assert_eq!(ear.completed().await, "well");
    let asked = &puppet.requests_for(providers::RequestPurpose::Answer)[3];
    assert_eq!(asked.model, SMALL);
    assert!(asked.system.contains("You review changes."));
    assert_eq!(tools_of(asked), ["look", "read"]);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_is_told_what_the_project_says() {
    let puppet = Puppet::new([
        calls("p1", "spawnAgent", json!({"task": "x"})),
        says("found"),
        says("well"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    std::fs::write(house.directory().join("AGENTS.md"), "Use tabs.").expect("written");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "well");
    let asked = puppet.requests()[1].whole();
    let told = format!("{:?}", asked[0]);
    for words in ["Use tabs.", "Model: puppet/big", "Workspace: "] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("User: "), "nobody answers it: {told}");
    assert_eq!(asked[1], providers::Message::user("x"));
}
