//! Commands: what the model reads of them.

use engine::ListenFrom;
use providers::{Message, ResultBlock};
use serde_json::json;

use crate::house::{House, Stage};
use crate::puppet::{Puppet, calls, says};

/// The one text of the last message.
fn result(messages: &[Message]) -> String {
    let Some(Message::ToolResults(results)) = messages.last() else {
        panic!("no results: {messages:?}")
    };
    match &results[0].content[..] {
        [ResultBlock::Text(text)] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

#[tokio::test]
async fn the_model_reads_the_end_of_a_long_failure_now_and_from_the_log() {
    let script = "for i in $(seq 1 4000); do echo \"test case_$i of the suite ... ok\"; done
        echo 'test last ... FAILED'; exit 101";
    let puppet = Puppet::new([
        calls("c1", "bash", json!({"command": script})),
        says("it failed"),
        says("again"),
    ]);
    let mut stage = Stage::of(&puppet);
    stage.auto_approve = true;
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "test it").await.expect("a turn");
    ear.completed().await;
    let talk = puppet.requests()[1].messages.clone();
    let read = result(&talk);
    assert!(read.starts_with("exit 101 · "), "{read}");
    assert!(read.ends_with("\ntest last ... FAILED"), "{read}");
    assert!(
        read.contains(" of 4,001 lines left out; all in /"),
        "{read}"
    );

    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and?").await.expect("a turn");
    ear.completed().await;
    let later = puppet.requests()[2].messages.clone();
    assert_eq!(later[..talk.len()], talk, "the same words after a restart");
}
