//! What drives a turn is the thread's choice, and so are the tools it has.

use std::sync::Arc;

use async_trait::async_trait;
use engine::{Abilities, Agent, ListenFrom, Turn, TurnEnd, TurnStart};
use serde_json::{Value, json};
use tools::{ToolSource, Toolbox};
use vocabulary::{
    AgentMode, Call, Changes, Effects, Fact, Growth, Item, ItemFact, NewThread, Opening, Reply,
    ThreadCard, ThreadId, TurnErrorKind, TurnFact, Why,
};

use crate::house::{House, Stage};
use crate::puppet::{Play, Puppet, calls, says};
use crate::toys::Toys;

/// Says what it was told, and uses no model.
struct Parrot;

#[async_trait]
impl Agent for Parrot {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn run(&self, turn: Arc<Turn>, _start: TurnStart) -> TurnEnd {
        if turn.input == "wait" {
            turn.cancel.cancelled().await;
            return TurnEnd::Cancelled;
        }
        let text = turn.input.clone();
        let (item, growth, delta) = (turn.new_item(), Growth::Text, text.clone());
        let body = Item::AgentMessage {
            text,
            partial: false,
            native: None,
        };
        let opening = Opening::Text;
        for what in [
            ItemFact::Started { opening },
            ItemFact::Grew { growth, delta },
            ItemFact::Finished { body, began: None },
        ] {
            let (tag, item) = (turn.tag(1), item.clone());
            let fact = Fact::Item {
                tag,
                item,
                content: 0,
                what,
            };
            if turn.tell(fact).await.is_err() {
                return TurnEnd::Cancelled;
            }
        }
        TurnEnd::Completed
    }
}

fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.agents.add("parrot", Arc::new(Parrot));
    stage
}

