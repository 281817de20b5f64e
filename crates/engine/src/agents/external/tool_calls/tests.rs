//! Calls as the three known agents tell them.

use serde_json::json;
use vocabulary::FileChangeKind;

use super::*;

fn scope() -> Scope {
    Scope {
        directory: "/home/user".into(),
        extra: Vec::new(),
        private: Vec::new(),
        spill: None,
        skills: Vec::new(),
        trusted: false,
        read_only: false,
        outside: tools::OutsideAccess::default(),
    }
}

fn call(told: Value) -> schema::ToolCall {
    serde_json::from_value(told).expect("a call")
}

fn line(told: Value) -> String {
    match subject(&call(told), &scope()) {
        Subject::Command { line, .. } => line,
        other => panic!("no command: {other:?}"),
    }
}

#[test]
fn a_command_is_what_would_run() {
    let told = json!({"toolCallId": "1", "title": "run it", "kind": "execute",
                      "rawInput": {"command": ["/bin/bash", "-lc", "touch a && ls"], "cwd": "/home/user"}});
    assert_eq!(line(told), "touch a && ls");
    let told = json!({"toolCallId": "1", "title": "`npm test`", "kind": "execute",
                      "rawInput": {"command": "npm test -- --all"}});
    assert_eq!(line(told), "npm test -- --all");
    let told = json!({"toolCallId": "1", "title": "`npm test`", "kind": "execute"});
    assert_eq!(line(told), "npm test");
    let told = json!({"toolCallId": "1", "title": "x", "kind": "execute",
                      "rawInput": {"command": ["git", "log"]}});
    assert_eq!(line(told), "git log");
}

#[test]
fn an_edit_names_its_files_with_how_they_change() {
    let told = call(
        json!({"toolCallId": "1", "title": "Edit a.txt", "kind": "edit", "status": "completed",
               "content": [{"type": "diff", "path": "/home/user/a.txt", "oldText": "one\n", "newText": "two\n"},
                           {"type": "diff", "path": "/home/user/new.txt", "newText": "hello\n"}],
               "locations": [{"path": "/home/user/a.txt"}, {"path": "/home/user/b.txt"}]}),
    );
    let Subject::Files(files) = subject(&told, &scope()) else {
        panic!("no files")
    };
    let named: Vec<_> = files
        .iter()
        .map(|file| {
            (
                &file.path[..],
                file.preview.as_ref().map(|preview| preview.kind),
            )
        })
        .collect();
    assert_eq!(
        named,
        [
            ("a.txt", Some(FileChangeKind::Update)),
            ("new.txt", Some(FileChangeKind::Add)),
            ("b.txt", None)
        ]
    );
    assert_eq!(effects(&told), Effects::WRITES);
    let ToolOutcome::Succeeded(ToolOutput::Files { summary, changes }) = outcome(&told, &scope())
    else {
        panic!("no changes")
    };
    assert_eq!((&summary[..], changes.len()), ("Edit a.txt", 2));
    assert!(
        changes[0].diff.contains("-one\n+two\n"),
        "{}",
        changes[0].diff
    );
}

#[test]
fn what_came_of_a_command_is_told_with_its_exit_code() {
    let told = |status: &str, output: Value| {
        let told = json!({"toolCallId": "1", "title": "x", "kind": "execute", "status": status,
                          "rawOutput": output});
        outcome(&call(told), &scope())
    };
    let command = |outcome: ToolOutcome| match outcome {
        ToolOutcome::Succeeded(ToolOutput::Command {
            stdout, exit_code, ..
        }) => (stdout, exit_code),
        other => panic!("no command: {other:?}"),
    };
    let output = json!({"stdout": "hi\n", "stderr": "", "exit_code": 3});
    assert_eq!(command(told("failed", output)), ("hi\n".to_owned(), 3));
    assert_eq!(command(told("completed", json!(null))), (String::new(), 0));
    let told = json!({"toolCallId": "1", "title": "x", "kind": "execute", "status": "completed",
                      "content": [{"type": "content", "content": {"type": "text", "text": "out"}}]});
    assert_eq!(
        command(outcome(&call(told), &scope())),
        ("out".to_owned(), 0)
    );
}

#[test]
fn a_failure_says_why_as_far_as_it_was_told() {
    let told = |content: Value| {
        let told = json!({"toolCallId": "1", "title": "x", "kind": "read", "status": "failed",
                          "content": content});
        match outcome(&call(told), &scope()) {
            ToolOutcome::Failed { error } => error,
            other => panic!("not failed: {other:?}"),
        }
    };
    let text = json!([{"type": "content", "content": {"type": "text", "text": "no such file"}}]);
    assert_eq!(told(text), "no such file");
    assert_eq!(
        told(json!([])),
        "the agent says that it failed, and not why"
    );
}

#[test]
fn what_nobody_knows_may_do_anything() {
    let told = call(json!({"toolCallId": "1", "title": "Deploy", "kind": "of_tomorrow"}));
    assert_eq!(
        (name(&told), effects(&told)),
        ("tool".to_owned(), Effects::RUNS)
    );
    assert_eq!(input(&told), json!({"description": "Deploy"}));
    let huge = "x".repeat(AGENT_INPUT_BYTES_MAX);
    let told = call(json!({"toolCallId": "1", "title": "Big", "rawInput": {"text": huge}}));
    assert!(input(&told).to_string().len() < 200);
}

#[test]
fn a_yes_covers_the_same_command_and_no_other() {
    let made = |command: &str, started: u64| vocabulary::ToolCall {
        item: vocabulary::ItemId::new("i"),
        call_id: started.to_string(),
        name: "execute".to_owned(),
        input: json!({"command": command, "started_at_ms": started}),
        subject: Subject::Command {
            line: command.to_owned(),
            directory: None,
        },
        effects: Effects::RUNS,
        native: None,
        problem: None,
        by_user: false,
        agent: None,
    };
    let key = |command, started| grant_key("gemini-cli", &made(command, started));
    assert_eq!(key("ls", 1), key("ls", 2));
    assert_ne!(key("ls", 1), key("ls -a", 1));
    assert_ne!(key("ls", 1), grant_key("claude-code", &made("ls", 1)));
}
