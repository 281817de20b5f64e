//! Calls in the words of other tools: what is recorded, asked for, run and told of them.

use serde_json::{Value, json};
use vocabulary::{Answer, ApprovalAnswer, Call, Fact, ItemFact, Opening, ToolEvent, ToolFact};

use crate::grants::asked;
use crate::house::{Ear, House, Stage};
use crate::puppet::{Asked, Puppet, calls, says};

/// The calls that were planned, in the words they are kept in.
fn planned(ear: &Ear) -> Vec<(String, Value)> {
    let of = |fact: &&Fact| match fact {
        Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Planned { .. },
            ..
        }) => Some((call.name.clone(), call.input.clone())),
        // tidy: wildcard, because only planned calls are looked for.
        _ => None,
    };
    ear.facts().iter().filter_map(of).collect()
}

/// The names under which inputs of calls began to be shown.
fn opened(ear: &Ear) -> Vec<String> {
    let of = |fact: &&Fact| match fact {
        Fact::Item {
            what:
                ItemFact::Started {
                    opening: Opening::ToolInput { name, .. },
                },
            ..
        } => Some(name.clone()),
        // tidy: wildcard, because only inputs of calls are looked for.
        _ => None,
    };
    ear.facts().iter().filter_map(of).collect()
}

fn last_result(request: &Asked) -> String {
    match request.messages.last() {
        Some(providers::Message::ToolResults(results)) => results[0].text().into_owned(),
        other => panic!("no result: {other:?}"),
    }
}

#[tokio::test]
async fn a_call_is_kept_shown_and_run_in_the_words_of_its_tool() {
    let read = json!({"file_path": "a.txt", "limit": "1", "encoding": "utf-8"});
    let puppet = Puppet::new([calls("c1", "Read", read), says("done"), says("bye")]);
    let house = House::in_real_time(Stage::of(&puppet));
    std::fs::write(house.directory().join("a.txt"), "hello\n").expect("a file");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let kept = json!({"filePath": "a.txt", "limit": 1, "encoding": "utf-8"});
    assert_eq!(planned(&ear), [("read".to_owned(), kept)]);
    assert!(opened(&ear).iter().all(|name| name == "read"));
    let told = last_result(&puppet.requests()[1]);
    assert!(told.starts_with("1\thello"), "{told}");
    assert!(told.ends_with("[ignored: encoding]"), "{told}");

    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let requests = puppet.requests();
    let again = &requests[2].messages;
    assert!(
        again.starts_with(&requests[1].messages),
        "read from the log"
    );
}

#[tokio::test]
async fn a_person_is_asked_for_the_command_that_is_run() {
    let shell = json!({"command": ["rm", "-rf", "a b"], "workdir": "src"});
    let puppet = Puppet::new([calls("c1", "shell", shell), says("well")]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    assert_eq!(approval.command, "cd -- src || exit\nrm -rf 'a b'");
    assert!(approval.dangerous);
    let answer = Answer::Approval(ApprovalAnswer::Deny);
    let ask = ask.id;
    let answered = house.call(Call::AnswerAsk {
        thread,
        ask,
        answer,
    });
    answered.await.expect("an answer");
    assert_eq!(ear.completed().await, "well");
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest_and_with_all() {
    let puppet = Puppet::new([
        calls("c1", "web_serch", json!({})),
        calls("c2", "teleport", json!({})),
        says("well"),
    ]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "well");
    let requests = puppet.requests();
    let near = last_result(&requests[1]);
    let expected = "there is no tool named \"web_serch\"; did you mean webSearch";
    assert!(near.starts_with(expected), "{near}");
    let far = last_result(&requests[2]);
    let expected = "there is no tool named \"teleport\". There are: ask, bash, edit, ";
    assert!(far.starts_with(expected), "{far}");
    assert!(far.ends_with(", write"), "{far}");
}
