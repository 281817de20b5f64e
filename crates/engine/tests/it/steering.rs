//! Saying more to a running turn.

use engine::ListenFrom;
use providers::Message;
use serde_json::json;
use vocabulary::{
    Call, Fact, Image, ItemFact, Reply, SteerTurn, ToolFact, TurnErrorKind, TurnFact, TurnId,
    TurnOutcome, Why,
};
use vocabulary::{Effects, StartedTurn, SteeredTurn};

use crate::answers::{answer, result, text, tool_call};
use crate::house::{House, Stage, steered};
use crate::puppet::{Gate, Play, Puppet, calls, says};
use crate::toys::Toys;

fn stage(puppet: &std::sync::Arc<Puppet>, toys: &Toys) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.tools.add(toys.tool("look", Effects::READS));
    stage.tools.add(toys.asking_tool("beg", Effects::RUNS));
    stage
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_a_step_is_under_way_is_heard_after_its_results() {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new()
            .begin("one moment")
            .hold(&gate)
            .call("c1", "look", json!({"id": "a"}))
            .end(10, 2),
        says("heard"),
        says("next"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("one moment").await;
    let Ok(Reply::Steered(SteeredTurn { item, .. })) = house.steer(thread, "and this").await else {
        panic!("not steered")
    };
    let told = ear
        .fact(|fact| matches!(fact, Fact::Turn(TurnFact::Steered { .. })))
        .await;
    assert!(
        matches!(&told, Fact::Turn(TurnFact::Steered { input, .. }) if input.item == item && input.text == "and this")
    );
    gate.open();
    ear.completed().await;
    let mut talk = vec![
        Message::user("go"),
        Message::Assistant(vec![
            text("one moment"),
            tool_call("c1", "look", json!({"id": "a"})),
        ]),
        Message::ToolResults(vec![result("c1", "look", "a did it")]),
        Message::user("and this"),
    ];
    assert_eq!(puppet.requests()[1].messages, talk);
    house.kept(thread).await;

    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("heard"), Message::user("more")]);
    assert_eq!(
        puppet.requests()[2].messages,
        talk,
        "read back from the log"
    );
}

