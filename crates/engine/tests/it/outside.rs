//! Reading outside of the workspace: asked for, allowed by directory, refused where nobody is asked.

use providers::{Message, ResultBlock};
use serde_json::json;
use vocabulary::{Answer, ApprovalAnswer, Approvals, Call, RiskCode};

use crate::grants::asked;
use crate::house::{House, Stage};
use crate::puppet::{Play, Puppet, calls, says};

/// A directory beside the workspace, with one file in it and one below it.
fn beside() -> tempfile::TempDir {
    let beside = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(beside.path().join("deep")).expect("a directory");
    for name in ["plan.md", "deep/detail.md"] {
        std::fs::write(beside.path().join(name), "needle").expect("written");
    }
    beside
}

fn reading(beside: &tempfile::TempDir, id: &str, name: &str) -> Play {
    let path = beside.path().join(name);
    calls(id, "read", json!({ "filePath": path }))
}

/// What the model was told last.
fn told(puppet: &Puppet) -> String {
    let requests = puppet.requests();
    let message = requests.last().and_then(|request| request.messages.last());
    match message {
        Some(Message::ToolResults(results)) => match &results[0].content[..] {
            [ResultBlock::Text(text)] => text.clone(),
            other => panic!("not one text: {other:?}"),
        },
        other => panic!("no results: {other:?}"),
    }
}

#[tokio::test]
async fn a_file_outside_is_asked_for_once_for_its_directory() {
    let (here, elsewhere) = (beside(), beside());
    let puppet = Puppet::new([
        reading(&here, "c1", "plan.md"),
        reading(&here, "c2", "deep/detail.md"),
        calls(
            "c3",
            "grep",
            json!({ "pattern": "needle", "path": here.path() }),
        ),
        reading(&elsewhere, "c4", "plan.md"),
        says("done"),
    ]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = asked(&mut ear).await;
    let directory = here.path().canonicalize().expect("a directory");
    let file = directory.join("plan.md");
    assert_eq!(approval.command, format!("read {}", file.display()));
    assert_eq!(approval.risk, RiskCode::OutsideAllowedScope);
    assert_eq!(
        approval.reason,
        format!(
            "reads outside the workspace; allowed for longer, it is for all of {}",
            directory.display()
        )
    );
    assert!(!approval.leaves_sandbox);
    let answer = |yes| Answer::Approval(yes);
    let call = Call::AnswerAsk {
        thread,
        ask: ask.id,
        answer: answer(ApprovalAnswer::ForSession),
    };
    house.call(call).await.expect("taken");
    // The next question is for the other directory.
    let (ask, approval) = asked(&mut ear).await;
    let file = elsewhere.path().canonicalize().expect("a directory");
    let command = format!("read {}", file.join("plan.md").display());
    assert_eq!(approval.command, command);
    let requests = puppet.requests();
    assert_eq!(requests.len(), 4, "the others ran without a question");
    assert!(told(&puppet).contains("deep/detail.md:1:needle"));
    let call = Call::AnswerAsk {
        thread,
        ask: ask.id,
        answer: answer(ApprovalAnswer::Deny),
    };
    house.call(call).await.expect("taken");
    ear.completed().await;
    assert_eq!(told(&puppet), "User rejected this action.");
}

#[tokio::test]
async fn where_nobody_is_asked_nothing_outside_is_read() {
    for (auto_approve, approvals) in [(true, Approvals::Auto), (false, Approvals::Never)] {
        let here = beside();
        let puppet = Puppet::new([reading(&here, "c1", "plan.md"), says("done")]);
        let mut stage = Stage::of(&puppet);
        stage.auto_approve = auto_approve;
        stage.approvals = Some(approvals);
        let house = House::in_real_time(stage);
        let (thread, mut ear) = house.heard_thread().await;
        house.say(thread, "go").await.expect("a turn");
        ear.completed().await;
        let told = told(&puppet);
        assert!(
            told.starts_with("not run: ") && told.contains("reads outside the workspace"),
            "{told}"
        );
    }
}
