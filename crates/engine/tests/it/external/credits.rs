//! What external agents cost their tenant.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use store::{CreditChange, Store};
use vocabulary::{Fact, NoteFact, TenantId, Why};

use super::stub::StubAgent;
use super::{chosen, house};
use crate::house::House;

async fn grant(house: &House, micro_dollars: i64) {
    let change = CreditChange::Set(micro_dollars);
    let tenant = TenantId::new("local");
    let set = house.store.change_credit(&tenant, change).await;
    set.expect("a balance");
}

async fn spent(house: &House) -> u64 {
    let credit = house.store.credit(&TenantId::new("local")).await;
    credit.expect("reads").expect("a balance").spent
}

/// Tells what its session has cost in all, after each of two turns.
fn tells_its_cost(mut stub: StubAgent, mut prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        for amount in [0.02, 0.05] {
            let cost = json!({"amount": amount, "currency": "USD"});
            let update =
                json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": cost});
            stub.update(update).await;
            stub.text("Done.").await;
            stub.answer(&prompt["id"], json!({"stopReason": "end_turn"}))
                .await;
            loop {
                let Some(message) = stub.hear().await else {
                    return;
                };
                if message["method"] == "session/prompt" {
                    prompt = message;
                    break;
                }
                stub.answer(&message["id"], json!({})).await;
            }
        }
    })
}

fn tells_nothing(mut stub: StubAgent, prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        stub.text("Done.").await;
        stub.answer(&prompt["id"], json!({"stopReason": "end_turn"}))
            .await;
        let _ = stub.hear().await;
    })
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_that_it_cost_is_charged_turn_by_turn() {
    let (house, _) = house(tells_its_cost);
    grant(&house, 50_000).await;
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    assert_eq!(spent(&house).await, 20_000);
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    assert_eq!(spent(&house).await, 50_000);
    let refused = house.say(thread, "go").await.expect_err("nothing is left");
    assert_eq!(refused.why, Why::InsufficientCredits);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_say_what_it_cost_is_told_as_not_counted() {
    let (house, _) = house(tells_nothing);
    grant(&house, 50_000).await;
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    assert_eq!(spent(&house).await, 0);
    let notes = ear.facts().into_iter().filter_map(|fact| match fact {
        Fact::Note(NoteFact::Logged { line }) => Some(line.as_str()),
        // tidy: wildcard, because only log lines are looked for.
        _ => None,
    });
    let notes: Vec<&str> = notes.collect();
    let line = "[stub] it did not say what this turn cost: nothing was counted";
    assert!(notes.contains(&line), "{notes:?}");
}
