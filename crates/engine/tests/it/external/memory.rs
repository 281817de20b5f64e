//! What an agent remembers of a thread, and what it is told where it does not; its models and modes.

use engine::ListenFrom;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use vocabulary::{AgentMode, Call, Changes, Fact, NoteFact, Reply, SandboxMode};

use super::stub::{self, SESSION, StubAbilities, StubAgent, methods, params};
use super::{chosen, house, model, stage};
use crate::house::House;

/// Says what it was told, turn after turn.
pub fn parrot(mut stub: StubAgent, prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut prompt = prompt;
        loop {
            let blocks = prompt["params"]["prompt"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let said = blocks.last().and_then(|block| block["text"].as_str());
            stub.text(&format!("{}: {}", blocks.len(), said.unwrap_or_default()))
                .await;
            stub.end(&prompt).await;
            match stub.hear_method("session/prompt").await {
                Some(next) => prompt = next,
                None => return,
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_stays_between_turns_and_is_found_again_after_a_restart() {
    let resumes = StubAbilities {
        resumes: true,
        ..StubAbilities::default()
    };
    let (agent, heard) = stub::agent(resumes, parrot);
    let house = House::staged(stage(&agent));
    let (thread, mut ear) = chosen(&house).await;
    for text in ["one", "two"] {
        house.say(thread, text).await.expect("a turn");
        assert_eq!(ear.completed().await, format!("1: {text}"));
    }
    assert_eq!(
        methods(&heard),
        [
            "initialize",
            "session/new",
            "session/prompt",
            "session/prompt"
        ]
    );
    let house = house.crash_into(stage(&agent));
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "three").await.expect("a turn");
    assert_eq!(ear.completed().await, "1: three");
    assert_eq!(params(&heard, "session/resume")[0]["sessionId"], SESSION);
    assert_eq!(params(&heard, "session/new").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_forgets_is_told_what_was_said() {
    let (agent, heard) = stub::agent(StubAbilities::default(), parrot);
    let house = House::staged(stage(&agent));
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "one").await.expect("a turn");
    assert_eq!(ear.completed().await, "1: one");
    let house = house.crash_into(stage(&agent));
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "two").await.expect("a turn");
    assert_eq!(ear.completed().await, "2: two");
    let told = params(&heard, "session/prompt")[1]["prompt"][0]["text"].clone();
    let told = told.as_str().unwrap_or_default();
    assert!(told.contains("User: one\n\nAssistant: 1: one"), "{told}");
    let noted = ear.facts().iter().any(|fact| {
        matches!(fact, Fact::Note(NoteFact::Logged { line }) if line.starts_with("[stub] it does not remember"))
    });
    assert!(noted);
    // After a reset there is nothing to remember.
    house
        .call(Call::ResetThread { thread })
        .await
        .expect("reset");
    house.say(thread, "three").await.expect("a turn");
    assert_eq!(ear.completed().await, "1: three");
}

#[tokio::test(start_paused = true)]
async fn what_others_said_meanwhile_is_told_to_the_agent_and_its_words_to_them() {
    let resumes = StubAbilities {
        resumes: true,
        ..StubAbilities::default()
    };
    let (agent, heard) = stub::agent(resumes, parrot);
    let house = House::staged(stage(&agent));
    let (thread, mut ear) = chosen(&house).await;
    let own = house.call(Call::GetCatalog).await;
    let Ok(Reply::Catalog(catalog)) = own else {
        panic!("no catalog")
    };
    house.say(thread, "one").await.expect("a turn");
    ear.completed().await;
    let puppet = Changes {
        model: Some(catalog.default.clone()),
        ..Changes::default()
    };
    house.change(thread, puppet).await;
    house.say(thread, "two").await.expect("a turn");
    assert_eq!(ear.completed().await, "the model");
    house.change(thread, model("default")).await;
    house.say(thread, "three").await.expect("a turn");
    assert_eq!(ear.completed().await, "2: three");
    let told = params(&heard, "session/prompt")[1]["prompt"][0]["text"].clone();
    let told = told.as_str().unwrap_or_default();
    assert!(told.contains("User: two\n\nAssistant: the model"), "{told}");
    assert!(!told.contains("User: one"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn models_and_modes_are_those_of_the_agent() {
    let (house, heard) = house(parrot);
    let (thread, mut ear) = chosen(&house).await;
    house.change(thread, model("large")).await;
    house.say(thread, "one").await.expect("a turn");
    ear.completed().await;
    let set = json!({"sessionId": SESSION, "configId": "model", "value": "large"});
    assert_eq!(params(&heard, "session/set_config_option"), [set]);
    let Ok(Reply::Catalog(catalog)) = house.call(Call::GetCatalog).await else {
        panic!("no catalog")
    };
    let entry = catalog.providers.iter().find(|each| each.id == "stub");
    let models: Vec<&str> = entry
        .expect("listed")
        .models
        .iter()
        .map(|each| &each.id[..])
        .collect();
    assert_eq!(models, ["default", "small", "large"]);
    house.change(thread, model("huge")).await;
    house.say(thread, "two").await.expect("a turn");
    assert_eq!(
        ear.failed().await.message,
        "the agent has no model \"huge\": it has `default`, small, large"
    );
    house.change(thread, model("default")).await;
    let mode = |mode| Changes {
        mode: Some(mode),
        ..Changes::default()
    };
    house.change(thread, mode(AgentMode::Plan)).await;
    house.say(thread, "three").await.expect("a turn");
    let message = ear.failed().await.message;
    assert!(message.starts_with("stub runs outside"), "{message}");
    let reads = Changes {
        sandbox: Some(SandboxMode::ReadOnly),
        ..mode(AgentMode::Code)
    };
    house.change(thread, reads).await;
    house.say(thread, "again").await.expect("a turn");
    let message = ear.failed().await.message;
    assert!(message.starts_with("stub runs outside"), "{message}");
    assert_eq!(params(&heard, "session/set_mode"), Vec::<Value>::new());
    let writes = Changes {
        sandbox: Some(SandboxMode::WorkspaceWrite),
        ..Changes::default()
    };
    house.change(thread, writes).await;
    house.change(thread, mode(AgentMode::Chat)).await;
    house.say(thread, "four").await.expect("a turn");
    let message = ear.failed().await.message;
    assert!(
        message.starts_with("stub always has its tools"),
        "{message}"
    );
}
