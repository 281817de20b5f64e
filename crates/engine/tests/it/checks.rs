//! Checks and formatters after edits: when they run, what people see, and what the model is told.

use std::path::Path;
use std::sync::Arc;

use engine::{CheckChoice, CheckSettings, CheckpointSetting, ListenFrom};
use providers::Message;
use serde_json::json;
use tools::checks::in_workspace;
use vocabulary::{
    Call, Fact, FilesFact, NoteFact, Subject, ToolEvent, ToolFact, ToolOutcome, TurnOutcome,
};

use crate::house::{Ear, House, Stage};
use crate::puppet::{Asked, Play, Puppet, calls, says};

/// Fails where a text file has the word, and leaves a sign of each run.
const CHECK: &str = "[[check]]\nfiles = '**/*.txt'\n\
                     run = 'echo run >> runs; ! grep -rHn --include=*.txt WRONG .'\n";

fn stage(puppet: &Arc<Puppet>, rules: &str) -> Stage {
    let mut stage = Stage::of(puppet);
    stage.checks.rules = in_workspace(rules).expect("rules");
    stage
}

fn writes(path: &str, content: &str) -> Play {
    let input = json!({"filePath": path, "content": content});
    calls(path, "write", input)
}

fn edits(path: &str, old: &str, new: &str) -> Play {
    let input = json!({"filePath": path, "oldString": old, "newString": new});
    calls(old, "edit", input)
}

/// What the model was told last, if nobody said it.
fn told(request: &Asked) -> Option<String> {
    match request.messages.last() {
        Some(Message::User(said)) if said.is_note => Some(said.text.clone()),
        Some(Message::User(_) | Message::ToolResults(_) | Message::Assistant(_)) | None => None,
    }
}

fn runs(house: &House) -> usize {
    let runs = std::fs::read_to_string(house.directory().join("runs"));
    runs.unwrap_or_default().lines().count()
}

/// The commands that everyone saw, each with its exit code.
fn seen(ear: &Ear) -> Vec<(String, i32)> {
    let exited = |fact: &&Fact| match fact {
        Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Exited { exit_code },
            ..
        }) => match &call.subject {
            Subject::Command { line, .. } => Some((line.clone(), *exit_code)),
            // tidy: wildcard, because only commands exit.
            _ => None,
        },
        // tidy: wildcard, because only ends of commands are looked for.
        _ => None,
    };
    ear.facts().iter().filter_map(exited).collect()
}

#[tokio::test]
async fn the_model_is_told_what_an_edit_broke_and_when_it_is_mended() {
    let puppet = Puppet::new([
        writes("a.txt", "fine\n"),
        writes("b.txt", "one\nWRONG word\n"),
        calls("look", "read", json!({"filePath": "b.txt"})),
        edits("b.txt", "WRONG", "right"),
        says("done"),
        says("again"),
    ]);
    let house = House::in_real_time(stage(&puppet, CHECK));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let run = "echo run >> runs; ! grep -rHn --include=*.txt WRONG .";
    let requests = puppet.requests();
    assert_eq!(told(&requests[1]), None, "all is well and was well");
    let broken = format!("After your edits:\n`{run}` fails (exit 1):\nb.txt:2: WRONG word");
    assert_eq!(told(&requests[2]), Some(broken));
    assert_eq!(told(&requests[3]), None, "nothing was changed");
    let mended = format!("After your edits:\n`{run}` passes again.");
    assert_eq!(told(&requests[4]), Some(mended));
    assert_eq!(runs(&house), 3, "once for each step that edits");
    let all = [0, 1, 0].map(|exit_code| (run.to_owned(), exit_code));
    assert_eq!(seen(&ear), all, "and everyone saw it");

    let house = house.crash();
    let (_, mut ear) = house.listen(thread, ListenFrom::Head).await;
    house.say(thread, "and?").await.expect("a turn");
    ear.completed().await;
    let (before, later) = (&requests[4].messages, &puppet.requests()[5].messages);
    assert_eq!(later[..before.len()], before[..], "read back as it was");
}

#[tokio::test]
async fn several_edits_of_a_step_are_checked_once() {
    let file = |name: &str| json!({"filePath": name, "content": "fine\n"});
    let both = Play::new()
        .call("1", "write", file("a.txt"))
        .call("2", "write", file("b.txt"))
        .call("3", "write", file("c.md"))
        .end(10, 2);
    let puppet = Puppet::new([both, writes("d.md", "WRONG"), says("done")]);
    let house = House::in_real_time(stage(&puppet, CHECK));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    ear.completed().await;
    assert_eq!(runs(&house), 1, "and not for files of another kind");
}

#[tokio::test]
async fn a_patch_and_what_a_sub_agent_edits_are_checked_too() {
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+WRONG\n*** End Patch";
    let puppet = Puppet::new([
        calls("1", "apply_patch", json!({ "input": patch })),
        calls(
            "2",
            "spawnAgent",
            json!({"task": "mend it", "agentType": "general"}),
        ),
        edits("a.txt", "WRONG", "right"),
        says("mended"),
        says("done"),
    ]);
    let house = House::in_real_time(stage(&puppet, CHECK));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    let requests = puppet.requests();
    let broken = told(&requests[1]).expect("a note");
    assert!(
        broken.ends_with("fails (exit 1):\na.txt:1: WRONG"),
        "{broken}"
    );
    let mended = told(&requests[4]).expect("a note to the agent that started it");
    assert!(mended.ends_with("passes again."), "{mended}");
    assert_eq!(runs(&house), 2);
}

