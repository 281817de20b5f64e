//! What a model is told about where it works, and what of it later.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use engine::ListenFrom;
use engine::limits::SLEEP_AFTER;
use serde_json::json;
use vocabulary::{
    AgentMode, Approvals, Call, Changes, Fact, NewThread, NoteFact, Reply, ThreadId, ToolEvent,
    ToolFact,
};

use crate::house::{Ear, House, Stage};
use crate::puppet::{Gate, Play, Puppet, calls, says};

fn git(directory: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(status.expect("git").success(), "{arguments:?}");
}

fn write(house: &House, path: &str, text: &str) {
    let path = house.directory().join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, text).expect("written");
}

async fn turn(house: &House, thread: ThreadId, ear: &mut Ear) {
    house.say(thread, "go").await.expect("a turn");
    ear.completed().await;
}

/// Each request begins with the one before it.
fn only_grows(puppet: &Puppet) {
    for pair in puppet.requests().windows(2) {
        assert!(pair[1].whole().starts_with(&pair[0].whole()));
        assert_eq!(pair[1].system, pair[0].system);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_request_says_where_the_model_works_and_the_system_prompt_does_not() {
    let puppet = Puppet::new([
        calls("c1", "read", json!({"filePath": "Cargo.toml"})),
        says("one"),
        says("two"),
    ]);
    let house = House::with(&puppet);
    write(&house, "AGENTS.md", "Use tabs.");
    write(&house, "Cargo.toml", "[package]");
    write(&house, "home/AGENTS.md", "Answer in German.");
    write(&house, ".cowork/AGENT.md", "Tests need a database.");
    git(house.directory(), &["init", "-q", "-b", "trunk"]);
    git(house.directory(), &["add", "Cargo.toml"]);
    git(house.directory(), &["commit", "-q", "-m", "Begin here"]);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let instructed = |fact: &Fact| matches!(fact, Fact::Note(NoteFact::Instructed { .. }));
    let told = ear.fact(instructed).await;
    let global = house.directory().join("home/AGENTS.md");
    let files = [
        global.to_str().expect("a path"),
        "AGENTS.md",
        ".cowork/AGENT.md",
    ];
    let expected = Fact::Note(NoteFact::Instructed {
        files: files.map(str::to_owned).to_vec(),
        skills: 0,
        trusted: false,
    });
    assert_eq!(told, expected);
    ear.completed().await;
    turn(&house, thread, &mut ear).await;
    let requests = puppet.requests();
    let [block] = &requests[0].context()[..] else {
        panic!("{:?}", requests[0].context())
    };
    let place = house.directory().display().to_string();
    for words in [
        &format!("\nWorkspace: {place}\n"),
        "\nBranch: trunk\n",
        "\nNewest commits: Begin here\n",
        "\nModel: puppet/big\n",
        "\nPerson: the user can answer",
        "\nBuilt with: Cargo.toml: cargo build, cargo test\n",
        "\nCargo.toml\n",
        "\n<permissions>\nNo sandbox holds commands",
        " by=\"the user\">\nAnswer in German.\n",
        "<file path=\"AGENTS.md\" by=\"the project, not trusted\">\nUse tabs.\n",
        "Tests need a database.",
    ] {
        assert!(block.contains(words), "{words}: {block}");
    }
    assert_eq!(
        requests[0].whole()[0],
        providers::Message::note(block.as_str())
    );
    for words in [place.as_str(), "tabs", "database", "trunk"] {
        assert!(!requests[0].system.contains(words), "{words}");
    }
    only_grows(&puppet);
    assert_eq!(requests[2].context().len(), 1, "nothing changed");
}

#[tokio::test(start_paused = true)]
async fn what_changed_is_told_once_across_crashes_and_moves_nothing() {
    let puppet = Puppet::new(["1", "2", "3", "4", "5"].map(says));
    let mut house = House::with(&puppet);
    git(house.directory(), &["init", "-q", "-b", "main"]);
    write(&house, "AGENTS.md", "Use tabs.");
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    git(house.directory(), &["checkout", "-q", "-b", "feature"]);
    write(&house, "AGENTS.md", "Use spaces.");
    let changes = Changes {
        approvals: Some(Approvals::Never),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    drop(ear);
    house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    turn(&house, thread, &mut ear).await;
    let told = puppet.requests()[1].context();
    assert_eq!(told.len(), 2);
    for words in [
        "\nBranch: feature\n",
        "\nPerson: nobody can answer",
        "Use spaces.",
        "Nobody is asked: what would need",
    ] {
        assert!(told[1].contains(words), "{words}: {}", told[1]);
    }
    assert!(!told[1].contains("Model:"), "{}", told[1]);
    // Told once, whoever remembers it.
    turn(&house, thread, &mut ear).await;
    drop(ear);
    house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    turn(&house, thread, &mut ear).await;
    assert_eq!(puppet.requests()[3].context().len(), 2);
    only_grows(&puppet);
    // A new beginning.
    house
        .call(Call::ResetThread { thread })
        .await
        .expect("a reset");
    turn(&house, thread, &mut ear).await;
    let told = puppet.requests()[4].context();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("\nBranch: feature\n"), "{}", told[0]);
    house.kept(thread).await;
}

#[tokio::test(start_paused = true)]
async fn instructions_of_a_directory_come_with_the_first_file_below_it() {
    let read = |id: &str| calls(id, "read", json!({"filePath": "app/src/a.rs"}));
    let puppet = Puppet::new([read("c1"), read("c2"), says("done")]);
    let house = House::with(&puppet);
    write(&house, "app/AGENTS.md", "Only safe code.");
    write(&house, "app/src/a.rs", "fn main() {}");
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    let requests = puppet.requests();
    assert!(!requests[0].context()[0].contains("Only safe code."));
    let told = requests[2].context();
    assert_eq!(told.len(), 2, "once: {told:?}");
    assert!(
        told[1].contains("<file path=\"app/AGENTS.md\""),
        "{}",
        told[1]
    );
    only_grows(&puppet);
}

#[tokio::test(start_paused = true)]
async fn a_chat_is_told_nothing() {
    let puppet = Puppet::new([says("one")]);
    let house = House::with(&puppet);
    write(&house, "AGENTS.md", "Use tabs.");
    let (thread, mut ear) = house.heard_thread().await;
    let changes = Changes {
        mode: Some(AgentMode::Chat),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    turn(&house, thread, &mut ear).await;
    assert!(puppet.requests()[0].context().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_happened_meanwhile_is_told_once() {
    let gate = Gate::new();
    let todo = |status: &str| {
        let todo = json!({"content": "Ship it", "status": status, "activeForm": "Shipping it"});
        json!({ "todos": [todo] })
    };
    let puppet = Puppet::new([
        calls("c1", "read", json!({"filePath": "a.txt"})),
        calls("c2", "todoWrite", todo("pending")),
        Play::new().begin("half").hold(&gate).end(1, 1),
        says("two"),
        says("three"),
    ]);
    let house = House::with(&puppet);
    write(&house, "a.txt", "one");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    ear.word("half").await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("cancelled");
    ear.rest().await;
    write(&house, "a.txt", "other words");
    turn(&house, thread, &mut ear).await;
    let told = puppet.requests()[3].context();
    let expected = "<meanwhile>\nThe user stopped your last turn while you were answering.\n\
        Changed since you last saw them, not by your file tools: a.txt\n\
        Your plan still has open points: Ship it\n</meanwhile>\n</context>";
    assert!(told[1].ends_with(expected), "{}", told[1]);
    turn(&house, thread, &mut ear).await;
    assert_eq!(puppet.requests()[4].context().len(), 2, "once");
    only_grows(&puppet);
}

#[tokio::test]
async fn a_restart_is_told_with_what_ran() {
    let puppet = Puppet::new([
        calls("c1", "bash", json!({"command": "sleep 60"})),
        says("two"),
    ]);
    let mut stage = Stage::of(&puppet);
    stage.auto_approve = true;
    let mut house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let started = |fact: &Fact| {
        matches!(
            fact,
            Fact::Tool(ToolEvent {
                what: ToolFact::Started,
                ..
            })
        )
    };
    ear.fact(started).await;
    drop(ear);
    house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    turn(&house, thread, &mut ear).await;
    let told = puppet.requests()[1].context();
    let words = "The server was restarted in your last turn, while this ran: bash sleep 60.";
    assert!(told[1].contains(words), "{told:?}");
}

fn offered(puppet: &Puppet, request: usize) -> Vec<String> {
    let tools = Arc::clone(&puppet.requests()[request].tools);
    tools.iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn only_tools_that_can_work_are_offered() {
    let puppet = Puppet::new([says("one"), says("two"), says("three")]);
    let house = House::with(&puppet);
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    let names = offered(&puppet, 0);
    for name in ["webSearch", "notebookEdit"] {
        assert!(!names.contains(&name.to_owned()), "{name}: {names:?}");
    }
    for name in ["ask", "skill"] {
        assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
    }
    let changes = Changes {
        approvals: Some(Approvals::Never),
        ..Changes::default()
    };
    house.change(thread, changes).await;
    turn(&house, thread, &mut ear).await;
    let names = offered(&puppet, 1);
    assert!(!names.contains(&"ask".to_owned()), "{names:?}");
    // A thread in a directory with a notebook.
    let other = House::with(&puppet);
    write(&other, "study/a.ipynb", "{}");
    let (thread, mut ear) = other.heard_thread().await;
    turn(&other, thread, &mut ear).await;
    assert!(offered(&puppet, 2).contains(&"notebookEdit".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_slept_may_write_what_it_read() {
    let write_it = calls(
        "c2",
        "write",
        json!({"filePath": "a.txt", "content": "new"}),
    );
    let puppet = Puppet::new([
        calls("c1", "read", json!({"filePath": "a.txt"})),
        says("one"),
        write_it,
        says("two"),
    ]);
    let house = House::with(&puppet);
    write(&house, "a.txt", "old");
    let (thread, mut ear) = house.heard_thread().await;
    turn(&house, thread, &mut ear).await;
    drop(ear);
    tokio::time::sleep(SLEEP_AFTER * 2).await;
    let (view, mut ear) = house.listen(thread, ListenFrom::Head).await;
    assert!(view.woken, "it slept");
    turn(&house, thread, &mut ear).await;
    let text = std::fs::read_to_string(house.directory().join("a.txt"));
    assert_eq!(text.expect("a file"), "new");
}

#[tokio::test(start_paused = true)]
async fn what_a_client_wants_is_told_with_the_instructions() {
    let puppet = Puppet::new([says("one"), says("two")]);
    let house = House::with(&puppet);
    let new = NewThread {
        instructions: Some("Never touch the schema.".into()),
        ..NewThread::default()
    };
    let made = house.call(Call::CreateThread(Box::new(new))).await;
    let Ok(Reply::Thread(made)) = made else {
        panic!("no thread: {made:?}")
    };
    let thread = made.card.id;
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    turn(&house, thread, &mut ear).await;
    turn(&house, thread, &mut ear).await;
    let told = puppet.requests()[1].context();
    assert_eq!(told.len(), 1, "{told:?}");
    let words =
        "<file path=\"(client)\" by=\"the user's client\">\nNever touch the schema.\n</file>";
    assert!(told[0].contains(words), "{}", told[0]);
}
