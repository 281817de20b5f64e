//! Stories of editing.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;
use serde_json::json;
use vocabulary::FileChangeKind;

fn summary(outcome: Result<ToolOutput, Failure>) -> String {
    match outcome {
        Ok(ToolOutput::Files { summary, .. }) => summary,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_place_is_changed_and_told_as_a_diff() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a.txt"), "one\ntwo\nthree").unwrap();
    let input = json!({"filePath": "a.txt", "oldString": "two", "newString": "2"});
    let output = scratch.run(&EditTool, input).await.unwrap();
    let ToolOutput::Files { summary, changes } = output else {
        panic!("edit tells files");
    };
    assert_eq!(summary, "Edited a.txt:2\n1\tone\n2\t2\n3\tthree");
    assert_eq!(changes[0].kind, FileChangeKind::Update);
    assert_eq!(
        changes[0].diff,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n"
    );
    assert_eq!(
        std::fs::read_to_string(scratch.path("a.txt")).unwrap(),
        "one\n2\nthree"
    );
}

#[tokio::test]
async fn a_preview_is_what_the_change_will_be_and_changes_nothing() {
    use crate::patch::PatchTool;
    use crate::write::WriteTool;

    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch";
    let calls: [(&dyn Tool, Value); 4] = [
        (
            &EditTool,
            json!({"filePath": "a.txt", "oldString": "two", "newString": "2"}),
        ),
        (&PatchTool, json!({"input": patch})),
        (&WriteTool, json!({"filePath": "new.txt", "content": "x\n"})),
        (
            &WriteTool,
            json!({"filePath": "a.txt", "content": "x\n", "append": true}),
        ),
    ];
    for (tool, input) in calls {
        let scratch = Scratch::new();
        let before = "0\n".repeat(40) + "two\nthree\n";
        std::fs::write(scratch.path("a.txt"), &before).unwrap();
        let cx = scratch.cx(&Arc::default());
        let preview = tool.preview(&cx.scope, &cx.seen, &input);
        assert_eq!(
            std::fs::read_to_string(scratch.path("a.txt")).unwrap(),
            before
        );
        assert!(!scratch.path("new.txt").exists());
        let Ok(ToolOutput::Files { changes, .. }) = tool.run(&cx, input).await else {
            panic!("{} changes files", tool.name());
        };
        assert_eq!(preview, changes, "{}", tool.name());
    }
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let outside = json!({"filePath": "/etc/passwd", "oldString": "root", "newString": "x"});
    assert!(
        EditTool.preview(&cx.scope, &cx.seen, &outside).is_empty(),
        "nothing is read that may not be changed"
    );
}

#[tokio::test]
async fn all_places_are_changed_on_request() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "x x x").unwrap();
    let input = json!({"filePath": "a", "oldString": "x", "newString": "yx", "replaceAll": true});
    let cx = scratch.cx(&Arc::default());
    let Err(Failure::Error(message)) = EditTool.run(&cx, input.clone()).await else {
        panic!("a file that was not read");
    };
    assert_eq!(
        message,
        "edit: you have not read a; read it first, or change one place at a time"
    );
    let read = json!({"filePath": "a"});
    crate::read::ReadTool.run(&cx, read).await.unwrap();
    EditTool.run(&cx, input).await.unwrap();
    assert_eq!(
        std::fs::read_to_string(scratch.path("a")).unwrap(),
        "yx yx yx"
    );
}

#[tokio::test]
async fn what_cannot_be_edited_is_refused_and_nothing_happens() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "x x").unwrap();
    std::fs::write(scratch.path("binary"), [0x7f, 0]).unwrap();
    let table = [
        ("a", "z", "y", "edit: \"oldString\" does not occur in a;"),
        (
            "a",
            "x",
            "y",
            "edit: \"oldString\" occurs 2 times in a, on the lines 1, 1; add",
        ),
        (
            "a",
            "x",
            "x",
            "edit: \"oldString\" and \"newString\" are the same",
        ),
        (
            "a",
            "",
            "x",
            "edit: \"oldString\" must be a text that is not empty",
        ),
        ("none", "a", "b", "edit: none does not exist"),
        (
            "binary",
            "a",
            "b",
            "edit: binary is not a text file; use bash",
        ),
        (".", "a", "b", "edit: . is not a plain file"),
        (
            "/etc/hosts",
            "a",
            "b",
            "edit blocked: /etc/hosts is outside",
        ),
    ];
    for (file, old, new, expected) in table {
        let input = json!({"filePath": file, "oldString": old, "newString": new});
        let message = scratch.refusal(&EditTool, input).await;
        assert!(message.contains(expected), "{message}");
    }
    let input = json!({"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": "yes"});
    let message = scratch.refusal(&EditTool, input).await;
    assert_eq!(
        message,
        "edit: \"replaceAll\" must be true or false, got \"yes\""
    );
    assert_eq!(std::fs::read_to_string(scratch.path("a")).unwrap(), "x x");
}

