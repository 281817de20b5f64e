//! Stories of calls as models write them who learned on other tools.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;

fn meant(name: &str, input: Value) -> (String, Value) {
    let call = normalize(&Toolbox::builtin(), Path::new("/work"), name, input);
    (call.name, call.input)
}

#[test]
fn names_and_keys_from_elsewhere_are_understood() {
    let table = [
        (
            "Read",
            json!({"file_path": "a"}),
            "read",
            json!({"filePath": "a"}),
        ),
        (
            "read_file",
            json!({"absolute_path": "/w/a", "limit": "5"}),
            "read",
            json!({"filePath": "/w/a", "limit": 5}),
        ),
        (
            "functions.read",
            json!({"path": "a"}),
            "read",
            json!({"filePath": "a"}),
        ),
        (
            "Bash",
            json!({"command": "ls"}),
            "bash",
            json!({"command": "ls"}),
        ),
        (
            "exec_command",
            json!({"cmd": "ls"}),
            "bash",
            json!({"command": "ls"}),
        ),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "1", "new_string": "2", "replace_all": "True"}),
            "edit",
            json!({"filePath": "a", "oldString": "1", "newString": "2", "replaceAll": true}),
        ),
        (
            "write_file",
            json!({"file_path": "a", "content": "{\"x\": 1}"}),
            "write",
            json!({"filePath": "a", "content": "{\"x\": 1}"}),
        ),
        (
            "Glob",
            json!({"pattern": "*", "path": "src"}),
            "glob",
            json!({"pattern": "*", "cwd": "src"}),
        ),
        (
            "Task",
            json!({"prompt": "look", "subagent_type": "general-purpose"}),
            "spawnAgent",
            json!({"task": "look", "kind": "general-purpose"}),
        ),
        (
            "update_plan",
            json!({"plan": [{"step": "Run", "status": "done"}]}),
            "todoWrite",
            json!({"todos": [{"content": "Run", "status": "completed"}]}),
        ),
        (
            "TodoWrite",
            json!({"todos": "[{\"content\": \"Run\", \"status\": \"pending\", \"active_form\": \"Running\"}]"}),
            "todoWrite",
            json!({"todos": [{"content": "Run", "status": "pending", "activeForm": "Running"}]}),
        ),
        (
            "AskUserQuestion",
            json!({"question": "?"}),
            "ask",
            json!({"question": "?"}),
        ),
    ];
    for (name, input, tool, expected) in table {
        assert_eq!(meant(name, input), (tool.to_owned(), expected), "{name}");
    }
}

#[test]
fn a_search_in_the_words_of_others_is_a_search_in_ours() {
    let theirs = json!({
        "pattern": 404, "glob": "*.rs", "output_mode": "files_with_matches", "-i": true,
        "-C": "2", "head_limit": 10, "-n": true,
    });
    let ours = json!({
        "pattern": "404", "include": "*.rs", "mode": "files", "caseSensitive": false,
        "context": 2, "limit": 10, "-n": true,
    });
    assert_eq!(meant("Grep", theirs), ("grep".to_owned(), ours));
}

#[test]
fn a_text_editor_is_three_tools() {
    let table = [
        (
            json!({"command": "view", "path": "a", "view_range": [3, 7]}),
            "read",
            json!({"filePath": "a", "offset": 3, "limit": 5}),
        ),
        (
            json!({"command": "view", "path": "a", "view_range": [3, -1]}),
            "read",
            json!({"filePath": "a", "offset": 3}),
        ),
        (
            json!({"command": "create", "path": "a", "file_text": "x"}),
            "write",
            json!({"filePath": "a", "content": "x"}),
        ),
        (
            json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": ""}),
            "edit",
            json!({"filePath": "a", "oldString": "x", "newString": ""}),
        ),
    ];
    for (input, tool, expected) in table {
        let call = meant("str_replace_based_edit_tool", input);
        assert_eq!(call, (tool.to_owned(), expected));
    }
    let undo = json!({"command": "undo_edit", "path": "a"});
    let (name, input) = meant("str_replace_editor", undo.clone());
    assert_eq!((name.as_str(), input), ("str_replace_editor", undo));
}

