//! Credits: what a tenant may spend, reserved before each step and charged with what it cost.

mod many;

use std::sync::Arc;

use providers::catalog::Model;
use providers::{ModelUsage, Part, RequestPurpose, StopCause};
use serde_json::json;
use store::testing::faulty::Fault;
use store::{Credit, CreditChange, Store, StoreError};
use vocabulary::{
    Effects, Fact, Refusal, StepFact, TenantId, TurnErrorKind, TurnFact, TurnOutcome, Why,
};

use crate::house::{House, Stage};
use crate::puppet::{self, Gate, Play, Puppet, big, calls, says};
use crate::sub_agents_at_once::all_quiet;
use crate::toys::Toys;

/// More than a step of the puppet is thought to cost, and less than two.
const ONE_STEP: i64 = 120_000;

fn tenant() -> TenantId {
    TenantId::new("local")
}

fn stage(puppet: &Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(Toys::new().tool("look", Effects::READS));
    stage
}

async fn grant(house: &House, micro_dollars: i64) {
    let change = CreditChange::Set(micro_dollars);
    let changed = house.store.change_credit(&tenant(), change).await;
    changed.expect("a balance");
}

async fn credit(house: &House) -> Credit {
    let credit = house.store.credit(&tenant()).await;
    credit.expect("reads").expect("a balance")
}

/// Ends as the play says, and the service says what it cost.
fn costs(play: Play, stop: StopCause, micro_dollars: u64) -> Play {
    let usage = ModelUsage {
        input_tokens: 10,
        output_tokens: 2,
        cost_micro_dollars: Some(micro_dollars),
        ..ModelUsage::default()
    };
    play.then([Part::Finish { stop, usage }])
}

fn looks(micro_dollars: u64) -> Play {
    let play = Play::new().say("Looking.").call("c1", "look", json!({}));
    costs(play, StopCause::ToolUse, micro_dollars)
}

fn answers(micro_dollars: u64) -> Play {
    costs(Play::new().say("done"), StopCause::Stop, micro_dollars)
}

/// What the log of a thread says was spent.
fn spent(log: &[Fact]) -> u64 {
    let usages = log.iter().filter_map(|fact| match fact {
        Fact::Step {
            what: StepFact::Finished { usage, .. },
            ..
        }
        | Fact::Turn(TurnFact::UsageAdded { usage, .. }) => usage.cost_micro_dollars,
        // tidy: wildcard, because only these say what was spent.
        _ => None,
    });
    usages.sum()
}

fn refused(outcome: Result<vocabulary::Reply, Refusal>) -> String {
    let refusal = outcome.expect_err("a refusal");
    assert_eq!(refusal.why, Why::InsufficientCredits);
    refusal.message
}