#[tokio::test]
async fn what_changed_since_it_was_read_is_edited_at_one_place_and_said() {
    let scratch = Scratch::new();
    let cx = scratch.cx(&Arc::default());
    let input = json!({"filePath": "a", "content": "one two"});
    crate::write::WriteTool.run(&cx, input).await.unwrap();
    let edit = |old: &str, new: &str| {
        let input = json!({"filePath": "a", "oldString": old, "newString": new});
        EditTool.run(&cx, input)
    };
    // What it wrote and edited itself it knows.
    edit("one", "1").await.unwrap();
    edit("two", "2").await.unwrap();
    std::fs::write(scratch.path("a"), "1 3 3").unwrap();
    let input = json!({"filePath": "a", "oldString": "3", "newString": "4", "replaceAll": true});
    let changed = Failure::Error("edit: a changed since you read it; read it again".to_owned());
    assert_eq!(EditTool.run(&cx, input).await, Err(changed));
    assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"1 3 3");
    assert_eq!(
        summary(edit("1", "one").await),
        "Edited a:1 (the file had changed since you read it)\n1\tone 3 3"
    );
    // What came from elsewhere was still never shown.
    let write = json!({"filePath": "a", "content": "new"});
    let Err(Failure::Error(message)) = crate::write::WriteTool.run(&cx, write).await else {
        panic!("a file of which only a place is known");
    };
    assert!(message.contains("edited a but not read it"), "{message}");
}

#[tokio::test]
async fn several_edits_are_made_in_order_all_or_none() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "one\ntwo\nthree\n").unwrap();
    let edits = |last: &str| {
        json!({"filePath": "a", "edits": [
            {"oldString": "one", "newString": "1\n1b"},
            // What the first one made.
            {"oldString": "1b\ntwo", "newString": "2"},
            {"oldString": last, "newString": "3"},
        ]})
    };
    let message = scratch.refusal(&EditTool, edits("four")).await;
    let expected = "edit: none of the edits was made, because of edits[2]: \"oldString\" does not \
                    occur in a; ";
    assert!(message.starts_with(expected), "{message}");
    let before = std::fs::read_to_string(scratch.path("a")).unwrap();
    assert_eq!(before, "one\ntwo\nthree\n");
    let told = summary(scratch.run(&EditTool, edits("three")).await);
    assert_eq!(told, "Edited a:1-3\n1\t1\n2\t2\n3\t3");
    let after = std::fs::read_to_string(scratch.path("a")).unwrap();
    assert_eq!(after, "1\n2\n3\n");
}

#[tokio::test]
async fn a_list_of_edits_is_checked_by_entry() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("a"), "x").unwrap();
    let table = [
        (
            json!({"filePath": "a", "edits": [{"oldString": "x"}]}),
            "edit: \"edits[0].newString\" must be a text, got nothing",
        ),
        (
            json!({"filePath": "a", "oldString": "x", "edits": [{"oldString": "x", "newString": "y"}]}),
            "edit: \"oldString\" must be absent where edits are given",
        ),
        (
            json!({"filePath": "a", "edits": [{"oldString": "x", "newString": "x"}]}),
            "because of edits[0]: \"oldString\" and \"newString\" are the same",
        ),
        (
            json!({"filePath": "a", "edits": []}),
            "edit: \"oldString\" must be a text, got nothing",
        ),
    ];
    for (input, expected) in table {
        let message = scratch.refusal(&EditTool, input).await;
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"x");
}

#[tokio::test]
async fn an_empty_old_string_makes_a_file() {
    let scratch = Scratch::new();
    let input = json!({"filePath": "src/new.rs", "oldString": "", "newString": "one\ntwo\n"});
    let output = scratch.run(&EditTool, input.clone()).await.unwrap();
    let ToolOutput::Files { summary, changes } = output else {
        panic!("edit tells files");
    };
    assert_eq!(summary, "Made src/new.rs with 2 lines");
    assert_eq!(changes[0].kind, FileChangeKind::Add);
    let made = std::fs::read_to_string(scratch.path("src/new.rs")).unwrap();
    assert_eq!(made, "one\ntwo\n");
    let message = scratch.refusal(&EditTool, input).await;
    assert!(
        message.ends_with("src/new.rs has content already"),
        "{message}"
    );
}

