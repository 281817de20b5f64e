//! Asks where those who listen cannot answer: they end in words, and nobody waits for ever.

use std::time::Duration;

use engine::{ListenFrom, ListenOptions};
use providers::Message;
use serde_json::json;
use vocabulary::{
    Answer, AskFact, Attendance, Audience, Call, Caller, Changes, Closing, Fact, Reply, Status,
    ThreadId,
};

use crate::house::{Ear, House, wish};
use crate::puppet::{Puppet, calls, says};

/// Listens where nobody answers, as a client without permission requests does.
async fn silent(house: &House, thread: ThreadId) -> Ear {
    let wish = ListenOptions {
        attendance: Attendance {
            answers: false,
            lets_sleep: true,
            ..Audience(5).into()
        },
        ..wish(ListenFrom::Head)
    };
    let listening = house.engine.listen(&Caller::local(), thread, wish).await;
    let (_, listener) = listening.expect("a listener");
    let mut ear = Ear::new(listener);
    ear.patience = house.patience();
    ear
}

async fn opened(ear: &mut Ear) -> vocabulary::AskId {
    let is_opened = |fact: &Fact| {
        matches!(
            fact,
            Fact::Ask {
                what: AskFact::Opened { .. },
                ..
            }
        )
    };
    match ear.fact(is_opened).await {
        Fact::Ask {
            what: AskFact::Opened { ask },
            ..
        } => ask.id,
        other => panic!("no ask: {other:?}"),
    }
}

fn asked(ear: &Ear) -> bool {
    let facts = ear.facts();
    facts.iter().any(|fact| matches!(fact, Fact::Ask { .. }))
}

/// What the model read of its first call.
fn result(puppet: &Puppet) -> String {
    let requests = puppet.requests();
    let last = requests.last().expect("a request");
    let results = last
        .messages
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::ToolResults(results) => Some(results[0].text().to_string()),
            _ => None,
        });
    results.expect("a result")
}

fn offers_ask(puppet: &Puppet) -> bool {
    let requests = puppet.requests();
    let first = requests.first().expect("a request");
    first.tools.iter().any(|tool| tool.name == "ask")
}

fn question() -> serde_json::Value {
    json!({ "question": "Which?" })
}

#[tokio::test(start_paused = true)]
async fn who_cannot_answer_is_asked_nothing() {
    let puppet = Puppet::new([
        calls("c1", "bash", json!({ "command": "touch x" })),
        calls("c2", "ask", question()),
        says("done without"),
    ]);
    let house = House::with(&puppet);
    let thread = house.thread().await;
    let mut ear = silent(&house, thread).await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done without");
    assert!(!asked(&ear));
    assert!(!offers_ask(&puppet), "there is nobody to ask");
    let requests = puppet.requests();
    let Some(Message::ToolResults(results)) = requests[1].messages.last() else {
        panic!("no result")
    };
    let words = results[0].text();
    assert!(words.contains("no client is connected"), "{words}");
    let words = result(&puppet);
    assert!(words.contains("there is no tool named \"ask\""), "{words}");
}

#[tokio::test(start_paused = true)]
async fn who_can_answer_is_asked_though_others_cannot() {
    let puppet = Puppet::new([calls("c1", "ask", question()), says("fine")]);
    let house = House::with(&puppet);
    let (thread, mut person) = house.heard_thread().await;
    let mut ear = silent(&house, thread).await;
    house.say(thread, "go").await.expect("a turn");
    let ask = opened(&mut person).await;
    assert!(offers_ask(&puppet));
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let answer = Answer::Questions([("q1".to_owned(), vec!["this".to_owned()])].into());
    let answered = house.call(Call::AnswerAsk {
        thread,
        ask,
        answer,
    });
    answered.await.expect("still open");
    assert_eq!(ear.completed().await, "fine");
    assert_eq!(result(&puppet), "this");
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_in_time_finds_the_ask_open_and_else_it_ends_in_words() {
    for (away, is_open) in [(200, true), (301, false)] {
        let puppet = Puppet::new([calls("c1", "ask", question()), says("fine")]);
        let house = House::with(&puppet);
        let (thread, mut person) = house.heard_thread().await;
        let mut ear = silent(&house, thread).await;
        house.say(thread, "go").await.expect("a turn");
        opened(&mut person).await;
        drop(person);
        tokio::time::sleep(Duration::from_secs(away)).await;
        let (view, _person) = house.listen(thread, ListenFrom::Head).await;
        assert_eq!(!view.asks.is_empty(), is_open, "after {away} s");
        if is_open {
            // They are there: it waits for as long as they like.
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            let (view, _) = house.listen(thread, ListenFrom::Head).await;
            assert_eq!(view.asks.len(), 1);
            continue;
        }
        assert_eq!(ear.completed().await, "fine");
        let words = result(&puppet);
        assert!(words.contains("no client is connected"), "{words}");
        let lost = ear.facts().into_iter().any(|fact| {
            matches!(
                fact,
                Fact::Ask {
                    what: AskFact::Closed {
                        closing: Closing::Lost { .. },
                        ..
                    },
                    ..
                }
            )
        });
        assert!(lost, "it is told that it ended");
    }
}

/// A person's client that only lost its connection, with nobody else there, keeps its ask for ever; so it
/// does when a client that cannot answer has looked in meanwhile.
#[tokio::test(start_paused = true)]
async fn an_ask_of_a_person_outlives_their_connection() {
    let puppet = Puppet::new([calls("c1", "ask", question()), says("fine")]);
    let house = House::with(&puppet);
    let (thread, mut person) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    opened(&mut person).await;
    drop(person);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    drop(silent(&house, thread).await);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let (view, _person) = house.listen(thread, ListenFrom::Head).await;
    assert_eq!(view.asks.len(), 1);
}

/// The turn of a client that cannot answer and has left asks nobody, either.
#[tokio::test(start_paused = true)]
async fn a_turn_started_where_nobody_answers_does_not_wait_when_all_have_left() {
    let puppet = Puppet::new([
        calls("c1", "bash", json!({ "command": "touch x" })),
        says("done without"),
    ]);
    let house = House::with(&puppet);
    let thread = house.thread().await;
    let ear = silent(&house, thread).await;
    house.say(thread, "go").await.expect("a turn");
    drop(ear);
    // Nobody listens: it runs on, unloads at its end, and reading wakes nobody who would wait.
    let rested = async {
        loop {
            let found = house.call(Call::GetThread { thread }).await;
            match found {
                Ok(Reply::Thread(thread)) if thread.status == Status::Inactive => return thread,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let rested = tokio::time::timeout(Duration::from_secs(60), rested).await;
    assert!(rested.is_ok(), "it is over, and asleep");
    let words = result(&puppet);
    assert!(words.contains("no client is connected"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn the_last_one_out_lets_the_thread_sleep() {
    let puppet = Puppet::new([says("hello")]);
    let house = House::with(&puppet);
    let thread = house.thread().await;
    let mut first = silent(&house, thread).await;
    let second = silent(&house, thread).await;
    house.say(thread, "go").await.expect("a turn");
    first.rest().await;
    drop(second);
    house.change(thread, Changes::default()).await;
    assert_ne!(status(&house, thread).await, Status::Inactive);
    drop(first);
    // Without it the thread would stay for its usual time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(status(&house, thread).await, Status::Inactive);
}

async fn status(house: &House, thread: ThreadId) -> Status {
    match house.call(Call::GetThread { thread }).await {
        Ok(Reply::Thread(thread)) => thread.status,
        other => panic!("no thread: {other:?}"),
    }
}