#[tokio::test(start_paused = true)]
async fn who_has_no_balance_has_no_limit() {
    let puppet = Puppet::new([looks(900_000_000), answers(900_000_000)]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "Looking.\n\ndone");
    assert_eq!(house.store.credit(&tenant()).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_the_balance_does_not_cover_is_not_started() {
    let puppet = Puppet::new([answers(40)]);
    let house = House::staged(stage(&puppet));
    grant(&house, 10_000).await;
    let (thread, mut ear) = house.heard_thread().await;
    let why = refused(house.say(thread, "go").await);
    assert!(why.contains("not enough credit"), "{why}");
    assert_eq!(puppet.requests().len(), 0);
    assert_eq!(house.log(thread).await, [], "nothing happened");
    let before = Credit {
        balance: 10_000,
        reserved: 0,
        spent: 0,
    };
    assert_eq!(credit(&house).await, before);

    grant(&house, ONE_STEP).await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let after = Credit {
        balance: ONE_STEP - 40,
        reserved: 0,
        spent: 40,
    };
    assert_eq!(credit(&house).await, after);
    assert_eq!(spent(&house.log(thread).await), 40);
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_where_its_next_step_is_not_covered_and_keeps_what_it_said() {
    let puppet = Puppet::new([looks(60_000), answers(1), answers(1)]);
    let house = House::staged(stage(&puppet));
    grant(&house, ONE_STEP).await;
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (outcome, text) = ear.ended().await;
    let TurnOutcome::Failed(error) = outcome else {
        panic!("it ended well: {outcome:?}")
    };
    assert_eq!(error.kind, TurnErrorKind::InsufficientCredits);
    assert_eq!(text, "Looking.");
    assert_eq!(puppet.requests().len(), 1);
    let left = ONE_STEP - 60_000;
    assert_eq!(
        (credit(&house).await.balance, credit(&house).await.reserved),
        (left, 0)
    );
    refused(house.say(thread, "more").await);
    grant(&house, left + ONE_STEP).await;
    house.say(thread, "more").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_costs_more_than_was_thought_overdraws_and_nothing_follows() {
    let puppet = Puppet::new([looks(500_000), answers(1)]);
    let house = House::staged(stage(&puppet));
    grant(&house, ONE_STEP).await;
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::InsufficientCredits);
    assert_eq!(credit(&house).await.balance, ONE_STEP - 500_000);
    assert_eq!(puppet.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_without_a_price_is_not_asked_at_a_balance() {
    let puppet = Puppet::new([answers(1)]);
    let mut stage = stage(&puppet);
    stage.catalog = puppet::catalog(Model {
        price: None,
        ..big()
    });
    let house = House::staged(stage);
    grant(&house, 1_000_000_000).await;
    let thread = house.thread().await;
    let why = refused(house.say(thread, "go").await);
    assert!(why.contains("price of puppet/big is not known"), "{why}");
    assert_eq!(puppet.requests().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn running_turns_keep_others_from_what_they_have_reserved() {
    let gate = Gate::new();
    let puppet = Puppet::new([]);
    let first = costs(Play::new().hold(&gate).say("done"), StopCause::Stop, 10);
    puppet.about("first", [first]);
    puppet.about("second", [answers(10)]);
    let house = House::staged(stage(&puppet));
    grant(&house, ONE_STEP).await;
    let (one, mut ear) = house.heard_thread().await;
    let (other, mut second) = house.heard_thread().await;
    house.say(one, "first").await.expect("a turn");
    puppet.was_asked(1).await;
    assert!(credit(&house).await.reserved > 80_000);
    refused(house.say(other, "second").await);
    gate.open();
    ear.completed().await;
    house.say(other, "second").await.expect("a turn");
    second.completed().await;
    assert_eq!(credit(&house).await.spent, 20);
}

/// Sub-agents, summaries and titles are paid by the tenant, too.
#[tokio::test(start_paused = true)]
async fn everything_that_asks_a_model_is_charged() {
    let puppet = Puppet::new([
        calls("c1", "spawnAgent", json!({"task": "look"})),
        answers(7_000),
        says("all"),
    ]);
    puppet.then(RequestPurpose::Summary, [answers(500)]);
    puppet.then(RequestPurpose::Title, [answers(11)]);
    let mut stage = stage(&puppet);
    stage.catalog = puppet::with_small_model(puppet::catalog(Model {
        context: Some(20_000),
        ..big()
    }));
    let house = House::staged(stage);
    grant(&house, 10 * ONE_STEP).await;
    let (thread, mut ear) = house.heard_thread().await;
    let long = "long ".repeat(14_000);
    house.say(thread, &long).await.expect("a turn");
    ear.completed().await;
    all_quiet().await;
    let log = house.log(thread).await;
    assert_eq!(spent(&log), 7_000 + 500 + 11 + 2 * 30, "{log:?}");
    let credit = credit(&house).await;
    assert_eq!((credit.spent, credit.reserved), (spent(&log), 0));
    assert_eq!(credit.balance, 10 * ONE_STEP - 7_571);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_is_not_covered_tells_its_turn() {
    let spawns = Play::new().call("c1", "spawnAgent", json!({"task": "look"}));
    let puppet = Puppet::new([costs(spawns, StopCause::ToolUse, 10), answers(7_000)]);
    let house = House::staged(stage(&puppet));
    // Enough for the turn, which keeps its own next step reserved, and not for another beside it.
    grant(&house, ONE_STEP).await;
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let requests = puppet.requests();
    assert_eq!(requests.len(), 2, "the turn itself went on");
    let read = format!("{:?}", requests[1].messages);
    assert!(read.contains("not enough credit"), "{read}");
}

#[tokio::test(start_paused = true)]
async fn what_another_process_sets_counts_at_once() {
    let puppet = Puppet::new([answers(1), answers(1)]);
    let house = House::staged(stage(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
    let elsewhere = house.world.open();
    let payer = tenant();
    let set = |change| elsewhere.change_credit(&payer, change);
    set(CreditChange::Set(5)).await.expect("set");
    all_quiet().await;
    refused(house.say(thread, "more").await);
    set(CreditChange::Remove).await.expect("removed");
    all_quiet().await;
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_the_middle_of_a_turn_leaves_the_log_and_the_balance_equal() {
    let puppet = Puppet::new([looks(30_000), Play::new().begin("half").hang()]);
    let house = House::staged(stage(&puppet));
    grant(&house, 10 * ONE_STEP).await;
    let (thread, _ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    puppet.was_asked(2).await;
    assert!(credit(&house).await.reserved > 0);
    let house = house.crash();
    assert_eq!(credit(&house).await.reserved, 0, "of a dead process");
    house.engine.recover().await.expect("recovers");
    let log = house.log(thread).await;
    assert!(matches!(
        log.iter().rfind(|fact| matches!(fact, Fact::Turn(TurnFact::Finished { .. }))),
        Some(Fact::Turn(TurnFact::Finished { outcome: TurnOutcome::Failed(error), .. }))
            if error.kind == TurnErrorKind::ServerRestart
    ));
    let after = credit(&house).await;
    assert_eq!((after.spent, spent(&log)), (30_000, 30_000));
    assert_eq!(after.reserved, 0);
}

/// Whichever append fails, before it was written or after, and whoever dies then.
#[tokio::test(start_paused = true)]
async fn a_failing_store_neither_loses_nor_doubles_a_charge() {
    let lost = || StoreError::Failed("the word got lost".to_owned());
    let mut charged = std::collections::BTreeSet::new();
    for nth in 1..=8 {
        for fault in [Fault::Refused(lost()), Fault::Unacknowledged(lost())] {
            let puppet = Puppet::new([looks(30_000), answers(500), answers(7)]);
            let house = House::staged(stage(&puppet));
            grant(&house, 10 * ONE_STEP).await;
            house.store.fail_append(nth, fault.clone());
            let thread = house.thread().await;
            let _ = house.say(thread, "go").await;
            all_quiet().await;
            let house = house.crash();
            house.engine.recover().await.expect("recovers");
            let log = match house.store.thread(thread).await.expect("reads") {
                Some(_) => house.log(thread).await,
                None => Vec::new(),
            };
            let after = credit(&house).await;
            assert_eq!(after.spent, spent(&log), "append {nth}, {fault:?}");
            assert_eq!(after.balance, 10 * ONE_STEP - after.spent.cast_signed());
            assert_eq!(after.reserved, 0, "append {nth}, {fault:?}");
            charged.insert(after.spent);
        }
    }
    assert!(
        charged.len() > 2,
        "the faults fell where it matters: {charged:?}"
    );
}

/// A turn that failed to start, or whose session was discarded, reserves nothing for long.
#[tokio::test(start_paused = true)]
async fn what_a_lost_session_had_reserved_is_free() {
    let puppet = Puppet::new([answers(7)]);
    let house = House::staged(stage(&puppet));
    grant(&house, ONE_STEP).await;
    let (thread, ear) = house.heard_thread().await;
    house.store.fail_append(1, Fault::Refused(StoreError::Full));
    let refused = house.say(thread, "go").await.expect_err("a full disk");
    assert_eq!(refused.why, Why::Storage);
    all_quiet().await;
    assert_eq!(credit(&house).await.reserved, 0);
    drop(ear);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
}