#[tokio::test]
async fn the_form_of_a_file_is_kept() {
    let scratch = Scratch::new();
    let table: [(&[u8], &str, &str, &[u8]); 5] = [
        (b"a\r\nb\r\nc\r\n", "a\nb", "1\n2", b"1\r\n2\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "1\n2", b"a\r\n1\r\n2\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"\xff\xfea\0\n\0", "a\n", "b\n", b"\xff\xfeb\0\n\0"),
        (b"zw\xf6lf \x81", "zw\u{f6}lf", "f\u{fc}nf", b"f\xfcnf \x81"),
    ];
    for (before, old, new, after) in table {
        std::fs::write(scratch.path("f"), before).unwrap();
        let input = json!({"filePath": "f", "oldString": old, "newString": new});
        scratch.run(&EditTool, input).await.unwrap();
        assert_eq!(std::fs::read(scratch.path("f")).unwrap(), after, "{old:?}");
    }
    let input = json!({"filePath": "f", "oldString": "nf", "newString": "\u{2192}"});
    let message = scratch.refusal(&EditTool, input).await;
    assert!(
        message.contains("Windows-1252, which has no '\u{2192}'"),
        "{message}"
    );
}

#[tokio::test]
async fn a_link_inside_the_workspace_is_edited_where_it_leads() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("real"), "one").unwrap();
    std::os::unix::fs::symlink("real", scratch.path("link")).unwrap();
    let input = json!({"filePath": "link", "oldString": "one", "newString": "two"});
    scratch.run(&EditTool, input).await.unwrap();
    assert_eq!(std::fs::read(scratch.path("real")).unwrap(), b"two");
    assert!(scratch.path("link").is_symlink());
}

/// The six ways in which models miss most often: three are safe to understand, three are not.
#[tokio::test]
async fn another_form_is_matched_where_that_is_safe_and_said() {
    let content = "fn main() {\n\tlet a = “x”; \n\tprintln!(\"hi\");\n}\n\nfn two() {\n}\n";
    let matched = [
        (
            "    println!(\"hi\");",
            "    println!(\"ho\");",
            "Edited a.rs:3 (matched with other indentation)\n\
             1\tfn main() {\n2\t\tlet a = “x”; \n3\t\tprintln!(\"ho\");\n4\t}\n5\t",
        ),
        (
            "\tlet a = “x”;\n\tprintln!",
            "\tprintln!",
            "edit: \"oldString\" does not occur in a.rs; the lines 2-3 differ only in blanks",
        ),
        (
            "let a = \"x\";",
            "let a = \"y\";",
            "Edited a.rs:2 (matched with other quotes, dashes or blanks)\n1\tfn main() {\n\
             2\t\tlet a = \"y\"; ",
        ),
        (
            "fn two() {  \n}",
            "fn three() {\n}",
            "Edited a.rs:6 (matched with other blanks at line ends)\n4\t}\n5\t\n6\tfn three() {",
        ),
        (
            "fn Main() {",
            "fn x() {",
            "edit: \"oldString\" does not occur in a.rs; line 1 differs only in upper",
        ),
        (
            "1\tfn main() {",
            "fn x() {",
            "edit: \"oldString\" does not occur in a.rs; it has the line numbers that read shows",
        ),
    ];
    for (old, new, expected) in matched {
        let scratch = Scratch::new();
        std::fs::write(scratch.path("a.rs"), content).unwrap();
        let input = json!({"filePath": "a.rs", "oldString": old, "newString": new});
        let told = match scratch.run(&EditTool, input).await {
            Err(Failure::Error(message)) => message,
            outcome => summary(outcome),
        };
        assert!(told.starts_with(expected), "{told}");
    }
}

#[tokio::test]
async fn a_miss_says_what_the_file_has_instead() {
    let scratch = Scratch::new();
    let content = "fn main() {\n\tprintln!(\"hi\");\n}\n";
    std::fs::write(scratch.path("a.rs"), content).unwrap();
    let input =
        json!({"filePath": "a.rs", "oldString": "    println!( \"hi\" );", "newString": "x"});
    let message = scratch.refusal(&EditTool, input).await;
    assert_eq!(
        message,
        "edit: \"oldString\" does not occur in a.rs; line 2 differs only in blanks or line breaks \
         (- what you gave, + what the file has, tabs shown as \\t):\n\
         -    println!( \"hi\" );\n+\\tprintln!(\"hi\");"
    );
}