fn chosen(name: &str) -> Changes {
    Changes {
        agent: Some(name.to_owned()),
        ..Changes::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_chooses_what_drives_its_turns() {
    let puppet = Puppet::new([says("the model")]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.change(thread, chosen("parrot")).await;
    house.say(thread, "polly").await.expect("a turn");
    assert_eq!(ear.completed().await, "polly");
    let log = house.log(thread).await;
    let models: Vec<_> = log.iter().filter_map(named_model).collect();
    assert_eq!(models, [None, None], "no model was used, so none is named");
    house.change(thread, chosen("")).await;
    house.say(thread, "you?").await.expect("a turn");
    assert_eq!(ear.completed().await, "the model");
    house.kept(thread).await;
}

/// The model that the beginning or the end of a turn names.
fn named_model(fact: &Fact) -> Option<Option<String>> {
    match fact {
        Fact::Turn(TurnFact::Started { model, .. } | TurnFact::Finished { model, .. }) => {
            Some(model.as_ref().map(|model| model.model.clone()))
        }
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_cannot_do_is_refused_and_a_running_one_is_not_exchanged() {
    let puppet = Puppet::new([]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.change(thread, chosen("parrot")).await;
    house.say(thread, "wait").await.expect("a turn");
    let steered = house.steer(thread, "hurry").await.expect_err("a refusal");
    assert_eq!(steered.why, Why::Busy);
    let changes = chosen("");
    let change = Call::ChangeThread { thread, changes };
    let changed = house.call(change).await.expect_err("a refusal");
    assert_eq!(changed.why, Why::Busy);
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    ear.ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_not_there_is_refused_and_one_that_went_fails_its_turns() {
    let puppet = Puppet::new([]);
    let house = House::staged(stage(&puppet));
    let (thread, _ear) = house.heard_thread().await;
    let changes = chosen("owl");
    let change = Call::ChangeThread {
        thread,
        changes: changes.clone(),
    };
    let words = "there is no agent \"owl\"; there are: coding-agent, echo, parrot";
    let refused = house.call(change).await.expect_err("a refusal");
    assert_eq!(refused.message, words);
    let new = NewThread {
        changes,
        ..NewThread::default()
    };
    let refused = house.call(Call::CreateThread(Box::new(new))).await;
    assert_eq!(refused.expect_err("a refusal").message, words);

    house.change(thread, chosen("parrot")).await;
    let house = house.crash_into(Stage::of(&puppet));
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "polly").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Internal);
    assert_eq!(
        error.message,
        "there is no agent \"parrot\"; there are: coding-agent, echo; choose another agent"
    );
}

/// Has a tool for threads that a client named so.
struct Guests(Arc<Toolbox>);

impl ToolSource for Guests {
    fn toolbox(self: Arc<Self>, thread: &ThreadCard) -> Arc<Toolbox> {
        match thread.client_id.as_deref() {
            Some("guest") => Arc::clone(&self.0),
            Some(_) | None => Arc::default(),
        }
    }
}

async fn tools_of(house: &House, thread: ThreadId) -> Vec<String> {
    match house.call(Call::ListTools { thread }).await {
        Ok(Reply::Tools(tools)) => tools.into_iter().map(|(name, _)| name).collect(),
        other => panic!("no tools: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_has_the_tools_of_all_sources_and_the_first_of_a_name() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        calls("c1", "brought", json!({"id": "a"})),
        says("done"),
        calls("c2", "brought", json!({"id": "b"})),
        says("oh"),
    ]);
    let mut stage = Stage::of(&puppet);
    let mut brought = Toolbox::default();
    brought.add(toys.tool("brought", Effects::READS));
    brought.add(toys.tool("read", Effects::READS));
    stage.sources.push(Arc::new(Guests(Arc::new(brought))));
    let house = House::staged(stage);
    let new = NewThread {
        client_id: Some("guest".to_owned()),
        ..NewThread::default()
    };
    let made = house.call(Call::CreateThread(Box::new(new))).await;
    let Ok(Reply::Thread(guest)) = made else {
        panic!("no thread: {made:?}")
    };
    let (guest, other) = (guest.card.id, house.thread().await);
    let built_in = tools_of(&house, other).await;
    let mut with_brought = built_in.clone();
    with_brought.push("brought".to_owned());
    with_brought.sort();
    assert_eq!(tools_of(&house, guest).await, with_brought);
    let (_, mut ear) = house.listen(guest, ListenFrom::Head).await;
    house.say(guest, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let (_, mut ear) = house.listen(other, ListenFrom::Head).await;
    house.say(other, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "oh");
    assert_eq!(toys.notes(), ["a begins", "a ends"]);
    let read = |request: usize| {
        let tools = Arc::clone(&puppet.requests()[request].tools);
        let read = tools.iter().find(|tool| tool.name == "read").cloned();
        read.expect("read").description
    };
    assert_eq!(read(0), read(2), "the built-in one, for both");
}

#[tokio::test(start_paused = true)]
async fn who_plans_is_offered_nothing_that_changes_anything() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        Play::new()
            .call("c1", "act", json!({"id": "a"}))
            .call("c2", "look", json!({"id": "b"}))
            .end(1, 1),
        says("a plan"),
    ]);
    let house = House::staged(crate::answers::stage_with(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    let mode = Some(AgentMode::Plan);
    let changes = Changes {
        mode,
        ..Changes::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "a plan");
    assert_eq!(toys.notes(), ["b begins", "b may not write", "b ends"]);
    let request = puppet.requests()[0].clone();
    let names: Vec<&str> = request.tools.iter().map(|tool| &tool.name[..]).collect();
    assert_eq!(
        names,
        [
            "ask",
            "glob",
            "grep",
            "look",
            "memory",
            "read",
            "skill",
            "spawnAgent",
            "todoWrite",
            "webFetch"
        ]
    );
    assert!(request.system.contains("You are planning"));
    house.kept(thread).await;
}

/// llama.cpp refuses a request for one long `maxLength` in one of its tools.
#[tokio::test(start_paused = true)]
async fn tools_are_offered_without_limits_that_servers_make_grammars_of() {
    let puppet = Puppet::new([
        calls("c1", "spawnAgent", json!({"task": "look"})),
        says("found"),
        says("done"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    for request in puppet.requests() {
        let names: Vec<&str> = request.tools.iter().map(|tool| &tool.name[..]).collect();
        assert!(
            names.contains(&"bash") && names.contains(&"write"),
            "{names:?}"
        );
        for tool in request.tools.iter() {
            assert_eq!(
                limits(&tool.parameters),
                Vec::<String>::new(),
                "{}",
                tool.name
            );
        }
    }
}

/// The limits in a schema: a property that is only named so has a schema of its own.
fn limits(schema: &Value) -> Vec<String> {
    const LIMITS: [&str; 5] = ["maxLength", "minLength", "maxItems", "minItems", "pattern"];
    match schema {
        Value::Object(fields) => {
            let own = fields
                .iter()
                .filter(|(name, value)| LIMITS.contains(&name.as_str()) && !value.is_object());
            let own = own.map(|(name, _)| name.clone());
            own.chain(fields.values().flat_map(limits)).collect()
        }
        Value::Array(list) => list.iter().flat_map(limits).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn the_echo_says_what_it_was_told_without_a_model() {
    let puppet = Puppet::new([]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.change(thread, chosen("echo")).await;
    let text = "a first line\nand a second one, which is longer";
    house.say(thread, text).await.expect("a turn");
    assert_eq!(ear.completed().await, text);
    let pieces = ear.facts().into_iter().filter_map(|fact| match fact {
        Fact::Item {
            what: ItemFact::Grew { delta, .. },
            ..
        } => Some(delta.as_str()),
        _ => None,
    });
    let pieces: Vec<&str> = pieces.collect();
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(pieces.concat(), text);
    assert!(puppet.requests().is_empty(), "not even for a title");
    assert_eq!(house.kept(thread).await.state.usage, Default::default());
    // The conversation goes on with the built-in agent, by its own name.
    house.change(thread, chosen("coding-agent")).await;
    puppet.then(providers::RequestPurpose::Answer, [says("I see")]);
    house.say(thread, "and now?").await.expect("a turn");
    assert_eq!(ear.completed().await, "I see");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_nobody_knows_is_refused_and_all_are_named() {
    let house = House::staged(stage(&Puppet::new([])));
    let new = NewThread {
        changes: chosen("nosuchagent"),
        keep: true,
        ..NewThread::default()
    };
    let refused = house.call(Call::CreateThread(Box::new(new))).await;
    let refusal = refused.expect_err("an agent that is not there");
    assert_eq!(refusal.why, Why::invalid("agent"));
    assert_eq!(
        refusal.message,
        "there is no agent \"nosuchagent\"; there are: coding-agent, echo, parrot"
    );
}
