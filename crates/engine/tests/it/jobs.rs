//! Commands that live longer than the call that started them.

use std::path::Path;
use std::time::Duration;

use engine::ListenFrom;
use providers::{Message, ModelRequest, ResultBlock};
use serde_json::json;
use vocabulary::{Call, Fact, NoteFact, TurnOutcome};

use crate::house::{Ear, House, Stage};
use crate::puppet::{Puppet, calls, says};

/// The one text of the newest results.
fn result(request: &ModelRequest) -> String {
    let results = request
        .messages
        .iter()
        .rev()
        .find_map(|message| match &**message {
            Message::ToolResults(results) => Some(results),
            Message::User(_) | Message::Assistant(_) => None,
        });
    match &results.expect("results")[0].content[..] {
        [ResultBlock::Text(text)] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

/// All that the messages say, in words of a test.
fn said(request: &ModelRequest) -> String {
    format!("{:?}", request.messages)
}

fn unasked(puppet: &std::sync::Arc<Puppet>) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.auto_approve = true;
    stage
}

async fn noted(ear: &mut Ear) -> String {
    let is_note = |fact: &Fact| matches!(fact, Fact::Note(NoteFact::Logged { line }) if line.starts_with("[job]"));
    match ear.fact(is_note).await {
        Fact::Note(NoteFact::Logged { line }) => line,
        other => panic!("no note: {other:?}"),
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

async fn gone(pid: &str) {
    let gone = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), gone).await;
    waited.expect("the process is gone");
}

/// What a command wrote there; it is opened when the command opens it, too.
async fn read(pipe: &Path) -> String {
    let pipe = pipe.to_owned();
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(pipe));
    read.await.expect("a thread").expect("a text")
}

fn pipe(house: &House, name: &str) -> std::path::PathBuf {
    let path = house.directory().join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    path
}

#[tokio::test]
async fn a_command_that_passes_its_timeout_is_moved_waited_for_and_its_exit_code_seen() {
    let slow = json!({"command": "echo begun; read line < go; echo $line; exit 7", "timeout": 1});
    let puppet = Puppet::new([
        calls("c1", "bash", slow),
        calls("c2", "job", json!({"action": "wait", "id": 1})),
        says("it ended with 7"),
        says("again"),
    ]);
    let house = House::in_real_time(unasked(&puppet));
    let go = pipe(&house, "go");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "test it").await.expect("a turn");
    ear.fact(|fact| matches!(fact, Fact::Tool(event) if event.call.name == "job"))
        .await;
    std::fs::write(go, "on\n").expect("a writer");
    assert_eq!(ear.completed().await, "it ended with 7");
    let requests = puppet.requests();
    let moved = result(&requests[1]);
    assert!(moved.starts_with("still running as job 1 · "), "{moved}");
    assert!(moved.contains("\nbegun\n"), "{moved}");
    let waited = result(&requests[2]);
    assert!(waited.starts_with("job 1 · exit 7 · "), "{waited}");
    assert!(waited.ends_with("\non"), "{waited}");

    house.say(thread, "and?").await.expect("a turn");
    ear.completed().await;
    let later = &puppet.requests()[3].messages;
    assert!(
        later.starts_with(&requests[2].messages),
        "the same words from the log"
    );
    assert!(
        !said(&puppet.requests()[3]).contains("in the background]"),
        "it is known"
    );
}

#[tokio::test]
async fn a_job_survives_its_turn_and_a_cancelled_one_and_its_end_is_told_to_people_and_model() {
    let server = json!({"command": "read line < go; exit 3", "background": true});
    let puppet = Puppet::new([
        calls("c1", "bash", server),
        says("started"),
        calls(
            "c2",
            "bash",
            json!({"command": "echo $$ > pid; sleep 1000"}),
        ),
        says("and now?"),
        says("well"),
    ]);
    let house = House::in_real_time(unasked(&puppet));
    let (go, pid) = (pipe(&house, "go"), pipe(&house, "pid"));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "serve").await.expect("a turn");
    ear.completed().await;

    house.say(thread, "wait").await.expect("a turn");
    let pid = read(&pid).await;
    let turn = None;
    house
        .call(Call::CancelTurn { thread, turn })
        .await
        .expect("cancelled");
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    gone(&pid).await;
    let told = said(&puppet.requests()[2]);
    assert!(
        told.contains("[in the background]\\njob 1 · running · "),
        "{told}"
    );

    std::fs::write(go, "on\n").expect("the job still reads");
    let note = noted(&mut ear).await;
    assert!(
        note.starts_with("[job] job 1 ended: exit 3 after "),
        "{note}"
    );
    house.say(thread, "go on").await.expect("a turn");
    ear.completed().await;
    let told = said(&puppet.requests()[3]);
    assert!(
        told.contains("[in the background]\\njob 1 ended: exit 3 after "),
        "{told}"
    );
    house.say(thread, "more").await.expect("a turn");
    ear.completed().await;
    let again = said(&puppet.requests()[4]);
    assert_eq!(
        again.matches("job 1 ended").count(),
        1,
        "told once: {again}"
    );
}

