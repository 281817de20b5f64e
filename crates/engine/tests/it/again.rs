//! The same thing wanted twice, or by several at once: it happens once, and everyone is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::ListenFrom;
use futures_util::future::join_all;
use vocabulary::{
    Answer, AskFact, Call, Fact, Idempotency, NewThread, Refusal, Reply, Seq, StartTurn,
    StartedTurn, SteerTurn, ThreadId, Timestamp, TurnFact, TurnOutcome, Why,
};

use crate::house::{House, Stage, said, steered};
use crate::puppet::{Gate, Play, Puppet, says};
use crate::turns::{answer, opened_ask};

/// Makes calls while the disk takes nothing, and lets it go on once all of them were looked at.
async fn before_the_disk(house: &House, calls: Vec<Call>) -> Vec<Result<Reply, Refusal>> {
    house.store.hold_appends(true);
    let answers = join_all(calls.into_iter().map(|call| house.call(call)));
    let release = async {
        // The session runs in the same thread, so it gets its turn here.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        house.store.hold_appends(false);
    };
    tokio::join!(answers, release).0
}

/// A turn that has begun to speak and goes on when the gate opens.
async fn speaking(gate: &Gate) -> (House, ThreadId, crate::house::Ear) {
    let begun = Play::new().begin("one").hold(gate).end(1, 1);
    let puppet = Puppet::new([begun, says("two"), says("three")]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("one").await;
    (house, thread, ear)
}

fn named_steer(thread: ThreadId, text: &str) -> SteerTurn {
    SteerTurn {
        client_message_id: Some("s1".to_owned()),
        ..steered(thread, text)
    }
}

#[tokio::test]
async fn the_same_steer_twice_is_taken_once_even_before_it_is_on_disk() {
    let gate = Gate::new();
    let (house, thread, mut ear) = speaking(&gate).await;
    let steer = Call::SteerTurn(named_steer(thread, "and this"));
    let other = Call::SteerTurn(named_steer(thread, "something else"));
    let answers = before_the_disk(&house, vec![steer.clone(), steer, other]).await;
    let [Ok(first), Ok(second), Err(other)] = answers.as_slice() else {
        panic!("not answered alike: {answers:?}")
    };
    assert_eq!(first, second);
    assert_eq!(other.why, Why::Conflict);
    gate.open();
    let (outcome, _) = ear.ended().await;
    assert_eq!(outcome, TurnOutcome::Completed);
    let facts = house.log(thread).await;
    let steers = facts.iter().filter_map(|fact| match fact {
        Fact::Turn(TurnFact::Steered { input, .. }) => Some(input.text.as_str()),
        _ => None,
    });
    assert_eq!(steers.collect::<Vec<_>>(), ["and this"]);
    house.kept(thread).await;
}

#[tokio::test]
async fn the_same_message_twice_is_answered_alike_even_before_it_is_on_disk() {
    let house = House::new("turn\n say once");
    let (thread, mut ear) = house.heard_thread().await;
    let start = |text: &str| {
        let mut start = said(thread, text);
        start.client_message_id = Some("m1".to_owned());
        Call::StartTurn(start)
    };
    let calls = vec![start("go"), start("go"), start("stay")];
    let answers = before_the_disk(&house, calls).await;
    let [
        Ok(Reply::Turn(StartedTurn {
            turn,
            again: false,
            joined: None,
        })),
        Ok(Reply::Turn(StartedTurn {
            turn: same,
            again: true,
            joined: None,
        })),
        Err(other),
    ] = answers.as_slice()
    else {
        panic!("not answered alike: {answers:?}")
    };
    assert_eq!(turn, same);
    assert_eq!(other.why, Why::Conflict);
    assert_eq!(ear.completed().await, "once");
    assert_eq!(house.turns(thread).await, 1);
}

#[tokio::test]
async fn no_client_gives_a_turn_the_id_that_another_has() {
    let house = House::new("turn\n say first\nturn\n say second");
    let (thread, mut ear) = house.heard_thread().await;
    let Ok(Reply::Turn(StartedTurn { turn, .. })) = house.say(thread, "go").await else {
        panic!("no turn")
    };
    ear.completed().await;
    // Not even with the same words: the server's turn was not this client's.
    for text in ["go", "more"] {
        let mut start = said(thread, text);
        start.client_turn_id = Some(turn.to_string());
        let refusal = house.call(Call::StartTurn(start)).await;
        assert_eq!(refusal.expect_err("taken").why, Why::Conflict);
    }
    assert_eq!(house.turns(thread).await, 1);
}

fn given(answers: &[(&str, &str)]) -> Answer {
    let answers = answers
        .iter()
        .map(|(id, text)| ((*id).to_owned(), vec![(*text).to_owned()]));
    Answer::Questions(answers.collect::<BTreeMap<_, _>>())
}

const THREE: &str = "turn\n call ask {\"questions\":[{\"question\":\"A?\"},{\"question\":\"B?\"},\
                     {\"question\":\"C?\"}]}\nnext\n say {result}";

#[tokio::test]
async fn the_first_answer_to_a_question_stands() {
    let house = House::new(THREE);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    let at_once = ["FIRST", "second", "third"].map(|text| given(&[("q1", text)]));
    let at_once = at_once.map(|given| answer(&house, thread, ask, given));
    let answers = join_all(at_once).await;
    let [Ok(_), Err(second), Err(third)] = answers.as_slice() else {
        panic!("answered more than once: {answers:?}")
    };
    assert_eq!([&second.why, &third.why], [&Why::AlreadyAnswered; 2]);
    // Who answers all of them answers those that are left.
    let rest = given(&[("q1", "late"), ("q2", "two"), ("q3", "three")]);
    answer(&house, thread, ask, rest).await.expect("the rest");
    let text = ear.completed().await;
    for kept in [r#""A?":"FIRST""#, r#""B?":"two""#, r#""C?":"three""#] {
        assert!(text.contains(kept), "{text}");
    }
    let told = ear.facts().into_iter();
    let told = told.filter(|fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Progressed { .. },
                ..
            }
        )
    });
    assert_eq!(told.count(), 1, "the next question is told once");
}

