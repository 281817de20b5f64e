//! Stories of editing.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::scratch::Scratch;
use vocabulary::FileChangeKind;

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
        ("/etc/hosts", "a", "b", "edit blocked: path is outside"),
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
async fn what_changed_since_it_was_read_is_not_edited() {
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
    std::fs::write(scratch.path("a"), "1 3").unwrap();
    let message = "edit: a changed since you read it; read it again";
    let refused = edit("1", "one").await;
    assert_eq!(refused, Err(Failure::Error(message.to_owned())));
    assert_eq!(std::fs::read(scratch.path("a")).unwrap(), b"1 3");
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

#[tokio::test]
async fn a_miss_says_what_the_file_has_instead() {
    let scratch = Scratch::new();
    let content = "fn main() {\n\tprintln!(\"hi\");\n}\n";
    std::fs::write(scratch.path("a.rs"), content).unwrap();
    let input = json!({"filePath": "a.rs", "oldString": "    println!(\"hi\");", "newString": "x"});
    let message = scratch.refusal(&EditTool, input).await;
    assert_eq!(
        message,
        "edit: \"oldString\" does not occur in a.rs; line 2 differs only in blanks or line breaks \
         (- what you gave, + what the file has, tabs shown as \\t):\n\
         -    println!(\"hi\");\n+\\tprintln!(\"hi\");"
    );
}
