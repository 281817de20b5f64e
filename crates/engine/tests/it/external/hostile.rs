//! Agents that are cancelled, hang, die and flood.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use vocabulary::{
    Call, Fact, Status, StatusReason, ThreadFact, ToolFact, ToolOutcome, ToolOutput, TurnErrorKind,
    TurnOutcome,
};

use super::stub::{SESSION, StubAgent, methods, params, permission};
use super::{chosen, house, words};
use crate::grants::asked;

fn waits(mut stub: StubAgent, prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        stub.text("working").await;
        let first = stub
            .request("session/request_permission", permission("c1", "make"))
            .await;
        // Its permission is answered with cancelled, and so is one that it asks for afterwards.
        let outcome = stub.answer_to(first).await;
        assert_eq!(outcome["result"]["outcome"]["outcome"], "cancelled");
        let late = stub.ask_to_run("c2", "make install").await;
        assert_eq!(late, json!({"outcome": "cancelled"}));
        stub.answer(&prompt["id"], json!({"stopReason": "cancelled"}))
            .await;
        let _ = stub.hear().await;
    })
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_the_agent_and_whatever_it_asks() {
    let (house, heard) = house(waits);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    asked(&mut ear).await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("cancelled");
    assert_eq!(
        ear.ended().await,
        (TurnOutcome::Cancelled, "working".to_owned())
    );
    assert_eq!(
        params(&heard, "session/cancel"),
        [json!({"sessionId": SESSION})]
    );
    let words = words(&ear);
    assert!(words.contains(&"not run".to_owned()), "{words:?}");
    let asks = words.iter().filter(|word| *word == "asks").count();
    assert_eq!(asks, 1, "nobody is asked after a cancel");
    house.kept(thread).await;
}

fn hangs(mut stub: StubAgent, _prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        stub.text("thinking").await;
        while stub.hear().await.is_some() {}
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_stop_is_let_go() {
    let (house, heard) = house(hangs);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("thinking").await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("cancelled");
    assert_eq!(
        ear.ended().await,
        (TurnOutcome::Cancelled, "thinking".to_owned())
    );
    house.say(thread, "again").await.expect("a turn");
    ear.word("thinking").await;
    let started = methods(&heard)
        .iter()
        .filter(|method| *method == "initialize")
        .count();
    assert_eq!(started, 2);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_says_nothing_more_has_failed() {
    let (house, _) = house(hangs);
    let (thread, mut ear) = chosen(&house).await;
    ear.patience = std::time::Duration::from_secs(20 * 60);
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::Provider);
    assert_eq!(error.message, "stub: it said nothing for 10 minutes");
    assert!(words(&ear).contains(&"says \"thinking\" true".to_owned()));
}

fn dies(mut stub: StubAgent, _prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        stub.text("so far").await;
        stub.update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "make",
                           "kind": "execute", "status": "in_progress"}),
        )
        .await;
    })
}

#[tokio::test(start_paused = true)]
async fn the_death_of_an_agent_ends_its_turn_in_words() {
    let (house, _) = house(dies);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    let error = ear.failed().await;
    assert_eq!(error.kind, TurnErrorKind::AgentLost);
    assert_eq!(error.message, "stub: it closed its output");
    let told = ear.fact(|fact| matches!(fact, Fact::Thread(_))).await;
    let (status, reason) = (Status::Error, StatusReason::AgentLost);
    let expected = ThreadFact::StatusChanged { status, reason };
    assert_eq!(told, Fact::Thread(expected));
    let words = words(&ear);
    assert!(words.contains(&"interrupted".to_owned()), "{words:?}");
    let log = house.log(thread).await;
    let kept = log.iter().any(|fact| {
        matches!(fact, Fact::Tool(tool) if matches!(
            &tool.what,
            ToolFact::Finished { outcome: ToolOutcome::Interrupted(ToolOutput::Command { .. }), .. }
        ))
    });
    assert!(kept);
    house.kept(thread).await;
}

fn floods(mut stub: StubAgent, _prompt: Value) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let piece = "x".repeat(1 << 20);
        for _ in 0..20 {
            stub.text(&piece).await;
        }
        while stub.hear().await.is_some() {}
    })
}

#[tokio::test(start_paused = true)]
async fn a_message_without_end_ends_the_turn() {
    let (house, _) = house(floods);
    let (thread, mut ear) = chosen(&house).await;
    house.say(thread, "go").await.expect("a turn");
    let message = ear.failed().await.message;
    assert_eq!(message, "stub: its message is past 16777216 bytes");
}