#[tokio::test]
async fn the_model_is_told_of_an_end_before_its_next_step() {
    let puppet = Puppet::new([
        calls(
            "c1",
            "bash",
            json!({"command": "read line < go", "background": true}),
        ),
        calls(
            "c2",
            "bash",
            json!({"command": "echo on > go; read line < ended"}),
        ),
        says("fine"),
    ]);
    let house = House::in_real_time(unasked(&puppet));
    let (_go, ended) = (pipe(&house, "go"), pipe(&house, "ended"));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    noted(&mut ear).await;
    std::fs::write(ended, "\n").expect("a writer");
    ear.completed().await;
    let told = said(&puppet.requests()[2]);
    assert!(told.contains("job 1 ended: exit 0 after "), "{told}");
}

/// What starts a job and tells its process.
const STARTS: &str = "echo $$ > pid; exec sleep 1000000";

#[tokio::test]
async fn a_reset_or_deleted_thread_has_no_jobs() {
    for delete in [false, true] {
        let puppet = Puppet::new([
            calls("c1", "bash", json!({"command": STARTS, "background": true})),
            says("started"),
        ]);
        let house = House::in_real_time(unasked(&puppet));
        let pid = pipe(&house, "pid");
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "serve").await.expect("a turn");
        let pid = read(&pid).await;
        ear.completed().await;
        assert!(is_alive(&pid));
        if delete {
            let delete = Call::DeleteThread { thread };
            house.call(delete).await.expect("deleted");
            assert!(!is_alive(&pid), "gone before the answer");
        } else {
            house
                .call(Call::ResetThread { thread })
                .await
                .expect("reset");
            let note = noted(&mut ear).await;
            assert!(
                note.contains(", ended with the conversation: echo $$"),
                "{note}"
            );
            gone(&pid).await;
        }
    }
}

#[tokio::test]
async fn a_stopping_server_ends_jobs_and_says_so() {
    let puppet = Puppet::new([
        calls("c1", "bash", json!({"command": STARTS, "background": true})),
        says("started"),
    ]);
    let house = House::in_real_time(unasked(&puppet));
    let pid = pipe(&house, "pid");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "serve").await.expect("a turn");
    let pid = read(&pid).await;
    ear.completed().await;
    house.engine.stop(Duration::from_secs(10)).await;
    assert!(
        !is_alive(&pid),
        "nothing is left when the server has stopped"
    );
    let note = noted(&mut ear).await;
    assert!(note.contains(", ended with the server: echo $$"), "{note}");
}

/// In paused time: a thread would fall asleep after five minutes, and its jobs end with it.
#[tokio::test(start_paused = true)]
async fn a_thread_does_not_fall_asleep_while_a_job_runs_and_a_job_ends_after_a_day() {
    let puppet = Puppet::new([
        calls("c1", "bash", json!({"command": STARTS, "background": true})),
        says("started"),
    ]);
    let house = House::staged(unasked(&puppet));
    let place = house.directory().join("pid");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "serve").await.expect("a turn");
    ear.completed().await;
    drop(ear);
    let rested = tokio::time::Instant::now();
    let mut pid = String::new();
    while !pid.ends_with('\n') {
        tokio::task::yield_now().await;
        pid = std::fs::read_to_string(&place).unwrap_or_default();
    }
    while is_alive(&pid) {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let day = Duration::from_secs(24 * 3_600);
    assert!(
        rested.elapsed() >= day - Duration::from_secs(60),
        "{:?}",
        rested.elapsed()
    );
    let (_, _ear) = house.listen(thread, ListenFrom::Head).await;
}