/// Whether it is the news that something said has its place, or an item of the model's that is over.
fn placing(fact: &Fact) -> bool {
    match fact {
        Fact::Turn(TurnFact::SteerPlaced { .. } | TurnFact::Finished { .. }) => true,
        Fact::Tool(event) => matches!(event.what, ToolFact::Finished { .. }),
        Fact::Item { what, .. } => matches!(what, ItemFact::Started { .. }),
        Fact::Turn(_)
        | Fact::Step { .. }
        | Fact::Thread(_)
        | Fact::Ask { .. }
        | Fact::Files(_)
        | Fact::Note(_) => false,
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_has_its_place_before_the_step_that_reads_it() {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new()
            .begin("one moment")
            .hold(&gate)
            .call("c1", "look", json!({"id": "a"}))
            .end(10, 2),
        says("heard"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("one moment").await;
    house.steer(thread, "and this").await.expect("heard");
    let (view, _) = house.listen(thread, ListenFrom::Head).await;
    let running = view.turn.expect("a running turn");
    assert_eq!(running.unplaced.len(), 1, "who joins now is not shown it");
    gate.open();
    let mut told = Vec::new();
    loop {
        match ear.fact(placing).await {
            Fact::Turn(TurnFact::SteerPlaced { input, .. }) => {
                assert_eq!(input.text, "and this");
                told.push("placed");
            }
            Fact::Turn(_) => break,
            Fact::Tool(_) => told.push("called"),
            _ => told.push("written"),
        }
    }
    assert_eq!(told, ["written", "called", "placed", "written"]);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_read_has_its_place_at_the_end() {
    let puppet = Puppet::new([Play::new().begin("one moment").hold(&Gate::new()).end(1, 1)]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("one moment").await;
    house.steer(thread, "and this").await.expect("heard");
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("cancelled");
    let is_end = |fact: &Fact| {
        matches!(
            fact,
            Fact::Turn(TurnFact::SteerPlaced { .. } | TurnFact::Finished { .. })
        )
    };
    let placed = ear.fact(is_end).await;
    assert!(matches!(placed, Fact::Turn(TurnFact::SteerPlaced { .. })));
    let ended = ear.fact(is_end).await;
    let Fact::Turn(TurnFact::Finished { started_at, .. }) = ended else {
        panic!("{ended:?}")
    };
    assert!(started_at.is_some(), "a turn's end says when it began");
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_said_during_the_last_step_makes_the_turn_go_on() {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new().begin("done").hold(&gate).end(10, 2),
        says("that too"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("done").await;
    house.steer(thread, "and this").await.expect("heard");
    gate.open();
    assert_eq!(ear.completed().await, "done\n\nthat too");
    let talk = [
        Message::user("go"),
        answer("done"),
        Message::user("and this"),
    ];
    assert_eq!(puppet.requests()[1].messages, talk);
    assert_eq!(house.turns(thread).await, 1);
}

/// Says something `moment` steps of the scheduler after the model has done. It is refused, or the
/// model reads it in this very turn; gives whether.
async fn is_heard_at(moment: usize) -> bool {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new().begin("done").hold(&gate).end(10, 2),
        says("that too"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("done").await;
    gate.open();
    for _ in 0..moment {
        tokio::task::yield_now().await;
    }
    let said = house.steer(thread, "and this").await;
    ear.completed().await;
    let read = puppet
        .requests()
        .last()
        .expect("a request")
        .messages
        .iter()
        .filter(|message| **message == Message::user("and this"))
        .count();
    house.kept(thread).await;
    match said {
        Ok(_) => assert_eq!(read, 1, "at moment {moment}"),
        Err(refusal) => assert_eq!((refusal.why, read), (Why::NoRunningTurn, 0)),
    }
    read == 1
}

#[tokio::test(start_paused = true)]
async fn what_is_said_as_a_turn_ends_is_refused_or_heard() {
    let mut heard = Vec::new();
    for moment in 0..60 {
        heard.push(is_heard_at(moment).await);
    }
    assert!(heard.contains(&true) && heard.contains(&false), "{heard:?}");
}

/// The same where the turn, its session and the caller really run at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_said_as_a_turn_ends_is_refused_or_heard_in_parallel() {
    for moment in 0..120 {
        is_heard_at(moment % 40).await;
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_running_turn_can_be_told_more() {
    let gate = Gate::new();
    let puppet = Puppet::new([Play::new().begin("on it").hold(&gate).hang()]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let early = house.steer(thread, "hello?").await.expect_err("no turn");
    assert_eq!(early.why, Why::NoRunningTurn);
    let Ok(Reply::Turn(StartedTurn { turn, .. })) = house.say(thread, "go").await else {
        panic!("no turn")
    };
    ear.word("on it").await;
    let to = |turn: TurnId| {
        Call::SteerTurn(SteerTurn {
            turn: Some(turn),
            ..steered(thread, "this")
        })
    };
    let other = house.call(to(TurnId::new("other"))).await;
    assert_eq!(other.expect_err("another turn").why, Why::NoRunningTurn);
    house.call(to(turn.clone())).await.expect("the right one");
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    let late = house.call(to(turn)).await.expect_err("cancelled");
    assert_eq!(late.why, Why::NoRunningTurn);
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn what_a_turn_has_no_step_left_for_is_heard_by_its_last_words() {
    let gate = Gate::new();
    let puppet = Puppet::new([
        Play::new().begin("done").hold(&gate).end(10, 2),
        says("that is open"),
        says("next"),
    ]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    let changes = vocabulary::Changes {
        max_steps: Some(1),
        ..Default::default()
    };
    house.change(thread, changes).await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("done").await;
    house.steer(thread, "and this").await.expect("taken in");
    gate.open();
    assert_eq!(ear.failed().await.kind, TurnErrorKind::StepLimit);
    let mut talk = puppet.requests()[1].messages.clone();
    assert_eq!(talk[..2], [Message::user("go"), answer("done")]);
    assert!(matches!(&talk[2], Message::User(note) if note.text.contains("limit of 1 steps")));
    assert_eq!(
        talk[3..],
        [Message::user("and this")],
        "heard by the last words"
    );
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    talk.extend([answer("that is open"), Message::user("more")]);
    assert_eq!(puppet.requests()[2].messages, talk);
}

#[tokio::test(start_paused = true)]
async fn what_can_be_said_to_a_turn_has_limits() {
    let puppet = Puppet::new([Play::new().begin("on it").hang()]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("on it").await;
    let with = |change: &dyn Fn(&mut SteerTurn)| {
        let mut steer = steered(thread, "x");
        change(&mut steer);
        Call::SteerTurn(steer)
    };
    let bad = [
        with(&|steer| steer.text = "x".repeat((1 << 20) + 1)),
        with(&|steer| steer.client_message_id = Some("x".repeat(201))),
        with(&|steer| steer.images = vec![Image::Url("x".to_owned()); 21]),
    ];
    for call in bad {
        let refusal = house.call(call).await.expect_err("too much");
        assert!(matches!(refusal.why, Why::Invalid { .. }), "{refusal:?}");
    }
    for _ in 0..64 {
        house.steer(thread, "x").await.expect("room");
    }
    let refusal = house.steer(thread, "x").await.expect_err("no room");
    assert_eq!(refusal.why, Why::Busy);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_said_to_a_waiting_turn_comes_after_its_results_even_after_a_crash() {
    let toys = Toys::new();
    let puppet = Puppet::new([
        Play::new()
            .call("c1", "look", json!({"id": "a"}))
            .call("c2", "beg", json!({"id": "b"}))
            .end(10, 2),
        says("done"),
    ]);
    let house = House::staged(stage(&puppet, &toys));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let ask = crate::turns::opened_ask(&mut ear).await;
    house.steer(thread, "and this").await.expect("heard");

    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.steer(thread, "and that").await.expect("heard");
    crate::turns::approve(&house, thread, ask).await;
    assert_eq!(ear.completed().await, "done");
    let results = vec![
        result("c1", "look", "a did it"),
        result("c2", "beg", "b did it"),
    ];
    assert_eq!(
        puppet.requests()[1].messages[2..],
        [
            Message::ToolResults(results),
            Message::user("and this"),
            Message::user("and that")
        ]
    );
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_said_to_a_turn_that_died_is_read_by_the_next_one() {
    let puppet = Puppet::new([
        calls("c1", "look", json!({"id": "a"})),
        Play::new().begin("half").hang(),
        says("next"),
    ]);
    let house = House::staged(stage(&puppet, &Toys::new()));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("half").await;
    house.steer(thread, "and this").await.expect("heard");
    let house = house.crash();
    let (_, mut ear) = house
        .listen(thread, ListenFrom::After(vocabulary::Seq::ZERO))
        .await;
    assert_eq!(ear.failed().await.kind, TurnErrorKind::ServerRestart);
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let last = puppet.requests()[2].messages.clone();
    let said: Vec<_> = last
        .iter()
        .filter(|message| matches!(message, Message::User(_)))
        .cloned()
        .collect();
    let all = ["go", "and this", "more"].map(Message::user);
    assert_eq!(said, all);
}