#[tokio::test]
async fn an_answer_out_of_order_makes_nobody_be_asked_again() {
    let house = House::new(THREE);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let ask = opened_ask(&mut ear).await;
    for (id, text) in [("q2", "two"), ("q1", "one"), ("q3", "three")] {
        let given = given(&[(id, text)]);
        answer(&house, thread, ask, given).await.expect("taken");
    }
    ear.completed().await;
    let next = ear.facts().into_iter().filter_map(|fact| match fact {
        Fact::Ask {
            what: AskFact::Progressed { next, position, .. },
            ..
        } => Some((next.as_ref().map(|next| next.id.as_str()), *position)),
        _ => None,
    });
    assert_eq!(next.collect::<Vec<_>>(), [(None, 0), (Some("q3"), 2)]);
}

#[tokio::test]
async fn one_new_id_asked_for_by_many_names_one_thread() {
    let house = House::new("");
    let new = NewThread {
        client_id: Some("mine".to_owned()),
        keep: true,
        ..NewThread::default()
    };
    let create = || Call::CreateThread(Box::new(new.clone()));
    let answers = before_the_disk(&house, (0..5).map(|_| create()).collect()).await;
    let mut threads = Vec::new();
    for answer in answers {
        let Ok(Reply::Thread(thread)) = answer else {
            panic!("not everyone got it: {answer:?}")
        };
        threads.push(thread.card.id);
    }
    threads.dedup();
    assert_eq!(threads.len(), 1);
    house.listen(threads[0], engine::ListenFrom::Head).await;
}

/// A clock whose time a test moves.
#[derive(Debug, Default)]
struct Moved(std::sync::atomic::AtomicI64);

impl engine::Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(std::sync::atomic::Ordering::Relaxed))
    }

    fn new_id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

/// As a client sends a message that came to the thread when it stood there.
fn sent(thread: ThreadId, text: &str, id: &str, joined_at: Seq) -> StartTurn {
    StartTurn {
        client_message_id: Some(id.to_owned()),
        idempotency: Idempotency::Reconnect { joined_at },
        ..said(thread, text)
    }
}

/// Whether it was taken for one that was said before. If not, it is heard out.
async fn is_again(house: &House, start: StartTurn) -> bool {
    let (_, mut ear) = house.listen(start.thread, ListenFrom::Head).await;
    let answer = house.call(Call::StartTurn(start)).await;
    let Ok(Reply::Turn(StartedTurn { again, .. })) = answer else {
        panic!("no turn: {answer:?}")
    };
    if !again {
        ear.rest().await;
    }
    again
}

#[tokio::test(start_paused = true)]
async fn where_ids_come_again_only_a_newer_client_repeats_the_newest_message_soon() {
    let minutes = |count: i64| count * 60_000;
    let clock = Arc::new(Moved::default());
    let mut stage = Stage::of(&Puppet::new((0..9).map(|_| says("done"))));
    stage.clock = Arc::clone(&clock) as Arc<dyn engine::Clock>;
    let house = House::staged(stage);
    let thread = house.thread().await;
    let newest = Seq(u64::MAX);

    assert!(!is_again(&house, sent(thread, "a", "1", Seq::ZERO)).await);
    assert!(
        !is_again(&house, sent(thread, "a", "1", Seq::ZERO)).await,
        "the same client"
    );
    clock
        .0
        .store(minutes(10), std::sync::atomic::Ordering::Relaxed);
    assert!(
        is_again(&house, sent(thread, "a", "1", newest)).await,
        "a newer one"
    );
    assert!(
        !is_again(&house, sent(thread, "b", "1", newest)).await,
        "other words"
    );
    assert!(
        !is_again(&house, sent(thread, "a", "1", newest)).await,
        "one was between"
    );
    assert!(!is_again(&house, said(thread, "nameless")).await);
    assert!(
        !is_again(&house, sent(thread, "a", "1", newest)).await,
        "one was between"
    );
    clock
        .0
        .store(minutes(21), std::sync::atomic::Ordering::Relaxed);
    assert!(
        !is_again(&house, sent(thread, "a", "1", newest)).await,
        "late"
    );

    // Another process knows it, too; after a reset nobody does.
    let house = house.crash();
    assert!(is_again(&house, sent(thread, "a", "1", newest)).await);
    house
        .call(Call::ResetThread { thread })
        .await
        .expect("a reset");
    assert!(!is_again(&house, sent(thread, "a", "1", newest)).await);
    house.kept(thread).await;
}
