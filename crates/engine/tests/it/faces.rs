//! Tools by the family of the model: what each is offered, what it reads of calls that another made, and
//! that everyone else sees the same calls.

use std::sync::Arc;

use providers::catalog::Model;
use providers::format::{Quirks, RequestTarget, Wire};
use providers::{Block, Message, ModelRequest};
use serde_json::{Value, json};
use vocabulary::{Changes, Fact, ModelRef, Subject, ThreadId, ToolEvent, ToolFact};

use crate::house::{Ear, House, Stage};
use crate::puppet::{self, Asked, PUPPET, Play, Puppet, calls, says};

const CLAUDE: &str = "claude-opus-4-6";
const GPT: &str = "gpt-5.2";
const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch";

async fn switch(house: &House, thread: ThreadId, model: &str) {
    let model = ModelRef {
        provider: PUPPET.to_owned(),
        model: model.to_owned(),
    };
    let changes = Changes {
        model: Some(model),
        ..Changes::default()
    };
    house.change(thread, changes).await;
}

/// The calls in the conversation that a model was shown.
fn shown(request: &Asked) -> Vec<(String, Value)> {
    let blocks = request.messages.iter().flat_map(|message| match message {
        Message::Assistant(blocks) => blocks.as_slice(),
        Message::User(_) | Message::ToolResults(_) => &[],
    });
    let calls = blocks.filter_map(|block| match block {
        Block::ToolCall { name, input, .. } => Some((name.clone(), input.clone())),
        Block::Text { .. } | Block::Reasoning { .. } | Block::File { .. } => None,
    });
    calls.collect()
}

fn offered(request: &Asked) -> Vec<&str> {
    request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect()
}

/// The calls as they are kept, with the files they are about.
fn planned(ear: &Ear) -> Vec<(String, Value, usize)> {
    let of = |fact: &&Fact| match fact {
        Fact::Tool(ToolEvent {
            call,
            what: ToolFact::Planned { .. },
            ..
        }) => {
            let files = match &call.subject {
                Subject::Files(files) => files.iter().filter(|file| file.preview.is_some()).count(),
                // tidy: wildcard, because only files are counted.
                _ => 0,
            };
            Some((call.name.clone(), call.input.clone(), files))
        }
        // tidy: wildcard, because only planned calls are looked for.
        _ => None,
    };
    ear.facts().iter().filter_map(of).collect()
}

fn heredoc(patch: &str) -> Value {
    json!({ "command": format!("apply_patch <<'EOF'\n{patch}\nEOF") })
}

fn in_house(plays: impl IntoIterator<Item = Play>) -> (House, Arc<Puppet>) {
    let puppet = Puppet::new(plays);
    let mut stage = Stage::of(&puppet);
    stage.auto_approve = true;
    let named = |id: &str| Model {
        id: id.to_owned(),
        ..puppet::big()
    };
    stage.catalog.providers[0]
        .models
        .extend([CLAUDE, GPT].map(named));
    let house = House::in_real_time(stage);
    std::fs::write(house.directory().join("a.txt"), "one\ntwo\n").expect("a file");
    (house, puppet)
}

fn content(house: &House) -> String {
    std::fs::read_to_string(house.directory().join("a.txt")).expect("a file")
}

#[tokio::test]
async fn a_thread_goes_from_claude_to_gpt_and_back() {
    let edit = json!({"filePath": "a.txt", "oldString": "one", "newString": "1"});
    let todos = json!({"todos": [{"content": "Edit", "status": "pending"}]});
    let plan = json!({"plan": [{"step": "Edit", "status": "completed"}], "explanation": "done"});
    let (house, puppet) = in_house([
        Play::new()
            .call("c1", "edit", edit.clone())
            .call("c2", "todoWrite", todos.clone())
            .end(10, 2),
        says("half"),
        Play::new()
            .call("c3", "apply_patch", json!({"input": PATCH}))
            .call("c4", "update_plan", plan)
            .end(10, 2),
        says("whole"),
        says("more"),
        says("bye"),
    ]);
    let (thread, mut ear) = house.heard_thread().await;
    for (model, said) in [
        (CLAUDE, "half"),
        (GPT, "whole"),
        (GPT, "more"),
        (CLAUDE, "bye"),
    ] {
        switch(&house, thread, model).await;
        house.say(thread, "go").await.expect("a turn");
        assert_eq!(ear.completed().await, said);
    }
    assert_eq!(content(&house), "1\n2\n");

    // Whoever called, the calls are the engine's own.
    let done = json!({"todos": [{"content": "Edit", "status": "completed"}]});
    let patch = json!({ "input": PATCH });
    let (edit, todo) = (("edit".to_owned(), edit), ("todoWrite".to_owned(), todos));
    let kept = [
        (edit.0.clone(), edit.1.clone(), 1),
        (todo.0.clone(), todo.1.clone(), 0),
        ("applyPatch".to_owned(), patch.clone(), 1),
        ("todoWrite".to_owned(), done.clone(), 0),
    ];
    assert_eq!(planned(&ear), kept);

    // Each reads them as it would have written them.
    let requests = puppet.requests();
    let step = |status: &str| json!({"plan": [{"step": "Edit", "status": status}]});
    let as_gpt = [
        edit.clone(),
        ("update_plan".to_owned(), step("pending")),
        ("apply_patch".to_owned(), patch),
        ("update_plan".to_owned(), step("completed")),
    ];
    assert_eq!(shown(&requests[2]), as_gpt[..2]);
    assert_eq!(shown(&requests[3]), as_gpt);
    let as_claude = [
        edit,
        todo,
        ("bash".to_owned(), heredoc(PATCH)),
        ("todoWrite".to_owned(), done),
    ];
    assert_eq!(shown(&requests[5]), as_claude);
    assert!(requests[4].messages.starts_with(&requests[3].messages));

    let (claude, gpt) = (offered(&requests[0]), offered(&requests[2]));
    assert_eq!(offered(&requests[5]), claude);
    for name in ["edit", "write", "todoWrite"] {
        assert!(claude.contains(&name) && !gpt.contains(&name), "{name}");
    }
    for name in ["apply_patch", "update_plan"] {
        assert!(gpt.contains(&name) && !claude.contains(&name), "{name}");
    }
    for name in ["applyPatch", "notebookEdit"] {
        assert!(!gpt.contains(&name), "{name}");
    }
    assert!(!claude.contains(&"applyPatch"));
    for name in ["bash", "read", "grep", "glob"] {
        assert!(claude.contains(&name) && gpt.contains(&name), "{name}");
    }
    for request in &requests {
        check_formats(request);
    }
}