#[tokio::test]
async fn a_formatted_file_can_be_edited_by_the_text_before() {
    let rules = "[[format]]\nfiles = '*.rs'\nrun = \"sed -i 's/^let/    let/' {files}\"\n";
    let puppet = Puppet::new([
        writes("a.rs", "fn a() {\nlet b = 1;\n}\n"),
        edits("a.rs", "let b = 1;\n", "let c = 2;\n"),
        writes("a.rs", "fn all() {}\n"),
        says("done"),
    ]);
    let mut stage = stage(&puppet, rules);
    stage.checkpoints = CheckpointSetting::default();
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    let formatted = |fact: &Fact| match fact {
        Fact::Files(FilesFact::TurnDiffed { diff, .. }) => diff.contains("+    let b = 1;"),
        // tidy: wildcard, because only the turn's diff is looked for.
        _ => false,
    };
    ear.fact(formatted).await;
    assert_eq!(ear.completed().await, "done");
    let requests = puppet.requests();
    assert_eq!(
        told(&requests[1]).as_deref(),
        Some(
            "After your edits:\n`sed -i 's/^let/    let/' {files}` changed a.rs:2\n\
             1\tfn a() {\n2\t    let b = 1;\n3\t}"
        )
    );
    assert_eq!(told(&requests[2]), None, "there was nothing to format");
    let now = std::fs::read_to_string(house.directory().join("a.rs"));
    assert_eq!(now.expect("a file"), "fn all() {}\n");
    let failed = |fact: &&Fact| match fact {
        Fact::Tool(tool) => match &tool.what {
            ToolFact::Finished { outcome, .. } => !matches!(outcome, ToolOutcome::Succeeded(_)),
            // tidy: wildcard, because only ends of calls are looked for.
            _ => false,
        },
        // tidy: wildcard, because only ends of calls are looked for.
        _ => false,
    };
    assert_eq!(ear.facts().iter().find(|fact| failed(fact)), None);
}

fn bring(house: &House, rules: &str) {
    let file = house.directory().join(".cowork/config/config.toml");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, rules).expect("written");
}

/// How often a check that came with the workspace runs for one edit.
async fn runs_of_a_brought_check(change: impl FnOnce(&mut Stage, &Path)) -> usize {
    let puppet = Puppet::new([writes("a.txt", "fine\n"), says("done")]);
    let mut stage = Stage::of(&puppet);
    change(&mut stage, Path::new("/"));
    let house = House::in_real_time(stage);
    bring(&house, CHECK);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    ear.completed().await;
    runs(&house)
}

#[tokio::test]
async fn what_came_with_a_workspace_runs_only_where_it_is_trusted() {
    assert_eq!(runs_of_a_brought_check(|_, _| ()).await, 0);
    let yolo = |stage: &mut Stage, _: &Path| stage.auto_approve = true;
    assert_eq!(runs_of_a_brought_check(yolo).await, 1);
    let configured = |stage: &mut Stage, _: &Path| {
        stage.auto_approve = true;
        stage.checks.choice = CheckChoice::Configured;
    };
    assert_eq!(runs_of_a_brought_check(configured).await, 0);
    // There is no sandbox here, and what is trusted runs in one only.
    let named = |stage: &mut Stage, root: &Path| stage.checks.trusted = vec![root.to_owned()];
    assert_eq!(runs_of_a_brought_check(named).await, 0);
}

#[tokio::test]
async fn nothing_runs_where_checks_are_off() {
    let puppet = Puppet::new([writes("a.txt", "WRONG\n"), says("done")]);
    let mut stage = stage(&puppet, CHECK);
    stage.checks = CheckSettings {
        choice: CheckChoice::Off,
        ..stage.checks
    };
    let house = House::in_real_time(stage);
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    ear.completed().await;
    assert_eq!((runs(&house), seen(&ear).len()), (0, 0));
}

#[tokio::test]
async fn rules_of_a_workspace_that_cannot_be_used_are_told_once() {
    let puppet = Puppet::new([writes("a.txt", "1"), writes("b.txt", "2"), says("done")]);
    let mut stage = Stage::of(&puppet);
    stage.auto_approve = true;
    let house = House::in_real_time(stage);
    bring(&house, "[[check]]\nfiles = '*'\nrun = 'x'\ntimeout = 0\n");
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    ear.completed().await;
    let lines = ear.facts().into_iter().filter_map(|fact| match fact {
        Fact::Note(NoteFact::Logged { line }) => Some(line.as_str()),
        // tidy: wildcard, because only lines are looked for.
        _ => None,
    });
    let lines: Vec<_> = lines.collect();
    assert_eq!(
        lines,
        [
            "[checks] .cowork/config/config.toml, line 4: `check.timeout`: give 1 to 600 seconds; \
             nothing in it is used"
        ]
    );
}

#[tokio::test]
async fn a_cancelled_turn_does_not_wait_for_its_check() {
    let rules = "[[check]]\nfiles = '*'\nrun = 'echo on; sleep 600'\ntimeout = 600\n";
    let puppet = Puppet::new([writes("a.txt", "1")]);
    let house = House::in_real_time(stage(&puppet, rules));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "write").await.expect("a turn");
    ear.word("on").await;
    let cancel = Call::CancelTurn { thread, turn: None };
    house.call(cancel).await.expect("a cancel");
    assert_eq!(ear.ended().await.0, TurnOutcome::Cancelled);
    let interrupted = |fact: &&Fact| {
        matches!(fact, Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Finished { outcome: ToolOutcome::Interrupted(_), .. },
            ..
        }) if call.name == "check")
    };
    assert!(ear.facts().iter().any(interrupted), "{:?}", ear.facts());
}
