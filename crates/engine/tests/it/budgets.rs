//! Budgets: what may be spent, on everything together.

use providers::catalog::Model;
use providers::{ModelUsage, Part, RequestPurpose, StopCause};
use serde_json::json;
use vocabulary::Effects;
use vocabulary::{Budgets, Changes, Fact, StepFact, ThreadId, TurnErrorKind, Usage};

use crate::house::{House, Stage};
use crate::puppet::{self, Play, Puppet, big, calls, says};
use crate::toys::Toys;

fn stage(puppet: &std::sync::Arc<Puppet>, budgets: Budgets) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(Toys::new().tool("look", Effects::READS));
    stage.budgets = budgets;
    stage
}

fn turn_tokens(tokens: u64) -> Budgets {
    Budgets {
        turn_tokens: Some(tokens),
        ..Budgets::default()
    }
}

async fn set(house: &House, thread: ThreadId, budgets: Budgets) {
    let changes = Changes {
        budgets: Some(Box::new(budgets)),
        ..Changes::default()
    };
    house.change(thread, changes).await;
}

/// Says something to a turn that must fail on its budget; gives the reason.
async fn runs_out(stage: Stage) -> (House, String) {
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Budget);
    house.kept(thread).await;
    (house, error.message)
}

#[tokio::test(start_paused = true)]
async fn a_turn_stops_at_its_tokens_and_the_next_one_has_its_own() {
    let puppet = Puppet::new([calls("c1", "look", json!({})), says("fresh")]);
    let house = House::staged(stage(&puppet, turn_tokens(12)));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Budget);
    assert_eq!(
        error.message,
        "the turn's token budget is used up (12 of 12); raise the budget or start a new turn"
    );
    assert_eq!(puppet.requests().len(), 1);
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "fresh");
}

#[tokio::test(start_paused = true)]
async fn a_thread_out_of_tokens_asks_nothing_until_it_gets_more() {
    let puppet = Puppet::new([says("one"), says("two")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let budgets = |tokens| Budgets {
        thread_tokens: Some(tokens),
        ..Budgets::default()
    };
    set(&house, thread, budgets(12)).await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    house.say(thread, "more").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Budget);
    assert!(
        error.message.contains("thread's token budget"),
        "{}",
        error.message
    );
    assert_eq!(puppet.requests().len(), 1, "no request was made");
    set(&house, thread, budgets(13)).await;
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "two");
    let finished = ear.facts().into_iter().rev().find_map(|fact| match fact {
        Fact::Step {
            what: StepFact::Finished { thread_usage, .. },
            ..
        } => Some(*thread_usage),
        // tidy: wildcard, because only the end of a step has it.
        _ => None,
    });
    let all = Usage {
        input_tokens: 20,
        output_tokens: 4,
        cost_micro_dollars: Some(60),
        ..Usage::default()
    };
    assert_eq!(finished, Some(all));
    assert_eq!(house.kept(thread).await.state.usage, all);
}

#[tokio::test(start_paused = true)]
async fn money_is_counted_by_the_price() {
    let puppet = Puppet::new([calls("c1", "look", json!({})), says("never")]);
    // 10 tokens read for a millionth each, 2 written for ten.
    let budgets = Budgets {
        turn_micro_dollars: Some(30),
        ..Budgets::default()
    };
    let (_, why) = runs_out(stage(&puppet, budgets)).await;
    assert!(why.contains("$0.00003 of $0.00003"), "{why}");
    assert_eq!(puppet.requests().len(), 1);
}

/// A router knows which of its services answered; a list of prices does not.
#[tokio::test(start_paused = true)]
async fn what_the_service_says_it_cost_goes_before_its_prices() {
    let usage = ModelUsage {
        input_tokens: 10,
        output_tokens: 2,
        cost_micro_dollars: Some(7_000),
        ..ModelUsage::default()
    };
    let stop = StopCause::ToolUse;
    let told = Play::new()
        .call("c1", "look", json!({}))
        .then([Part::Finish { stop, usage }]);
    let puppet = Puppet::new([told, says("never")]);
    let budgets = Budgets {
        turn_micro_dollars: Some(7_000),
        ..Budgets::default()
    };
    let (_, why) = runs_out(stage(&puppet, budgets)).await;
    assert!(why.contains("$0.007 of $0.007"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn money_cannot_be_kept_to_where_the_price_is_not_known() {
    let puppet = Puppet::new([says("never")]);
    let budgets = Budgets {
        thread_micro_dollars: Some(1_000_000),
        ..Budgets::default()
    };
    let mut stage = stage(&puppet, budgets);
    stage.catalog = puppet::catalog(Model {
        price: None,
        ..big()
    });
    let (_, why) = runs_out(stage).await;
    assert!(why.contains("price of puppet/big is not known"), "{why}");
    assert_eq!(puppet.requests().len(), 0, "not even the first step");
}

#[tokio::test(start_paused = true)]
async fn what_sub_agents_spend_counts() {
    let puppet = Puppet::new([
        calls("c1", "spawnAgent", json!({"task": "look"})),
        Play::new().say("found").end(80, 20),
        says("never"),
    ]);
    let (_, why) = runs_out(stage(&puppet, turn_tokens(112))).await;
    assert!(why.contains("112 of 112"), "{why}");
    assert_eq!(puppet.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_stops_when_its_turn_may_spend_no_more() {
    let puppet = Puppet::new([
        calls("c1", "spawnAgent", json!({"task": "look"})),
        calls("s1", "look", json!({})),
        says("never"),
    ]);
    let (_, why) = runs_out(stage(&puppet, turn_tokens(24))).await;
    assert!(why.contains("24 of 24"), "{why}");
    assert_eq!(puppet.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_a_summary_costs_counts() {
    let puppet = Puppet::new([calls("c1", "look", json!({})), says("never")]);
    puppet.then(
        RequestPurpose::Summary,
        [Play::new().say("short").end(90, 10)],
    );
    let mut stage = stage(&puppet, turn_tokens(112));
    stage.catalog = puppet::catalog(Model {
        context: Some(20_000),
        ..big()
    });
    let house = House::staged(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house
        .say(thread, &"long ".repeat(14_000))
        .await
        .expect("a turn");
    let error = ear.failed().await;
    assert!(error.message.contains("112 of 112"), "{}", error.message);
    assert_eq!(house.kept(thread).await.state.usage.total_tokens(), 112);
}

#[tokio::test(start_paused = true)]
async fn a_threads_own_budget_goes_before_the_servers() {
    let puppet = Puppet::new([calls("c1", "look", json!({})), says("done")]);
    let house = House::staged(stage(&puppet, turn_tokens(1)));
    let (thread, mut ear) = house.heard_thread().await;
    set(&house, thread, turn_tokens(100)).await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
}
