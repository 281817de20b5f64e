//! Faces of tools, there and back.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;
use crate::Toolbox;
use crate::normalize::normalize;

const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+it's\n*** End Patch";

/// What becomes of a call that a model with these faces wrote.
fn meant(name: &str, input: Value) -> (String, Value) {
    let call = normalize(&Toolbox::builtin(), Path::new("/work"), name, input);
    (call.name, call.input)
}

fn own_calls() -> [(&'static str, Value); 4] {
    let todos = json!([
        {"content": "Run", "status": "in_progress"},
        {"content": "Rest", "status": "pending"},
    ]);
    [
        ("applyPatch", json!({ "input": PATCH })),
        ("todoWrite", json!({ "todos": todos })),
        ("bash", json!({ "command": "ls" })),
        (
            "edit",
            json!({"filePath": "a", "oldString": "b", "newString": "c"}),
        ),
    ]
}

#[test]
fn a_call_in_any_face_is_the_same_call() {
    for faces in [ToolFaces::Own, ToolFaces::Gpt] {
        for (name, input) in own_calls() {
            let written = faces.written(name, &input);
            let back = meant(&written.name, written.input);
            assert_eq!(back, (name.to_owned(), input), "{faces:?}");
        }
    }
}

#[test]
fn gpt_models_write_patches_and_plans() {
    let written: Vec<_> = own_calls()
        .iter()
        .map(|(name, input)| ToolFaces::Gpt.written(name, input))
        .map(|call| (call.name, call.input))
        .collect();
    assert_eq!(
        written[0],
        ("apply_patch".to_owned(), json!({ "input": PATCH }))
    );
    let plan = json!([
        {"step": "Run", "status": "in_progress"},
        {"step": "Rest", "status": "pending"},
    ]);
    assert_eq!(
        written[1],
        ("update_plan".to_owned(), json!({ "plan": plan }))
    );
    let why = json!({"explanation": "done early", "plan": plan});
    assert_eq!(meant("update_plan", why).1, own_calls()[1].1);
    // What went wrong is not made to look well.
    let broken = json!({ "arguments": "{" });
    assert_eq!(ToolFaces::Gpt.written("todoWrite", &broken).input, broken);
}

#[test]
fn others_see_a_patch_as_a_command() {
    let written = ToolFaces::Own.written("applyPatch", &json!({ "input": PATCH }));
    let command = format!("apply_patch <<'EOF'\n{PATCH}\nEOF");
    assert_eq!(written.name, "bash");
    assert_eq!(written.input, json!({ "command": command }));
    // A line of it that is the tag would end it too early.
    let patch = "*** Begin Patch\n*** Add File: a\n+x\nEOF\n*** End Patch";
    let written = ToolFaces::Own.written("applyPatch", &json!({ "input": patch }));
    assert_eq!(
        meant(&written.name, written.input).1,
        json!({ "input": patch })
    );
}

#[test]
fn a_face_says_what_it_needs_and_the_own_one_is_the_tool_itself() {
    for tool in Toolbox::builtin().list() {
        let own = ToolFaces::Own.face(tool.as_ref());
        assert_eq!((own.name.as_str(), own.grammar), (tool.name(), None));
        assert_eq!(own.description, tool.description());
        let gpt = ToolFaces::Gpt.face(tool.as_ref());
        assert_eq!(gpt.parameters["type"], "object", "{}", gpt.name);
        match tool.name() {
            "applyPatch" => {
                assert_eq!(gpt.name, "apply_patch");
                assert!(
                    gpt.grammar
                        .unwrap()
                        .starts_with("start: \"*** Begin Patch\"")
                );
            }
            "todoWrite" => assert_eq!(gpt.name, "update_plan"),
            _ => assert_eq!(gpt, own),
        }
    }
}