/// Every format gets a call and its result for each call, in a form that it has.
fn check_formats(asked: &Asked) {
    let request: &ModelRequest = asked;
    let count = shown(asked).len();
    for wire in Wire::ALL {
        for custom_tools in [None, Some(true)] {
            let target = RequestTarget {
                quirks: Quirks {
                    custom_tools,
                    ..Quirks::default()
                },
                ..RequestTarget::unknown(&request.model)
            };
            let body = wire.encode(request, &target).body.to_string();
            let (call, result) = match wire {
                Wire::Responses => ("_call\",", "_call_output\""),
                Wire::Chat => ("\"arguments\":", "\"role\":\"tool\""),
                Wire::Messages => ("\"tool_use\"", "\"tool_result\""),
                Wire::Gemini => ("\"functionCall\"", "\"functionResponse\""),
            };
            assert_eq!(body.matches(call).count(), count, "{wire:?}: {body}");
            assert_eq!(body.matches(result).count(), count, "{wire:?}: {body}");
            let free_text = wire == Wire::Responses && custom_tools == Some(true);
            let patches = shown(asked)
                .iter()
                .filter(|(name, _)| name == "apply_patch")
                .count();
            let custom = body.matches("\"custom_tool_call\"").count();
            assert_eq!(custom, if free_text { patches } else { 0 }, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_command_that_only_applies_a_patch_is_the_tool_for_every_model() {
    let (house, puppet) = in_house([calls("c1", "bash", heredoc(PATCH)), says("done")]);
    let (thread, mut ear) = house.heard_thread().await;
    switch(&house, thread, CLAUDE).await;
    house.say(thread, "go").await.expect("a turn");
    assert_eq!(ear.completed().await, "done");
    assert_eq!(content(&house), "one\n2\n");
    let kept = ("applyPatch".to_owned(), json!({ "input": PATCH }), 1);
    assert_eq!(planned(&ear), [kept]);
    let request = &puppet.requests()[1];
    assert_eq!(shown(request), [("bash".to_owned(), heredoc(PATCH))]);
    let Some(Message::ToolResults(results)) = request.messages.last() else {
        panic!("no result: {request:?}");
    };
    assert_eq!(results[0].text(), "M a.txt (+1 -1)\na.txt:2\n1\tone\n2\t2");
}

#[tokio::test]
async fn a_patch_that_others_would_run_is_asked_for() {
    let patch = "*** Begin Patch\n*** Add File: b.txt\n+x\n*** Add File: .envrc\n+x\n*** End Patch";
    let puppet = Puppet::new([calls("c1", "bash", heredoc(patch)), says("well")]);
    let house = House::in_real_time(Stage::of(&puppet));
    let (thread, mut ear) = house.heard_thread().await;
    house.say(thread, "go").await.expect("a turn");
    let (ask, approval) = crate::grants::asked(&mut ear).await;
    assert_eq!(approval.command, "applyPatch .envrc");
    assert!(approval.dangerous);
    let answer = vocabulary::Answer::Approval(vocabulary::ApprovalAnswer::Deny);
    let answered = house.call(vocabulary::Call::AnswerAsk {
        thread,
        ask: ask.id,
        answer,
    });
    answered.await.expect("an answer");
    assert_eq!(ear.completed().await, "well");
    assert!(!house.directory().join("b.txt").exists());
}