#[test]
fn a_command_may_be_words_and_have_a_directory() {
    let table = [
        (
            json!({"command": ["bash", "-lc", "ls | head"]}),
            "ls | head",
        ),
        (json!({"command": ["/bin/sh", "-c", "ls"]}), "ls"),
        (json!({"command": ["cargo test"]}), "cargo test"),
        (
            json!({"command": ["ls", "-la", "my dir", "it's"]}),
            r"ls -la 'my dir' 'it'\''s'",
        ),
        (json!({"command": "ls", "workdir": "/work"}), "ls"),
        (json!({"command": "ls", "workdir": "."}), "ls"),
        (
            json!({"command": "ls", "workdir": "../a b"}),
            "cd -- '../a b' || exit\nls",
        ),
        (json!({"value": "{\"command\": \"ls\"}"}), "ls"),
    ];
    for (input, line) in table {
        let expected = ("bash".to_owned(), json!({"command": line}));
        assert_eq!(meant("shell", input.clone()), expected, "{input}");
    }
    let inside = json!({"cmd": "ls", "workdir": "a b", "run_in_background": "true"});
    let expected = json!({"command": "ls", "cwd": "a b", "background": true});
    assert_eq!(meant("shell", inside), ("bash".to_owned(), expected));
    let looks = json!({"bash_id": "3"});
    assert_eq!(
        meant("BashOutput", looks),
        ("job".to_owned(), json!({"id": 3}))
    );
    let types = json!({"session_id": 3, "chars": "y\n"});
    let expected = json!({"id": 3, "input": "y\n"});
    assert_eq!(meant("write_stdin", types), ("job".to_owned(), expected));
}

#[test]
fn what_is_right_or_in_doubt_stays_as_it_is() {
    let table = [
        ("read", json!({"filePath": "a", "path": "b"})),
        ("read", json!({"filePath": "a", "limit": "many"})),
        (
            "write",
            json!({"filePath": "a", "description": "not the content"}),
        ),
        ("grep", json!({"pattern": "true", "include2": "*.rs"})),
        ("no_such_tool", json!({"file_path": "a"})),
    ];
    for (name, input) in table {
        assert_eq!(meant(name, input.clone()), (name.to_owned(), input));
    }
    let both = ["webFetch", "web_fetch"].into_iter();
    assert_eq!(resolve("WebFetch", both.clone()), None);
    assert_eq!(resolve("web_fetch", both), Some("web_fetch"));
}

#[tokio::test]
async fn keys_that_a_tool_does_not_have_are_named() {
    let tools = Toolbox::builtin();
    let (grep, bash) = (tools.get("grep").unwrap(), tools.get("bash").unwrap());
    let input = json!({"pattern": "x", "include2": "*.rs", "fast": true});
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "x").unwrap();
    let output = scratch.run(grep.as_ref(), input.clone()).await.unwrap();
    let ToolOutput::Text(told) = note_ignored(grep.as_ref(), &input, output) else {
        panic!("grep answers with text");
    };
    assert!(told.starts_with("a:1:x\n[ignored: "), "{told}");
    assert!(told.contains("include2") && told.contains("fast"), "{told}");
    assert_eq!(ignored(bash.as_ref(), &json!({"command": "ls"})), None);
}

#[test]
fn a_command_that_only_applies_a_patch_is_a_call_of_the_patch_tool() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Move to: b\n*** End Patch";
    let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
    let below = patch.replace(": a", ": sub/a").replace(": b", ": sub/b");
    let table = [
        ("bash", json!({ "command": command }), patch),
        (
            "shell",
            json!({ "command": ["bash", "-lc", command] }),
            patch,
        ),
        ("shell", json!({ "command": ["apply_patch", patch] }), patch),
        (
            "exec_command",
            json!({ "cmd": command, "workdir": "sub" }),
            &below,
        ),
        (
            "bash",
            json!({ "command": format!("cd sub && {command}") }),
            &below,
        ),
        ("apply_patch", json!({ "input": patch }), patch),
        ("functions.apply_patch", json!({ "patch": patch }), patch),
    ];
    for (name, input, expected) in table {
        let expected = ("applyPatch".to_owned(), json!({ "input": expected }));
        assert_eq!(meant(name, input.clone()), expected, "{name} {input}");
    }
    let both = json!({ "command": format!("{command}\ncargo test") });
    assert_eq!(meant("bash", both.clone()), ("bash".to_owned(), both));
}
